//! What is heard of a command of the guest: what it writes, how it ends, the files it leaves.

use crate::Ending;
use std::path::PathBuf;
use std::time::Duration;

/// Which of its streams a program wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A file of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its path, as it was asked for.
    pub path: PathBuf,
    /// Its permissions.
    pub mode: u32,
    /// What was in it.
    pub contents: Vec<u8>,
}

/// How one command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// With what.
    pub ending: Ending,
    /// How long it ran, by the guest's clock.
    pub took: Duration,
    /// The files that were asked for.
    pub files: Vec<CopiedFile>,
    /// Those that could not be handed back, and why.
    pub missing: Vec<(PathBuf, String)>,
}
