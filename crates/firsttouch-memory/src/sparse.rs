//! Programs that use little of much memory, and how that is noticed.
//!
//! Who touches one page in every 2 MiB has those pages by itself, and on huge pages five hundred times as much. The kernel's
//! tables do not tell a huge page with one byte written from a full one. So, once there is enough memory for it to matter, a
//! fresh chunk now and then is a probe: it is left on small pages, and when the heap comes by again, the pages that are touched
//! in it tell what its neighbours are like. Full ones become huge pages after all. Where probes are sparse, everything that
//! is not touched yet stays on small pages, until they are full again.
//!
//! What is allocated beyond the memory there is can be used only in part, and is left on small pages at once.

use crate::arena::Arena;
use crate::capacity::Capacity;
use crate::pages::{BASE, HUGE, Page};
use core::ops::Range;
use firsttouch_linux::sys;

const CHUNK: Page = (HUGE / BASE) as Page;
/// No probes among the first so many chunks (256 MiB): that little may be wasted.
const FIRST_PROBE: Page = 128;
/// From there to the first GiB every so many chunks is a probe (64 MiB), and beyond it every so many (512 MiB).
const SOON: Page = 32;
const LATER: Page = 256;
/// Each is a mapping of its own, of which a process has 65,530.
const MOST_PROBES: usize = 32;
/// So many probes must agree.
const ENOUGH: u32 = 4;
/// And they must be so many times as many as those that say the opposite.
const MAJORITY: u32 = 4;
/// Fewer pages of a chunk in use than these are sparse use, and from so many on it counts as full.
const FEW_PAGES: u32 = CHUNK / 4;
const FULL_PAGES: u32 = CHUNK / 2;
/// Probes are looked at when memory has grown by so many pages, or after this long.
const LOOK_PAGES: Page = 16 * CHUNK;
const LOOK_NS: u64 = 100_000_000;
/// How much memory there is, is asked at first with so many bytes in blocks, and again after no less than a quarter of them.
const ASK_BYTES: usize = 16 << 20;

/// What is known of how densely a program uses its memory.
#[derive(Debug)]
pub(crate) struct Sparse {
    /// First pages of chunks of the transparent arena.
    probes: [Page; MOST_PROBES],
    count: usize,
    /// Probes that were full, since the verdict last changed.
    full: u32,
    /// The verdict of the probes.
    is_sparse: bool,
    /// There are more bytes in blocks than there is memory.
    is_beyond: bool,
    /// How much of memory blocks could have, when that was last asked.
    capacity: usize,
    /// What the process has beside blocks, as far as it is known: the most that it had for certain.
    others: usize,
    /// With more in blocks than this it is asked again.
    ask_above: usize,
    looked_to: Page,
    looked_ns: u64,
}

impl Sparse {
    pub(crate) const UNKNOWN: Sparse = Sparse {
        probes: [0; MOST_PROBES],
        count: 0,
        full: 0,
        is_sparse: false,
        is_beyond: false,
        capacity: usize::MAX,
        others: 0,
        ask_above: ASK_BYTES,
        looked_to: 0,
        looked_ns: 0,
    };

    fn probes(&self) -> &[Page] {
        &self.probes[..self.count]
    }

    /// Resident bytes in probes.
    pub(crate) fn probed_bytes(&self, arena: &Arena) -> usize {
        let touched = self.probes().iter().filter_map(|probe| arena.touched_pages(*probe));
        touched.map(|pages| pages as usize * BASE).sum()
    }

    /// Whether it is to be [learnt](Sparse::learn) how much memory there is, before blocks have so many bytes.
    pub(crate) fn asks(&self, bytes: usize) -> bool {
        !self.is_beyond && bytes > self.ask_above
    }

    /// How much memory there is: for blocks that are about to have so many bytes, and have had at most `before`. What is resident beyond them is
    /// something else.
    pub(crate) fn learn(&mut self, bytes: usize, before: usize, read: Option<Capacity>) {
        self.capacity = read.map_or(usize::MAX, |Capacity { resident_bytes, room_bytes }| {
            self.others = self.others.max(resident_bytes.saturating_sub(before));
            resident_bytes.saturating_sub(self.others).saturating_add(room_bytes)
        });
        let step = (self.capacity.saturating_sub(bytes) / 8).max(ASK_BYTES / 4);
        // Nothing counts as more than there is by what was read long ago.
        self.ask_above = bytes.saturating_add(step).min(self.capacity);
    }

    /// To be called when blocks are about to have so many bytes, and what is to be learnt before is known.
    pub(crate) fn before_blocks(&mut self, bytes: usize) {
        let most = if self.is_beyond { self.capacity / 2 } else { self.capacity };
        self.is_beyond = bytes > most;
    }

    /// To be called thereafter, before pages are taken from an arena.
    pub(crate) fn before_growth(&mut self, arena: &mut Arena) {
        if self.look_is_due(arena.used_to()) {
            self.look(arena);
        }
        self.judge(arena);
    }

    /// Whether so many bytes in blocks are more than memory has room for, as far as that is known, and it is news.
    pub(crate) fn would_be_beyond(&self, bytes: usize) -> bool {
        !self.is_beyond && bytes > self.capacity
    }

    /// How much of memory blocks and what is held may have together, so that a thirty-second is left for page tables and the like; no
    /// bound where blocks alone have more than there is, which they do not use.
    pub(crate) fn capacity(&self) -> usize {
        if self.is_beyond { usize::MAX } else { self.capacity / 32 * 31 }
    }

    /// To be called before placed memory is read for the record: probes that are full by now become huge pages first.
    pub(crate) fn before_reading(&mut self, arena: &mut Arena) {
        if self.count > 0 {
            self.look(arena);
        }
        self.judge(arena);
    }

    /// Leaves what is not touched yet on small pages, or does so no longer.
    fn judge(&mut self, arena: &mut Arena) {
        if arena.set_small(self.is_sparse || self.is_beyond) {
            // What were probes are like all others now.
            for probe in self.probes() {
                arena.note_probe(*probe);
            }
            if !arena.is_small() {
                self.count = 0;
            }
        }
    }

    fn look_is_due(&self, used_to: Page) -> bool {
        self.count > 0
            && (used_to.saturating_sub(self.looked_to) >= LOOK_PAGES
                || sys::coarse_ns().saturating_sub(self.looked_ns) >= LOOK_NS)
    }

    /// Looks at the probes. Those that are full, and those that are gone, are none any more.
    fn look(&mut self, arena: &mut Arena) {
        (self.looked_to, self.looked_ns) = (arena.used_to(), sys::coarse_ns());
        let (mut few, mut kept) = (0, 0);
        for index in 0..self.count {
            let probe = self.probes[index];
            match arena.touched_pages(probe) {
                None => continue,
                Some(FULL_PAGES..) => {
                    self.full += 1;
                    arena.end_probe(probe);
                    continue;
                }
                Some(1..FEW_PAGES) => few += 1,
                // Half full, or nobody has come to it yet.
                Some(_) => {}
            }
            self.probes[kept] = probe;
            kept += 1;
        }
        self.count = kept;
        let (for_it, against) = if self.is_sparse { (few, self.full) } else { (self.full, few) };
        if against >= ENOUGH && against > MAJORITY * for_it {
            self.is_sparse = !self.is_sparse;
            self.full = 0;
        }
    }

    /// To be called after pages were taken from an arena: makes probes of some of the chunks that were never used before, from
    /// `from` on.
    pub(crate) fn set_probes(&mut self, arena: &mut Arena, from: Page) {
        let (mut chunk, end) = ((from / CHUNK).max(FIRST_PROBE), arena.used_to() / CHUNK);
        while self.count < MOST_PROBES {
            chunk = chunk.next_multiple_of(if chunk < 2 * LATER { SOON } else { LATER });
            if chunk >= end {
                return;
            }
            arena.begin_probe(chunk * CHUNK);
            self.probes[self.count] = chunk * CHUNK;
            self.count += 1;
            chunk += 1;
        }
    }

    /// What is a probe in a range of pages is none any more.
    pub(crate) fn end_in(&mut self, arena: &mut Arena, range: Range<Page>) {
        let mut kept = 0;
        for index in 0..self.count {
            let probe = self.probes[index];
            if probe < range.end && range.start < probe + CHUNK {
                arena.end_probe(probe);
                continue;
            }
            self.probes[kept] = probe;
            kept += 1;
        }
        self.count = kept;
    }

    /// Pages were moved to another place, and their mapping with them: what were probes there is gone, and those that were
    /// moved are there now.
    pub(crate) fn moved(&mut self, arena: &mut Arena, from: Page, to: Page, pages: u32) {
        let mut kept = 0;
        for index in 0..self.count {
            let mut probe = self.probes[index];
            if (to..to + pages).contains(&probe) {
                continue;
            }
            if (from..from + pages).contains(&probe) {
                arena.end_probe(probe);
                probe = probe - from + to;
            }
            self.probes[kept] = probe;
            kept += 1;
        }
        self.count = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn has(resident_mib: usize, room_mib: usize) -> Option<Capacity> {
        Some(Capacity { resident_bytes: resident_mib * MIB, room_bytes: room_mib * MIB })
    }

    /// Blocks are about to have so many bytes, and have had at most `before`.
    fn expect(sparse: &mut Sparse, bytes: usize, before: usize, read: impl Fn() -> Option<Capacity>) -> bool {
        if sparse.asks(bytes) {
            sparse.learn(bytes, before, read());
        }
        sparse.before_blocks(bytes);
        sparse.is_beyond
    }

    #[test]
    fn what_the_process_has_beside_blocks_is_not_for_them() {
        let sparse = &mut { Sparse::UNKNOWN };
        // Of a group of 512 MiB 300 are in use when the first blocks come, which are not touched.
        assert!(!expect(sparse, 20 * MIB, 0, || has(300, 212)));
        assert!(expect(sparse, 250 * MIB, 200 * MIB, || has(310, 202)));
        // Nobody reads while they are still too many.
        assert!(expect(sparse, 240 * MIB, 250 * MIB, || unreachable!()));
        assert!(!expect(sparse, 90 * MIB, 240 * MIB, || unreachable!()));
    }

    #[test]
    fn blocks_that_are_used_may_have_all_there_is() {
        let sparse = &mut { Sparse::UNKNOWN };
        for (mib, read) in
            [(20, (|| has(10, 502)) as fn() -> _), (250, || has(240, 272)), (500, || has(490, 22))]
        {
            assert!(!expect(sparse, mib * MIB, (mib - 10) * MIB, read), "{mib}");
        }
        assert!(expect(sparse, 520 * MIB, 500 * MIB, || has(500, 12)));
    }

    #[test]
    fn what_was_read_for_more_is_good_for_less() {
        let sparse = &mut { Sparse::UNKNOWN };
        // A block of 300 MiB is to have 310; that it grows where it is becomes known later.
        assert!(sparse.asks(610 * MIB));
        sparse.learn(610 * MIB, 300 * MIB, has(310, 202));
        sparse.before_blocks(310 * MIB);
        assert!(!sparse.is_beyond && !sparse.asks(310 * MIB));
        // Before anything is taken for too much it is read again.
        assert!(sparse.asks(600 * MIB));
    }

    #[test]
    fn where_nobody_tells_there_is_no_end() {
        let sparse = &mut { Sparse::UNKNOWN };
        assert!(!expect(sparse, usize::MAX / 2, 0, || None));
    }
}
