//! Which centre is nearest to each point.

use super::points::{Block, COORDINATES, Point, TILE};
use crate::simd::{Fused, MultiplyAdd, Separate, by_instructions};

/// Centres whose least distance is searched for at once, before anybody asks which of them it is.
const GROUP: usize = 16;

/// Centres as the search wants them. The square of a distance is `p·p + (c·c - 2 p·c)`, of which the first part is the same for
/// all centres: what is left takes three multiplications and additions.
#[derive(Debug, Default)]
pub(super) struct Centres {
    /// `-2 c` by coordinate, and `c·c`. What fills up the last group is at an infinite distance.
    groups: Vec<[[f32; GROUP]; COORDINATES + 1]>,
}

impl Centres {
    /// Takes other centres.
    pub(super) fn set(&mut self, centres: &[Point]) {
        self.groups.clear();
        self.groups.extend(centres.chunks(GROUP).map(|chunk| {
            let mut group = [[0.0; GROUP], [0.0; GROUP], [0.0; GROUP], [f32::INFINITY; GROUP]];
            for (place, [x, y, z]) in chunk.iter().enumerate() {
                for (row, value) in
                    [-2.0 * x, -2.0 * y, -2.0 * z, x * x + y * y + z * z].into_iter().enumerate()
                {
                    group[row][place] = value;
                }
            }
            group
        }));
    }
}

by_instructions! {
    /// Labels each point with the centre nearest to it, with the first of several; a point with a coordinate that is no number
    /// with the first of all.
    label(points: &[Block], centres: &Centres, labels: &mut [[u32; TILE]]):
        label_by::<Fused, 16, 4>, label_by::<Fused, 8, 2>, label_by::<Separate, 4, 2>
}

/// By `ROWS` vectors of `LANES` points at a time. Within a group only the least distance is kept, which is one comparison for a
/// distance; which of the group's centres it is of is looked for once a point.
#[inline(always)]
fn label_by<A: MultiplyAdd, const LANES: usize, const ROWS: usize>(
    points: &[Block],
    centres: &Centres,
    labels: &mut [[u32; TILE]],
) {
    for (block, labels) in points.iter().zip(labels) {
        for begin in (0..TILE).step_by(LANES * ROWS) {
            let coordinates: [[[f32; LANES]; ROWS]; COORDINATES] = std::array::from_fn(|axis| {
                std::array::from_fn(|row| std::array::from_fn(|lane| block[axis][begin + row * LANES + lane]))
            });
            let [x, y, z] = coordinates;
            let mut best = [[f32::INFINITY; LANES]; ROWS];
            let mut nearest = [[0_u32; LANES]; ROWS];
            for (number, group) in centres.groups.iter().enumerate() {
                let mut least = [[f32::INFINITY; LANES]; ROWS];
                let [xs, ys, zs, squares] = group;
                for (((a, b), c), d) in xs.iter().zip(ys).zip(zs).zip(squares) {
                    for row in 0..ROWS {
                        for lane in 0..LANES {
                            let point = [x[row][lane], y[row][lane], z[row][lane]];
                            let distance = part::<A>(point, [*a, *b, *c, *d]);
                            least[row][lane] = lesser(distance, least[row][lane]);
                        }
                    }
                }
                for row in 0..ROWS {
                    let (least, before, numbers) = (least[row], best[row], nearest[row]);
                    nearest[row] = std::array::from_fn(|lane| {
                        select(least[lane] < before[lane], number as u32, numbers[lane])
                    });
                    best[row] = std::array::from_fn(|lane| lesser(least[lane], before[lane]));
                }
            }
            for row in 0..ROWS {
                for lane in 0..LANES {
                    let (point, best) = ([x[row][lane], y[row][lane], z[row][lane]], best[row][lane]);
                    let number = nearest[row][lane];
                    let [a, b, c, d] = centres.groups[number as usize];
                    let mut equal = 0_u32;
                    for centre in (0..GROUP).rev() {
                        let distance = part::<A>(point, [a[centre], b[centre], c[centre], d[centre]]);
                        equal |= u32::from(distance == best) << centre;
                    }
                    // Nothing is at the distance of what is no number: the first, then.
                    let first = equal.trailing_zeros() % u32::BITS;
                    labels[begin + row * LANES + lane] = number * GROUP as u32 + first;
                }
            }
        }
    }
}

/// The part of the square of a distance that differs between centres.
#[inline(always)]
fn part<A: MultiplyAdd>([x, y, z]: [f32; COORDINATES], [a, b, c, d]: [f32; COORDINATES + 1]) -> f32 {
    A::single(x, a, A::single(y, b, A::single(z, c, d)))
}

/// The lesser of two; the second where one is no number.
#[inline(always)]
fn lesser(one: f32, other: f32) -> f32 {
    select(one < other, one, other)
}

#[inline(always)]
fn select<T>(condition: bool, then: T, otherwise: T) -> T {
    if condition { then } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::super::points::{BLOCK, Point, as_blocks, coordinate, distance, point};
    use super::*;
    use crate::simd::Instructions;
    use proptest::prelude::*;

    fn labels(instructions: Instructions, coordinates: &[f32], centres: &[Point]) -> Vec<u32> {
        let mut prepared = Centres::default();
        prepared.set(centres);
        let mut labels = vec![[u32::MAX; TILE]; coordinates.len() / BLOCK];
        label(instructions, as_blocks(coordinates), &prepared, &mut labels);
        labels.into_flattened()
    }

    proptest! {
        /// No centre is nearer than the one of the label but by what rounding does to squares of the size of coordinates.
        #[test]
        fn labels_are_of_the_nearest(blocks in 1..4_usize, clusters in 1..70_usize, seed in 0..1000_usize) {
            let coordinates: Vec<f32> = (0..blocks * BLOCK).map(|place| coordinate(seed + place, 1)).collect();
            let centres: Vec<Point> =
                (0..clusters).map(|cluster| std::array::from_fn(|axis| coordinate(7 * seed + cluster, axis))).collect();
            for instructions in Instructions::available() {
                for (place, label) in labels(instructions, &coordinates, &centres).into_iter().enumerate() {
                    let of = |centre: &Point| distance(point(as_blocks(&coordinates), place), *centre);
                    let least = centres.iter().map(of).fold(f64::INFINITY, f64::min);
                    prop_assert!(of(&centres[label as usize]) <= least + 1e-6, "{instructions:?}, point {place}");
                }
            }
        }
    }

    #[test]
    fn of_equal_centres_it_is_the_first() {
        let coordinates: Vec<f32> = (0..BLOCK).map(|place| coordinate(place, 0)).collect();
        for (clusters, distinct) in [(16, 1), (40, 3), (40, 17), (33, 16)] {
            let centres: Vec<Point> = (0..clusters)
                .map(|number| std::array::from_fn(|axis| coordinate(number % distinct, axis)))
                .collect();
            for instructions in Instructions::available() {
                let labels = labels(instructions, &coordinates, &centres);
                assert!(
                    labels.iter().all(|label| (*label as usize) < distinct),
                    "{instructions:?} {labels:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_number_goes_to_the_first_and_leaves_others_alone() {
        let good: Vec<f32> = (0..BLOCK).map(|place| coordinate(place, 2)).collect();
        let centres: Vec<Point> =
            (0..50).map(|number| std::array::from_fn(|axis| coordinate(100 + number, axis))).collect();
        for instructions in Instructions::available() {
            let wanted = labels(instructions, &good, &centres);
            for axis in 0..COORDINATES {
                let mut bad = good.clone();
                bad[axis * TILE + 5] = f32::NAN;
                let mut found = labels(instructions, &bad, &centres);
                assert_eq!(std::mem::replace(&mut found[5], wanted[5]), 0, "{instructions:?}");
                assert_eq!(found, wanted, "{instructions:?}");
            }
        }
    }
}
