//! Greedy scheduling that keeps a task on its initial core while its load fits there (Charm++'s GreedyRefine, 2017).

use super::compare::{Finish, heaviest_first};
use super::greedy::greedy;
use crate::{Answer, Asked, Machine, Mapping, Problem, Strategy, StrategyError};

/// How much later than greedy scheduling the last core may be done: Charm++'s default.
const SLACK: f64 = 1.03;

/// Keeps tasks on their initial cores up to what greedy scheduling reaches.
#[derive(Clone, Copy, Debug)]
pub struct GreedyRefine;

impl Strategy for GreedyRefine {
    fn name(&self) -> &'static str {
        "greedy-refine"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, .. } = *asked;
        let cap = greedy(problem, machine, start).1 * SLACK;
        Ok(keep_on_initial_core(problem, machine, start, cap).into())
    }
}

/// The heaviest first: on its initial core while that is done by `cap`, else on the core that is done first.
pub(super) fn keep_on_initial_core(
    problem: &Problem,
    machine: &Machine,
    start: &Mapping,
    cap: f64,
) -> Mapping {
    let mut finish = Finish::of(problem, machine, start, |task| problem.tasks()[task].pinned);
    let mut mapping = start.clone();
    for task in heaviest_first(problem) {
        let load = problem.tasks()[task as usize].load;
        let home = start.core(task as usize);
        let core = if finish.with(home, load) <= cap { home } else { finish.first_with(load) };
        finish.add(core, load);
        mapping.put(task as usize, core);
    }
    mapping
}
