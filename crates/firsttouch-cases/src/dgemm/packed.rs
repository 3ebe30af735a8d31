//! C = A B by packed blocks, in the order of the article: for each panel of A's columns and B's rows, both are packed into strips as
//! wide as a micro-kernel's tile, and then the blocks of C are handed out.

use super::kernels::{Ahead, Kernel, Strips};
use crate::array::{Array, Arrays};
use crate::error::CaseError;
use crate::share::{cut, cut_slice, each};
use firsttouch_threads::{Schedule, Team};
use std::marker::PhantomData;
use std::ops::Range;

/// Strips of A that are packed at a time: each column is read in pieces longer than a line, and written to as many places.
const STRIPS: usize = 8;

/// How the work is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Columns of A and rows of B that are packed at a time, at most.
    pub(super) depth: usize,
    /// Rows of a block of C; as many strips as have them.
    pub(super) rows: usize,
    /// Columns of a block of C; as many strips as have them.
    pub(super) columns: usize,
    /// How blocks are handed out.
    pub(super) schedule: Schedule,
    /// What is asked for before it is needed.
    pub(super) ahead: Ahead,
}

/// The arrays that panels of `n` by `n` matrices are packed into, and how.
#[derive(Debug)]
pub(super) struct Packed {
    n: usize,
    kernel: Kernel,
    blocks: Blocks,
    a: Array<f64>,
    b: Array<f64>,
}

impl Packed {
    /// Makes the arrays; each member touches what it will pack first.
    pub(super) fn new(
        n: usize,
        kernel: Kernel,
        blocks: Blocks,
        arrays: &Arrays,
        team: &mut Team,
    ) -> Result<Packed, CaseError> {
        let depth = blocks.depth.min(n);
        let mut packed = |name, width: usize| {
            let mut array = arrays.zeroed::<f64>(name, n.next_multiple_of(width) * depth)?;
            let parts = cut_slice(&mut array, team.size(), width * depth);
            each(team, parts, |_, part| part.fill(0.0));
            Ok::<_, CaseError>(array)
        };
        let (a, b) = (packed("packed-a", kernel.rows)?, packed("packed-b", kernel.columns)?);
        Ok(Packed { n, kernel, blocks, a, b })
    }

    /// What it is made of, for people.
    pub(super) fn note(&self) -> String {
        let (kernel, schedule) = (self.kernel, self.blocks.schedule);
        format!("tiles of {} x {}, blocks handed out as {schedule:?}", kernel.rows, kernel.columns)
    }

    /// C = A B.
    pub(super) fn multiply(&mut self, a: &[f64], b: &[f64], c: &mut [f64], team: &mut Team) {
        let Packed { n, kernel, blocks, .. } = *self;
        assert!([a.len(), b.len(), c.len()] == [n * n; 3], "matrices of n by n");
        let row_blocks = n.div_ceil(blocks.rows.next_multiple_of(kernel.rows));
        let column_blocks = n.div_ceil(blocks.columns.next_multiple_of(kernel.columns));
        let target = Target::of(c);
        for steps in cut(n, n.div_ceil(blocks.depth), 1) {
            self.pack(a, b, &steps, team);
            let (packed, target) = (&*self, &target);
            team.for_each(0..row_blocks * column_blocks, blocks.schedule, |_, part| {
                for block in part {
                    // One after the other along a row of blocks, so that the strips of A stay in the cache.
                    let (row, column) = (block / column_blocks, block % column_blocks);
                    packed.block(row, column, &steps, target);
                }
            });
        }
    }

    /// Packs the panel of these columns of A and rows of B, everybody a part.
    fn pack(&mut self, a: &[f64], b: &[f64], steps: &Range<usize>, team: &mut Team) {
        let (n, members) = (self.n, team.size());
        let Kernel { rows, columns, .. } = self.kernel;
        let parts_of_a = strips(&mut self.a, n, rows, steps.len(), members);
        let parts = parts_of_a.zip(strips(&mut self.b, n, columns, steps.len(), members)).collect();
        each(team, parts, |_, ((row, strips_of_a), (column, strips_of_b))| {
            if !strips_of_a.is_empty() {
                let columns = a[steps.start * n..steps.end * n].chunks_exact(n);
                pack_a(&columns.map(|column| &column[row..]), rows, strips_of_a);
            }
            pack_b(b, n, steps, column, columns, strips_of_b);
        });
    }

    /// Does the steps for one block of C.
    #[expect(unsafe_code, reason = "blocks of a matrix by columns are no slices")]
    fn block(&self, row: usize, column: usize, steps: &Range<usize>, target: &Target<'_>) {
        let Kernel { rows, columns, .. } = self.kernel;
        let strips = |block: usize, size: usize, width: usize| {
            let count = size.div_ceil(width);
            block * count..((block + 1) * count).min(self.n.div_ceil(width))
        };
        let of_a = strips(row, self.blocks.rows, rows);
        let of_b = strips(column, self.blocks.columns, columns);
        let tile = |strip_of_a: usize, strip_of_b: usize, next: &[f64]| {
            let a = &self.a[strip_of_a * rows * steps.len()..][..rows * steps.len()];
            let b = &self.b[strip_of_b * columns * steps.len()..][..columns * steps.len()];
            let (row, column) = (strip_of_a * rows, strip_of_b * columns);
            let size = (rows.min(self.n - row), columns.min(self.n - column));
            let add = steps.start > 0;
            // SAFETY: the tile is inside of C, whose columns are `n` apart. It belongs to this block alone, each block is handed out
            // once, and whoever handed it out waits until it is done.
            unsafe {
                let first = target.first.add(column * self.n + row);
                self.kernel.multiply(Strips { a, b, next }, first, self.n, size, add, self.blocks.ahead);
            }
        };
        // The narrower strip stays in the first-level cache while those of the other go by. That behind it comes from memory
        // meanwhile, a part of it with each of them.
        if rows < columns {
            let parts = of_b.len();
            of_a.for_each(|a| {
                let behind = strip_behind(&self.a, a, rows * steps.len());
                of_b.clone().zip(0..).for_each(|(b, part)| tile(a, b, share_of(behind, part, parts)));
            });
        } else {
            let parts = of_a.len();
            of_b.for_each(|b| {
                let behind = strip_behind(&self.b, b, columns * steps.len());
                of_a.clone().zip(0..).for_each(|(a, part)| tile(a, b, share_of(behind, part, parts)));
            });
        }
    }
}

/// The strip behind that of a number, of so many numbers; nothing behind the last.
fn strip_behind(strips: &[f64], strip: usize, length: usize) -> &[f64] {
    strips.get((strip + 1) * length..(strip + 2) * length).unwrap_or_default()
}

/// One of so many parts of a strip.
fn share_of(strip: &[f64], part: usize, parts: usize) -> &[f64] {
    &strip[strip.len() * part / parts..strip.len() * (part + 1) / parts]
}

/// The strips that each member packs of so many rows or columns, and the first row or column of them.
fn strips(
    array: &mut [f64],
    n: usize,
    width: usize,
    steps: usize,
    members: usize,
) -> impl Iterator<Item = (usize, &mut [f64])> {
    let padded = n.next_multiple_of(width);
    let starts = cut(padded, members, width).into_iter().map(|part| part.start);
    starts.zip(cut_slice(&mut array[..padded * steps], members, width * steps))
}

/// C, of which each block is written by one member at a time.
struct Target<'a> {
    first: *mut f64,
    matrix: PhantomData<&'a mut [f64]>,
}

impl Target<'_> {
    fn of(matrix: &mut [f64]) -> Target<'_> {
        Target { first: matrix.as_mut_ptr(), matrix: PhantomData }
    }
}

// SAFETY: members write to blocks that have nothing in common, and nobody has the matrix meanwhile.
#[expect(unsafe_code, reason = "blocks of a matrix by columns are no slices")]
unsafe impl Sync for Target<'_> {}

/// Copies columns into strips of `width` rows, column after column of each. Rows that are not there are 0.
fn pack_a<'a>(columns: &(impl Iterator<Item = &'a [f64]> + Clone), width: usize, strips: &mut [f64]) {
    let steps = columns.clone().count();
    for (group, strips) in strips.chunks_mut(STRIPS * width * steps).enumerate() {
        for (step, column) in columns.clone().enumerate() {
            let values = column[group * STRIPS * width..].chunks(width);
            for (strip, values) in strips.chunks_exact_mut(width * steps).zip(values) {
                let (target, missing) = strip[step * width..][..width].split_at_mut(values.len());
                // By eights: no calls for a line or three.
                let (lines, rest) = target.as_chunks_mut::<8>();
                let (values, last) = values.as_chunks::<8>();
                lines.iter_mut().zip(values).for_each(|(line, values)| *line = *values);
                rest.copy_from_slice(last);
                missing.fill(0.0);
            }
        }
    }
}

/// Copies rows of B into strips of `width` columns, row after row; `column` is the first of them. Columns that are not
/// there are 0.
pub(crate) fn pack_b(
    b: &[f64],
    n: usize,
    steps: &Range<usize>,
    column: usize,
    width: usize,
    strips: &mut [f64],
) {
    for (strip, target) in strips.chunks_exact_mut(width * steps.len()).enumerate() {
        for offset in 0..width {
            let column = column + strip * width + offset;
            let values = target[offset..].iter_mut().step_by(width);
            if column < n {
                let source = &b[column * n + steps.start..column * n + steps.end];
                values.zip(source).for_each(|(value, source)| *value = *source);
            } else {
                values.for_each(|value| *value = 0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KERNELS: [&str; 4] = ["24x8", "8x28", "avx2", "portable"];

    fn product(
        kernel: &str,
        n: usize,
        blocks: Blocks,
        threads: usize,
        a: &[f64],
        b: &[f64],
    ) -> Option<Vec<f64>> {
        let mut team = Team::of_this_process(threads).unwrap();
        let mut packed = Packed::new(n, Kernel::of(kernel)?, blocks, &Arrays::default(), &mut team).unwrap();
        let mut c = vec![f64::NAN; n * n];
        // Twice: nothing of the first may be left in the second.
        packed.multiply(b, a, &mut c, &mut team);
        packed.multiply(a, b, &mut c, &mut team);
        Some(c)
    }

    /// Row by column, as one writes it down.
    fn naive(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
        let element = |place: usize| (0..n).map(|k| a[k * n + place % n] * b[place / n * n + k]).sum();
        (0..n * n).map(element).collect()
    }

    fn integers(length: usize, seed: u64) -> Vec<f64> {
        (0..length as u64).map(|place| (firsttouch_measure::mix(seed + place) % 17) as f64 - 8.0).collect()
    }

    fn blocks() -> impl Strategy<Value = Blocks> {
        let schedule = prop_oneof![
            Just(Schedule::Static),
            (1_usize..4).prop_map(Schedule::StaticParts),
            (1_usize..4).prop_map(Schedule::Dynamic),
            (1_usize..4).prop_map(Schedule::Guided),
        ];
        (1_usize..90, 1_usize..90, 1_usize..90, schedule, 0_usize..40, 0_usize..40).prop_map(
            |(depth, rows, columns, schedule, second_level, first_level)| Blocks {
                depth,
                rows,
                columns,
                schedule,
                ahead: Ahead { second_level, first_level },
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Small whole numbers have exact products and sums, in whatever order.
        #[test]
        fn every_kernel_multiplies_whatever_the_size(n in 1_usize..80, blocks in blocks(), threads in 1_usize..4, seed in 0_u64..1000) {
            let (a, b) = (integers(n * n, seed), integers(n * n, seed + 1_000_000));
            let expected = naive(n, &a, &b);
            for kernel in KERNELS {
                if let Some(c) = product(kernel, n, blocks, threads, &a, &b) {
                    prop_assert_eq!(&c, &expected, "{}", kernel);
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_stays_in_its_row_and_column() {
        let (n, row, column) = (37, 36, 29);
        let (mut a, mut b) = (integers(n * n, 1), integers(n * n, 2));
        a[5 * n + row] = f64::NAN;
        b[column * n + 5] = f64::INFINITY;
        let blocks =
            Blocks { depth: 16, rows: 24, columns: 28, schedule: Schedule::Static, ahead: Ahead::default() };
        let expected = naive(n, &a, &b);
        for kernel in KERNELS {
            let Some(c) = product(kernel, n, blocks, 2, &a, &b) else { continue };
            for (value, expected) in c.iter().zip(&expected) {
                assert!(
                    value == expected || value.is_nan() && expected.is_nan(),
                    "{kernel}: {value} {expected}"
                );
            }
            assert!(c.iter().filter(|value| !value.is_finite()).count() <= 2 * n, "{kernel}");
        }
    }
}
