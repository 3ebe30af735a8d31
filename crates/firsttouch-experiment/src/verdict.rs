//! What runs say about one configuration against another.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the runs say about a configuration against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval of the ratio lies above 1.
    Faster,
    /// The whole interval of the ratio lies below 1.
    Slower,
    /// The whole interval lies inside 1 ± 2 %.
    Same,
    /// None of these yet: more runs are needed.
    Undecided,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        })
    }
}

/// How many times faster than the baseline (baseline time / time), with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Geometric mean of the per-block ratios.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}
