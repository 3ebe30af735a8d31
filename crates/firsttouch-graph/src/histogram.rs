//! How many distances there are of each length.

use firsttouch_documents::DistanceHistogram;

/// How many distances there are of each length, in classes of one width. The width need not be known before: it begins with
/// 1, and where a distance is beyond the last class, two classes become one until it is not. So it depends on the longest
/// distance alone, and neither on the order of distances nor on who counted them.
///
/// ```
/// use firsttouch_graph::Histogram;
/// let mut histogram = Histogram::default();
/// [0, 1, 1, 2000].into_iter().for_each(|distance| histogram.add(distance));
/// assert_eq!(histogram.width(), 2);
/// assert_eq!((histogram.counts()[0], histogram.counts()[1000]), (3, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The logarithm of the width.
    shift: u32,
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { shift: 0, counts: vec![0; Histogram::CLASSES] }
    }
}

impl Histogram {
    /// The most classes.
    pub const CLASSES: usize = 1024;

    /// One with these counts; `None` if it cannot be one.
    pub(crate) fn of_parts(shift: u32, counts: Vec<u64>) -> Option<Histogram> {
        let widest = u64::BITS - Histogram::CLASSES.ilog2();
        (counts.len() == Histogram::CLASSES && shift <= widest).then_some(Histogram { shift, counts })
    }

    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// The distances of class `k` are from `k` times this on, and less than the next one's.
    #[must_use]
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    /// How many distances fell into each class; always [`Histogram::CLASSES`] of them.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts a distance.
    #[inline]
    pub fn add(&mut self, distance: u64) {
        if (distance >> self.shift) as usize >= Histogram::CLASSES {
            self.widen((distance / Histogram::CLASSES as u64).ilog2() + 1);
        }
        self.counts[(distance >> self.shift) as usize] += 1;
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.widen(other.shift.max(self.shift));
        for (class, count) in other.counts.iter().enumerate() {
            self.counts[class >> (self.shift - other.shift)] += count;
        }
    }

    fn widen(&mut self, shift: u32) {
        while self.shift < shift {
            for class in 0..Histogram::CLASSES {
                let pair = self.counts.get(2 * class..2 * class + 2).unwrap_or_default();
                self.counts[class] = pair.iter().sum();
            }
            self.shift += 1;
        }
    }
}

/// A histogram as documents tell it: without the empty classes at its end.
impl From<&Histogram> for DistanceHistogram {
    fn from(histogram: &Histogram) -> DistanceHistogram {
        let used = histogram.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        DistanceHistogram { width: histogram.width(), counts: histogram.counts[..used].to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_the_same_whoever_counts_in_whatever_order(
            distances in prop::collection::vec(prop_oneof![0..2000_u64, 0..100_000_u64, any::<u64>()], 0..50),
            cut in 0_usize..50,
        ) {
            let count = |distances: &mut dyn Iterator<Item = &u64>| {
                let mut histogram = Histogram::default();
                distances.for_each(|distance| histogram.add(*distance));
                histogram
            };
            let all = count(&mut distances.iter());
            prop_assert_eq!(&count(&mut distances.iter().rev()), &all);
            let cut = cut.min(distances.len());
            let (mut one, other) = (count(&mut distances[..cut].iter()), count(&mut distances[cut..].iter()));
            one.merge(&other);
            prop_assert_eq!(&one, &all);
            for (class, count) in all.counts().iter().enumerate() {
                let here = |distance: &&u64| **distance / all.width() == class as u64;
                prop_assert_eq!(*count, distances.iter().filter(here).count() as u64);
            }
        }
    }
}
