//! What a fork does to placed memory, and what is done about it.
//!
//! Transparent huge pages: the first byte written after the fork splits its 2 MiB block in the writing process, for
//! good. Some time after the fork, the next large allocation or free puts split blocks together again, outside the
//! lock and within a time budget (see `restore`).
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
use crate::lock::Guard;
use crate::pages::{BASE, HUGE};
use crate::restore::{self, Restore, Seen};
use crate::state::Inner;
use core::sync::atomic::Ordering;
use firsttouch_linux::sys::{self, Descriptor};

/// One call spends at most about this long on putting pages together.
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
        if !self.lock().close(self.patience_of_fork()) {
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
        // Of a copy that was made without a word, or without waiting. Nobody can tell how far the other thread had come: the heap
        // turns everybody away here for good.
        if self.lock().is_held_by_another() {
            return self.abandon();
        }
        self.take_over_from(socket.as_ref());
        self.mark.renew();
    }

    fn abandon(&self) {
        // Until its place is known the span is being made. Who has confined itself may not be allowed to do this; and what is given up
        // is somebody else's when this copy is copied in turn.
        if self.has_span() && !self.is_confined() && !self.is_abandoned.swap(true, Ordering::Relaxed) {
            // SAFETY: whoever held the lock is not here.
            unsafe { self.lock().closed() }.abandon();
        }
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
        let end_ns = sys::now_ns() + RESTORE_BUDGET_NS;
        loop {
            let mut ranges = [(0, 0); RESTORE_RANGES];
            let begin = |mut inner: Guard<'_, Inner>| inner.begin_restoring(&mut ranges);
            let Some((begun, count, others)) = self.enter().and_then(begin) else { return };
            let ranges = &ranges[..count];
            let seen = restore::put_together(ranges, begun.from, end_ns, others);
            let is_in_time = seen.is_none_or(|seen| seen.is_all_of(ranges));
            // A fork that came meanwhile is the next one's.
            let Some(mut inner) = self.enter().filter(|inner| inner.restore.is_same(&begun)) else { return };
            let is_end = is_in_time && count < RESTORE_RANGES;
            inner.restored(seen, is_end);
            if seen.is_none() || is_end || !is_in_time {
                return;
            }
        }
    }
}

impl Inner {
    /// A fork: the pages of all that there is may be split by what is written after it.
    fn note_fork(&mut self) {
        self.arenas.iter_mut().flatten().for_each(Arena::note_fork);
        self.restore = Restore::after_fork(sys::coarse_ns());
    }

    /// Begins with the next ranges of what the last fork had split, if it is time: how many, and whether there may be other threads.
    fn begin_restoring(&mut self, ranges: &mut [(usize, usize)]) -> Option<(Restore, usize, bool)> {
        let begun = self.restore.begin(sys::coarse_ns())?;
        Some((begun, self.ranges_to_restore(begun.from, ranges), self.has_threads))
    }

    /// Some of what the last fork had split has been seen to.
    fn restored(&mut self, seen: Option<Seen>, is_end: bool) {
        let is_whole = self.restore.note(seen, is_end, sys::coarse_ns());
        if let Some(arena) = self.arenas[Backing::Transparent as usize].as_mut().filter(|_| is_whole) {
            arena.forget_fork();
        }
    }

    /// Whether enough time has passed since the last fork.
    pub(crate) fn restore_is_due(&self) -> bool {
        !self.is_confined() && self.restore.is_due(sys::coarse_ns())
    }

    /// Whole 2 MiB blocks of live transparent blocks above an address.
    fn ranges_to_restore(&self, from: usize, ranges: &mut [(usize, usize)]) -> usize {
        let arena = self.arenas[Backing::Transparent as usize].as_ref();
        let Some(arena) = arena.filter(|arena| !arena.is_small()) else { return 0 };
        let first =
            if from <= arena.base { Some(0) } else { arena.run_at(arena.page(from)).map(|run| run.0) };
        let mut count = 0;
        for (start, pages, block) in
            first.into_iter().flat_map(|first| Extents::runs_from(arena.table(), first))
        {
            let begin = arena.address(start).next_multiple_of(HUGE).max(from);
            let end = (arena.address(start) + pages as usize * BASE) / HUGE * HUGE;
            if block.is_some_and(|block| !block.is_retired()) && begin < end {
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
            copy_chunks(arena, backing, parent);
            // What the parent sent may have been written by it since the fork, free pages too.
            arena.set_free_dirty();
        }
    }

    /// In a copy of the process that does without the heap, because another thread was at work here: gives up what is reserved, which a
    /// limit would count, and leaves the pools. However far that thread had come, what is mapped was described before.
    fn abandon(&self) {
        if self.span.as_ref().is_some_and(|span| span.reserved) {
            self.unreserve_ahead();
            self.arenas.iter().flatten().for_each(Arena::abandon);
        }
        for backing in Backing::pools() {
            self.arenas[backing as usize].iter().for_each(|arena| copy_chunks(arena, backing, None));
        }
    }
}

fn copy_chunks(arena: &Arena, backing: Backing, parent: Option<&Descriptor>) {
    for (_, address) in arena.mapped_chunks() {
        // SAFETY: a chunk of this heap; a forked child has one thread, and that is here.
        unsafe { inherit::copy_to_ordinary_memory(address, backing.chunk_bytes(), parent) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::in_child;
    use crate::settings::Settings;
    use std::sync::mpsc::channel;
    use std::thread;

    /// Another thread is in the heap when the copy is made: that copy does without the heap, and so does a copy of it.
    #[test]
    fn an_abandoned_span_is_anybodys_but_for_its_blocks() {
        static HEAP: Heap = Heap::new();
        HEAP.enable(Settings::STANDARD);
        let block = HEAP.allocate(4 << 20, 16, false);
        let last =
            HEAP.wait().and_then(|inner| inner.span.as_ref().map(|span| span.base + span.bytes() - BASE));
        let last = last.unwrap();
        assert!(!block.is_null() && HEAP.owns(block) && HEAP.owns(last as *const u8));
        let take = || {
            // SAFETY: takes only what is free.
            let mapped = unsafe {
                sys::map_anonymous(last, BASE, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_FIXED_NOREPLACE)
            };
            mapped == Ok(last)
        };
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let guard = HEAP.wait();
                tell.send(guard.is_some()).unwrap();
                let _ = ended.recv();
            });
            assert!(told.recv().unwrap());
            assert!(in_child(0, || {
                let is_abandoned = !HEAP.is_whole() && HEAP.owns(block) && !HEAP.owns(last as *const u8);
                // In the copy's copy this is somebody else's.
                is_abandoned && take() && in_child(0, || !HEAP.is_whole() && HEAP.owns(block) && !take())
            }));
            assert!(HEAP.is_whole() && HEAP.owns(last as *const u8) && !take());
            drop(end);
        });
        assert!(HEAP.free(block));
    }
}
