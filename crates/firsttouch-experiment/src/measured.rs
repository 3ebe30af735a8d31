//! Values that were measured elsewhere.

use serde::{Deserialize, Serialize};

/// A value, and its place where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MeasuredRun {
    /// The block it belongs to, from 0; `None` where all runs of a configuration were made before those of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Its place in the order of all runs of the session, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
    /// What was measured, of which [`MeasuredRun::is_sound`] holds.
    pub value: f64,
}

impl MeasuredRun {
    /// Whether a value can be compared: ratios are taken by logarithms, and squares of it must be numbers too.
    pub fn is_sound(value: f64) -> bool {
        (1e-100..=1e100).contains(&value)
    }
}

/// What was measured of one configuration in a session, in the order of the runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredConfiguration {
    /// Its name, unique in the session.
    pub name: String,
    /// Its runs.
    pub runs: Vec<MeasuredRun>,
}

/// Runs that were made on one machine between two boots of it, in one go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredSession {
    /// What to call it.
    pub name: String,
    /// What was measured, by configuration.
    pub configurations: Vec<MeasuredConfiguration>,
}

impl MeasuredSession {
    /// Whether the runs are in blocks, each of which may hold one run of each configuration.
    pub fn is_paired(&self) -> bool {
        self.runs().all(|run| run.block.is_some())
    }

    /// Whether the order of all runs is known.
    pub fn is_ordered(&self) -> bool {
        self.runs().all(|run| run.order.is_some())
    }

    fn runs(&self) -> impl Iterator<Item = &MeasuredRun> {
        self.configurations.iter().flat_map(|configuration| &configuration.runs)
    }
}
