//! Creating the pages of new blocks in the background: a thread goes through them ahead of the program.
//!
//! One thread at a time, piece after piece, so that nobody who maps or unmaps memory waits for more than a huge page; it ends when
//! nothing is left to create, and there is none between large allocations. It changes no contents (`MADV_POPULATE_WRITE`, Linux 5.14):
//! what the program touches first is as it would be. A block that is freed or resized is let go before, because its memory is the
//! heap's again; and so is one of which the program maps a part anew, say.

use crate::threads::{self, StandIn};
use crate::{HEAP, helper, populate, room};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use firsttouch_linux::sys;
use firsttouch_memory::{BASE, HUGE, Mark};

/// What the program touches itself at the beginning of a block, while the thread starts.
const LEFT_TO_THE_PROGRAM: usize = 2 * HUGE;
/// So many blocks wait at a time; the pages of more come at first touch.
const BLOCKS: usize = 64;

/// The flags of [`Waiting::next`], which otherwise is a multiple of [`HUGE`]: the thread is creating a page of it; it is to be let go
/// after that; somebody is filling it in.
const BUSY: usize = 1;
const LET_GO: usize = 2;
const CLAIMED: usize = 4;

/// A block whose pages are being created.
struct Waiting {
    /// Where the pages begin that are not created yet, with flags; 0 if there is no block.
    next: AtomicUsize,
    end: AtomicUsize,
    block: AtomicUsize,
    /// The node of the thread that allocated it, and one more; 0 where that is not known.
    node: AtomicU32,
}

static ALL: [Waiting; BLOCKS] = [const {
    Waiting {
        next: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        block: AtomicUsize::new(0),
        node: AtomicU32::new(0),
    }
}; BLOCKS];
/// How many of them have a block.
static BLOCKS_WAITING: AtomicUsize = AtomicUsize::new(0);
/// There is a thread.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);
/// A copy of the process has the blocks of this table, and no thread.
static MARK: Mark = Mark::new();
/// Changes whenever a block was let go for which somebody waits.
static LET_GO_COUNT: AtomicU32 = AtomicU32::new(0);

/// Has the pages of a new block created, those at its edges excepted. What fails comes at first touch, as without us.
pub(crate) fn block(address: *mut u8, bytes: usize) {
    let start = address as usize / HUGE * HUGE + LEFT_TO_THE_PROGRAM;
    // The rest shares a huge page with the next block.
    let end = (address as usize + bytes) / HUGE * HUGE;
    // A thread that a child of vfork(2) starts would end with it.
    if start >= end || !HEAP.is_of_this_process() || !is_own() || !room::has_room(end - start) {
        return;
    }
    MARK.make();
    let is_free = |waiting: &&Waiting| waiting.next.compare_exchange(0, CLAIMED, SeqCst, SeqCst).is_ok();
    let Some(waiting) = ALL.iter().find(is_free) else {
        room::is_done(end - start);
        return;
    };
    waiting.block.store(address as usize, SeqCst);
    waiting.end.store(end, SeqCst);
    waiting.node.store(threads::own_node().map_or(0, |node| node + 1), SeqCst);
    BLOCKS_WAITING.fetch_add(1, SeqCst);
    waiting.next.store(start, SeqCst);
    // SAFETY: the thread makes system calls only.
    if !IS_RUNNING.swap(true, SeqCst) && !unsafe { helper::start_apart(create_all) } {
        IS_RUNNING.store(false, SeqCst);
        leaving(address);
    }
}

/// From here on no page of a block is created, if any was to be.
pub(crate) fn leaving(block: *mut u8) {
    if BLOCKS_WAITING.load(SeqCst) > 0 && is_own() {
        ALL.iter().for_each(|waiting| waiting.let_go(block as usize));
    }
}

/// The same for every block that has a part of a range.
pub(crate) fn leaving_range(address: usize, bytes: usize) {
    if BLOCKS_WAITING.load(SeqCst) > 0 && is_own() {
        let end = address.saturating_add(bytes);
        for waiting in &ALL {
            let block = waiting.block.load(SeqCst);
            if block < end && address < waiting.end.load(SeqCst) {
                waiting.let_go(block);
            }
        }
    }
}

/// Whether the table is this process's own. The child of clone(2), or `_Fork`, makes it so when it first comes here.
fn is_own() -> bool {
    MARK.stands_after(forget)
}

/// In the child of a fork.
pub(crate) fn after_fork_in_child() {
    MARK.once_in_copy(forget);
}

/// There is no thread of ours, and nothing is being created. The parent's goes on.
fn forget() {
    room::after_fork_in_child();
    ALL.iter().for_each(|waiting| waiting.next.store(0, SeqCst));
    BLOCKS_WAITING.store(0, SeqCst);
    IS_RUNNING.store(false, SeqCst);
}

extern "C" fn create_all(_: usize) {
    let has_own_files = helper::step_apart();
    let stand_in = StandIn::new();
    loop {
        ALL.iter().for_each(|waiting| waiting.create(&stand_in, has_own_files));
        if BLOCKS_WAITING.load(SeqCst) == 0 {
            IS_RUNNING.store(false, SeqCst);
            // Whoever came meanwhile has seen that there is a thread, or has started another.
            if BLOCKS_WAITING.load(SeqCst) == 0 || IS_RUNNING.swap(true, SeqCst) {
                return;
            }
        }
    }
}

impl Waiting {
    /// Creates its pages, until there are no more, or no room for them, or they are not to be created any more.
    fn create(&self, stand_in: &StandIn, may_read: bool) {
        let mut since_room_was_seen = 0;
        loop {
            let at = self.next.load(SeqCst);
            if at < BASE || self.next.compare_exchange(at, at | BUSY, SeqCst, SeqCst).is_err() {
                return;
            }
            let end = self.end.load(SeqCst);
            let to = at + HUGE;
            stand_in.create_on(self.node.load(SeqCst).checked_sub(1));
            // SAFETY: the block is live: who frees it waits until this is done.
            let created = !helper::is_barred() && unsafe { populate::create_pages(at, to - at) };
            room::is_done(to - at);
            since_room_was_seen += to - at;
            let mut goes_on = to < end && created;
            if goes_on && since_room_was_seen >= room::PIECE {
                since_room_was_seen = 0;
                goes_on = may_read && room::has_room_left(true);
            }
            if goes_on && self.next.compare_exchange(at | BUSY, to, SeqCst, SeqCst).is_ok() {
                continue;
            }
            room::is_done(end - to);
            BLOCKS_WAITING.fetch_sub(1, SeqCst);
            if self.next.swap(0, SeqCst) & LET_GO != 0 {
                LET_GO_COUNT.fetch_add(1, SeqCst);
                sys::futex_wake(&LET_GO_COUNT, i32::MAX);
            }
            return;
        }
    }

    /// Ends it if it is that of this block. A page that is being created is waited for.
    fn let_go(&self, block: usize) {
        loop {
            let count = LET_GO_COUNT.load(SeqCst);
            let next = self.next.load(SeqCst);
            if next < BASE || self.block.load(SeqCst) != block {
                return;
            }
            let end = self.end.load(SeqCst);
            if next & LET_GO != 0 {
                sys::futex_wait(&LET_GO_COUNT, count);
            } else if next & BUSY != 0 {
                let _ = self.next.compare_exchange(next, next | LET_GO, SeqCst, SeqCst);
            } else if self.next.compare_exchange(next, 0, SeqCst, SeqCst).is_ok() {
                room::is_done(end - next);
                BLOCKS_WAITING.fetch_sub(1, SeqCst);
                return;
            }
        }
    }
}
