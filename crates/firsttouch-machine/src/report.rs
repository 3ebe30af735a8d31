//! The document of `firsttouch status --json`.

use crate::abilities::{Ability, abilities};
use crate::{Machine, MachineError, Root};
use serde::{Deserialize, Serialize};

/// A machine and what can be done on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusReport {
    /// The machine.
    pub machine: Machine,
    /// Each thing of the vocabulary: whether it can be done here, and what would allow it.
    pub can: Vec<Ability>,
}

impl StatusReport {
    /// Examines a machine, asking its kernel if it is the live one.
    pub fn examine(root: &Root) -> Result<StatusReport, MachineError> {
        Ok(StatusReport::of(Machine::examine(root)?))
    }

    /// The report of a machine that was read already.
    pub fn of(machine: Machine) -> StatusReport {
        StatusReport { can: abilities(&machine), machine }
    }

    /// What is known of one thing, by its word (`thp`, `64k`, `2m`, `supervise` …).
    pub fn can(&self, what: &str) -> Option<&Ability> {
        self.can.iter().find(|ability| ability.what == what)
    }
}
