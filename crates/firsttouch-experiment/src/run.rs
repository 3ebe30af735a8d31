//! One run of a program, and its place in a session.

use crate::Meanwhile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one timed run of a program used, from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TimedRun {
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Processor time in user mode, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub system_s: f64,
    /// Peak resident set of the largest process, in bytes. Hugetlb pages are not in it.
    pub max_rss_bytes: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary and involuntary context switches together.
    pub context_switches: u64,
    /// Hardware counters by name; those that never counted are not in it.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// What is judged of the run, where that is none of the others: what the program said of itself; or its peak memory with the pages
    /// of a pool, which are in no resident set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<f64>,
    /// What the machine did meanwhile.
    #[serde(default, skip_serializing_if = "Meanwhile::is_unknown")]
    pub meanwhile: Meanwhile,
}

/// A run in its place in a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionRun {
    /// The block it belongs to, from 0.
    pub block: u32,
    /// Its place in the order of all runs of the session, from 0.
    pub order: u32,
    /// What it used; in a document these keys stand beside the others.
    #[serde(flatten)]
    pub timed: TimedRun,
    /// Marked as an outlier of what is judged (modified z-score above 3.5); never dropped.
    #[serde(default)]
    pub outlier: bool,
}
