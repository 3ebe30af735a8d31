//! Verdicts about what was measured elsewhere.

use firsttouch_experiment::Comparison;
use serde::{Deserialize, Serialize};

/// What values from files say. All values are in it, so that it can be decided again, with another baseline for example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DecisionReport {
    /// The files, as they were named.
    pub sources: Vec<DecisionSource>,
    /// The unit of the values (`s` for seconds); `None` where no file says it.
    pub unit: Option<String>,
    /// What they say; in a document these keys stand beside the others.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// A file with values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DecisionSource {
    /// As it was named.
    pub file: String,
    /// What it was read as: `csv`, `hyperfine`, `google-benchmark`, `criterion`, `cargo-criterion`, or the kind of a document of ours.
    pub format: String,
}
