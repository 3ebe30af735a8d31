//! What a session is to do, decided before its first run.

use crate::{Objective, TimedRun};
use std::time::Duration;

/// The configurations and the rules of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Names of the configurations; the first one is the baseline.
    pub configurations: Vec<String>,
    /// Seed of the block orders and of the environment offsets.
    pub seed: u64,
    /// What is judged of the runs.
    pub objective: Objective,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
    /// A configuration runs until its ratio is known this well, too: half the width of the interval, as a share of the ratio.
    pub precision: Option<f64>,
    /// Most runs of one configuration in each of the two phases.
    pub max_runs: Option<u32>,
    /// Most time for the whole session, measured by [`crate::Launcher::elapsed`].
    pub budget: Option<Duration>,
    /// Go on with those that are faster than the baseline until it is known which of them is the best to recommend.
    pub settle_best: bool,
    /// Run fresh blocks of what is recommended and of the baseline.
    pub confirm: bool,
    /// How much each configuration asks of the program and of the machine, in their order; what is missing counts as 0. Of those
    /// that cannot be told apart from the best, the lowest number is recommended. Without any, the fastest is.
    pub intrusion: Vec<u32>,
    /// An untimed run of each configuration, in their order; empty where there was none. It proves nothing. Where the budget is too
    /// short for all, it says what a run will take, and which of those that have not run yet are the most promising.
    pub untimed: Vec<TimedRun>,
    /// Memory was cold in the untimed runs, or not, by chance, as it is in virtual machines that give it back to their host. First touch, which
    /// takes longer then, is the system's time; so user time is what promises, where the wall time is judged.
    pub cold: bool,
}

impl Plan {
    /// The designed rules: the wall time is judged, same within 2 %, no caps, the best settled and confirmed.
    pub fn new(configurations: Vec<String>, seed: u64) -> Self {
        Plan {
            configurations,
            seed,
            objective: Objective::default(),
            same_band: 0.02,
            precision: None,
            max_runs: None,
            budget: None,
            settle_best: true,
            confirm: true,
            intrusion: Vec::new(),
            untimed: Vec::new(),
            cold: false,
        }
    }

    /// Without time spent on telling those apart that are faster than the baseline.
    pub fn quick(mut self) -> Self {
        self.settle_best = false;
        self
    }

    /// How much the configuration at this place asks.
    pub(crate) fn rank(&self, configuration: usize) -> u32 {
        self.intrusion.get(configuration).copied().unwrap_or(0)
    }

    /// The logarithm of how many times better than the baseline its untimed run was; 0 where that is not known.
    pub(crate) fn promised(&self, configuration: usize) -> f64 {
        let log_loss = |at: usize| {
            let run = self.untimed.get(at)?;
            match self.cold && self.objective.is_wall() {
                true => Some(run.user_s).filter(|user_s| *user_s > 0.0).map(f64::ln),
                false => self.objective.log_loss(run),
            }
        };
        log_loss(0).zip(log_loss(configuration)).map_or(0.0, |(baseline, own)| baseline - own)
    }
}
