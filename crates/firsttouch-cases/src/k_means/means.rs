//! Centres that move to the means of their points.

use super::points::{COORDINATES, Point, TILE, as_blocks, point};
use crate::share::{cut, each};
use firsttouch_threads::Team;

/// Sums of the points of each centre, and how many they are, of each member of a team.
#[derive(Debug, Default)]
pub(super) struct Means {
    sums: Vec<Vec<[f64; COORDINATES + 1]>>,
}

impl Means {
    /// For so many threads and centres.
    pub(super) fn of(members: usize, clusters: usize) -> Means {
        Means { sums: vec![vec![Default::default(); clusters]; members] }
    }

    /// Moves centres to the means of the first `points` points that are labelled so; one without any stays.
    pub(super) fn take(
        &mut self,
        team: &mut Team,
        coordinates: &[f32],
        labels: &[u32],
        points: usize,
        centres: &mut [Point],
    ) {
        let blocks = as_blocks(coordinates);
        let ranges = cut(blocks.len(), team.size(), 1).into_iter();
        let parts = ranges.zip(&mut self.sums).collect();
        each(team, parts, |_, (range, sums)| {
            sums.fill(Default::default());
            for place in range.start * TILE..(range.end * TILE).min(points) {
                // Coordinates are whole multiples of 2^-24: sums of millions are exact, in whatever order.
                let [x, y, z] = point(blocks, place).map(f64::from);
                let sum = &mut sums[labels[place] as usize];
                *sum = [sum[0] + x, sum[1] + y, sum[2] + z, sum[3] + 1.0];
            }
        });
        for (number, centre) in centres.iter_mut().enumerate() {
            let total = |row: usize| self.sums.iter().map(|sums| sums[number][row]).sum::<f64>();
            if total(COORDINATES) > 0.0 {
                *centre = std::array::from_fn(|axis| (total(axis) / total(COORDINATES)) as f32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::points::BLOCK;
    use super::*;

    #[test]
    fn centres_go_to_the_means_of_their_points_and_stay_without_any() {
        let mut coordinates = vec![f32::NAN; 2 * BLOCK];
        let mut labels = vec![9; 2 * TILE];
        let points = [([1.0, 2.0, 3.0], 0), ([3.0, 2.0, 5.0], 0), ([0.5, 0.25, 0.125], 2)];
        // Around the end of the first block; what comes before goes to a centre of its own.
        for place in 0..TILE - 1 {
            (0..COORDINATES).for_each(|axis| coordinates[axis * TILE + place] = 7.0);
            labels[place] = 3;
        }
        for (place, (values, label)) in (TILE - 1..).zip(points) {
            for (axis, value) in values.into_iter().enumerate() {
                coordinates[place / TILE * BLOCK + axis * TILE + place % TILE] = value;
            }
            labels[place] = label;
        }
        for members in [1, 2] {
            let mut team = Team::of_this_process(members).unwrap();
            let mut centres = [[0.0; 3], [4.0; 3], [0.0; 3], [0.0; 3]];
            Means::of(team.size(), 4).take(&mut team, &coordinates, &labels, TILE + 2, &mut centres);
            assert_eq!(centres, [[2.0, 2.0, 4.0], [4.0; 3], [0.5, 0.25, 0.125], [7.0; 3]]);
        }
    }
}
