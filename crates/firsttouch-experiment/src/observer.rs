//! Progress, for those who watch. Called between runs only, so that drawing it disturbs no measurement.

use crate::{Forecast, Phase, RunRequest, TimedRun};
use crate::{Ratio, Verdict};
use std::time::Duration;

/// Where one configuration stands at a block end.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSummary {
    /// Index into [`crate::Plan::configurations`].
    pub configuration: usize,
    /// Runs so far in this phase.
    pub runs: u32,
    /// Mean of what is judged, in its own unit.
    pub mean: Option<f64>,
    /// Ratio to the baseline so far, with the interval that may be read at any time; `None` for the baseline.
    pub ratio: Option<Ratio>,
    /// What is decided, and after how many blocks it was.
    pub decided: Option<(Verdict, u32)>,
    /// What it would take to decide; `None` for the baseline, for what is decided, before that can be told, and where nobody wants forecasts.
    pub forecast: Option<Forecast>,
    /// Whether something is left to decide about it: it runs on, if the time suffices.
    pub is_live: bool,
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
    /// Blocks until all is likely to be decided, by the forecasts.
    pub remaining_blocks: Option<u32>,
    /// Time until then, never more than the budget leaves.
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

    /// Whether [`block_finished`](Observer::block_finished) is to tell what is ahead, too: forecasts take longer than all else that a
    /// session computes.
    fn wants_forecasts(&self) -> bool {
        true
    }

    /// Every live configuration has run once more.
    fn block_finished(&mut self, progress: &PhaseProgress) {
        let _ = progress;
    }
}

/// An observer that does not look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn wants_forecasts(&self) -> bool {
        false
    }
}
