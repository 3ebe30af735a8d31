//! What `lab` tells.

use serde::{Deserialize, Serialize};

/// A program that ran on an emulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LabReport {
    /// The machine's name, or the file that describes it.
    pub machine: String,
    /// The release of the guest's kernel.
    pub kernel: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What the program exited with.
    pub exit_code: u8,
    /// The signal that ended it.
    pub signal: Option<u8>,
    /// From the kernel's start to the program's, in seconds by the guest's clock.
    pub boot_s: f64,
    /// How long the program ran, in seconds by the guest's clock.
    pub program_s: f64,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// The files that came back, by their names here.
    pub copied_out: Vec<String>,
}

/// The machines that `lab` knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LabList {
    /// By their names.
    pub machines: Vec<LabMachine>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LabMachine {
    /// The word for it.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Its memory nodes.
    pub nodes: Vec<LabNode>,
}

/// A memory node of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LabNode {
    /// Its number.
    pub id: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// Its memory.
    pub bytes: u64,
}
