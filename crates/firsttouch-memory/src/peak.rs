//! The reading of placed memory at its peak, and the record of it: when one is due, and what it may cost.

use crate::backing::Backing;
use crate::evidence::Evidence;
use crate::record::{self, More, Record};
use crate::snapshot::Snapshot;
use crate::state::Inner;
use firsttouch_linux::sys;

/// How long looks that are not paid for are not thought of again.
const UNPAID_NS: u64 = 1_000_000;

/// The processor time that looks may have taken by now: a hundredth of the program's own, and so much at first.
fn affordable_ns() -> u64 {
    const AT_FIRST_NS: u64 = 5_000_000;
    AT_FIRST_NS + sys::process_ns() / 100
}

impl Inner {
    /// Whether placed memory is to be read for the record before it becomes less: there is more than the last reading saw, and looks so far
    /// are paid for. Who has confined itself may open no file, and had its record before.
    pub(crate) fn look_is_due(&mut self) -> bool {
        let (live_bytes, known_bytes) = (self.totals.live_bytes, self.snapshot.resident_bytes());
        if self.record_file.is_none() || self.is_confined() || live_bytes / 33 * 32 < known_bytes {
            return false;
        }
        let now = sys::now_ns();
        if now < self.next_look_ns {
            return false;
        }
        // Where there is much more than ever it is read at once.
        let is_paid = live_bytes / 3 * 2 >= known_bytes || self.looks_ns <= affordable_ns();
        if !is_paid {
            self.next_look_ns = now + UNPAID_NS;
        }
        is_paid
    }

    /// Reads it, and writes that down.
    pub(crate) fn look_at_peak(&mut self) {
        let (before, used_before) = (sys::now_ns(), sys::thread_ns());
        if self.look() {
            self.write_record(false, &|_| Ok(()));
        }
        self.looks_ns += sys::thread_ns() - used_before;
        let after = sys::now_ns();
        self.next_look_ns = after + 20 * (after - before);
    }

    /// Reads placed memory and keeps the reading if at least as much is resident as at the last; answers whether.
    fn look(&mut self) -> bool {
        if let Some((arena, sparse)) = self.watched(Backing::Transparent as usize) {
            sparse.before_reading(arena);
        }
        let (asked, live_bytes) = (self.settings.pages, self.totals.live_bytes);
        let evidence = Evidence::since(self.failures_before);
        let mut now = Snapshot::EMPTY;
        now.read(&self.arenas, &self.sparse, self.span.as_ref(), asked, evidence, live_bytes);
        let is_more = now.resident_bytes() >= self.snapshot.resident_bytes();
        if is_more {
            self.snapshot = now;
        }
        is_more
    }

    /// The last record of a program that ends, if one is wanted.
    pub(crate) fn finish_record(&mut self, more: More<'_>) {
        if self.record_file.is_some() && !(self.records_memory_only && self.has_nothing_to_tell()) {
            self.look();
            self.write_record(true, more);
        }
        self.record_file = None;
    }

    /// Nothing was placed, and nothing was refused.
    fn has_nothing_to_tell(&self) -> bool {
        self.totals.placed_blocks == 0
            && self.stood_down.is_none()
            && self.refused.iter().all(|bytes| *bytes == 0)
    }

    fn write_record(&self, complete: bool, more: More<'_>) {
        if let Some(file) = self.record_file.filter(|_| record::may_be_written()) {
            let (asked, totals) = (self.settings.pages, self.totals);
            Record {
                asked,
                totals,
                snapshot: &self.snapshot,
                refused: &self.refused,
                stood_down: self.stood_down,
                is_rationed: self.span.as_ref().is_some_and(|span| !span.reserved),
                complete,
                more,
            }
            .write(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::affordable_ns;
    use crate::heap::Heap;
    use crate::record::RecordFile;
    use crate::settings::Settings;

    const MIB: usize = 1 << 20;

    /// A heap of which there is a record, that nobody writes here.
    fn recorded() -> Heap {
        let heap = Heap::new();
        heap.enable(Settings::STANDARD);
        heap.record_to(RecordFile::NOWHERE, false);
        heap
    }

    fn filled(heap: &Heap, bytes: usize) -> *mut u8 {
        let block = heap.allocate(bytes, 16, false);
        assert!(!block.is_null());
        // SAFETY: a block of the test's.
        unsafe { block.write_bytes(1, bytes) };
        block
    }

    /// Whether a look is due when those until now have taken so much.
    fn is_due(heap: &Heap, looks_ns: u64) -> bool {
        let mut inner = heap.enter().unwrap();
        (inner.looks_ns, inner.next_look_ns) = (looks_ns, 0);
        inner.look_is_due()
    }

    #[test]
    fn looks_that_are_not_paid_for_wait_unless_there_is_much_more() {
        let heap = recorded();
        assert!(heap.free(filled(&heap, 8 * MIB)), "which looks");
        let _a_little_more = filled(&heap, 9 * MIB);
        assert!(is_due(&heap, 0) && is_due(&heap, affordable_ns()));
        assert!(!is_due(&heap, affordable_ns() + 1_000_000_000));
        let _much_more = filled(&heap, 9 * MIB);
        assert!(is_due(&heap, u64::MAX / 2));
    }

    #[test]
    fn who_has_confined_itself_is_not_looked_at() {
        let heap = recorded();
        let _block = filled(&heap, 8 * MIB);
        assert!(is_due(&heap, 0));
        heap.confine();
        assert!(!is_due(&heap, 0));
    }
}
