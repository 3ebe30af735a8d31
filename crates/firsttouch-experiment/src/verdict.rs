//! What runs say about one configuration against another.

use crate::statistics::contrast::Contrast;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Natural logarithms beyond this are cut off: their exponentials would not survive a JSON document.
const LARGEST_LOGARITHM: f64 = 700.0;

/// What was decided about a configuration against the baseline. The words are those of times; of whatever is judged, *faster* is better
/// and *slower* worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It takes less, or gives more of what is better.
    Faster,
    /// It takes more, or gives less.
    Slower,
    /// It takes as much, within the band in which a ratio counts as the same.
    Same,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
        })
    }
}

/// How many times faster than the baseline (baseline time / time), or better in whatever is judged: above 1 is better. With its 95 % interval: one that holds at all looks
/// together, so that it may be read at any of them (a confidence sequence). It counts this configuration alone.
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

impl Ratio {
    /// The ratio of a contrast, with the interval that misses with probability `alpha`; `None` while nothing can be excluded.
    pub fn of(contrast: &Contrast, alpha: f64) -> Option<Ratio> {
        Some(Ratio::around(contrast.log_ratio, contrast.half_width(alpha)?))
    }

    /// The ratio of this logarithm, with an interval of this half-width around the logarithm.
    pub(crate) fn around(log_ratio: f64, half_width: f64) -> Ratio {
        let back = |logarithm: f64| logarithm.clamp(-LARGEST_LOGARITHM, LARGEST_LOGARITHM).exp();
        Ratio {
            value: back(log_ratio),
            low: back(log_ratio - half_width),
            high: back(log_ratio + half_width),
        }
    }
}
