//! Why a placement cannot be asked for, and what can.

use crate::cpus::ProgramCpusError;
use crate::memory::MemoryPolicyError;
use crate::objects::ObjectPlacementError;
use crate::threads::ThreadPlacementError;
use crate::via::Via;

/// A placement that cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// `max_size` is below `min_size`.
    #[error("max-size {max} is below min-size {min}")]
    EmptyRange {
        /// The lower limit, as people write it.
        min: String,
        /// The upper limit, as people write it.
        max: String,
    },
    /// The means cannot give this kind of pages.
    #[error("--via {via} cannot give --pages {pages}")]
    PagesNotBy {
        /// The means asked for.
        via: Via,
        /// The pages asked for.
        pages: String,
    },
    /// The means has no such setting.
    #[error("--via {via} has no {setting}")]
    SettingNotBy {
        /// The means asked for.
        via: Via,
        /// The setting, as its command-line option.
        setting: &'static str,
    },
    /// Pages are left alone, so that settings about placed memory mean nothing.
    #[error("--pages plain places nothing, so there is no {setting}")]
    NothingPlaced {
        /// The setting, as its command-line option.
        setting: &'static str,
    },
    /// Threads are to be skipped, and none is bound.
    #[error("--skip-threads without --threads: no thread is bound")]
    NothingToSkip,
    /// The memory policy does not read.
    #[error(transparent)]
    Memory(#[from] MemoryPolicyError),
    /// The CPUs do not read.
    #[error(transparent)]
    Cpus(#[from] ProgramCpusError),
    /// The placement of threads does not read.
    #[error(transparent)]
    Threads(#[from] ThreadPlacementError),
    /// A name that no memory can have.
    #[error("`{name}` cannot be the name of memory: letters, digits, `-`, `_` and `.` make one")]
    ObjectName {
        /// The name.
        name: String,
    },
    /// The place of named memory does not read.
    #[error(transparent)]
    Object(#[from] ObjectPlacementError),
    /// Of the devices to be next to one has no name.
    #[error("--near `{devices}` names no device, or one without a name")]
    NoDevice {
        /// As asked.
        devices: String,
    },
    /// Something is decided twice, as by two memory policies.
    #[error("`{word}` decides what is decided before it")]
    Twice {
        /// What comes second.
        word: String,
    },
    /// A key or word of the short form is unknown.
    #[error(
        "`{word}` is not a placement setting (pages=, min-size=, max-size=, prefault, prefault=background, zero, heap, keep, via=, follow, local, bind=, prefer=, interleave=, weighted, node=, cpus=, threads=, skip-threads=, near=, object=)"
    )]
    UnknownWord {
        /// The offending word.
        word: String,
    },
}

impl PlacementError {
    /// What to ask for instead, on the command line; `None` where the words of the error say it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            PlacementError::SettingNotBy { via: Via::Agent, setting: "--keep" } => {
                Some("leave it out: the agent keeps freed memory by itself")
            }
            PlacementError::SettingNotBy { via: Via::Glibc, setting: "--heap" } => {
                Some("leave it out: glibc places its heap by itself")
            }
            PlacementError::SettingNotBy { setting: "--keep", .. } => {
                Some("--via glibc, mimalloc and jemalloc have it, and the agent keeps freed memory by itself")
            }
            PlacementError::SettingNotBy { .. } | PlacementError::PagesNotBy { .. } => {
                Some("leave --via out, for the agent; firsttouch run --help lists the means")
            }
            PlacementError::EmptyRange { .. } => {
                Some("only sizes between the two are placed: leave one of them out")
            }
            PlacementError::NothingPlaced { .. } => Some("--pages thp places memory"),
            PlacementError::NoDevice { .. } => Some("firsttouch status   # lists the devices"),
            PlacementError::Twice { .. } => Some("leave one of them out"),
            PlacementError::NothingToSkip => Some("--threads PLACEMENT binds them"),
            _ => None,
        }
    }
}
