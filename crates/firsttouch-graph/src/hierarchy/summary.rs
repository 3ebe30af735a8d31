//! Sums and greatest distances of a tile's rows.

use super::row::{LANES, Row};
use super::simd::{Instructions, Simd};
use firsttouch_documents::Summary;

/// Adds the rows of a tile to the summaries of the sweep's sources.
pub(super) fn add<T: Simd>(by: Instructions, rows: &[Row<T>], summaries: &mut [Summary]) {
    let (sums, longest) = T::fold(by, rows);
    // So long that no sum of so many can have run over, nor one of them be missing.
    let harmless = T::HOLDS / rows.len().max(1) as u64;
    for (lane, summary) in summaries.iter_mut().enumerate().take(LANES) {
        if longest.0[lane].wide() <= harmless {
            summary.add(Summary {
                reached: rows.len() as u64,
                farthest: longest.0[lane].wide(),
                sum: u128::from(sums.0[lane].wide()),
            });
        } else {
            for row in rows {
                let length = row.0[lane];
                if length < T::NONE {
                    summary.add(Summary {
                        reached: 1,
                        farthest: length.wide(),
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
    use crate::hierarchy::length::Length;

    fn rows_of(lengths: &[u32]) -> Vec<Row<u32>> {
        lengths.iter().map(|length| Row([*length; LANES])).collect()
    }

    #[test]
    fn sums_that_run_over_and_nodes_that_are_not_reached_are_told_right() {
        for by in [Instructions::best(), Instructions::Portable] {
            for (lengths, summary) in [
                (&[3_u32, 5, 0][..], Summary { reached: 3, farthest: 5, sum: 8 }),
                (&[3, u32::NONE, 4], Summary { reached: 2, farthest: 4, sum: 7 }),
                (
                    &[u32::NONE - 1; 3],
                    Summary {
                        reached: 3,
                        farthest: u64::from(u32::NONE - 1),
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
}
