//! Three ways to make a mapping better step by step: relieve cores that are too busy, lower the busiest, save cost.

use super::context::SearchContext;
use super::search::{State, Step};
use std::collections::BinaryHeap;
use std::time::Instant;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(pub(super) Option<Instant>);

impl Deadline {
    pub(super) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// How many tasks of another core are looked at for an exchange.
const PARTNERS: usize = 8;
/// Passes over all tasks without an end in sight.
const MOST_PASSES: usize = 20;
/// Pairs of tasks that are looked at to lower the busiest core.
const MOST_PAIRS: usize = 20_000;
/// How often the deadline is looked at.
const TASKS_A_LOOK: usize = 256;

/// Something to take off a core, by what it costs for each second of relief.
#[derive(Debug, PartialEq)]
struct Relief {
    cost: f64,
    task: u32,
}

impl Eq for Relief {}

impl Ord for Relief {
    fn cmp(&self, other: &Relief) -> std::cmp::Ordering {
        other.cost.total_cmp(&self.cost).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Relief {
    fn partial_cmp(&self, other: &Relief) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Takes tasks off the cores that are not done by `cap`, the busiest first, those that cost the least for each second of
/// relief, and puts them where they cost the least and fit.
pub(super) fn relieve(context: &SearchContext<'_>, state: &mut State, cap: f64, deadline: Deadline) {
    let mut late: Vec<(u32, f64)> = (0..context.machine.cores().len() as u32)
        .map(|core| (core, state.work(context, core)))
        .filter(|(_, work)| *work > cap)
        .collect();
    late.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (core, _) in late {
        let mut heap: BinaryHeap<Relief> = BinaryHeap::new();
        let mut tasks = state.tasks_on(core).to_vec();
        tasks.sort_unstable();
        for task in tasks {
            heap.extend(way_out(context, state, task, cap).map(|(cost, _)| Relief { cost, task }));
        }
        let mut looks = 0;
        while state.work(context, core) > cap {
            let Some(Relief { task, .. }) = heap.pop() else { break };
            looks += 1;
            if looks % TASKS_A_LOOK == 0 && deadline.is_over() {
                return;
            }
            // What was taken off since may have made this one dearer.
            let Some((cost, to)) = way_out(context, state, task, cap) else { continue };
            if heap.peek().is_some_and(|next| next.cost < cost) {
                heap.push(Relief { cost, task });
                continue;
            }
            state.put(context, task, to);
        }
    }
}

/// Where a task could go, and what that costs for each second by which its core is late.
fn way_out(context: &SearchContext<'_>, state: &mut State, task: u32, cap: f64) -> Option<(f64, u32)> {
    let core = state.core(task);
    let load = context.graph.loads[task as usize];
    let late = state.work(context, core) - cap;
    if load <= 0.0 || late <= 0.0 {
        return None;
    }
    let mut to = Vec::new();
    state.candidates(context, task, &mut to);
    to.push(state.idlest(context));
    let (to, change) = state.best_move(context, task, &to, cap)?;
    // Where nothing talks, nothing costs: then the task that fits the gap best goes.
    Some(((change + context.scale()) / load.min(late), to))
}

/// Lowers the makespan by moves and exchanges of the busiest core, until it is `target` or nothing helps.
pub(super) fn lower(context: &SearchContext<'_>, state: &mut State, target: f64, deadline: Deadline) {
    let cores = context.machine.cores().len() as u32;
    for _ in 0..2 * context.graph.len() {
        let busiest = state.busiest(context);
        let now = state.work(context, busiest);
        if now <= target || deadline.is_over() {
            return;
        }
        let mut best: Option<(f64, Step)> = None;
        let mut look = |state: &mut State, step: Step| {
            let least = best.map_or(now * (1.0 - 1e-9), |(least, _)| least);
            // Loads tell most steps apart from those that help; the rest are tried.
            if state.after_by_load(context, step) < least && state.may_take(context, step) {
                let after = state.after(context, step);
                if after < least {
                    best = Some((after, step));
                }
            }
        };
        let mut tasks = state.tasks_on(busiest).to_vec();
        tasks.sort_unstable();
        for &task in &tasks {
            for core in (0..cores).filter(|core| *core != busiest) {
                look(state, Step::Move { task, to: core, change: 0.0 });
            }
        }
        if tasks.len() * context.graph.len() <= MOST_PAIRS {
            for &one in &tasks {
                for two in 0..context.graph.len() as u32 {
                    look(state, Step::Swap { one, two, change: 0.0 });
                }
            }
        }
        match best {
            Some((_, step)) => state.take(context, step),
            None => return,
        }
    }
}

/// Moves and exchanges tasks as long as that saves cost, with every core done by `cap`. Says whether the deadline ended it.
pub(super) fn save(context: &SearchContext<'_>, state: &mut State, cap: f64, deadline: Deadline) -> bool {
    let scale = context.cost(state.cores());
    let mut to = Vec::new();
    // Tasks that no core is cheaper for, however late it is: so it stays until one they talk to moves.
    let mut settled = context.pinned.clone();
    for _ in 0..MOST_PASSES {
        let mut saved = false;
        for task in 0..context.graph.len() as u32 {
            if (task as usize).is_multiple_of(TASKS_A_LOOK) && deadline.is_over() {
                return true;
            }
            if settled[task as usize] {
                continue;
            }
            state.candidates(context, task, &mut to);
            let [best, unconstrained] = state.best_moves(context, task, &to, cap);
            let step = best.map(|(to, change)| Step::Move { task, to, change });
            let mut step = step.filter(|step| step.saves(scale));
            if step.is_none() {
                match unconstrained.filter(|(_, change)| *change < 0.0) {
                    Some((core, _)) => {
                        step = best_exchange(context, state, task, core, cap);
                        step = step.filter(|step| step.saves(scale));
                    }
                    None => settled[task as usize] = !context.is_limited(),
                }
            }
            if let Some(step) = step {
                state.take(context, step);
                step.tasks().for_each(|task| unsettle(context, &mut settled, task));
                saved = true;
            }
        }
        if !saved {
            break;
        }
    }
    false
}

/// Has a task that moved looked at again, and those it talks to.
fn unsettle(context: &SearchContext<'_>, settled: &mut [bool], task: u32) {
    let near = context.graph.links(task).iter().map(|link| link.other);
    for task in near.chain(std::iter::once(task)) {
        settled[task as usize] = context.pinned[task as usize];
    }
}

/// The exchange of a task with one of those on another core that saves the most.
fn best_exchange(
    context: &SearchContext<'_>,
    state: &mut State,
    task: u32,
    core: u32,
    cap: f64,
) -> Option<Step> {
    let count = state.tasks_on(core).len();
    let mut best: Option<Step> = None;
    for place in 0..count.min(PARTNERS) {
        // Which of many partners are looked at changes from task to task.
        let other = state.tasks_on(core)[(place + task as usize) % count];
        if let Some(step) = state.look_at_swap(context, task, other, cap)
            && best.is_none_or(|best| step.change() < best.change())
        {
            best = Some(step);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::anneal::below;
    use crate::strategies::graph::Graph;
    use crate::{Machine, Message, Problem, SolveOptions, Task};
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng;

    #[test]
    fn nothing_is_left_to_save() {
        let machine = Machine::parse("numa32").unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let task =
            |random: &mut ChaCha8Rng| Task::new(1.0 + below(random, 5) as f64).at(below(random, 32) as u32);
        let tasks: Vec<Task> = (0..300).map(|_| task(&mut random)).collect();
        let message = |random: &mut ChaCha8Rng| {
            let [from, to, bytes] = [300, 300, 9].map(|bound| below(random, bound) as u32);
            Message { from, to, count: 1.0, bytes: f64::from(1 + bytes) }
        };
        let messages: Vec<Message> = (0..900).map(|_| message(&mut random)).collect();
        let problem = Problem::new(tasks, &messages).unwrap();
        let graph = Graph::of(&problem);
        let start = graph.cores_of(&problem.start(&machine).unwrap());
        let context = SearchContext::new(&problem, &machine, &graph, &start, &SolveOptions::default());
        let mut state = State::new(&context, start.clone());
        let cap = 1.05 * state.makespan(&context);
        assert!(!save(&context, &mut state, cap, Deadline(None)));
        assert!(context.cost(state.cores()) < context.cost(&start));
        // Who is not looked at any more because nobody near it moved has nothing to gain: another look at all finds nothing.
        let found = state.cores().to_vec();
        save(&context, &mut state, cap, Deadline(None));
        assert_eq!(state.cores(), found);
    }
}
