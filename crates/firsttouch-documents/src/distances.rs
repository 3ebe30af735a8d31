//! What is kept of the distances from a source when the distances are not.

use serde::{Deserialize, Serialize};

/// The distances from one source, in a few figures. Nodes that no path leads to are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Nodes with a path from the source, itself included.
    pub reached: u64,
    /// The sum of their distances.
    pub sum: u128,
    /// The greatest of them: the source's eccentricity, where all nodes are reached.
    pub farthest: u64,
}

impl Summary {
    /// How close the source is to all of `nodes` nodes: reached others by the sum of their distances, less where few are
    /// reached (Wasserman and Faust); 0 where there is none.
    #[must_use]
    pub fn closeness(&self, nodes: usize) -> f64 {
        let others = self.reached.saturating_sub(1) as f64;
        if self.sum == 0 || nodes < 2 {
            return 0.0;
        }
        others / self.sum as f64 * (others / (nodes - 1) as f64)
    }

    /// Adds what other nodes came to.
    #[inline]
    pub fn add(&mut self, other: Summary) {
        self.reached += other.reached;
        self.sum += other.sum;
        self.farthest = self.farthest.max(other.farthest);
    }
}

impl FromIterator<u64> for Summary {
    /// Of these distances.
    fn from_iter<T: IntoIterator<Item = u64>>(distances: T) -> Summary {
        distances.into_iter().fold(Summary::default(), |mut all, distance| {
            all.add(Summary { reached: 1, sum: distance.into(), farthest: distance });
            all
        })
    }
}

/// The distances from all sources together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Pairs of a source and a node that a path leads to.
    pub reached: u64,
    /// The sum of all distances, modulo 2^64. It does not depend on the order of sources or nodes.
    pub checksum: u64,
    /// The longest distance: over all nodes as sources, the diameter.
    pub farthest: u64,
}

impl Totals {
    /// Of these sources.
    #[must_use]
    pub fn of<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Totals {
        summaries.into_iter().fold(Totals::default(), |mut totals, summary| {
            totals.add(*summary);
            totals
        })
    }

    /// Adds one more source.
    pub fn add(&mut self, summary: Summary) {
        self.reached += summary.reached;
        self.checksum = self.checksum.wrapping_add(summary.sum as u64);
        self.farthest = self.farthest.max(summary.farthest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closeness_is_what_it_is_on_a_path_of_three() {
        // From the middle: 1 and 1; from an end: 1 and 2.
        let middle: Summary = [1, 0, 1].into_iter().collect();
        assert_eq!(middle.closeness(3), 1.0);
        let end: Summary = [0, 1, 2].into_iter().collect();
        assert_eq!(end, Summary { reached: 3, farthest: 2, sum: 3 });
        assert_eq!(end.closeness(3), 2.0 / 3.0);
        assert_eq!(Summary { reached: 1, ..Summary::default() }.closeness(3), 0.0);
    }

    #[test]
    fn a_checksum_goes_on_where_64_bits_end() {
        let long: Summary = [u64::MAX, 3].into_iter().collect();
        assert_eq!(long.sum, u128::from(u64::MAX) + 3);
        assert_eq!(Totals::of(&[long, long]), Totals { reached: 4, checksum: 4, farthest: u64::MAX });
    }
}
