//! What `attach` tells besides what it did: the journals it keeps, and threads that a strategy gave CPUs.

use firsttouch_placement::{AttachReport, AttachedProcess, Observation};
use serde::{Deserialize, Serialize};

/// The journals that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AttachList {
    /// One for each process.
    pub journals: Vec<AttachedProcess>,
}

/// The journals that were removed, because their processes are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AttachForgotten {
    /// The files.
    pub removed: Vec<String>,
}

/// Threads that were seen for a while, and the CPUs that they were given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ObservationReport {
    /// The process.
    pub pid: u32,
    /// How long they were seen, in seconds.
    pub interval_s: f64,
    /// What was seen, and what the strategy makes of it.
    pub observed: Observation,
    /// What was done about it.
    pub attach: AttachReport,
}
