//! What cases came to: the reference workloads of `bench`, each in its variants and under its placements.

use crate::articles::ArticleReport;
use firsttouch_placement::{Placement, TuneReport};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Cases that were run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BenchReport {
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Sizes were those of a quick look.
    #[serde(default)]
    pub quick: bool,
    /// The machine, as `status --json` prints it under `machine`.
    pub machine: serde_json::Value,
    /// The cases, in the order asked.
    pub cases: Vec<CaseReport>,
    /// What of articles these cases repeat (`--documents`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub articles: Vec<ArticleReport>,
    /// It was cut short (Ctrl-C): what is here is what was finished.
    #[serde(default)]
    pub interrupted: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseReport {
    /// Its word.
    pub name: String,
    /// What it computes.
    pub summary: String,
    /// Where the workload comes from.
    pub source: String,
    /// The value of each parameter that was not varied.
    pub parameters: BTreeMap<String, String>,
    /// Figures that others have published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFigure>,
    /// Each a family of comparisons of its own.
    pub comparisons: Vec<CaseComparison>,
    /// Which arrays deserve a place of their own, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<PlacedArrays>,
    /// Variants that cannot run here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingVariant>,
}

/// What a search over the arrays of a case came to. Its steps are the comparisons of the axis `objects`, in their order; the last
/// compares all that was kept with none of it, where more than one step kept something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlacedArrays {
    /// The bytes of each array of the case.
    pub arrays: BTreeMap<String, u64>,
    /// What was kept, in its key `objects`; `None` where no array deserves a place of its own.
    pub placement: Option<Placement>,
}

/// A family of comparisons. Its configurations have `case`, and the metric is the time of a step that each run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseComparison {
    /// What differs between its configurations.
    pub of: ComparisonAxis,
    /// All runs and what they prove. The machine is that of the whole.
    pub session: TuneReport,
}

/// What differs within a family of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonAxis {
    /// The way to compute, under one placement.
    Variants,
    /// The placement, of one way to compute.
    Placements,
    /// Threads or parameters.
    Varied,
    /// The place of one array more, beside what was kept before.
    Objects,
}

/// A figure that somebody published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PublishedFigure {
    /// The article, and where in it.
    pub source: String,
    /// What it is of: machine, variant, parameters.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// What it is in.
    pub unit: String,
}

/// A variant that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MissingVariant {
    /// Its word.
    pub variant: String,
    /// What is missing.
    pub reason: String,
    /// What brings it.
    pub remedy: String,
}

/// The cases that there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseList {
    /// The cases.
    pub cases: Vec<ListedCase>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ListedCase {
    /// Its word.
    pub name: String,
    /// What it computes.
    pub summary: String,
    /// Where the workload comes from.
    pub source: String,
    /// What its figure is in.
    pub unit: String,
    /// What bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What can be chosen.
    pub parameters: Vec<ListedParameter>,
    /// Ways to compute it, the first of which others are compared with.
    pub variants: Vec<ListedVariant>,
}

/// Something that can be chosen of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ListedParameter {
    /// Its word.
    pub name: String,
    /// What it is.
    pub meaning: String,
    /// Its value where nothing is said.
    pub default: String,
    /// The same with `--quick`.
    pub quick: String,
    /// What it can be.
    pub expected: String,
}

/// A way to compute a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ListedVariant {
    /// Its word.
    pub name: String,
    /// What it is.
    pub meaning: String,
    /// It is somebody else's code.
    pub alternative: bool,
    /// What is missing for it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}
