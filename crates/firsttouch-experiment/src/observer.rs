//! PhaseProgress, for those who watch. Called between runs only, so that drawing it disturbs no measurement.

use crate::{Phase, RunRequest, TimedRun};
use crate::{Ratio, Verdict};
use std::time::Duration;

/// Where one configuration stands at a block end.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSummary {
    /// Index into [`crate::Plan::configurations`].
    pub configuration: usize,
    /// Runs so far in this phase.
    pub runs: u32,
    /// Mean wall-clock time in seconds.
    pub mean_wall_s: Option<f64>,
    /// Half-width of the 95 % interval of the mean, in seconds.
    pub ci95_wall_s: Option<f64>,
    /// Half-width over mean: what the precision rule looks at.
    pub relative_error: Option<f64>,
    /// Ratio to the baseline, Holm-adjusted; `None` for the baseline.
    pub ratio: Option<Ratio>,
    /// What the ratio would say if the phase ended now; `None` for the baseline.
    pub verdict: Option<Verdict>,
    /// About how many more runs its mean needs; `None` before the variance is known.
    pub remaining_runs: Option<u32>,
    /// The block after which it was dropped.
    pub dropped_after_block: Option<u32>,
}

/// Where a phase stands at a block end.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseProgress {
    /// The phase.
    pub phase: Phase,
    /// The block that just ended, from 0.
    pub block: u32,
    /// The configurations that take part in this phase, in the order of the plan.
    pub configurations: Vec<LiveSummary>,
    /// Configurations dropped at this block end.
    pub dropped: Vec<usize>,
    /// Blocks until the phase is likely to end.
    pub remaining_blocks: Option<u32>,
    /// Runs until the phase is likely to end, over all live configurations.
    pub remaining_runs: Option<u32>,
    /// Time until the phase is likely to end, never more than the budget leaves.
    pub remaining: Option<Duration>,
}

/// Follows a session. Every method does nothing unless written.
pub trait Observer {
    /// A run is about to start.
    fn run_started(&mut self, request: &RunRequest) {
        let _ = request;
    }

    /// A run ended well.
    fn run_finished(&mut self, request: &RunRequest, timed: &TimedRun) {
        let _ = (request, timed);
    }

    /// Every live configuration has run once more.
    fn block_finished(&mut self, progress: &PhaseProgress) {
        let _ = progress;
    }
}

/// An observer that does not look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
