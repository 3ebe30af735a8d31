//! Whether there is room for pages that are created before the program touches them, whoever creates them.

use crate::threads;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::{Capacity, apart_from, room_bytes};

/// So many bytes are created before somebody looks again whether there is room for the rest.
pub(crate) const PIECE: usize = 32 << 20;
/// What stays free beside blocks: an eighth of all that the process could have, within these bounds. It is for what the program needs besides
/// (stacks, small blocks, what it touches of blocks that there is no room for), page tables, what the kernel counts ahead for each CPU,
/// and edges that share huge pages with other memory.
const LEAST_MARGIN: usize = 8 << 20;
const MOST_MARGIN: usize = 64 << 20;
/// How much room there was holds for so long, as reading it costs as much as many a block.
const ROOM_HOLDS_NS: u64 = 10_000_000;

/// What is being created now, by all threads.
static CREATING: AtomicUsize = AtomicUsize::new(0);
/// What may be created without asking again, from how many bytes on there was no room, and when that was found out.
static LEFT: AtomicUsize = AtomicUsize::new(0);
static TOO_MUCH: AtomicUsize = AtomicUsize::new(usize::MAX);
static READ_NS: AtomicU64 = AtomicU64::new(0);
/// What was to stay free then.
static MARGIN: AtomicUsize = AtomicUsize::new(LEAST_MARGIN);

/// In the child of a fork nothing is being created.
pub(crate) fn after_fork_in_child() {
    CREATING.store(0, Ordering::Relaxed);
}

/// Whether so many more bytes may be created. They count as being created then, until they are [done](is_done); if not, what is
/// used of them comes at first touch.
pub(crate) fn has_room(bytes: usize) -> bool {
    CREATING.fetch_add(bytes, Ordering::Relaxed);
    let has_room = has_room_for_counted(bytes);
    if !has_room {
        is_done(bytes);
    }
    has_room
}

/// So many bytes have been created, or will not be.
pub(crate) fn is_done(bytes: usize) {
    CREATING.fetch_sub(bytes, Ordering::Relaxed);
}

/// Whether there still is room for what is being created. Others create pages at the same time: the ranks of a job in one control group do.
/// A thread may have `own_files`.
pub(crate) fn has_room_left(own_files: bool) -> bool {
    let needed = with_margin(CREATING.load(Ordering::Relaxed));
    apart_from(are_others(own_files), || room_bytes(needed)).is_none_or(|room| room >= needed)
}

fn has_room_for_counted(bytes: usize) -> bool {
    let now = sys::coarse_ns();
    if now.saturating_sub(READ_NS.load(Ordering::Relaxed)) < ROOM_HOLDS_NS {
        if bytes >= TOO_MUCH.load(Ordering::Relaxed) {
            return false;
        }
        let take = |left: usize| left.checked_sub(bytes);
        if LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
            return true;
        }
    }
    // Before the reading: what is created meanwhile counts twice, and not never.
    let creating = CREATING.load(Ordering::Relaxed);
    let capacity = apart_from(are_others(false), Capacity::read);
    // Without /proc nobody knows.
    let room = capacity.map_or(usize::MAX, |capacity| capacity.room_bytes);
    if let Some(Capacity { resident_bytes, room_bytes }) = capacity {
        let margin = (resident_bytes.saturating_add(room_bytes) / 8).clamp(LEAST_MARGIN, MOST_MARGIN);
        MARGIN.store(margin, Ordering::Relaxed);
    }
    let needed = with_margin(creating);
    let fits = needed <= room;
    // Others take of it, too.
    LEFT.store(if fits { (room - needed) / 4 } else { 0 }, Ordering::Relaxed);
    TOO_MUCH.store(if fits { usize::MAX } else { bytes }, Ordering::Relaxed);
    READ_NS.store(now, Ordering::Relaxed);
    fits
}

fn are_others(own_files: bool) -> bool {
    !own_files && threads::has_others()
}

/// The room for so many bytes that are being created, and some beside it.
fn with_margin(bytes: usize) -> usize {
    bytes.saturating_add(bytes / 64 + MARGIN.load(Ordering::Relaxed))
}
