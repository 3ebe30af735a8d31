//! What the machine did while a run took place.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the kernel told of the machine for the time of a run; `None` is not known. It is of the whole machine, and read before the
/// program starts and after it has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Meanwhile {
    /// Time that the host of a virtual machine gave to others while our CPUs had something to do, in seconds, of all CPUs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_s: Option<f64>,
    /// Processor time of everything that was not the program, in seconds. The kernel counts in hundredths of a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_cpu_s: Option<f64>,
    /// The highest frequency of any CPU right after the end of the program, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<f64>,
    /// What chooses the frequencies of the CPUs; several, in alphabetical order, with commas in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether the kernel draws addresses at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aslr: Option<Aslr>,
    /// Memory that the host of a virtual machine took by a balloon, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_taken_bytes: Option<u64>,
    /// Memory that it gave back from there, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_given_bytes: Option<u64>,
    /// By so much more memory was free after the run than before, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_change_bytes: Option<i64>,
}

impl Meanwhile {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Meanwhile::default()
    }
}

/// How far the kernel draws addresses at random (`kernel.randomize_va_space`, and the personality that a program inherits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Aslr {
    /// Every run has the same.
    Off,
    /// Those of the stack and of mappings, but not those of the heap.
    Partial,
    /// All of them.
    Full,
}

impl fmt::Display for Aslr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Aslr::Off => "off",
            Aslr::Partial => "partial",
            Aslr::Full => "full",
        })
    }
}
