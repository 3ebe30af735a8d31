//! The shared vocabulary of firsttouch, in three words that are kept apart as types:
//!
//! - **asked**: a [`Placement`], what somebody wanted;
//! - **obtained**: a [`Receipt`], what the kernel really gave, read back, with a [`Shortfall`] for the rest;
//! - **proved**: a [`Verdict`] and its [`Ratio`], what it was worth against the baseline.
//!
//! The JSON and TOML documents made of them are a contract: a key changes only together with
//! [`SCHEMA_VERSION`] and the changelog.
//!
//! [`Placement::resolve`] turns wishes about nodes and CPUs into numbers on one machine, or says why that cannot be.
//!
//! Architecture invariant: this crate does no I/O. It parses and prints text that others read and write, and machines
//! are given to it.

#![forbid(unsafe_code)]

mod attach;
mod cpus;
mod memory;
mod observation;
mod placement;
mod profile;
mod receipt;
mod record;
mod region;
mod resident;
mod resolve;
mod size;
mod threads;
mod tree;
mod tune;
mod watch;

pub use attach::{AttachAction, AttachAsked, AttachEnded, AttachPlan, AttachReport, AttachVia};
pub use cpus::{ProgramCpus, ProgramCpusError};
pub use firsttouch_memory::{Pages, Reason};
pub use memory::{MemoryPolicy, MemoryPolicyError, NodePart, NodeSet, NodeSetError};
pub use observation::{Observation, ObservedThread};
pub use placement::{Placement, PlacementError, Via};
pub use profile::{Evidence, MachineKey, Profile, ProfileError};
pub use receipt::{BlockReport, Obtained, Receipt, Shortfall, ThreadReport};
pub use record::{Record, RecordError};
pub use region::replication_cost;
pub use resident::{ProcessResident, Together};
pub use resolve::{Policies, ResolveError, Resolved, Surroundings};
pub use size::{format_bytes, parse_size};
pub use threads::{ThreadPlacement, ThreadPlacementError, format_order, parse_order};
pub use tree::{ProcessMemory, ProcessTree, Resident, ResidentMemory, Worker};
pub use tune::{
    ConfigurationReport, Confirmation, LaunchedRun, Ratio, SkippedConfiguration, Tie, TuneReport, Verdict,
};
pub use watch::{
    PoolLevel, Recording, RecordingError, WatchCost, WatchEnd, WatchEnding, WatchHeader, WatchKind,
    WatchSample, WatchedFaults, WatchedMachine, WatchedMemory, WatchedProcess, WatchedThreads,
};

/// Version of the JSON documents (receipt, tune, status, profile).
pub const SCHEMA_VERSION: u32 = 1;
