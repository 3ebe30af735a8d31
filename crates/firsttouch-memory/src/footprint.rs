//! How much of what is freed may be held for reuse: so much that the program's memory with it stays within a tenth above the most
//! that it had by itself.
//!
//! A vector that grows, say, frees a block only when the next, twice as large, has its contents: all the blocks that it has grown
//! out of would be held at its peak, as much again. Held in place of them is nothing, as without us. A program that makes and frees
//! the same again has its peak behind it, and all of it may be held.
//!
//! The kernel's own count of the process is read (`statm`, some microseconds) where the last reading does not tell, which is so
//! while the program has more than ever. What of live blocks nobody has touched yet is taken for touched: it will be.

use crate::coverage;
use crate::lines::apart_from;
use crate::pages::HUGE;

/// What is known of the program's own memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The most it had, without what was held, when that was read.
    peak_bytes: usize,
    /// What it had beside blocks at the last reading.
    other_bytes: usize,
}

/// Bytes in blocks, and held for reuse.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) live_bytes: usize,
    pub(crate) held_bytes: usize,
    /// Some are pages of a pool, which are no part of the resident set.
    pub(crate) has_pool: bool,
}

impl Footprint {
    pub(crate) const UNKNOWN: Footprint = Footprint { peak_bytes: 0, other_bytes: 0 };

    /// Whether `bytes` that are freed now may be held beside what there is. They count neither as live nor as held yet. Where there are
    /// `others`, files are not opened beside theirs.
    pub(crate) fn may_hold(&mut self, placed: Placed, bytes: usize, others: bool) -> bool {
        self.may_hold_by(placed, bytes, |has_pool| apart_from(others, || coverage::resident_bytes(has_pool)))
    }

    fn may_hold_by(&mut self, placed: Placed, bytes: usize, read: impl Fn(bool) -> Option<usize>) -> bool {
        let all = placed.live_bytes + placed.held_bytes + bytes;
        if self.other_bytes + all <= self.limit() {
            return true;
        }
        match read(placed.has_pool) {
            Some(resident) => {
                self.other_bytes = resident.saturating_sub(all);
                self.peak_bytes = self.peak_bytes.max(resident.saturating_sub(placed.held_bytes));
            }
            // Without /proc blocks are all that is known.
            None => self.peak_bytes = self.peak_bytes.max(placed.live_bytes + bytes),
        }
        self.other_bytes + all <= self.limit()
    }

    /// How much is held too much, beside blocks that have just become more.
    pub(crate) fn excess(&self, placed: Placed) -> usize {
        let own = self.other_bytes + placed.live_bytes;
        let limit = Footprint { peak_bytes: self.peak_bytes.max(own), ..*self }.limit();
        (own + placed.held_bytes).saturating_sub(limit)
    }

    fn limit(&self) -> usize {
        self.peak_bytes + (self.peak_bytes / 10).max(HUGE)
    }
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
        assert!(footprint.may_hold_by(placed(0, 0), 100 * MIB, |_| Some(120 * MIB)));
        // It comes again, and again: nothing has to be read for that.
        assert!(footprint.may_hold_by(placed(0, 0), 100 * MIB, |_| unreachable!()));
        assert_eq!(footprint.excess(placed(100, 0)), 0);
        // Twice as much, of new pages beside what is held: a tenth of the new sum may stay.
        assert_eq!(footprint.excess(placed(200, 100)), 78 * MIB);
    }

    #[test]
    fn a_vector_that_grows_holds_nothing_of_what_it_has_left() {
        let mut footprint = Footprint::UNKNOWN;
        // 40 have been copied into 80, of which the half is touched.
        assert!(!footprint.may_hold_by(placed(80, 0), 40 * MIB, |_| Some(85 * MIB)));
        assert!(!footprint.may_hold_by(placed(160, 0), 80 * MIB, |_| Some(165 * MIB)));
        // Freed in the end, it may be held.
        assert!(footprint.may_hold_by(placed(0, 0), 160 * MIB, |_| Some(165 * MIB)));
    }

    #[test]
    fn without_a_count_of_the_kernels_blocks_are_all_that_is_known() {
        let mut footprint = Footprint::UNKNOWN;
        assert!(footprint.may_hold_by(placed(0, 0), 50 * MIB, |_| None));
        assert!(!footprint.may_hold_by(placed(30, 40), 30 * MIB, |_| None));
    }

    #[test]
    fn this_process_is_counted() {
        let resident = coverage::resident_bytes(false).unwrap();
        let with_pool = coverage::resident_bytes(true).unwrap();
        assert!(resident > MIB && with_pool.abs_diff(resident) < 64 * MIB, "{resident} {with_pool}");
    }
}
