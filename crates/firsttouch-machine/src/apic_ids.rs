//! What the processor says of the ids of its CPUs.

use serde::{Deserialize, Serialize};

/// What the processor says of the ids of its CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ApicIds {
    /// The CPUID leaf that told them: 31 (0x1f), 11 (0x0b) or 1.
    pub leaf: u32,
    /// The steps in the bits, from the threads of a core up.
    pub levels: Vec<ApicStep>,
    /// CPUs that could not be asked, and the kernel's answer.
    pub unanswered: Vec<Unanswered>,
}

/// One step in the bits of an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ApicStep {
    /// `thread`, `core`, `module`, `tile`, `die` or `die-group`.
    pub name: String,
    /// The id shifted right by this many bits is the number of the next larger thing; beyond the last step that is
    /// the package.
    pub shift: u32,
}

/// A CPU that could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Unanswered {
    /// The CPU.
    pub cpu: u32,
    /// The kernel's answer.
    pub answer: String,
}
