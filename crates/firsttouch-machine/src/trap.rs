//! A property of a machine that makes honest timing hard.

use serde::{Deserialize, Serialize};

/// Something that will mislead who does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Trap {
    /// A word for it.
    pub name: String,
    /// What it is.
    pub what: String,
    /// What it does to programs and to whoever times them.
    #[serde(default)]
    pub effect: String,
    /// What to do.
    pub remedy: String,
}
