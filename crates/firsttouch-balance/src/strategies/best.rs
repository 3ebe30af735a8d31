//! Ours: keeps tasks on their initial cores, relieves only the cores that are too busy, and puts what moves where distances are short.
//!
//! The first answer: tasks leave cores that are not within the tolerance, those first that cost the least for each second of
//! relief; then moves and exchanges save cost (bytes times distances, and what migrations are worth) with no core
//! above the tolerance. Tasks that are nowhere yet begin from the best of blocks, a hierarchical mapping and what the simpler
//! strategies answer. A few tasks are tried in all ways. Rounds of annealing and of new mappings follow: as many as were asked for, as
//! a time limit leaves room for, or, for tasks that are all nowhere yet, as bring something.
//!
//! The simpler strategies are always asked, too, and one of their answers is taken where it is better: no memory that fits there is
//! filled over here, cores are done as early, and what is as early and moves no more tasks costs as much at least. Only where
//! 20,000 tasks or more have initial cores and cores are done within the tolerance, those that do not keep tasks there are not asked.
//!
//! Where the machine says what receiving messages costs and that is to be counted, the mapping is worked at once more with it.
//!
//! A start within the tolerance is left alone, unless cheaper distances are asked for. The answer is never worse than
//! the start by makespan, and at the same makespan by cost; of tasks that are nowhere yet the start is only made up, and a
//! makespan within the tolerance as good as another.

use super::anneal::anneal;
use super::assign::Assignment;
use super::context::SearchContext;
use super::exhaustive;
use super::graph::Graph;
use super::greedy_refine::keep_on_initial_core;
use super::local_search::{Deadline, lower, relieve, save};
use super::makespan::refine_makespan;
use super::multilevel::Effort;
use super::portfolio::Portfolio;
use super::rounds::{Choice, Round, Rounds};
use super::search::State;
use super::treematch::{multisect, patient, quick};
use crate::receiving::Receiving;
use crate::{
    Answer, Asked, Machine, Mapping, Metrics, Point, Problem, SolveOptions, Strategy, StrategyError, metrics,
};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use std::cmp::Ordering;

/// Heat of a round from the best so far.
const WARM: f64 = 0.1;
/// With as many tasks that are nowhere yet only the hierarchical mapping is worked at, and of tasks with homes only those
/// strategies are asked that keep tasks there, unless cores are late.
const MANY: usize = 20_000;
/// Makespans that differ by less than this share are the same.
const ROUNDING: f64 = 1e-9;
/// What is tried for the front.
const FRONT_TOLERANCES: [f64; 7] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
const FRONT_WEIGHTS: [f64; 4] = [0.0, 0.25, 1.0, 4.0];

/// The strategy to use.
#[derive(Clone, Copy, Debug)]
pub struct Best;

impl Strategy for Best {
    fn name(&self) -> &'static str {
        "best"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, options, begun } = *asked;
        let deadline = Deadline(options.time_limit.and_then(|limit| begun.checked_add(limit)));
        let mut simpler = Portfolio::of(asked);
        let (mut mapping, rounds, cut_short) =
            search(problem, machine, start, options, deadline, Some(&mut simpler))?;
        let counts =
            options.receiving && !problem.is_empty() && !is_good_enough(problem, machine, start, options);
        if let Some(receiving) = Receiving::of(machine).filter(|_| counts) {
            mapping = refine_makespan(asked, &mut simpler, &receiving, mapping, deadline)?;
            if receiving.last(problem, machine, &mapping, start)
                > receiving.last(problem, machine, start, start)
            {
                mapping = start.clone();
            }
        }
        Ok(Answer { rounds, cut_short, ..mapping.into() })
    }

    fn front(&self, asked: &Asked<'_>, found: &Mapping) -> Vec<Point> {
        front(asked.problem, asked.machine, asked.start, asked.options, found)
    }
}

/// The mapping, how many rounds were made, and whether the deadline ended them. With a portfolio the answer is never worse than any
/// in it.
fn search(
    problem: &Problem,
    machine: &Machine,
    start: &Mapping,
    options: &SolveOptions,
    deadline: Deadline,
    mut simpler: Option<&mut Portfolio<'_>>,
) -> Result<(Mapping, u32, bool), StrategyError> {
    if problem.is_empty() || is_good_enough(problem, machine, start, options) {
        return Ok((start.clone(), 0, false));
    }
    let makespan = metrics::work(problem, machine, start).into_iter().fold(0.0, f64::max);
    let target = target(problem, machine, options.tolerance);
    let all_initial = all_have_initial_cores(problem);
    let fits = metrics::memory_over(problem, machine, start) == 0;
    let graph = Graph::of(problem);
    let from = graph.cores_of(start);
    let context = SearchContext::new(problem, machine, &graph, &from, options);
    // A start that is balanced better than asked for stays so; what is nowhere yet has none.
    let target = if fits && all_initial { target.min(makespan) } else { target };
    let enough = if all_initial { 0.0 } else { target };
    let finish = |cores: &[u32]| {
        let mapping = graph.mapping_of(cores);
        if is_worse(problem, machine, &mapping, start, enough) { start.clone() } else { mapping }
    };
    if exhaustive::is_tiny(&context) {
        let cores = exhaustive::cheapest(problem, &context, &from, target);
        return Ok((cores.map_or_else(|| start.clone(), |cores| finish(&cores)), 0, false));
    }
    let mut search = Search { problem, context, target, deadline, cut_short: false };
    let mut best = search.first_answer(start, &from, all_initial, options, simpler.as_deref_mut())?;
    if let Some(simpler) = &mut simpler {
        search.take_simpler(simpler, &mut best)?;
    }
    let rounds = search.rounds(&from, &mut best, options);
    if let Some(simpler) = simpler.filter(|_| rounds > 0 && !search.is_homeless()) {
        // After rounds that moved more tasks, an answer may no longer move too many.
        search.take_simpler(simpler, &mut best)?;
    }
    Ok((finish(best.state.cores()), rounds, search.cut_short))
}

fn all_have_initial_cores(problem: &Problem) -> bool {
    problem.tasks().iter().all(|task| task.home.is_some())
}

/// Whether a start is left alone.
fn is_good_enough(problem: &Problem, machine: &Machine, start: &Mapping, options: &SolveOptions) -> bool {
    let makespan = metrics::work(problem, machine, start).into_iter().fold(0.0, f64::max);
    all_have_initial_cores(problem)
        && makespan <= target(problem, machine, options.tolerance)
        && !options.improve
        && metrics::memory_over(problem, machine, start) == 0
}

/// The makespan that is good enough: the mean with the tolerance, or what no mapping is below.
fn target(problem: &Problem, machine: &Machine, tolerance: f64) -> f64 {
    let (mut work, mut speed) = (problem.total_load(), 0.0);
    for core in machine.cores() {
        work += core.background * core.speed;
        speed += core.speed;
    }
    // Sums of the same loads differ in their last digits by the order of adding.
    (work / speed * (1.0 + tolerance)).max(metrics::lower_bound(problem, machine)) * (1.0 + 1e-12)
}

/// By memory that does not fit, then makespan where that is more than enough, then cost.
fn is_worse(problem: &Problem, machine: &Machine, mapping: &Mapping, start: &Mapping, enough: f64) -> bool {
    let [new, old] = [mapping, start].map(|one| Metrics::of(problem, machine, one, start));
    let key = |metrics: &Metrics| (metrics.memory_over, metrics.makespan_s.max(enough), metrics.cost);
    key(&new) > key(&old)
}

/// A mapping that was worked at.
#[derive(Clone, Debug)]
struct Found {
    state: State,
    /// Bytes that do not fit into the memory of their nodes.
    over: u64,
    makespan: f64,
    cost: f64,
}

struct Search<'a> {
    problem: &'a Problem,
    context: SearchContext<'a>,
    target: f64,
    deadline: Deadline,
    cut_short: bool,
}

impl Search<'_> {
    /// Whether all tasks are nowhere yet.
    fn is_homeless(&self) -> bool {
        self.context.homes.iter().all(Option::is_none)
    }

    fn first_answer(
        &mut self,
        start: &Mapping,
        from: &[u32],
        all_initial: bool,
        options: &SolveOptions,
        simpler: Option<&mut Portfolio<'_>>,
    ) -> Result<Found, StrategyError> {
        let state = State::new(&self.context, from.to_vec());
        // Where very many are nowhere, where they are not is not worth working at.
        let worth = all_initial || self.context.is_tight() || self.context.graph.len() < MANY;
        let mut best = if worth { self.local_search(state) } else { self.found(state) };
        if worth && best.makespan > self.target {
            // Only cores above the target were relieved, and that was not enough: let all tasks fall into place anew.
            let cores = keep_on_initial_core(self.problem, self.context.machine, start, self.target);
            self.consider(self.context.graph.cores_of(&cores), &mut best);
        }
        match simpler.filter(|_| self.is_homeless()) {
            _ if all_initial => {}
            // The same mapping as below, which is not made twice.
            Some(simpler) => {
                let cores = self.context.graph.cores_of(simpler.answer(Portfolio::TREEMATCH)?);
                self.consider(cores, &mut best);
            }
            None => {
                let mut random = ChaCha8Rng::seed_from_u64(options.seed);
                self.begin(from, options.tolerance, quick(self.problem), &mut random, &mut best);
            }
        }
        Ok(best)
    }

    /// Works at a hierarchical mapping of those tasks that are nowhere yet, and gives its cost.
    fn begin(
        &mut self,
        from: &[u32],
        tolerance: f64,
        effort: Effort,
        random: &mut ChaCha8Rng,
        best: &mut Found,
    ) -> f64 {
        let SearchContext { graph, machine, .. } = self.context;
        let cores = multisect(self.problem, machine, graph, from, effort, tolerance, random);
        let cores = cores.into_iter().enumerate();
        let kept = cores.map(|(task, core)| self.context.homes[task].unwrap_or(core));
        self.consider(kept.collect(), best)
    }

    /// Works at a mapping, if it keeps the budget, takes it if it is better, and gives its cost.
    fn consider(&mut self, cores: Vec<u32>, best: &mut Found) -> f64 {
        let state = State::new(&self.context, cores);
        if !(state.within_budget(&self.context) && state.memory_fits(&self.context)) {
            return f64::INFINITY;
        }
        let found = self.local_search(state);
        let cost = found.cost;
        self.take_better(found, best);
        cost
    }

    fn take_better(&self, found: Found, best: &mut Found) {
        // Below the target a makespan is as good as another.
        let key = |found: &Found| (found.over, found.makespan.max(self.target), found.cost);
        if key(&found) < key(best) {
            *best = found;
        }
    }

    fn local_search(&mut self, mut state: State) -> Found {
        relieve(&self.context, &mut state, self.target, self.deadline);
        lower(&self.context, &mut state, self.target, self.deadline);
        let cap = self.target.max(state.makespan(&self.context));
        self.cut_short |= save(&self.context, &mut state, cap, self.deadline);
        self.found(state)
    }

    fn found(&self, state: State) -> Found {
        let (makespan, cost) = (state.makespan(&self.context), self.context.cost(state.cores()));
        let over = if self.context.is_tight() { state.memory_over(&self.context) } else { 0 };
        Found { state, over, makespan, cost }
    }

    /// Rounds of the search: as many as asked for, or of tasks that are all nowhere yet as many as bring something.
    fn rounds(&mut self, from: &[u32], best: &mut Found, options: &SolveOptions) -> u32 {
        let free = self.is_homeless();
        let assignment = Assignment::of(&self.context, self.target);
        let asked = match (options.rounds, options.time_limit) {
            (None, Some(_)) => Some(u32::MAX),
            // Something that runs already waits for its mapping.
            (None, None) if !free => Some(0),
            (rounds, _) => rounds,
        };
        let choice = match (&assignment, free) {
            (Some(_), _) => Choice::Assign,
            (None, true) => Choice::AnewOrAnneal,
            (None, false) => Choice::Anneal,
        };
        let mut rounds = Rounds::new(self.context.graph, choice, asked);
        while let Some(round) = rounds.next() {
            let cheapest = best.cost <= 0.0 && best.makespan <= self.target;
            if asked.is_none() && cheapest {
                break;
            }
            if self.deadline.is_over() {
                self.cut_short = true;
                break;
            }
            let mut random = ChaCha8Rng::seed_from_u64(options.seed);
            random.set_stream(u64::from(rounds.made()));
            let (makespan, cost) = (best.makespan.max(self.target), best.cost);
            let (found, cut) = match (round, &assignment) {
                (Round::Assign(steps), Some(assignment)) => {
                    let (cores, cut) = assignment.anneal(steps, &mut random, self.deadline);
                    (self.consider(cores, best), cut)
                }
                (Round::Anneal(steps), _) => self.anneal(steps, best, &mut random),
                (Round::Anew | Round::Assign(_), _) => {
                    let effort = patient(self.problem);
                    (self.begin(from, options.tolerance, effort, &mut random, best), false)
                }
            };
            self.cut_short |= cut;
            if cut {
                break;
            }
            rounds.note(round, cost, best.cost, found, best.makespan.max(self.target) < makespan);
        }
        rounds.made()
    }

    /// Anneals the best so far, and gives the cost found and whether the deadline ended it.
    fn anneal(&mut self, steps: u64, best: &mut Found, random: &mut ChaCha8Rng) -> (f64, bool) {
        let mut state = best.state.clone();
        let cap = self.target.max(best.makespan);
        let cut = anneal(&self.context, &mut state, cap, WARM, steps, random, self.deadline);
        self.cut_short |= save(&self.context, &mut state, cap, self.deadline);
        let found = self.found(state);
        let cost = found.cost;
        self.take_better(found, best);
        (cost, cut)
    }

    /// Takes the answer of a simpler strategy where it is better: cores are done earlier, or as early for less cost without that more
    /// tasks move. Of tasks that are all nowhere yet each answer is a beginning, too.
    fn take_simpler(&mut self, simpler: &mut Portfolio<'_>, best: &mut Found) -> Result<(), StrategyError> {
        let homeless = self.is_homeless();
        let many = self.context.graph.len() >= MANY;
        for place in Portfolio::places(many && !homeless && best.makespan <= self.target) {
            if self.deadline.is_over() {
                self.cut_short = true;
                break;
            }
            let cores = self.context.graph.cores_of(simpler.answer(place)?);
            let state = State::new(&self.context, cores);
            if !state.within_budget(&self.context) {
                continue;
            }
            let found = self.found(state);
            if homeless && !many && found.over == 0 {
                let worked = self.local_search(found.state.clone());
                self.take_better(worked, best);
            }
            if self.beats(&found, best) {
                *best = found;
            }
        }
        Ok(())
    }

    fn beats(&self, found: &Found, best: &Found) -> bool {
        let [late, least] = [found, best].map(|found| found.makespan.max(self.target));
        let moves_no_more = || {
            let [found, best] = [found, best].map(|found| found.state.moved());
            found.0 <= best.0 && found.1 <= best.1
        };
        match found.over.cmp(&best.over) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal if late < least * (1.0 - ROUNDING) => true,
            Ordering::Equal => late <= least * (1.0 + ROUNDING) && found.cost < best.cost && moves_no_more(),
        }
    }
}

/// Mappings of other tolerances and prices of migrations, those left out that another is at least as good as in everything.
fn front(
    problem: &Problem,
    machine: &Machine,
    start: &Mapping,
    options: &SolveOptions,
    solution: &Mapping,
) -> Vec<Point> {
    let point = |mapping: Mapping, tolerance: f64| {
        let metrics = Metrics::of(problem, machine, &mapping, start);
        let (makespan_s, cost) = (metrics.makespan_s, metrics.cost);
        Point { mapping, tolerance, makespan_s, cost, migrations: metrics.migrations.tasks }
    };
    let mut points =
        vec![point(start.clone(), options.tolerance), point(solution.clone(), options.tolerance)];
    for tolerance in FRONT_TOLERANCES {
        for migration_weight in FRONT_WEIGHTS {
            let options = SolveOptions {
                tolerance,
                migration_weight,
                improve: true,
                rounds: Some(0),
                time_limit: None,
                ..*options
            };
            let found = search(problem, machine, start, &options, Deadline(None), None);
            points.extend(found.map(|(mapping, _, _)| point(mapping, tolerance)));
        }
    }
    let covers = |a: &Point, b: &Point| {
        a.makespan_s <= b.makespan_s && a.cost <= b.cost && a.migrations <= b.migrations
    };
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        if !kept.iter().any(|other| covers(other, &point)) {
            kept.retain(|other| !covers(&point, other));
            kept.push(point);
        }
    }
    kept.sort_by(|a, b| a.makespan_s.total_cmp(&b.makespan_s).then(a.cost.total_cmp(&b.cost)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Task};

    #[test]
    fn memory_is_respected() {
        let machine = Machine::parse("2:2 + 1:10").unwrap().with_node_memory(&[100, 100]);
        // All are on one node, where their traffic would keep them, but only two fit there.
        let tasks = (0..4).map(|task| Task { memory: 50, ..Task::new(1.0).at(task / 2) }).collect();
        let message = |from: u32, to: u32| Message { from, to, count: 1.0, bytes: 100.0 };
        let problem =
            Problem::new(tasks, &[message(0, 1), message(1, 2), message(2, 3), message(3, 0)]).unwrap();
        let start = problem.start(&machine).unwrap();
        let options = SolveOptions { tolerance: 3.0, ..SolveOptions::default() };
        let solution = Best.solve(&problem, &machine, &start, &options).unwrap();
        assert_eq!(Metrics::of(&problem, &machine, &solution.mapping, &start).memory_over, 0);
    }
}
