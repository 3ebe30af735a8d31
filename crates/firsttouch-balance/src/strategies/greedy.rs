//! List scheduling, the longest first (Graham 1969; Charm++'s GreedyLB): blind to messages and to where tasks are.

use super::compare::{Finish, heaviest_first};
use crate::{Answer, Asked, Machine, Mapping, Problem, Strategy, StrategyError};

/// Puts the heaviest task on the core that is done first, then the next.
#[derive(Clone, Copy, Debug)]
pub struct Greedy;

impl Strategy for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, .. } = *asked;
        Ok(greedy(problem, machine, start).0.into())
    }
}

/// The mapping, and when its last core is done.
pub(super) fn greedy(problem: &Problem, machine: &Machine, start: &Mapping) -> (Mapping, f64) {
    let mut finish = Finish::of(problem, machine, start, |task| problem.tasks()[task].pinned);
    let mut mapping = start.clone();
    for task in heaviest_first(problem) {
        let load = problem.tasks()[task as usize].load;
        let core = finish.first_with(load);
        finish.add(core, load);
        mapping.put(task as usize, core);
    }
    (mapping, finish.last())
}
