//! Values that were measured elsewhere, decided by the rules of `tune`: in each session, and over several of them.

mod across;
mod remarks;
mod session;

pub use across::{AcrossSessions, Interval};
pub use session::{ComparedConfiguration, ComparedSession};

use crate::{MeasuredSession, Metric, Objective};
use serde::{Deserialize, Serialize};
use session::Seen;

/// How to compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparisonRules {
    /// The configuration that the others are compared with.
    pub baseline: String,
    /// What the values are of, as a metric of `tune`; `None` where nothing says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub metric: Option<Metric>,
    /// More is better, as with requests per second; ratios are then value by baseline's value.
    #[serde(default)]
    pub higher_is_better: bool,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
}

impl ComparisonRules {
    /// What is judged; values of which nothing says what they are count as wall times.
    pub fn objective(&self) -> Objective {
        let metric = self.metric.clone().unwrap_or_default();
        Objective { metric, higher_is_better: self.higher_is_better }
    }
}

/// What the values of all sessions say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// How they were compared; in a document these keys stand beside the others.
    #[serde(flatten)]
    pub rules: ComparisonRules,
    /// Each session by itself.
    pub sessions: Vec<ComparedSession>,
    /// What they say together, of each configuration that two sessions or more compared with the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub across: Vec<AcrossSessions>,
    /// What has to be known to read the verdicts.
    pub notes: Vec<String>,
}

/// Compares all configurations with the baseline, in each session that has it and over all of them.
///
/// Runs in blocks are judged as a session of `tune` is ([`crate::Decider`], block by block), runs without by the contrast of
/// [`crate::statistics::unpaired`]; sessions are put together by [`crate::statistics::sessions`].
///
/// ```
/// use firsttouch_experiment::{
///     ComparisonRules, MeasuredConfiguration, MeasuredRun, MeasuredSession, Verdict, compare,
/// };
///
/// let runs = |values: [f64; 8]| values.map(|value| MeasuredRun { value, ..MeasuredRun::default() }).to_vec();
/// let session = MeasuredSession {
///     name: "monday".to_owned(),
///     configurations: vec![
///         MeasuredConfiguration { name: "old".to_owned(), runs: runs([5.1, 5.0, 5.2, 5.1, 5.0, 5.1, 5.2, 5.0]) },
///         MeasuredConfiguration { name: "new".to_owned(), runs: runs([4.1, 4.2, 4.1, 4.0, 4.1, 4.2, 4.0, 4.1]) },
///     ],
/// };
/// let baseline = "old".to_owned();
/// let rules = ComparisonRules { baseline, metric: None, higher_is_better: false, same_band: 0.02 };
/// let comparison = compare(&[session], rules);
/// let new = &comparison.sessions[0].configurations[1];
/// assert_eq!(new.decided.map(|decided| decided.verdict), Some(Verdict::Faster));
/// ```
pub fn compare(sessions: &[MeasuredSession], rules: ComparisonRules) -> Comparison {
    let (sessions, seen): (Vec<ComparedSession>, Vec<Vec<Seen>>) =
        sessions.iter().map(|session| session::judge(session, &rules)).unzip();
    let across = across::put_together(&seen.concat(), rules.same_band);
    let notes = remarks::notes(&sessions, &across);
    Comparison { rules, sessions, across, notes }
}
