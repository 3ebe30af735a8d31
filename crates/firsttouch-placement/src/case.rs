//! What a configuration of a benchmark is: a case, with its work, its figure, and the limit that bounds it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A case as one configuration ran it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseFigures {
    /// The case: `stream`, `dgemm`.
    pub name: String,
    /// The way it was computed.
    pub variant: String,
    /// It is somebody else's code: a library or a program that a user would take instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alternative: bool,
    /// The value of each parameter.
    pub parameters: BTreeMap<String, String>,
    /// The work of a step; `None` where nobody counted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<CaseWork>,
    /// What the figure is in: `GB/s`, `GFLOP/s`, `ns/read`, `s`.
    pub unit: String,
    /// A larger figure is the better one.
    pub higher_is_better: bool,
    /// The figure, by the geometric mean of the runs' times of a step; `None` without a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<CaseFigure>,
    /// What every run came to: the hexadecimal digits of an exact result, or a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// What bounds it; `None` where nothing could be measured by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<CaseLimit>,
    /// What arrays with a place of their own obtained (`objects` of the placement), by the last run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, ObjectObtained>,
    /// What the workload said of itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What memory of a name obtained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ObjectObtained {
    /// Its bytes, in whole pages.
    pub bytes: u64,
    /// Bytes on huge pages; `None` where the kernel did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_bytes: Option<u64>,
    /// Resident bytes by node; empty where the kernel did not tell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bytes_by_node: BTreeMap<u32, u64>,
}

/// The work of a step of a case, counted and not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseWork {
    /// Bytes that have to go between memory and processor at least.
    pub bytes: u64,
    /// Operations of the kind that the unit names; 0 where none are counted.
    pub operations: u64,
}

/// A figure with its 95 % interval, by Student's t of the logarithms of the runs' times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseFigure {
    /// The figure.
    pub value: f64,
    /// The lower end; `None` with a single run.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// What no way to compute a case can beat on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CaseLimit {
    /// What it is: `read bandwidth`.
    pub what: String,
    /// Bytes or operations by second, or seconds of one read: the median of what the runs measured after their steps.
    pub value: f64,
    /// The share of it that the configuration reached: the median of its runs, each by the limit of its own; of an alternative that
    /// measured none by the limit of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}
