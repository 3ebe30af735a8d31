//! The control interface: what a program, or a binding loaded into it, may ask of the agent while it runs.
//!
//! Found by `dlsym(RTLD_DEFAULT, "firsttouch_agent_…")`: a null answer means that the agent is not there. All functions
//! may be called from any thread, and none fails half-way. Sizes are bytes. The structures are `firsttouch-memory`'s.

use crate::{HEAP, prefault};
use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use firsttouch_memory::agent_settings::Prefault;
use firsttouch_memory::{AgentBlock, AgentStatus, Pages, Settings};

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

/// Creates the pages of new blocks at first touch (0), at once (1) or in the background (2). 0, or `EINVAL` and nothing is changed.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_agent_prefault(when: c_int) -> c_int {
    match usize::try_from(when).ok().and_then(Prefault::of) {
        Some(when) => prefault::set(when),
        None => return libc::EINVAL,
    }
    0
}

/// Fills in the status, at most `bytes` bytes of it: its size as the caller, who may be older or newer, knows it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_agent_status(status: *mut AgentStatus, bytes: usize) {
    let now = AgentStatus::of(&HEAP);
    let bytes = bytes.min(size_of::<AgentStatus>());
    // SAFETY: the caller's structure has so many bytes, by contract; a plain copy of the first ones.
    unsafe { ptr::copy_nonoverlapping((&raw const now).cast::<u8>(), status.cast(), bytes) };
}

/// Fills `blocks` with at most `room` live blocks in order of address; answers how many there are altogether.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_agent_list(blocks: *mut AgentBlock, room: usize) -> usize {
    AgentBlock::list(&HEAP, room, |index, row| {
        // SAFETY: the caller's array has `room` rows, by contract.
        unsafe { *blocks.add(index) = row };
    })
}

/// Gives all memory that is held for reuse back to the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_agent_trim() {
    HEAP.trim();
}
