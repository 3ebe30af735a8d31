//! No balancing: the baseline of every comparison.

use crate::{Answer, Asked, Strategy, StrategyError};

/// Leaves every task where it is.
#[derive(Clone, Copy, Debug)]
pub struct KeepAll;

impl Strategy for KeepAll {
    fn name(&self) -> &'static str {
        "none"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        Ok(asked.start.clone().into())
    }
}
