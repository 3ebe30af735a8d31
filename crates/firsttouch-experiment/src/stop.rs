//! When a phase is precise enough, and how far off that is.

use crate::Plan;
use crate::assess::ALPHA;
use crate::statistics::student::values_needed;

/// A single pass may be luck: the variance of few runs is often seen too small.
const PASSES_IN_A_ROW: u32 = 2;

/// The precision rule. It looks at the spread of each configuration and never at differences between them, so the
/// time at which it stops says nothing about who is faster and the tests keep their level.
#[derive(Debug, Default)]
pub(crate) struct PrecisionRule {
    passes: u32,
}

impl PrecisionRule {
    /// Whether the phase may end at this block end, given the relative error of every live configuration.
    pub(crate) fn satisfied(
        &mut self,
        plan: &Plan,
        complete_blocks: u32,
        mut relative_errors: impl Iterator<Item = Option<f64>>,
    ) -> bool {
        let precise = relative_errors.all(|error| error.is_some_and(|error| error <= plan.precision));
        self.passes = if precise { self.passes + 1 } else { 0 };
        self.passes >= PASSES_IN_A_ROW && complete_blocks >= plan.min_blocks
    }

    /// About how many more runs a mean needs, from its relative standard deviation.
    pub(crate) fn remaining_runs(&self, plan: &Plan, runs: u32, relative_deviation: f64) -> u32 {
        let needed = values_needed(relative_deviation, plan.precision, ALPHA)
            .max(plan.min_blocks)
            .max(runs + PASSES_IN_A_ROW.saturating_sub(self.passes));
        plan.max_runs.map_or(needed, |most| needed.min(most)).saturating_sub(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan::new(vec!["baseline".to_owned()], 1)
    }

    #[test]
    fn stops_at_the_second_pass_in_a_row() {
        let (plan, mut rule) = (plan(), PrecisionRule::default());
        let errors = [0.04, 0.06, 0.05, 0.049];
        let ends: Vec<bool> = errors
            .iter()
            .zip(20..)
            .map(|(&error, blocks)| rule.satisfied(&plan, blocks, [Some(error)].into_iter()))
            .collect();
        assert_eq!(ends, [false, false, false, true]);
    }

    #[test]
    fn not_before_the_smallest_number_of_blocks() {
        let (plan, mut rule) = (plan(), PrecisionRule::default());
        let first = (1..20).find(|&blocks| rule.satisfied(&plan, blocks, [Some(0.001)].into_iter()));
        assert_eq!(first, Some(10));
        let mut rule = PrecisionRule::default();
        let quick = plan.quick();
        assert_eq!(
            (1..20).find(|&blocks| rule.satisfied(&quick, blocks, [Some(0.001)].into_iter())),
            Some(5)
        );
    }

    #[test]
    fn one_imprecise_configuration_keeps_all_running() {
        let (plan, mut rule) = (plan(), PrecisionRule::default());
        for blocks in 10..30 {
            assert!(!rule.satisfied(&plan, blocks, [Some(0.01), Some(0.051)].into_iter()));
            assert!(!rule.satisfied(&plan, blocks, [Some(0.01), None].into_iter()));
        }
    }

    #[test]
    fn what_remains_counts_down_to_the_caps() {
        let (mut plan, rule) = (plan(), PrecisionRule::default());
        assert_eq!(rule.remaining_runs(&plan, 4, 0.01), 6);
        // (1.99 * 0.2 / 0.05)^2 = 64 runs.
        assert_eq!(rule.remaining_runs(&plan, 20, 0.2), 64 - 20);
        plan.max_runs = Some(30);
        assert_eq!(rule.remaining_runs(&plan, 20, 0.2), 10);
    }
}
