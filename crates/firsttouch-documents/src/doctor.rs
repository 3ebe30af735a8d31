//! What `doctor` finds out.

use crate::Finding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is wrong with machines, whatever is placed on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// The profile that weighed the findings: its name or file.
    pub profile: Option<String>,
    /// The machines.
    pub hosts: Vec<DoctorHost>,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DoctorHost {
    /// Its name, or what it was read from.
    pub name: String,
    /// What was found, the weightiest first.
    pub findings: Vec<Finding>,
    /// What was not looked at.
    pub unseen: Vec<Unseen>,
    /// What was measured, by a word that ends in its unit; empty where nothing was.
    pub measured: BTreeMap<String, u64>,
}

/// Something that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Unseen {
    /// What it is.
    pub topic: String,
    /// Why.
    pub why: String,
}
