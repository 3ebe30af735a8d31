//! Sums of products of columns, from one pass over the rows.
//!
//! A block of rows is copied to where the first-level cache holds it, less what a column is shifted by, in panels of eight columns,
//! and with a column of ones: products with that one are the sums of columns. So one symmetric product gives all that covariances
//! are made of.

use crate::simd::{Fused, MultiplyAdd, Separate, by_instructions};

/// Columns of a panel.
const PANEL: usize = 8;

/// Rows that are copied before they are multiplied.
const ROWS: usize = 64;

/// Products of the columns of one panel with those of another.
type Tile = [[f64; PANEL]; PANEL];

/// What one thread has summed up.
#[derive(Debug)]
pub(super) struct Gram {
    columns: usize,
    /// Panels of a row, the last with a column of ones after the last one, and zeroes up to its end.
    panels: usize,
    /// Copied rows, panel by panel.
    copied: Vec<[f64; PANEL]>,
    /// Tiles by row and column of panels, of which those on and above the diagonal count.
    tiles: Vec<Tile>,
}

impl Gram {
    /// Of rows of so many columns.
    pub(super) fn of(columns: usize) -> Gram {
        let panels = (columns + 1).div_ceil(PANEL);
        Gram {
            columns,
            panels,
            copied: vec![[0.0; PANEL]; ROWS * panels],
            tiles: vec![[[0.0; PANEL]; PANEL]; panels * panels],
        }
    }

    /// Forgets what was added.
    pub(super) fn clear(&mut self) {
        self.tiles.fill([[0.0; PANEL]; PANEL]);
    }

    /// Adds what another has summed up, with the same shift.
    pub(super) fn merge(&mut self, other: &Gram) {
        let values = other.tiles.as_flattened().as_flattened();
        self.tiles
            .as_flattened_mut()
            .as_flattened_mut()
            .iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }

    fn sum(&self, one: usize, other: usize) -> f64 {
        let (row, column) = (one.min(other), one.max(other));
        self.tiles[row / PANEL * self.panels + column / PANEL][row % PANEL][column % PANEL]
    }

    /// The covariance of two columns of all rows that were added.
    pub(super) fn covariance(&self, one: usize, other: usize) -> f64 {
        let rows = self.sum(self.columns, self.columns);
        (self.sum(one, other) - self.sum(one, self.columns) * self.sum(other, self.columns) / rows)
            / (rows - 1.0)
    }
}

by_instructions! {
    /// Adds rows, one after the other, each value less that of its column in `shift`. The nearer that is to the mean, the fewer
    /// digits cancel.
    add(rows: &[f64], shift: &[f64], gram: &mut Gram): add_by::<Fused, 8>, add_by::<Fused, 4>, add_by::<Separate, 2>
}

#[inline(always)]
fn add_by<A: MultiplyAdd, const HEIGHT: usize>(rows: &[f64], shift: &[f64], gram: &mut Gram) {
    for block in rows.chunks(ROWS * gram.columns) {
        copy(block, shift, gram);
        multiply::<A, HEIGHT>(gram);
    }
}

/// Copies at most [`ROWS`] rows into panels; missing ones are zero, that of ones included.
#[inline(always)]
fn copy(block: &[f64], shift: &[f64], gram: &mut Gram) {
    let count = block.len() / gram.columns;
    let rows = gram.copied.as_flattened_mut().chunks_exact_mut(gram.panels * PANEL);
    for (target, row) in rows.zip(block.chunks_exact(gram.columns)) {
        for ((target, value), shift) in target.iter_mut().zip(row).zip(shift) {
            *target = value - shift;
        }
        target[row.len()] = 1.0;
    }
    gram.copied[count * gram.panels..].fill([0.0; PANEL]);
}

/// Adds the products of all copied rows, `HEIGHT` rows of a tile at a time: as many as registers hold.
#[inline(always)]
fn multiply<A: MultiplyAdd, const HEIGHT: usize>(gram: &mut Gram) {
    let panels = gram.panels;
    for i in 0..panels {
        for j in i..panels {
            let tile = &mut gram.tiles[i * panels + j];
            for (part, sums) in tile.as_chunks_mut::<HEIGHT>().0.iter_mut().enumerate() {
                let mut products = *sums;
                for row in gram.copied.chunks_exact(panels) {
                    let (left, right) = (&row[i], &row[j]);
                    for height in 0..HEIGHT {
                        for place in 0..PANEL {
                            products[height][place] = A::double(
                                left[part * HEIGHT + height],
                                right[place],
                                products[height][place],
                            );
                        }
                    }
                }
                *sums = products;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Instructions;
    use firsttouch_measure::mix;
    use proptest::prelude::*;

    fn chance(number: usize) -> f64 {
        (mix(number as u64) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    /// The covariance by its definition.
    fn naive(values: &[f64], columns: usize, one: usize, other: usize) -> f64 {
        let rows = (values.len() / columns) as f64;
        let of = |column: usize| values.chunks(columns).map(move |row| row[column]);
        let (mean, other_mean) = (of(one).sum::<f64>() / rows, of(other).sum::<f64>() / rows);
        of(one).zip(of(other)).map(|(one, other)| (one - mean) * (other - other_mean)).sum::<f64>()
            / (rows - 1.0)
    }

    proptest! {
        /// Of any number of rows and columns, in however many parts, by all instructions.
        #[test]
        fn covariances_are_those_of_the_definition(
            rows in 2..200_usize, columns in 1..30_usize, cut in 0..200_usize, seed in 0..1000_usize
        ) {
            let values: Vec<f64> = (0..rows * columns).map(|place| chance(seed + place) + (place % columns) as f64).collect();
            let shift: Vec<f64> = (0..columns).map(|column| column as f64 + 0.25).collect();
            let cut = cut.min(rows) * columns;
            for instructions in Instructions::available() {
                let (mut gram, mut rest) = (Gram::of(columns), Gram::of(columns));
                add(instructions, &values[..cut], &shift, &mut gram);
                add(instructions, &values[cut..], &shift, &mut rest);
                gram.merge(&rest);
                for (i, j) in (0..columns).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let (found, wanted) = (gram.covariance(i, j), naive(&values, columns, i, j));
                    prop_assert!((found - wanted).abs() < 1e-13, "{instructions:?} {i} {j}: {found}, not {wanted}");
                }
                gram.clear();
                prop_assert!(gram.tiles.as_flattened().as_flattened().iter().all(|sum| *sum == 0.0));
            }
        }
    }

    /// Without the shift, no digit of these variances would be left.
    #[test]
    fn shifted_values_keep_their_digits_however_large_they_are() {
        let values: Vec<f64> = (0..3000).map(|place| 1e9 + chance(place)).collect();
        let small: Vec<f64> = values.iter().map(|value| value - 1e9).collect();
        let wanted = naive(&small, 3, 1, 1);
        let by = |shift: f64| {
            let mut gram = Gram::of(3);
            add(Instructions::best(), &values, &[shift; 3], &mut gram);
            (gram.covariance(1, 1) - wanted).abs() / wanted
        };
        assert!(by(values[0]) < 1e-12, "{}", by(values[0]));
        assert!(by(0.0) > 0.5, "{}", by(0.0));
    }

    #[test]
    fn what_is_no_number_stays_in_its_column() {
        let mut values: Vec<f64> = (0..70 * 20).map(chance).collect();
        values[66 * 20 + 3] = f64::NAN;
        values[2 * 20 + 11] = f64::INFINITY;
        let mut gram = Gram::of(20);
        add(Instructions::best(), &values, &[0.0; 20], &mut gram);
        for (i, j) in (0..20).flat_map(|i| (0..20).map(move |j| (i, j))) {
            let is_hit = [i, j].iter().any(|column| [3, 11].contains(column));
            assert_eq!(gram.covariance(i, j).is_finite(), !is_hit, "{i} {j}");
        }
    }
}
