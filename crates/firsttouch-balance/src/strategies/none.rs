//! No balancing: the baseline of every comparison.

use crate::strategy::check;
use crate::{Machine, Mapping, Options, Problem, Solution, Strategy, StrategyError};
use std::time::Instant;

/// Leaves every task where it is.
#[derive(Clone, Copy, Debug)]
pub struct KeepAll;

impl Strategy for KeepAll {
    fn name(&self) -> &'static str {
        "none"
    }

    fn solve(
        &self,
        problem: &Problem,
        machine: &Machine,
        start: &Mapping,
        options: &Options,
    ) -> Result<Solution, StrategyError> {
        check(problem, machine, start, options)?;
        let begun = Instant::now();
        Ok(Solution::new(start.clone(), begun.elapsed()))
    }
}
