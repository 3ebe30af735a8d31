//! What the threads of a process do over a while, and the CPUs that a strategy of `firsttouch-balance` would give them.
//!
//! A thread is a task. Its load is what it ran and what it stood in the queue of its CPU, for each second: a thread that
//! shares its CPU with two others gets a third of it and waits for the rest, and would use all of one if it had it. Where
//! the kernel does not count the waiting, what it ran. Its home is the CPU it ran on last. What threads say to one another
//! nobody can see from outside; but each is taken to use memory of its home's node, so that, of places that are equally
//! good for the load, those near it are preferred.

use crate::bind::{SingleCpu, threads_of};
use crate::target::Target;
use firsttouch_balance::{
    Machine, Message, Metrics, Problem, ProblemError, SolveOptions, Strategy, StrategyError, Task,
};
use firsttouch_linux::process::{Scheduled, Stat, TICKS_PER_S};
use firsttouch_placement::{Observation, ObservedThread};
use firsttouch_sorted::sort_by;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::{Duration, Instant};

/// Threads that do less than this part of the time are left where they are.
const LEAST_LOAD: f64 = 0.01;
/// The memory that a thread is taken to read of its node for each second that it runs. Only its smallness matters: loads
/// come first.
const BYTES_PER_S: f64 = 1e9;

/// Why threads cannot be given CPUs.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The threads cannot be read.
    #[error("cannot read the threads of process {pid}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// What the kernel answered.
        source: io::Error,
    },
    /// What was seen makes no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The strategy found nothing.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
}

impl ObserveError {
    /// The line that mends it.
    pub fn hint(&self) -> &'static str {
        match self {
            ObserveError::Unreadable { .. } => "run firsttouch as root",
            ObserveError::Problem(error) => error.hint(),
            ObserveError::Strategy(error) => error.hint().unwrap_or("choose another strategy"),
        }
    }
}

/// What a thread had done at a moment.
#[derive(Clone, Copy, Debug)]
struct Seen {
    start_ticks: u64,
    ran: Duration,
    /// `None` where the kernel does not count it.
    waited: Option<Duration>,
    cpu: Option<u32>,
}

impl Seen {
    fn of(target: &Target, thread: u32) -> Option<Seen> {
        let stat = Stat::read_thread(target.root(), target.pid(), thread).ok()?;
        let scheduled = Scheduled::read_thread(target.root(), target.pid(), thread).ok();
        let ticks = Duration::from_millis(stat.ticks() * (1000 / TICKS_PER_S));
        Some(Seen {
            start_ticks: stat.start_ticks,
            ran: scheduled.map_or(ticks, |scheduled| scheduled.ran),
            waited: scheduled.map(|scheduled| scheduled.waited),
            cpu: stat.processor,
        })
    }
}

/// A first look at the threads of a process; a second one, a while later, tells what they did in between.
#[derive(Debug)]
pub struct Look {
    at: Instant,
    seen: HashMap<u32, Seen>,
}

impl Look {
    /// Looks at the threads of a process.
    pub fn begin(target: &Target) -> Result<Look, ObserveError> {
        let threads = read(target)?;
        let seen = threads.iter().filter_map(|thread| Some((thread.id, Seen::of(target, thread.id)?)));
        Ok(Look { at: Instant::now(), seen: seen.collect() })
    }

    /// What the threads did since, busiest first. Those that began or ended meanwhile are left out.
    pub fn end(self, target: &Target) -> Result<(Vec<ObservedThread>, Duration), ObserveError> {
        let passed = self.at.elapsed();
        let part = |time: Duration| (time.as_secs_f64() / passed.as_secs_f64().max(1e-9)).min(1.0);
        let mut found = Vec::new();
        for thread in read(target)? {
            let Some((before, now)) = self.seen.get(&thread.id).zip(Seen::of(target, thread.id)) else {
                continue;
            };
            if before.start_ticks != now.start_ticks {
                continue;
            }
            let waited = now.waited.zip(before.waited).map(|(now, before)| part(now.saturating_sub(before)));
            found.push(ObservedThread {
                thread: thread.id,
                name: thread.name,
                start_ticks: now.start_ticks,
                ran: part(now.ran.saturating_sub(before.ran)),
                waited,
                cpu: now.cpu,
                cpus: thread.cpus,
                chosen: None,
            });
        }
        sort_by(&mut found, |a, b| b.load().total_cmp(&a.load()).then(a.thread.cmp(&b.thread)));
        Ok((found, passed))
    }
}

fn read(target: &Target) -> Result<Vec<firsttouch_threads::ThreadState>, ObserveError> {
    threads_of(target).map_err(|source| ObserveError::Unreadable { pid: target.pid(), source })
}

/// The CPUs that were chosen, as a request has them.
pub fn affinity(observed: &Observation) -> BTreeMap<u32, SingleCpu> {
    let single_cpu = |thread: &ObservedThread| {
        let single_cpu = SingleCpu { start_ticks: thread.start_ticks, cpu: thread.chosen? };
        Some((thread.thread, single_cpu))
    };
    observed.threads.iter().filter_map(single_cpu).collect()
}

/// Has a strategy choose a CPU of the machine for each busy thread; threads come busiest first, as [`Look::end`] gives
/// them. Where it moves one, all of them are given theirs, because the kernel would else move others next to it; where it
/// moves none, all are left as they are.
pub fn choose(
    mut threads: Vec<ObservedThread>,
    machine: &Machine,
    strategy: &dyn Strategy,
    options: &SolveOptions,
) -> Result<Observation, ObserveError> {
    let core_of = |cpu: u32| machine.cores().iter().position(|core| core.cpu == Some(cpu));
    let busy = threads.iter().take_while(|thread| thread.load() >= LEAST_LOAD).count();
    let home = |thread: &ObservedThread| thread.cpu.and_then(core_of).map(|core| core as u32);
    let as_task = |thread: &ObservedThread| Task { home: home(thread), ..Task::new(thread.load()) };
    let mut tasks: Vec<Task> = threads[..busy].iter().map(as_task).collect();
    let mut messages = Vec::new();
    if machine.nodes().len() > 1 {
        // The memory of each node is a task that does nothing and stays.
        let first = |node: usize| machine.cores().iter().position(|core| core.node as usize == node);
        let mut memory = BTreeMap::new();
        for node in 0..machine.nodes().len() {
            if let Some(core) = first(node) {
                memory.insert(node as u32, tasks.len() as u32);
                tasks.push(Task { pinned: true, ..Task::new(0.0).at(core as u32) });
            }
        }
        for (number, thread) in threads[..busy].iter().enumerate() {
            let Some(node) = home(thread).map(|core| machine.cores()[core as usize].node) else { continue };
            let (from, to) = (memory[&node], number as u32);
            messages.push(Message { from, to, count: thread.load(), bytes: thread.load() * BYTES_PER_S });
        }
    }
    let problem = Problem::new(tasks, &messages)?;
    let start = problem.start(machine)?;
    let mapping = strategy.solve(&problem, machine, &start, options)?.mapping;
    let moved = (0..busy).filter(|task| mapping.core(*task) != start.core(*task)).count();
    if moved > 0 {
        for (task, thread) in threads[..busy].iter_mut().enumerate() {
            thread.chosen = machine.cores()[mapping.core(task) as usize].cpu;
        }
    }
    let [before, after] = [&start, &mapping].map(|mapping| Metrics::of(&problem, machine, mapping, &start));
    Ok(Observation {
        strategy: strategy.name().to_owned(),
        machine: machine.name().to_owned(),
        busy,
        moved,
        busiest_before: before.makespan_s,
        busiest_after: after.makespan_s,
        imbalance_before: before.imbalance,
        imbalance_after: after.imbalance,
        threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_balance::{CpuSelection, strategies};

    fn thread(number: u32, ran: f64, waited: f64, cpu: u32) -> ObservedThread {
        ObservedThread {
            thread: number,
            name: "w".to_owned(),
            start_ticks: 7,
            ran,
            waited: Some(waited),
            cpu: Some(cpu),
            cpus: vec![0, 1, 2, 3],
            chosen: None,
        }
    }

    fn machine() -> Machine {
        let machine = firsttouch_machine::Machine::from_source("pack:2 [numa] core:2 pu:1").unwrap();
        Machine::of(&machine, None, CpuSelection::Cpus, |_| true).unwrap()
    }

    #[test]
    fn threads_in_one_queue_are_spread_and_stay_near() {
        let threads = vec![
            thread(11, 0.5, 0.5, 0),
            thread(12, 0.5, 0.5, 0),
            thread(13, 1.0, 0.0, 2),
            thread(14, 0.001, 0.0, 1),
        ];
        for strategy in ["best", "greedy-refine", "numa"] {
            let strategy = strategies::named(strategy).unwrap();
            let chosen =
                choose(threads.clone(), &machine(), strategy.as_ref(), &SolveOptions::default()).unwrap();
            assert_eq!((chosen.busy, chosen.moved), (3, 1), "{chosen:?}");
            assert_eq!((chosen.busiest_before, chosen.busiest_after), (2.0, 1.0));
            let affinity = affinity(&chosen);
            assert_eq!(affinity.keys().copied().collect::<Vec<_>>(), [11, 12, 13]);
            assert_eq!(affinity[&13], SingleCpu { start_ticks: 7, cpu: 2 });
            let mut first_two = [affinity[&11].cpu, affinity[&12].cpu];
            first_two.sort_unstable();
            if strategy.name() == "best" {
                assert_eq!(first_two, [0, 1], "the other CPU of their node is free");
            }
        }
    }

    #[test]
    fn what_is_balanced_is_left_alone() {
        let threads = vec![
            thread(11, 0.9, 0.0, 0),
            thread(12, 0.9, 0.0, 1),
            thread(13, 0.9, 0.0, 2),
            thread(14, 0.9, 0.0, 3),
        ];
        let best = strategies::named("best").unwrap();
        let chosen = choose(threads, &machine(), best.as_ref(), &SolveOptions::default()).unwrap();
        assert_eq!((chosen.moved, affinity(&chosen).len()), (0, 0));
        let nothing = choose(Vec::new(), &machine(), best.as_ref(), &SolveOptions::default()).unwrap();
        assert_eq!((nothing.busy, nothing.moved), (0, 0));
    }
}
