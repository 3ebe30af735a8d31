//! How much of what is freed may be held for reuse: so much that the program's memory with it stays within a tenth above the most
//! that it had by itself.
//!
//! A vector that grows, say, frees a block only when the next, twice as large, has its contents: all the blocks that it has grown
//! out of would be held at its peak, as much again. Held in place of them is nothing, as without us. A program that makes and frees
//! the same again has its peak behind it, and all of it may be held.
//!
//! The kernel's own count of the process is read (`statm`, some microseconds) where the last reading does not tell, which is so
//! while the program has more than ever, and once in a tick of the clock. What of live blocks nobody has touched yet is taken for touched:
//! it will be. A tenth of that peak may be held whatever is live: beside what the program has by itself it is never too much. In a program
//! with several threads a reading takes another thread, which a busy processor keeps waiting (`readings`); so it is read now and then
//! there, and meanwhile nothing is held beyond what is known.

use crate::coverage;
use crate::pages::HUGE;
use core::sync::atomic::{AtomicU64, Ordering};
use firsttouch_linux::sys;

/// How long a reading by a thread of its own is not repeated, or so many times as long as it took, whichever is more; and one that needs
/// none: a tick of the coarse clock, for who frees the same again and again and may not hold it.
const APART_NS: u64 = 100_000_000;
const APART_TIMES: u64 = 20;
const ALONE_NS: u64 = 1;

/// What is known of the program's own memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The most it had, without what was held, when that was read.
    peak_bytes: usize,
    /// What it had beside blocks at the last reading.
    other_bytes: usize,
    /// It is not read before this time for what is freed, and for what grows: the one is not to be left unread for the other.
    next_read: NextRead,
    next_look: NextRead,
}

/// Why the program's own memory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Something is freed that may not be held by what is known.
    Freed,
    /// It may have grown by what is no block.
    Grown,
}

/// When growth was looked at last: blocks of one page come again and again, and one look in a tick of the clock is enough.
#[derive(Debug)]
pub(crate) struct GrowthClock(AtomicU64);

impl GrowthClock {
    pub(crate) const fn new() -> GrowthClock {
        GrowthClock(AtomicU64::new(0))
    }

    pub(crate) fn has_ticked(&self) -> bool {
        let now = sys::coarse_ns();
        let has = self.0.load(Ordering::Relaxed) != now;
        if has {
            self.0.store(now, Ordering::Relaxed);
        }
        has
    }
}

/// When something may be read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NextRead {
    ns: u64,
}

impl NextRead {
    /// Whether it may be read now, which is not so again for a while.
    fn begin(&mut self, others: bool, now_ns: u64) -> bool {
        let may = now_ns >= self.ns;
        if may {
            self.ns = now_ns + if others { APART_NS } else { ALONE_NS };
        }
        may
    }

    /// It took so long.
    fn end(&mut self, now_ns: u64, took_ns: u64) {
        self.ns = self.ns.max(now_ns + APART_TIMES * took_ns);
    }
}

/// Bytes in blocks, and held for reuse.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) live_bytes: usize,
    pub(crate) held_bytes: usize,
    /// Some are pages of a pool, which are no part of the resident set.
    pub(crate) has_pool: bool,
}

impl Placed {
    /// What the kernel counts of the process.
    pub(crate) fn read_resident(self) -> Option<usize> {
        coverage::resident_bytes(self.has_pool)
    }

    /// The most that there was of each before and after a reading, during which others have had the heap.
    pub(crate) fn or_more(self, other: Placed) -> Placed {
        Placed {
            live_bytes: self.live_bytes.max(other.live_bytes),
            held_bytes: self.held_bytes.max(other.held_bytes),
            has_pool: self.has_pool || other.has_pool,
        }
    }
}

impl Footprint {
    pub(crate) const UNKNOWN: Footprint = Footprint {
        peak_bytes: 0,
        other_bytes: 0,
        next_read: NextRead { ns: 0 },
        next_look: NextRead { ns: 0 },
    };

    /// Whether `bytes` that are freed now may be held beside what there is. They count neither as live nor as held yet. Where there are
    /// `others`, other threads, nothing is read for it: it has been [before](Footprint::reads_to_hold).
    pub(crate) fn may_hold(&mut self, placed: Placed, bytes: usize, others: bool) -> bool {
        self.is_within(placed, bytes)
            || !others
                && self.next_read.begin(false, sys::coarse_ns())
                && self.is_within_by(placed, bytes, || placed.read_resident())
    }

    /// Whether all that there is could be held by what is known.
    pub(crate) fn covers(&self, placed: Placed) -> bool {
        self.other_bytes + placed.live_bytes + placed.held_bytes <= self.limit()
    }

    /// Whether something is to be read apart before `bytes` are freed, beside which there is so much.
    pub(crate) fn reads_to_hold(&mut self, placed: Placed, bytes: usize) -> bool {
        !self.is_within(placed, bytes) && self.next_read.begin(true, sys::coarse_ns())
    }

    /// Whether it is time to look at what the program has by itself.
    pub(crate) fn look_is_due(&mut self, others: bool) -> bool {
        self.next_look.begin(others, sys::coarse_ns())
    }

    /// What was read, which took so long.
    pub(crate) fn learn(&mut self, why: Why, placed: Placed, resident: Option<usize>, took_ns: u64) {
        // Less is for what is freed to find: of what is live now, some may not have been touched yet.
        let least = if why == Why::Grown { self.other_bytes } else { 0 };
        self.note(placed, 0, resident);
        self.other_bytes = self.other_bytes.max(least);
        let next = if why == Why::Grown { &mut self.next_look } else { &mut self.next_read };
        next.end(sys::coarse_ns(), took_ns);
    }

    /// Whether so much may be held by what is known: without a reading.
    fn is_within(&self, placed: Placed, bytes: usize) -> bool {
        bytes <= self.room(placed)
    }

    /// How much may be held beside what there is, by what is known.
    pub(crate) fn room(&self, placed: Placed) -> usize {
        let beside = self.limit().saturating_sub(self.other_bytes + placed.live_bytes);
        // A tenth beside whatever the program has by itself is never too much, and nothing has to be known for it.
        beside.max(tenth(self.peak_bytes)).saturating_sub(placed.held_bytes)
    }

    fn is_within_by(&mut self, placed: Placed, bytes: usize, read: impl Fn() -> Option<usize>) -> bool {
        self.note(placed, bytes, read());
        self.is_within(placed, bytes)
    }

    fn note(&mut self, placed: Placed, bytes: usize, resident: Option<usize>) {
        let all = placed.live_bytes + placed.held_bytes + bytes;
        match resident {
            Some(resident) => {
                self.other_bytes = resident.saturating_sub(all);
                self.peak_bytes = self.peak_bytes.max(resident.saturating_sub(placed.held_bytes));
            }
            // Without /proc blocks are all that is known.
            None => self.peak_bytes = self.peak_bytes.max(placed.live_bytes + bytes),
        }
    }

    /// How much is held too much, beside blocks that have just become more. With them it is to have no more than the capacity.
    pub(crate) fn excess(&self, placed: Placed, capacity: usize) -> usize {
        let own = self.other_bytes + placed.live_bytes;
        let limit = Footprint { peak_bytes: self.peak_bytes.max(own), ..*self }.limit();
        let limit = limit.min(self.other_bytes.saturating_add(capacity));
        (own + placed.held_bytes).saturating_sub(limit)
    }

    fn limit(&self) -> usize {
        self.peak_bytes + tenth(self.peak_bytes)
    }

    /// Whether more is held than may be whatever the program has by itself.
    pub(crate) fn is_much_held(&self, placed: Placed) -> bool {
        placed.held_bytes > tenth(self.peak_bytes)
    }

    /// A tenth of what the program has by itself now.
    pub(crate) fn tenth_now(&self, placed: Placed) -> usize {
        tenth(self.other_bytes + placed.live_bytes)
    }
}

/// That of the program's own memory, and no less than a huge page.
fn tenth(own: usize) -> usize {
    (own / 10).max(HUGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn placed(live_mib: usize, held_mib: usize) -> Placed {
        Placed { live_bytes: live_mib * MIB, held_bytes: held_mib * MIB, has_pool: false }
    }

    #[test]
    fn what_was_the_programs_own_may_be_held() {
        let mut footprint = Footprint::UNKNOWN;
        // 120 MiB in all when a block of 100 is freed: all of it may stay.
        assert!(!footprint.is_within(placed(0, 0), 100 * MIB));
        assert!(footprint.is_within_by(placed(0, 0), 100 * MIB, || Some(120 * MIB)));
        // It comes again, and again: nothing has to be read for that.
        assert!(footprint.is_within(placed(0, 0), 100 * MIB));
        assert_eq!(footprint.excess(placed(100, 0), usize::MAX), 0);
        // Twice as much, of new pages beside what is held: a tenth of the new sum may stay.
        assert_eq!(footprint.excess(placed(200, 100), usize::MAX), 78 * MIB);
        // Where there is room for no more than 210 in blocks.
        assert_eq!(footprint.excess(placed(200, 10), 210 * MIB), 0);
        assert_eq!(footprint.excess(placed(200, 20), 210 * MIB), 10 * MIB);
    }

    #[test]
    fn a_vector_that_grows_holds_nothing_of_what_it_has_left() {
        let mut footprint = Footprint::UNKNOWN;
        // 40 have been copied into 80, of which the half is touched.
        assert!(!footprint.is_within_by(placed(80, 0), 40 * MIB, || Some(85 * MIB)));
        assert!(!footprint.is_within_by(placed(160, 0), 80 * MIB, || Some(165 * MIB)));
        // Freed in the end, it may be held.
        assert!(footprint.is_within_by(placed(0, 0), 160 * MIB, || Some(165 * MIB)));
    }

    #[test]
    fn without_a_count_of_the_kernels_blocks_are_all_that_is_known() {
        let mut footprint = Footprint::UNKNOWN;
        assert!(footprint.is_within_by(placed(0, 0), 50 * MIB, || None));
        assert!(!footprint.is_within_by(placed(30, 40), 30 * MIB, || None));
    }

    #[test]
    fn with_several_threads_it_is_read_now_and_then() {
        let mut next = NextRead::default();
        assert!(next.begin(false, 5) && !next.begin(false, 5));
        assert!(next.begin(true, 6) && !next.begin(true, 6));
        assert!(!next.begin(true, 5 + APART_NS) && next.begin(true, 6 + APART_NS));
        // On a busy machine, where each takes long, the program does little else otherwise.
        next.end(7 + APART_NS, APART_NS);
        assert!(!next.begin(true, 20 * APART_NS) && next.begin(true, 22 * APART_NS));
    }

    #[test]
    fn a_tenth_may_be_held_whatever_is_live() {
        let mut footprint = Footprint::UNKNOWN;
        // Nobody has touched most of what is live.
        assert!(
            footprint.is_within(placed(300, 0), 2 * MIB) && !footprint.is_within(placed(300, 1), 2 * MIB)
        );
        assert!(!footprint.is_within_by(placed(300, 0), 7 * MIB, || Some(60 * MIB)));
        assert!(
            footprint.is_within(placed(300, 0), 6 * MIB) && !footprint.is_within(placed(300, 0), 7 * MIB)
        );
    }

    #[test]
    fn this_process_is_counted() {
        let resident = coverage::resident_bytes(false).unwrap();
        let with_pool = coverage::resident_bytes(true).unwrap();
        assert!(resident > MIB && with_pool.abs_diff(resident) < 64 * MIB, "{resident} {with_pool}");
    }
}
