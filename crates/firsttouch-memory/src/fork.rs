//! What a fork does to placed memory, and what is done about it.
//!
//! Transparent huge pages: the first byte written after the fork splits its 2 MiB block in the writing process, for
//! good. Some time after the fork, the next large allocation or free puts split blocks together again, outside the
//! lock and within a time budget.
//!
//! Reserved pages: a write needs a second page from the pool, and if the pool has none the kernel kills the child with
//! SIGBUS. So the child copies such blocks to ordinary memory at the same addresses before it goes on (see `inherit`),
//! while the parent's thread waits.

use crate::arena::Backing;
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

/// What [`Heap::before_fork`] hands to the two sides.
#[derive(Debug)]
pub struct Fork {
    /// The parent's and the child's end of a socket; only if the child has copying to do.
    ends: Option<(Descriptor, Descriptor)>,
}

impl Heap {
    /// To be called before fork: holds the lock, so that the child's heap is whole.
    pub fn before_fork(&self) -> Fork {
        self.inner.hold();
        // SAFETY: held just now.
        let inner = unsafe { self.inner.held() };
        Fork { ends: if inner.has_reserved_blocks() { sys::socket_pair().ok() } else { None } }
    }

    /// To be called after fork in the parent (also when fork failed).
    ///
    /// # Safety
    /// With the value of the [`Heap::before_fork`] that this fork began with.
    pub unsafe fn after_fork_in_parent(&self, fork: Fork) {
        // SAFETY: held since before_fork.
        let inner = unsafe { self.inner.held() };
        inner.forks += 1;
        inner.restore_at_ns = Some(sys::coarse_ns() + RESTORE_DELAY_NS);
        // The child's end is closed while the lock still keeps other threads from forking: with a copy of it in another
        // child, the wait below would be for that child's end.
        let socket = fork.ends.map(|(own, _)| own);
        // SAFETY: as above.
        unsafe { self.inner.release() };
        if let Some(socket) = socket {
            inherit::serve(&socket);
        }
    }

    /// To be called after fork in the child.
    ///
    /// # Safety
    /// With the value of the [`Heap::before_fork`] that this fork began with.
    pub unsafe fn after_fork_in_child(&self, fork: Fork) {
        // SAFETY: held since before_fork, by the thread this one is a copy of.
        let inner = unsafe { self.inner.held() };
        inner.forks = 1;
        inner.restore_at_ns = Some(sys::coarse_ns() + RESTORE_DELAY_NS);
        // The record is the parent's.
        inner.record_path = None;
        if inner.has_reserved_blocks() {
            let socket = fork.ends.map(|(_, own)| own);
            inner.leave_reserved_pool(socket.as_ref());
        }
        // SAFETY: as above.
        unsafe { self.inner.release() };
    }

    /// Some time after a fork: puts together the huge pages that writes have split.
    pub(crate) fn restore_after_fork(&self) {
        let begin = sys::now_ns();
        let mut from = 0;
        loop {
            let mut ranges = [(0, 0); RESTORE_RANGES];
            let count = self.inner.lock().ranges_to_restore(from, &mut ranges);
            for (start, end) in ranges.into_iter().take(count) {
                let mut at = start;
                while at < end {
                    if sys::now_ns() - begin > RESTORE_BUDGET_NS {
                        return;
                    }
                    let bytes = (16 * HUGE).min(end - at);
                    // SAFETY: collapsing changes no contents; on memory that was freed meanwhile it changes nothing
                    // that matters, because the span stays ours. Blocks that are huge already cost a look.
                    let _ = unsafe { sys::advise(at, bytes, sys::MADV_COLLAPSE) };
                    at += bytes;
                }
                from = end;
            }
            if count < RESTORE_RANGES {
                self.inner.lock().restore_at_ns = None;
                return;
            }
        }
    }
}

impl Inner {
    /// Whether enough time has passed since the last fork.
    pub(crate) fn restore_is_due(&self) -> bool {
        self.restore_at_ns.is_some_and(|at| sys::coarse_ns() >= at)
    }

    /// Whole 2 MiB blocks of live transparent blocks above an address.
    fn ranges_to_restore(&self, from: usize, ranges: &mut [(usize, usize)]) -> usize {
        let Some(arena) = &self.arenas[Backing::Transparent as usize] else { return 0 };
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

    fn has_reserved_blocks(&self) -> bool {
        [Backing::Huge2M, Backing::Huge1G]
            .into_iter()
            .filter_map(|backing| self.arenas[backing as usize].as_ref())
            .any(|arena| arena.mapped_chunks().next().is_some())
    }

    /// Replaces every mapped chunk of the reserved pools by a copy in ordinary memory at the same address.
    fn leave_reserved_pool(&mut self, parent: Option<&Descriptor>) {
        for backing in [Backing::Huge2M, Backing::Huge1G] {
            let Some(arena) = &mut self.arenas[backing as usize] else { continue };
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
