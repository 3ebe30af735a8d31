//! A queue of nodes in buckets: what is in one bucket is near to each other, and comes out together.
//!
//! Buckets are 2^`shift` wide and lie in a circle, as R. B. Dial's (1969); where weights are too different for a circle of
//! reasonable size, what lies beyond it waits in a list, and comes in when its time is near (the two levels of E. V.
//! Denardo and B. L. Fox, 1979). A bucket is a chain of short pieces of one large array, so that entering a node is a
//! store at a known place, and what is taken out lies side by side.

use super::distance::Distance;
use crate::rows::Node;

/// A node, and the distance it was entered with. It is out of date when the node was improved since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry<D> {
    pub(super) distance: D,
    pub(super) node: Node,
}

/// Places in one piece of a bucket: four cache lines of entries of 32 bits. The last stays free: a bucket whose next entry
/// would go there gets another piece first.
const PIECE: usize = 32;
/// Buckets in the circle at most: a piece of each is in memory, and shall stay in the second-level cache.
const MOST_BUCKETS: u64 = 1024;
const NONE: u32 = u32::MAX;

/// The queue. Buckets are numbered from 0 without end; number b is at b modulo the size of the circle.
#[derive(Debug)]
pub(super) struct BucketQueue<D> {
    shift: u32,
    /// Size of the circle less one; the size is a power of two.
    mask: u64,
    /// Pieces of all buckets.
    entries: Vec<Entry<D>>,
    /// Where the next entry of each bucket goes.
    ends: Vec<u32>,
    /// The first piece of each bucket.
    first: Vec<u32>,
    /// The piece after each piece.
    next: Vec<u32>,
    /// Pieces in no bucket.
    spare: Vec<u32>,
    /// Entries beyond the circle.
    far: Vec<Entry<D>>,
    /// The first bucket that is beyond the circle now.
    far_from: u64,
    /// The first bucket that an entry of the list belongs to; `u64::MAX` without one.
    far_least: u64,
}

/// What entering needs, to be held in registers: nearly always a store and an addition.
#[derive(Debug)]
struct Entrance<'a, D> {
    shift: u32,
    mask: u64,
    far_from: u64,
    entries: &'a mut [Entry<D>],
    ends: &'a mut [u32],
}

impl<D: Distance> Entrance<'_, D> {
    /// Enters a node. False if [`BucketQueue::attend`] must be told.
    #[inline(always)]
    #[must_use]
    fn enter(&mut self, entry: Entry<D>) -> bool {
        let number = entry.distance.bucket(self.shift);
        if number >= self.far_from {
            return false;
        }
        let end = &mut self.ends[(number & self.mask) as usize];
        self.entries[*end as usize] = entry;
        *end += 1;
        *end as usize % PIECE != PIECE - 1
    }
}

impl<D: Distance> BucketQueue<D> {
    /// An empty queue for paths that grow by no more than `max_weight` at a time, from which up to `together` buckets are
    /// taken before anything is entered.
    pub(super) fn new(shift: u32, max_weight: u32, together: u64) -> BucketQueue<D> {
        // Two halves: while one is worked through, the other takes what is entered.
        let reach = (u64::from(max_weight) >> shift) + 1 + together;
        let circle = (2 * reach).next_power_of_two().min(MOST_BUCKETS);
        let buckets = circle as usize;
        BucketQueue {
            shift,
            mask: circle - 1,
            entries: vec![Entry::default(); buckets * PIECE],
            ends: (0..buckets).map(|bucket| (bucket * PIECE) as u32).collect(),
            first: (0..circle as u32).collect(),
            next: vec![NONE; buckets],
            spare: Vec::new(),
            far: Vec::new(),
            far_from: circle,
            far_least: u64::MAX,
        }
    }

    /// Empties it, as a search that ended early leaves it full.
    pub(super) fn clear(&mut self) {
        let mut dropped = Vec::new();
        for bucket in 0..=self.mask {
            self.take(bucket, &mut dropped);
            dropped.clear();
        }
        self.far.clear();
        self.far_from = self.mask + 1;
        self.far_least = u64::MAX;
    }

    /// The way in.
    #[inline(always)]
    fn entrance(&mut self) -> Entrance<'_, D> {
        let (shift, mask, far_from) = (self.shift, self.mask, self.far_from);
        Entrance { shift, mask, far_from, entries: &mut self.entries, ends: &mut self.ends }
    }

    /// Makes room in the bucket that this entry has filled up, or keeps it for later if it lies beyond the circle.
    #[cold]
    fn attend(&mut self, distance: D, node: Node) {
        let number = distance.bucket(self.shift);
        if number >= self.far_from {
            self.far_least = self.far_least.min(number);
            self.far.push(Entry { distance, node });
            return;
        }
        let piece = self.spare.pop().unwrap_or_else(|| {
            let piece = self.next.len();
            self.next.push(NONE);
            self.entries.resize(self.entries.len() + PIECE, Entry::default());
            piece as u32
        });
        let end = &mut self.ends[(number & self.mask) as usize];
        self.next[*end as usize / PIECE] = piece;
        *end = piece * PIECE as u32;
    }

    /// Enters a node. `distance` is not before the bucket that [`BucketQueue::advance`] was told last.
    #[inline(always)]
    pub(super) fn enter(&mut self, distance: D, node: Node) {
        if !self.entrance().enter(Entry { distance, node }) {
            self.attend(distance, node);
        }
    }

    /// Enters nodes, as [`BucketQueue::enter`] does one.
    #[inline]
    pub(super) fn enter_all(&mut self, entries: &[Entry<D>]) {
        let mut entrance = self.entrance();
        for entry in entries {
            if !entrance.enter(*entry) {
                self.attend(entry.distance, entry.node);
                entrance = self.entrance();
            }
        }
    }

    /// Moves the entries of a bucket behind those of `to`.
    pub(super) fn take(&mut self, number: u64, to: &mut Vec<Entry<D>>) {
        let bucket = (number & self.mask) as usize;
        let mut piece = self.first[bucket];
        let end = self.ends[bucket] as usize;
        let last = (end / PIECE) as u32;
        while piece != last {
            let from = piece as usize * PIECE;
            to.extend_from_slice(&self.entries[from..from + PIECE - 1]);
            self.spare.push(piece);
            piece = std::mem::replace(&mut self.next[piece as usize], NONE);
        }
        to.extend_from_slice(&self.entries[last as usize * PIECE..end]);
        // It keeps its last piece, which is still in the cache.
        self.first[bucket] = last;
        self.ends[bucket] = last * PIECE as u32;
    }

    fn is_empty(&self, number: u64) -> bool {
        let bucket = (number & self.mask) as usize;
        self.ends[bucket] == self.first[bucket] * PIECE as u32
    }

    /// The first bucket beyond all that come out without another [`BucketQueue::advance`].
    pub(super) fn far_from(&self) -> u64 {
        self.far_from
    }

    /// The first bucket from `number` on that may hold something; `None` when nothing is left. Nothing is taken, and nothing
    /// moves: entries of the list are told by the number they had when they came.
    pub(super) fn first_from(&self, number: u64) -> Option<u64> {
        // Once round is enough, however far back late mail has led.
        let end = self.far_from.min(number.saturating_add(self.mask + 1));
        let in_circle = (number..end).find(|&number| !self.is_empty(number));
        in_circle.or_else(|| (!self.far.is_empty()).then(|| self.far_least.max(number)))
    }

    /// Tells that nothing is before bucket `number` any more. When the circle then reaches further, entries of the list
    /// come in, those only that `holds` says are not out of date.
    #[inline(always)]
    pub(super) fn advance(&mut self, number: u64, holds: impl Fn(&Entry<D>) -> bool) {
        let half = self.mask.div_ceil(2);
        let far_from = (number & !(half - 1)) + 2 * half;
        if far_from > self.far_from {
            self.far_from = far_from;
            if self.far_least < far_from {
                self.bring_in(holds);
            }
        }
    }

    #[cold]
    fn bring_in(&mut self, holds: impl Fn(&Entry<D>) -> bool) {
        self.far_least = u64::MAX;
        let mut at = 0;
        while let Some(&entry) = self.far.get(at) {
            let number = entry.distance.bucket(self.shift);
            if number >= self.far_from {
                self.far_least = self.far_least.min(number);
                at += 1;
                continue;
            }
            self.far.swap_remove(at);
            if holds(&entry) {
                self.enter(entry.distance, entry.node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters distances, the first of them before anything is taken and two more for each that is, and takes all out again.
    fn all_of(shift: u32, max_weight: u32, seed: u64) -> Vec<(u64, u64)> {
        let mut queue = BucketQueue::<u64>::new(shift, max_weight, 1);
        let mut state = seed;
        let mut step = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % (u64::from(max_weight) + 1)
        };
        queue.enter(0, 0);
        let (mut number, mut entered, mut taken, mut batch) = (0, 1, Vec::new(), Vec::new());
        while let Some(next) = queue.first_from(number) {
            number = next;
            queue.advance(number, |_| true);
            queue.take(number, &mut batch);
            for entry in batch.drain(..) {
                taken.push((number, entry.distance));
                for _ in 0..2 {
                    if entered < 5000 {
                        queue.enter(entry.distance + step(), entered);
                        entered += 1;
                    }
                }
            }
        }
        assert_eq!(taken.len(), 5000);
        taken
    }

    #[test]
    fn everything_comes_out_in_its_bucket_and_in_order() {
        // The circle holds everything; holds some of it; is far smaller than the steps are long.
        for (shift, max_weight) in [(4, 1000), (0, 3), (0, 100_000), (2, u32::MAX), (31, u32::MAX), (5, 0)] {
            let taken = all_of(shift, max_weight, 1 + u64::from(shift));
            assert!(
                taken.iter().all(|(number, distance)| distance >> shift == *number),
                "{shift} {max_weight}"
            );
            assert!(taken.is_sorted_by_key(|(number, _)| *number), "{shift} {max_weight}");
        }
    }

    #[test]
    fn what_comes_very_late_comes_out_and_nobody_looks_for_more_than_once_round() {
        let mut queue = BucketQueue::<u64>::new(0, 1000, 1);
        queue.advance(1 << 50, |_| true);
        queue.enter(5, 1);
        let mut taken = Vec::new();
        assert_eq!(queue.first_from(3), Some(5));
        queue.take(5, &mut taken);
        assert_eq!((taken, queue.first_from(5)), (vec![Entry { distance: 5, node: 1 }], None));
    }

    #[test]
    fn what_is_out_of_date_does_not_come_in_from_afar() {
        let mut queue = BucketQueue::<u32>::new(0, u32::MAX, 1);
        queue.enter(5000, 1);
        queue.enter(6000, 2);
        let mut taken = Vec::new();
        assert_eq!(queue.first_from(0), Some(5000));
        queue.advance(5000, |entry| entry.node == 2);
        queue.take(5000, &mut taken);
        assert_eq!(queue.first_from(5000), Some(6000));
        queue.clear();
        assert_eq!((taken.len(), queue.first_from(0)), (0, None));
    }
}
