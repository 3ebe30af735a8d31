//! The shared vocabulary of firsttouch, in three words that are kept apart as types:
//!
//! - **asked**: a [`Placement`], what somebody wanted;
//! - **obtained**: a [`Receipt`], what the kernel really gave, read back, with a [`Shortfall`] for the rest;
//! - **proved**: what `firsttouch-experiment` says it was worth against the baseline, a verdict and its ratio.
//!
//! The JSON and TOML documents made of them are a contract: a key changes only together with
//! [`SCHEMA_VERSION`] and the changelog.
//!
//! [`Placement::resolve`] turns wishes about nodes and CPUs into numbers on one machine, or says why that cannot be.
//!
//! Architecture invariant: this crate does no I/O. It parses and prints text that others read and write, and machines
//! are given to it.

#![forbid(unsafe_code)]

#[macro_use]
mod text;

mod attach;
mod case;
mod cpus;
mod error;
mod memory;
mod objects;
mod observation;
mod placement;
mod prefault;
mod profile;
mod ranks;
mod receipt;
mod record;
mod region;
mod resident;
mod resolve;
mod size;
mod threads;
mod tree;
mod tune;
mod via;

pub use attach::{
    AttachAction, AttachAsked, AttachEnded, AttachPlan, AttachReport, AttachedProcess, ExecutorKind,
};
pub use case::{CaseFigure, CaseFigures, CaseLimit, CaseWork, ObjectObtained};
pub use cpus::{ProgramCpus, ProgramCpusError};
pub use error::PlacementError;
pub use firsttouch_memory::{Pages, Reason};
pub use memory::{MemoryPolicy, MemoryPolicyError, NodePart, NodeSet, NodeSetError};
pub use objects::{ObjectPlacement, ObjectPlacementError};
pub use observation::{Observation, ObservedThread};
pub use placement::{Placement, parse_object};
pub use prefault::{PREFAULT_WORDS, Prefault};
pub use profile::{Evidence, MachineKey, Profile, ProfileError};
pub use ranks::RankOf;
pub use receipt::{BlockReport, Movers, Obtained, Receipt, Shortfall, ThreadReport};
pub use record::{Record, RecordError};
pub use region::replication_cost;
pub use resident::{ProcessResident, Together, Unserved};
pub use resolve::{Policies, ResolveError, Resolved, ResolvedMemory, Surroundings, nodes_of};
pub use size::{format_bytes, parse_size};
pub use threads::{ThreadPlacement, ThreadPlacementError, format_order, parse_order};
pub use tree::{ProcessMemory, ProcessTree, Resident, ResidentMemory, Worker};
pub use tune::{ConfigurationReport, SkippedConfiguration, TuneReport, pool_bytes};
pub use via::Via;

/// Version of all JSON documents, and of profiles: an older reader would misunderstand what is of a higher one.
pub const SCHEMA_VERSION: u32 = 1;
