//! What a fork does to placed memory, and what is done about it.
//!
//! Transparent huge pages: the first byte written after the fork splits its 2 MiB block in the writing process, for
//! good. Some time after the fork, the next large allocation or free puts split blocks together again, outside the
//! lock and within a time budget.
//!
//! Reserved pages: a write needs a second page from the pool, and if the pool has none the kernel kills the child with
//! SIGBUS. So the child copies such blocks to ordinary memory at the same addresses before it goes on (see `inherit`),
//! while the parent's thread waits. What the pool holds for reuse the child gives up.
//!
//! The lock is not held over a fork but closed (see `lock`): nobody may be kept waiting there, because the fork may wait
//! for them.

use crate::arena::Arena;
use crate::backing::Backing;
use crate::extents::Extents;
use crate::heap::Heap;
use crate::inherit;
use crate::pages::{BASE, HUGE};
use crate::state::Inner;
use firsttouch_linux::sys::{self, Descriptor};

/// After a fork, blocks are left alone for this long: most children exec or exit within it.
const RESTORE_DELAY_NS: u64 = 100_000_000;
/// One call spends at most about this long on restoring.
const RESTORE_BUDGET_NS: u64 = 20_000_000;
/// Ranges looked up under the lock at a time.
const RESTORE_RANGES: usize = 64;

impl Heap {
    /// To be called before fork, in the thread that forks: closes the heap, so that nothing changes until the fork has ended,
    /// and the child's is whole. Whoever allocates meanwhile is turned away. Where another thread was stopped in the heap, who
    /// had it stopped forks all the same, and its child places nothing.
    pub fn before_fork(&self) {
        if !self.is_whole() {
            return;
        }
        if !self.lock().close() {
            self.forks.begin_open();
            return;
        }
        // SAFETY: closed just now.
        if unsafe { self.lock().closed() }.has_blocks_to_copy()
            && let Ok(ends) = sys::socket_pair()
        {
            self.forks.begin(ends);
        }
    }

    /// To be called after fork in the parent (also when fork failed), in the same thread.
    pub fn after_fork_in_parent(&self) {
        // The child's end is closed before it is waited for. The heap stays closed until the child has what it needs: of a
        // block that another thread frees meanwhile there would be nothing left to send.
        let socket = self.forks.end().map(|(own, _)| own);
        if let Some(socket) = socket {
            inherit::serve(&socket);
        }
        if self.forks.end_closed()
            && let Some(inner) = self.lock().open()
        {
            let mut inner = self.caught_up(inner);
            inner.note_fork();
        }
    }

    /// To be called after fork in the child. After clone(2) and `_Fork` nobody does: then it is done when the child first comes
    /// to the heap.
    pub fn after_fork_in_child(&self) {
        if !self.mark.claim() {
            return;
        }
        let socket = self.forks.end().map(|(_, own)| own);
        self.forks.forget();
        // Of a copy that was made without a word. Nobody can tell how far the other thread had come: the heap turns
        // everybody away here for good.
        if self.lock().is_held_by_another() {
            return;
        }
        self.take_over_from(socket.as_ref());
        self.mark.renew();
    }

    fn take_over_from(&self, parent: Option<&Descriptor>) {
        // A handler of a signal that interrupted the heap has forked: the heap goes on here as it does in the parent.
        let Some(inner) = self.lock().open_in_child() else { return self.set_process() };
        let mut inner = self.caught_up(inner);
        // Who has confined itself may not be allowed the question.
        if !inner.is_confined() {
            self.set_process();
        }
        inner.note_fork();
        inner.has_threads = false;
        // The record is the parent's.
        inner.record_file = None;
        if inner.has_blocks_to_copy() {
            inner.leave_reserved_pool(parent);
        }
    }

    /// Some time after a fork: puts together the huge pages that writes have split.
    pub(crate) fn restore_after_fork(&self) {
        let begin = sys::now_ns();
        let Some(due_ns) = self.enter().map(|inner| inner.restore_at_ns) else { return };
        let (mut from, mut is_whole) = (0, true);
        loop {
            let mut ranges = [(0, 0); RESTORE_RANGES];
            let Some(count) = self.enter().map(|inner| inner.ranges_to_restore(from, &mut ranges)) else {
                return;
            };
            for (start, end) in ranges.into_iter().take(count) {
                let mut at = start;
                while at < end {
                    if sys::now_ns() - begin > RESTORE_BUDGET_NS {
                        return;
                    }
                    let bytes = (16 * HUGE).min(end - at);
                    // SAFETY: collapsing changes no contents; on memory that was freed meanwhile it changes nothing
                    // that matters, because the span stays ours. Blocks that are huge already cost a look.
                    is_whole &= unsafe { sys::advise(at, bytes, sys::MADV_COLLAPSE) }.is_ok();
                    at += bytes;
                }
                from = end;
            }
            if count < RESTORE_RANGES {
                // A fork that came meanwhile is the next one's.
                if let Some(mut inner) = self.enter().filter(|inner| inner.restore_at_ns == due_ns) {
                    inner.restored(is_whole);
                }
                return;
            }
        }
    }
}

impl Inner {
    /// A fork: the pages of all that there is may be split by what is written after it.
    fn note_fork(&mut self) {
        self.arenas.iter_mut().flatten().for_each(Arena::note_fork);
        self.restore_at_ns = Some(sys::coarse_ns() + RESTORE_DELAY_NS);
    }

    /// What the last fork had split has been seen to; `is_whole` if all of it is on huge pages again.
    fn restored(&mut self, is_whole: bool) {
        self.restore_at_ns = None;
        if let Some(arena) = self.arenas[Backing::Transparent as usize].as_mut().filter(|_| is_whole) {
            arena.forget_fork();
        }
    }

    /// Whether enough time has passed since the last fork.
    pub(crate) fn restore_is_due(&self) -> bool {
        self.restore_at_ns.is_some_and(|at| !self.is_confined() && sys::coarse_ns() >= at)
    }

    /// Whole 2 MiB blocks of live transparent blocks above an address.
    fn ranges_to_restore(&self, from: usize, ranges: &mut [(usize, usize)]) -> usize {
        let arena = self.arenas[Backing::Transparent as usize].as_ref();
        let Some(arena) = arena.filter(|arena| !arena.is_small()) else { return 0 };
        let mut count = 0;
        for (start, pages, block) in Extents::runs(arena.table()) {
            let begin = arena.address(start).next_multiple_of(HUGE).max(from);
            let end = (arena.address(start) + pages as usize * BASE) / HUGE * HUGE;
            if block.is_some() && begin < end {
                let Some(slot) = ranges.get_mut(count) else { break };
                *slot = (begin, end);
                count += 1;
            }
        }
        count
    }

    /// Whether a child is to have copies of what lies on reserved pages; for those of who has confined itself none can be made.
    fn has_blocks_to_copy(&self) -> bool {
        !self.is_confined()
            && Backing::pools()
                .filter_map(|backing| self.arenas[backing as usize].as_ref())
                .any(|arena| arena.mapped_chunks().next().is_some())
    }

    /// Replaces every chunk of the reserved pools that holds something by a copy in ordinary memory at the same address.
    fn leave_reserved_pool(&mut self, parent: Option<&Descriptor>) {
        for backing in Backing::pools() {
            let Some(arena) = &mut self.arenas[backing as usize] else { continue };
            arena.unmap_free_chunks();
            let bytes = backing.chunk_bytes();
            for (_, address) in arena.mapped_chunks() {
                // SAFETY: a chunk of this heap; a forked child has one thread, and that is here.
                unsafe { inherit::copy_to_ordinary_memory(address, bytes, parent) };
            }
            // What the parent sent may have been written by it since the fork, free pages too.
            arena.set_free_dirty();
        }
    }
}
