//! What the heap has the kernel tell it before it decides: how much memory there is, and how much the program has.
//!
//! In a program with several threads, reading takes another thread, with files of its own ([`apart_from`]). On a busy machine a new thread
//! may wait for a processor longer than a lock's holder is waited for (`patience`); meanwhile nobody waits for the heap,
//! who would take one that holds it so long for stopped, and do without placed memory. So everything is read before the
//! lock is taken for good, with what the heap knew then. What is read for the record must be of one moment with the tables of blocks: there the other
//! thread takes the lock, when it has a processor. A program of one thread reads where it needs it.

use crate::capacity::Capacity;
use crate::failures::{Failures, Of};
use crate::footprint::{Placed, Why};
use crate::heap::Heap;
use crate::lines::apart_from;
use crate::lock::Guard;
use crate::pages::BASE;
use crate::patience::Patience;
use crate::state::Inner;
use firsttouch_linux::sys;

impl Heap {
    /// [Enters](Heap::enter) to take pages for so many bytes.
    pub(crate) fn enter_to_take(&self, bytes: usize) -> Option<Guard<'_, Inner>> {
        let inner = self.enter()?;
        if inner.has_threads { self.learn_to_take(inner, bytes) } else { Some(inner) }
    }

    fn learn_to_take<'heap>(
        &'heap self,
        mut inner: Guard<'heap, Inner>,
        bytes: usize,
    ) -> Option<Guard<'heap, Inner>> {
        if inner.span.is_none() && !inner.span_refused && inner.failures_before.is_none() {
            drop(inner);
            let failures = apart_from(true, || Failures::read(Of::Anonymous));
            inner = self.enter()?;
            inner.failures_before = inner.failures_before.or(failures);
        }
        if inner.settings.may_exceed_memory && !inner.is_confined() && inner.asks_for_capacity(bytes) {
            let before = inner.bytes_in_use();
            drop(inner);
            let capacity = apart_from(true, Capacity::read);
            inner = self.enter()?;
            inner.learn_capacity(bytes, before, capacity);
        }
        Some(inner)
    }

    /// Before placed memory becomes less: reads it, if there is a record of it and more than the last reading saw.
    /// Threads wait for each other's readings, lest memory of theirs were gone by then.
    pub(crate) fn looked<'heap>(
        &'heap self,
        mut inner: Guard<'heap, Inner>,
        enter: impl Fn() -> Option<Guard<'heap, Inner>>,
    ) -> Option<Guard<'heap, Inner>> {
        if !inner.look_is_due() {
            return Some(inner);
        }
        if !inner.has_threads {
            inner.look_at_peak();
            return Some(inner);
        }
        drop(inner);
        apart_from(true, || {
            let mut inner = self.enter()?;
            inner.look_is_due().then(|| inner.look_at_peak())
        });
        enter()
    }

    /// [Enters](Heap::enter) to free a block of the caller's.
    pub(crate) fn enter_to_free(&self, address: *const u8) -> Option<Guard<'_, Inner>> {
        let mut inner = self.looked(self.enter()?, || self.enter())?;
        if inner.has_threads && inner.reads_to_free(address) {
            inner = self.learn_footprint(inner, Why::Freed, || self.enter())?;
        }
        Some(inner)
    }

    /// Enters to look at growth; `None` if somebody else is in the heap, or it is not to be looked at now. Whoever allocates little waits for
    /// nobody: the next one looks.
    pub(crate) fn enter_to_look(&self) -> Option<Guard<'_, Inner>> {
        let enter = || self.enter_with(Patience::NONE);
        let mut inner = enter().filter(|inner| inner.watches_growth)?;
        if !inner.has_threads {
            return Some(inner);
        }
        if !inner.footprint.look_is_due(true) {
            return None;
        }
        self.learn_footprint(inner, Why::Grown, enter)
    }

    fn learn_footprint<'heap>(
        &'heap self,
        inner: Guard<'heap, Inner>,
        why: Why,
        enter: impl Fn() -> Option<Guard<'heap, Inner>>,
    ) -> Option<Guard<'heap, Inner>> {
        let before = inner.placed();
        drop(inner);
        let began_ns = sys::now_ns();
        let resident = apart_from(true, || before.read_resident());
        let took_ns = sys::now_ns() - began_ns;
        let mut inner = enter()?;
        let placed = before.or_more(inner.placed());
        inner.footprint.learn(why, placed, resident, took_ns);
        Some(inner)
    }
}

impl Inner {
    /// What blocks have, and what is held.
    fn bytes_in_use(&self) -> usize {
        self.totals.live_bytes + self.held_pages() as usize * BASE
    }

    /// Whether it is to be learnt how much memory there is, before blocks have so many bytes more.
    pub(crate) fn asks_for_capacity(&self, more: usize) -> bool {
        self.sparse.asks(self.totals.live_bytes.saturating_add(more))
    }

    /// How much memory there is was read when there was so much in use, or as much as now.
    pub(crate) fn learn_capacity(&mut self, more: usize, in_use: usize, capacity: Option<Capacity>) {
        let in_use = in_use.max(self.bytes_in_use());
        self.sparse.learn(self.totals.live_bytes.saturating_add(more), in_use, capacity);
    }

    /// Whether the program's own memory is to be read before a block is freed.
    fn reads_to_free(&mut self, address: *const u8) -> bool {
        let placed = self.placed();
        if self.settings.recycle_bytes.is_some() || self.is_confined() || self.footprint.covers(placed) {
            return false;
        }
        let Some((_, _, pages, block)) = self.find(address) else { return false };
        let beside = Placed { live_bytes: placed.live_bytes - block.bytes, ..placed };
        self.footprint.reads_to_hold(beside, pages as usize * BASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::waits;
    use crate::record::RecordFile;
    use crate::settings::Settings;
    use std::sync::mpsc::channel;
    use std::thread;

    const MIB: usize = 1 << 20;

    /// While a thread `reads` for what it does, others have the heap.
    fn others_go_on_while<T: Send>(heap: &Heap, reads: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let (is_reading, began) = channel();
            let (go_on, may_go_on) = channel();
            let reader = scope.spawn(move || {
                waits::set(move || {
                    is_reading.send(()).unwrap();
                    may_go_on.recv().unwrap();
                });
                let done = reads();
                // Of who has read nothing nothing comes any more.
                waits::set(|| {});
                done
            });
            began.recv().expect("it reads");
            let block = heap.allocate(MIB, 16, false);
            assert!(!block.is_null() && heap.free(block));
            go_on.send(()).unwrap();
            reader.join().unwrap()
        })
    }

    #[test]
    fn nobody_waits_for_who_reads() {
        let heap = Heap::new();
        heap.enable(Settings { may_exceed_memory: true, ..Settings::STANDARD });
        heap.create_thread();
        // What the kernel has counted before the first block, how much memory there is for a large one, and what the process has had with it.
        let first = others_go_on_while(&heap, || heap.allocate(MIB, 16, false) as usize);
        let large = others_go_on_while(&heap, || heap.allocate(64 * MIB, 16, false) as usize);
        assert!(first > 0 && large > 0);
        assert!(others_go_on_while(&heap, || heap.free(large as *mut u8)));
        // And all of it before it becomes less, where there is a record; nobody writes it here.
        heap.record_to(RecordFile::NOWHERE, false);
        assert!(others_go_on_while(&heap, || heap.free(first as *mut u8)));
    }
}
