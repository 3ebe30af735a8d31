//! What a session proved.

use crate::{Ratio, SessionRun, Verdict};
use serde::{Deserialize, Serialize};

/// What the runs of one configuration proved against the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigurationResult {
    /// Its timed runs in order, those of the confirmation phase not included.
    pub runs: Vec<SessionRun>,
    /// Mean wall-clock time in seconds.
    pub mean_wall_s: f64,
    /// Half-width of the 95 % Student-t interval of the mean, in seconds; `None` with fewer than two runs.
    pub ci95_wall_s: Option<f64>,
    /// Ratio to the baseline; `None` for the baseline itself or with fewer than two blocks.
    pub ratio: Option<Ratio>,
    /// The verdict against the baseline, Holm-adjusted; `None` for the baseline itself.
    pub verdict: Option<Verdict>,
    /// When undecided: about how many more runs it would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u32>,
    /// The wall times fall into more than one group (dip test, 5 % level).
    #[serde(default)]
    pub bimodal: bool,
    /// Dropped after this block because it was certainly worse than the best; `None` if it ran to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_after_block: Option<u32>,
}

/// Fresh blocks of the winner against the baseline only: the number that is printed large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// The ratio of the fresh blocks.
    pub ratio: Option<Ratio>,
    /// Its verdict.
    pub verdict: Verdict,
    /// The baseline's runs.
    pub baseline_runs: Vec<SessionRun>,
    /// The winner's runs.
    pub winner_runs: Vec<SessionRun>,
}

/// The result of [`crate::run`]: always valid, however early the session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionResult<E> {
    /// One result per configuration, in the order of the plan. A configuration that never ran has no runs and a mean of 0.
    pub configurations: Vec<ConfigurationResult>,
    /// Index of the configuration that the search found fastest, if its verdict is faster; or of the one that is as fast
    /// and intrudes less.
    pub winner: Option<usize>,
    /// The fastest of the search where the winner took its place, and how many times faster the winner is than it, by the
    /// blocks of the search, with an interval.
    pub tied_with: Option<(usize, Ratio)>,
    /// The fresh blocks of winner and baseline, if any were begun.
    pub confirmation: Option<Confirmation>,
    /// Somebody asked to stop; what is here is what was finished.
    pub interrupted: bool,
    /// The configuration whose run failed, and how. The session ended there.
    pub failure: Option<(usize, E)>,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}
