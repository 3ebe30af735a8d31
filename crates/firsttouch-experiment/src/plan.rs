//! What a session is to do, decided before its first run.

use std::time::Duration;

/// The configurations and the rules of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Names of the configurations; the first one is the baseline.
    pub configurations: Vec<String>,
    /// Seed of the block orders and of the environment offsets.
    pub seed: u64,
    /// Blocks that must be complete before the precision may end a phase.
    pub min_blocks: u32,
    /// Relative half-width of the 95 % interval of each mean that ends a phase.
    pub precision: f64,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
    /// Most runs of one configuration in each of the two phases.
    pub max_runs: Option<u32>,
    /// Most time for the whole session, measured by [`crate::Launcher::elapsed`]. With a confirmation to come, the
    /// search ends after two thirds of it.
    pub budget: Option<Duration>,
    /// Run fresh blocks of winner and baseline after the search.
    pub confirm: bool,
    /// How much each configuration intrudes, in their order; what is missing counts as 0. Among those that are as fast as
    /// the fastest, the lowest number wins. Without any, the fastest wins.
    pub intrusion: Vec<u32>,
}

impl Plan {
    /// The designed rules: 10 blocks at least, means known to 5 %, same within 2 %, no caps, with confirmation.
    pub fn new(configurations: Vec<String>, seed: u64) -> Self {
        Plan {
            configurations,
            seed,
            min_blocks: 10,
            precision: 0.05,
            same_band: 0.02,
            max_runs: None,
            budget: None,
            confirm: true,
            intrusion: Vec::new(),
        }
    }

    /// Half as many blocks at least. The price: intervals of a mean with 10 % noise then cover the truth in 92.5 %
    /// of sessions instead of 93.5 %.
    pub fn quick(mut self) -> Self {
        self.min_blocks = 5;
        self
    }
}
