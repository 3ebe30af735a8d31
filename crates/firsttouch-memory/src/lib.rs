//! The memory core: placed blocks of memory, what they got, and why not more.
//!
//! A [`Heap`] keeps one arena of address space for each kind of page. Blocks are recognised by their address, never by
//! a header; freed blocks are recycled within a budget; what the kernel gave is read back for the record. The agent is
//! this crate inside a program that knows nothing of it.
//!
//! Architecture invariants: no allocation, no thread-local storage, no thread, no signal handler, no environment, no
//! output but the record; `libc` (for its types and numbers) is the only dependency from outside; an allocation that
//! cannot be placed is left to the caller's own allocator, with a reason kept for the record.

#![no_std]

#[cfg(test)]
extern crate std;

mod arena;
pub mod changes;
mod clear;
mod control;
mod coverage;
mod deferred;
mod dirty;
mod extents;
mod footprint;
mod fork;
mod header;
mod heap;
pub mod inherit;
mod lock;
mod pages;
mod reason;
mod record;
mod region;
mod remap;
mod resize;
mod settings;
mod shares;
mod snapshot;
mod span;
pub mod stand_in;
mod state;
mod tables;

pub use clear::{Clearer, Means};
pub use control::{AgentBlock, AgentStatus, UNKNOWN_BYTES};
pub use coverage::Coverage;
pub use heap::Heap;
pub use lock::{Guard, Lock};
pub use pages::{BASE, GIGANTIC, HUGE, Pages};
pub use reason::Reason;
pub use region::{
    Advice, Builder, Growth, Naming, NodePolicy, PlainData, Region, RegionError, RegionReceipt, RegionVec,
    Replicated, ReplicationCost, SharedRegion,
};
pub use resize::Resized;
pub use settings::{Settings, Totals};
pub use shares::Shares;
pub use snapshot::{BlockInfo, forbidden};
pub use span::may_be_placed;
pub use stand_in::StandIn;
