//! What is tried, and why it cannot be.

use firsttouch_fill::FillerError;
use firsttouch_memory::{FillMeans, Pages, RegionError};
use firsttouch_threads::TeamError;
use std::io;

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillOptions {
    /// Bytes of memory of every trial.
    pub size_bytes: u64,
    /// The kinds of pages.
    pub pages: Vec<Pages>,
    /// The engines; empty is all.
    pub engines: Vec<Engine>,
    /// One round in place of five.
    pub quick: bool,
}

/// A way of getting zeroed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Writing to every page, as programs do.
    Touch,
    /// `MADV_POPULATE_WRITE`, Linux 5.14.
    Populate,
    /// Storing into memory that is there, by one means.
    Store(FillMeans),
    /// [`Filler`](firsttouch_fill::Filler), on new memory and on memory that is there.
    Filler,
    /// [`Pool`](firsttouch_fill::Pool).
    Pool,
    /// A queue of Intel's DSA, on memory that is there (feature `dsa`; not verified on hardware).
    Dsa,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Engine; 9] = [
        Engine::Touch,
        Engine::Populate,
        Engine::Store(FillMeans::String),
        Engine::Store(FillMeans::Streaming),
        Engine::Store(FillMeans::Clzero),
        Engine::Store(FillMeans::Vector),
        Engine::Filler,
        Engine::Pool,
        Engine::Dsa,
    ];

    /// The word of the command line and of documents.
    pub fn word(self) -> &'static str {
        match self {
            Engine::Touch => "touch",
            Engine::Populate => "populate",
            Engine::Store(FillMeans::String) => "string",
            Engine::Store(FillMeans::Streaming) => "streaming",
            Engine::Store(FillMeans::Clzero) => "clzero",
            Engine::Store(FillMeans::Vector) => "vector",
            Engine::Filler => "filler",
            Engine::Pool => "pool",
            Engine::Dsa => "dsa",
        }
    }
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum FillingError {
    /// There is less memory than asked for.
    #[error("there is no room for {what}: {available} bytes are available, {needed} are needed")]
    NoRoom {
        /// What was to be made.
        what: &'static str,
        /// Bytes that are there.
        available: u64,
        /// Bytes that it takes.
        needed: u64,
    },
    /// No page of a kind asked for fits into the memory of a trial.
    #[error("{size} bytes are less than one page of {pages}, which has {}", pages.bytes())]
    TooSmall {
        /// Bytes of every trial.
        size: u64,
        /// The kind with the largest pages.
        pages: Pages,
    },
    /// Memory cannot be had.
    #[error(transparent)]
    Memory(#[from] RegionError),
    /// Threads cannot be had.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The filler cannot be had.
    #[error(transparent)]
    Filler(#[from] FillerError),
    /// The pool's thread cannot be had.
    #[error("the pool's thread cannot be started")]
    Pool(#[source] io::Error),
    /// The kernel does not tell where we may run.
    #[error("the kernel does not tell which CPUs may be used")]
    Affinity(#[source] io::Error),
}

impl FillingError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            FillingError::NoRoom { .. } => "firsttouch fill --size 256M",
            FillingError::TooSmall { .. } => {
                "some hundred pages at least, so that their time can be told: firsttouch fill --size 1G"
            }
            FillingError::Memory(error) => error.hint(),
            FillingError::Team(error) => error.hint(),
            FillingError::Filler(error) => error.hint(),
            FillingError::Pool(_) | FillingError::Affinity(_) => {
                "firsttouch status shows the limits of this process"
            }
        }
    }
}
