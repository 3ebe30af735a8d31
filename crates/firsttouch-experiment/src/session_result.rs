//! What a session proved.

use crate::race::ALPHA;
use crate::{Decision, Ratio, SessionRun, Verdict};
use serde::{Deserialize, Serialize};

/// What is decided about a configuration, by all of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Decided {
    /// Faster, slower or the same.
    pub verdict: Verdict,
    /// Blocks that had been run when this was decided; it has held since.
    pub blocks: u32,
    /// The ratio by all of its blocks.
    pub ratio: Ratio,
    /// The evidence against no difference, with all configurations counted: a difference is decided from 20 on, which without
    /// one is reached in at most one session of 20.
    pub e_value: f64,
}

impl Decided {
    pub(crate) fn of(decision: &Decision) -> Option<Decided> {
        let ratio = Ratio::of(&decision.contrast, ALPHA)?;
        let Decision { verdict, blocks, log_e, .. } = *decision;
        Some(Decided { verdict, blocks, ratio, e_value: log_e.exp() })
    }
}

/// What it would take until something is decided, with a probability of 90 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Forecast {
    /// More runs of the configuration, and as many of the baseline.
    pub runs: u32,
    /// The time that these runs take, in seconds.
    pub seconds: f64,
}

/// What was judged of the runs of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Its mean, in its own unit.
    pub mean: f64,
    /// Its standard deviation; `None` with fewer than two runs.
    pub deviation: Option<f64>,
}

/// What the runs of one configuration proved against the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigurationResult {
    /// Its timed runs in order, those of the confirmation phase not included.
    pub runs: Vec<SessionRun>,
    /// Mean wall-clock time in seconds.
    pub mean_wall_s: f64,
    /// Standard deviation of the wall-clock times in seconds; `None` with fewer than two runs.
    pub deviation_wall_s: Option<f64>,
    /// The same of what is judged, where that is not the wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// Ratio to the baseline by all its blocks; `None` for the baseline itself, and where nothing can be excluded yet.
    pub ratio: Option<Ratio>,
    /// What was decided against the baseline; `None` for the baseline itself, and while it is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// When undecided: what it would take; `None` with too few blocks to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// What is judged falls into more than one group (dip test, 5 % level).
    #[serde(default)]
    pub bimodal: bool,
}

impl ConfigurationResult {
    /// What was decided; `None` for the baseline, and while it is undecided.
    pub fn verdict(&self) -> Option<Verdict> {
        self.decided.map(|decided| decided.verdict)
    }
}

/// What fresh blocks say of the gain that the search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmationState {
    /// It is there.
    Confirmed,
    /// It is not: the same, or slower.
    Refuted,
    /// Too few blocks to say.
    NotYet,
}

/// Fresh blocks of what is recommended against the baseline only: the number that is printed large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// How it ended.
    pub state: ConfirmationState,
    /// The ratio of the fresh blocks; `None` where nothing can be excluded yet.
    pub ratio: Option<Ratio>,
    /// Where it is neither confirmed nor refuted: what that would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// The baseline's runs.
    pub baseline_runs: Vec<SessionRun>,
    /// The runs of what is recommended.
    pub recommended_runs: Vec<SessionRun>,
}

/// The result of [`crate::run`]: always valid, however early the session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionResult<E> {
    /// One result per configuration, in the order of the plan. A configuration that never ran has no runs and a mean of 0.
    pub configurations: Vec<ConfigurationResult>,
    /// Those that are faster than the baseline and cannot be told apart from the best of them, the fastest first.
    pub best: Vec<usize>,
    /// The one of them that asks least.
    pub recommended: Option<usize>,
    /// The fresh blocks of what is recommended and of the baseline, if any were begun.
    pub confirmation: Option<Confirmation>,
    /// Somebody asked to stop; what is here is what was finished.
    pub interrupted: bool,
    /// The configuration whose run failed, and how. The session ended there.
    pub failure: Option<(usize, E)>,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}
