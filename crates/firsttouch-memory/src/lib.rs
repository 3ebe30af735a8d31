//! The memory core: it places blocks of memory, reads back which pages the kernel gave them, and keeps the reason of every
//! shortfall.
//!
//! A [`Heap`] keeps one arena of address space for each kind of page. It recognises its blocks by their address, never by a
//! header, recycles freed blocks within a budget, and reads the pages back from the kernel for the record. The agent is this
//! crate inside a program that knows nothing of it; [`interposer`] is its allocation functions. A [`Region`] is placed memory
//! for code that asks for it.
//!
//! Architecture invariants: no allocation, no thread-local storage, no thread, no signal handler, no environment, no
//! output but the record; `libc` (for its types and numbers) is the only dependency from outside; an allocation that
//! cannot be placed is left to the caller's own allocator, with a reason kept for the record.

#![no_std]

#[cfg(test)]
extern crate std;

mod account;
pub mod agent_settings;
mod arena;
mod backing;
mod capacity;
pub mod changes;
mod clear;
mod control;
mod coverage;
mod deferred;
mod dirty;
mod evidence;
mod extents;
mod failures;
mod footprint;
mod fork;
mod forks;
mod growth;
mod header;
mod heap;
pub mod inherit;
pub mod interposer;
mod lines;
mod lock;
mod locks;
mod mark;
mod nodes;
pub mod object_places;
mod pages;
mod patience;
mod peak;
mod readings;
mod reason;
mod record;
pub mod record_line;
mod region;
mod remap;
mod resize;
mod restore;
mod room;
mod settings;
mod shares;
mod snapshot;
mod span;
mod sparse;
mod state;
mod tables;
mod unmapped;

pub use capacity::{Capacity, Room, room_bytes};
pub use clear::{Clearer, FillMeans};
pub use control::{AgentBlock, AgentStatus, UNKNOWN_BYTES};
pub use coverage::Coverage;
pub use heap::Heap;
pub use interposer::Interposer;
pub use lines::apart_from;
pub use lock::{Guard, Lock};
pub use mark::Mark;
pub use pages::{BASE, GIGANTIC, HUGE, Pages, base_pages_fit};
pub use reason::Reason;
pub use record::RecordFile;
pub use region::{
    Advice, Builder, Growth, Naming, NodePolicy, PlainData, Region, RegionError, RegionReceipt, Replicated,
    ReplicationCost, SharedRegion, small_shared,
};
pub use resize::Resized;
pub use settings::{Settings, Totals};
pub use shares::Shares;
pub use snapshot::{BlockInfo, forbidden};
pub use span::{is_emulated, may_be_placed};
