//! What is kept of the distances from a source when the distances are not.

use super::lanes::{LANES, Lanes, Row};

/// The distances from one source, in four figures. Nodes that no way leads to are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Nodes that a way leads to, the source included.
    pub reached: u32,
    /// The longest distance: the source's eccentricity, where all nodes are reached.
    pub eccentricity: u64,
    /// The sum of all distances.
    pub sum: u128,
}

impl Summary {
    /// How close the source is to all of `nodes` nodes: reached others by the sum of their distances, less where few are
    /// reached (Wasserman and Faust); 0 where there is none.
    #[must_use]
    pub fn closeness(&self, nodes: usize) -> f64 {
        let others = f64::from(self.reached.saturating_sub(1));
        if self.sum == 0 || nodes < 2 {
            return 0.0;
        }
        others / self.sum as f64 * (others / (nodes - 1) as f64)
    }

    pub(super) fn add(&mut self, other: Summary) {
        self.reached += other.reached;
        self.eccentricity = self.eccentricity.max(other.eccentricity);
        self.sum += other.sum;
    }
}

/// The same of many sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Sources.
    pub sources: usize,
    /// Pairs of a source and a node that a way joins.
    pub reached: u64,
    /// The greatest eccentricity; over all nodes as sources, the diameter. `None` without sources.
    pub diameter: Option<u64>,
    /// The least eccentricity; over all nodes, the radius.
    pub radius: Option<u64>,
    /// The sum of all distances.
    pub checksum: u128,
}

impl Totals {
    /// Of these summaries.
    #[must_use]
    pub fn of(summaries: &[Summary]) -> Totals {
        let eccentricities = || summaries.iter().map(|summary| summary.eccentricity);
        Totals {
            sources: summaries.len(),
            reached: summaries.iter().map(|summary| u64::from(summary.reached)).sum(),
            diameter: eccentricities().max(),
            radius: eccentricities().min(),
            checksum: summaries.iter().map(|summary| summary.sum).sum(),
        }
    }
}

/// Adds the rows of a tile to the summaries of the sweep's sources.
pub(super) fn add<T: Lanes>(by: super::Instructions, rows: &[Row<T>], summaries: &mut [Summary]) {
    let (sums, longest) = T::fold(by, rows);
    // So long that no sum of so many can have run over, nor one of them be missing.
    let harmless = T::HOLDS / rows.len().max(1) as u64;
    for (lane, summary) in summaries.iter_mut().enumerate().take(LANES) {
        if longest.0[lane].wide() <= harmless {
            summary.add(Summary {
                reached: rows.len() as u32,
                eccentricity: longest.0[lane].wide(),
                sum: u128::from(sums.0[lane].wide()),
            });
        } else {
            for row in rows {
                let length = row.0[lane];
                if length < T::NONE {
                    summary.add(Summary {
                        reached: 1,
                        eccentricity: length.wide(),
                        sum: u128::from(length.wide()),
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::Instructions;
    use crate::hierarchy::length::Length;

    fn rows_of(lengths: &[u32]) -> Vec<Row<u32>> {
        lengths.iter().map(|length| Row([*length; LANES])).collect()
    }

    #[test]
    fn sums_that_run_over_and_nodes_that_are_not_reached_are_told_right() {
        for by in [Instructions::best(), Instructions::Portable] {
            for (lengths, summary) in [
                (&[3_u32, 5, 0][..], Summary { reached: 3, eccentricity: 5, sum: 8 }),
                (&[3, u32::NONE, 4], Summary { reached: 2, eccentricity: 4, sum: 7 }),
                (
                    &[u32::NONE - 1; 3],
                    Summary {
                        reached: 3,
                        eccentricity: u64::from(u32::NONE - 1),
                        sum: 3 * u128::from(u32::NONE - 1),
                    },
                ),
                (&[u32::NONE], Summary::default()),
            ] {
                let mut summaries = [Summary::default(); 2];
                add(by, &rows_of(lengths), &mut summaries);
                assert_eq!(summaries, [summary; 2], "{by} {lengths:?}");
            }
        }
    }

    #[test]
    fn closeness_is_what_it_is_on_a_path_of_three() {
        // From the middle: 1 and 1; from an end: 1 and 2.
        let middle = Summary { reached: 3, eccentricity: 1, sum: 2 };
        assert_eq!(middle.closeness(3), 1.0);
        let end = Summary { reached: 3, eccentricity: 2, sum: 3 };
        assert_eq!(end.closeness(3), 2.0 / 3.0);
        assert_eq!(Summary { reached: 1, ..Summary::default() }.closeness(3), 0.0);
    }
}
