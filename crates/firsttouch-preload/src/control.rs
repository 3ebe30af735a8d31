//! The control interface: what a program, or a binding loaded into it, may ask of the agent while it runs.
//!
//! Found by `dlsym(RTLD_DEFAULT, "firsttouch_agent_…")`: a null answer means that the agent is not there. All functions
//! may be called from any thread, and none fails half-way. Sizes are bytes.

use crate::{HEAP, prefault};
use core::ffi::{CStr, c_char, c_int};
use firsttouch_memory::{BlockInfo, Pages, Settings};

/// Version of this interface: it grows at the end of structures only.
const VERSION: u32 = 1;

/// What `firsttouch_agent_status` fills in.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentStatus {
    /// Version of this structure.
    pub version: u32,
    /// 1 if large allocations are placed now.
    pub enabled: u32,
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
}

/// One row of `firsttouch_agent_list`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentBlock {
    /// Running number in the process, from 1.
    pub id: u64,
    /// Address of the first byte.
    pub address: u64,
    /// Bytes the program asked for.
    pub bytes: u64,
    /// Of these, bytes on huge pages now.
    pub huge_bytes: u64,
}

/// Places allocations of `min_bytes` to `max_bytes` on pages of a kind (`"4k" "thp" "64k" "2m" "1g" "auto"`; null keeps
/// the present kind) from now on. 0, or `EINVAL` and nothing is changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_agent_enable(
    pages: *const c_char,
    min_bytes: u64,
    max_bytes: u64,
) -> c_int {
    let before = HEAP.settings();
    let pages = if pages.is_null() {
        Some(before.pages)
    } else {
        // SAFETY: a C string, by contract.
        unsafe { CStr::from_ptr(pages) }.to_str().ok().and_then(Pages::parse)
    };
    let (min_bytes, max_bytes) = (min_bytes as usize, max_bytes as usize);
    match pages {
        Some(pages) if pages != Pages::Plain && min_bytes > 0 && min_bytes <= max_bytes => {
            HEAP.enable(Settings { pages, min_bytes, max_bytes, ..before });
            0
        }
        _ => libc::EINVAL,
    }
}

/// Places nothing from now on; live blocks stay where they are.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_agent_disable() {
    HEAP.disable();
}

/// Creates the pages of new blocks at once (1) or at first touch (0).
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_agent_prefault(on: c_int) {
    prefault::enable(on != 0);
}

/// Fills in the status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_agent_status(status: *mut AgentStatus) {
    let (settings, totals) = (HEAP.settings(), HEAP.totals());
    let now = AgentStatus {
        version: VERSION,
        enabled: u32::from(HEAP.is_enabled()),
        page_bytes: settings.pages.bytes() as u64,
        min_bytes: settings.min_bytes as u64,
        max_bytes: settings.max_bytes as u64,
        live_bytes: totals.live_bytes as u64,
        live_blocks: totals.live_blocks as u64,
        peak_bytes: totals.peak_bytes as u64,
        placed_blocks: totals.placed_blocks,
        recycled_bytes: totals.recycled_bytes,
        held_bytes: totals.held_bytes as u64,
    };
    // SAFETY: the caller's structure, by contract.
    unsafe { *status = now };
}

/// Fills `blocks` with at most `room` live blocks in order of address; answers how many there are altogether.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_agent_list(blocks: *mut AgentBlock, room: usize) -> usize {
    const AT_ONCE: usize = 32;
    let mut rows = [BlockInfo::default(); AT_ONCE];
    let mut done = 0;
    loop {
        let total = HEAP.blocks_from(done, &mut rows);
        let count = total.saturating_sub(done).min(AT_ONCE);
        for (index, row) in rows.iter().take(count).enumerate().take_while(|(index, _)| done + index < room) {
            let row = AgentBlock {
                id: u64::from(row.id),
                address: row.address as u64,
                bytes: row.bytes as u64,
                huge_bytes: row.huge_bytes as u64,
            };
            // SAFETY: the caller's array has `room` rows.
            unsafe { *blocks.add(done + index) = row };
        }
        done += count;
        if count < AT_ONCE || done >= room {
            return total;
        }
    }
}

/// Gives all memory that is held for reuse back to the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_agent_trim() {
    HEAP.trim();
}
