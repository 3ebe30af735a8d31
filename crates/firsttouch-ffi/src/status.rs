//! How a session stands, as those are told it who ask: callers, and other copies of the library.

use core::ffi::c_char;
use core::ptr;
use firsttouch_memory::{AgentBlock, AgentStatus, HUGE, UNKNOWN_BYTES};

/// Who places the blocks of a process.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirsttouchVia {
    /// Nobody yet.
    Nothing = 0,
    /// The agent, which was preloaded by `firsttouch run`.
    Agent = 1,
    /// This library: calls of C's allocation functions are redirected to it.
    Redirection = 2,
    /// Another copy of this library in the same process.
    OtherCopy = 3,
}

/// How a session stands. Sizes are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchIsmStatus {
    /// 1 if huge pages can be had by this process.
    pub support: u32,
    /// 1 if large allocations are placed now.
    pub enabled: u32,
    /// Who places them, a `FirsttouchVia`.
    pub via: u32,
    /// Places in loaded programs and libraries that lead to this library; 0 with the agent.
    pub redirected_slots: u32,
    /// Loaded programs and libraries that have such places.
    pub redirected_objects: u32,
    /// Of these, chosen ones, whose allocations are placed.
    pub chosen_objects: u32,
    /// Size of the pages asked for.
    pub page_bytes: u64,
    /// Smallest allocation that is placed.
    pub min_bytes: u64,
    /// Largest allocation that is placed.
    pub max_bytes: u64,
    /// Bytes in live placed blocks.
    pub live_bytes: u64,
    /// Live placed blocks.
    pub live_blocks: u64,
    /// The most bytes in placed blocks at any time.
    pub peak_bytes: u64,
    /// Blocks placed over the life of the process.
    pub placed_blocks: u64,
    /// Bytes served from recycled memory over the life of the process.
    pub recycled_bytes: u64,
    /// Freed bytes held for reuse.
    pub held_bytes: u64,
    /// Why huge pages cannot be had, one word of the list of reasons; null where they can.
    pub reason: *const c_char,
    /// One line that mends it; null where nothing needs to.
    pub remedy: *const c_char,
}

impl Default for FirsttouchIsmStatus {
    fn default() -> Self {
        FirsttouchIsmStatus {
            support: 0,
            enabled: 0,
            via: FirsttouchVia::Nothing as u32,
            redirected_slots: 0,
            redirected_objects: 0,
            chosen_objects: 0,
            page_bytes: HUGE as u64,
            min_bytes: LEAST,
            max_bytes: MOST,
            live_bytes: 0,
            live_blocks: 0,
            peak_bytes: 0,
            placed_blocks: 0,
            recycled_bytes: 0,
            held_bytes: 0,
            reason: ptr::null(),
            remedy: ptr::null(),
        }
    }
}

impl FirsttouchIsmStatus {
    /// What the agent or this library says of itself.
    pub(crate) fn take(&mut self, via: FirsttouchVia, seen: AgentStatus) {
        self.via = via as u32;
        self.enabled = seen.enabled;
        self.page_bytes = seen.page_bytes;
        self.min_bytes = seen.min_bytes;
        self.max_bytes = seen.max_bytes;
        self.live_bytes = seen.live_bytes;
        self.live_blocks = seen.live_blocks;
        self.peak_bytes = seen.peak_bytes;
        self.placed_blocks = seen.placed_blocks;
        self.recycled_bytes = seen.recycled_bytes;
        self.held_bytes = seen.held_bytes;
    }
}

/// What stands for a number of bytes that is not known.
pub const FIRSTTOUCH_UNKNOWN_BYTES: u64 = u64::MAX;
const _: () = assert!(FIRSTTOUCH_UNKNOWN_BYTES == UNKNOWN_BYTES);

/// A live placed block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirsttouchBlock {
    /// Running number in the process, from 1.
    pub id: u64,
    /// Address of the first byte.
    pub address: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Of these, bytes on huge pages now; `FIRSTTOUCH_UNKNOWN_BYTES` where the kernel does not tell (before Linux 6.7).
    pub huge_bytes: u64,
}

impl From<AgentBlock> for FirsttouchBlock {
    fn from(block: AgentBlock) -> Self {
        let AgentBlock { id, address, bytes, huge_bytes } = block;
        FirsttouchBlock { id, address, bytes, huge_bytes }
    }
}

/// The range of sizes before anybody chose one: 1 MiB to 4 GiB.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 4 << 30;
