//! Products and combinations of long columns, where they lie: a tile of each stays in registers while columns go by.

use crate::prefetch::prefetch;
use std::marker::PhantomData;
use std::ops::Deref;

/// Vectors of the left side of a block of products.
pub(super) const LEFT: usize = 4;
/// Sums of a block: for each pair as many as a vector has lanes, at most eight.
pub(super) const SUMS: usize = LEFT * 4 * 8;

/// Columns of the same length, each wherever it lies.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    starts: Vec<*mut f64>,
    rows: usize,
    borrowed: PhantomData<&'a [f64]>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(columns: impl Iterator<Item = &'a [f64]>) -> Columns<'a> {
        let ranges = columns.map(|column| (column.as_ptr().cast_mut(), column.len()));
        Columns::starting(ranges)
    }

    fn starting(ranges: impl Iterator<Item = (*mut f64, usize)>) -> Columns<'a> {
        let (starts, lengths): (Vec<_>, Vec<_>) = ranges.unzip();
        let rows = lengths.first().copied().unwrap_or(0);
        assert!(lengths.iter().all(|length| *length == rows), "all have the same length");
        Columns { starts, rows, borrowed: PhantomData }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn column(&self, number: usize) -> &[f64] {
        // SAFETY: it was borrowed with this length, for as long as this is there.
        unsafe { std::slice::from_raw_parts(self.starts[number], self.rows) }
    }
}

/// Columns that were borrowed for writing.
#[derive(Debug)]
pub(super) struct ColumnsMut<'a>(Columns<'a>, PhantomData<&'a mut [f64]>);

impl<'a> ColumnsMut<'a> {
    pub(super) fn of(columns: impl Iterator<Item = &'a mut [f64]>) -> ColumnsMut<'a> {
        let ranges = columns.map(|column| (column.as_mut_ptr(), column.len()));
        ColumnsMut(Columns::starting(ranges), PhantomData)
    }

    pub(super) fn column_mut(&mut self, number: usize) -> &mut [f64] {
        // SAFETY: it was borrowed with this length, for writing and for as long as this is there.
        unsafe { std::slice::from_raw_parts_mut(self.0.starts[number], self.0.rows) }
    }
}

impl<'a> Deref for ColumnsMut<'a> {
    type Target = Columns<'a>;

    fn deref(&self) -> &Columns<'a> {
        &self.0
    }
}

/// Adds the products of `LEFT` columns with the kernel's number of others to sums in lanes, of `length` rows from `row` on: a
/// multiple of eight. Where both sides begin with the same column, there is a kernel that leaves out each pair that comes again the
/// other way round. Meanwhile it asks for as many numbers from `ahead` on, which need not be there.
///
/// # Safety
/// The processor has the extension that the kernel is for; columns are as many, and have these rows.
type Products = unsafe fn(
    left: &Starts,
    right: &Starts,
    row: usize,
    length: usize,
    ahead: *const f64,
    sums: &mut [f64; SUMS],
);

/// Numbers of a line of the cache.
pub(super) const LINE: usize = 8;

/// Where the columns of one side of a block begin.
type Starts = [*mut f64; LEFT];

/// Writes the sums of multiples of columns, of a tile of rows from `row` on, into the same tile of as many `targets` as there are, of those
/// that the kernel makes at a time, from `target_row` on. `factors` are those of the first column for each target, then of the
/// second. The targets are the last of the columns or stand for them, and those are in no sum of one before them: such factors are 0.
/// Nothing is written before everything is read.
///
/// # Safety
/// The processor has the extension that the kernel is for; columns and targets have these rows, and nobody else uses them meanwhile.
type Combine =
    unsafe fn(columns: &[*mut f64], row: usize, factors: &[f64], targets: &[*mut f64], target_row: usize);

/// A way to multiply and to combine. There are only those that this processor has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    /// Vectors of the right side of a block of products.
    pub(super) right: usize,
    /// Rows of a tile of combinations, a multiple of eight.
    pub(super) rows: usize,
    /// Combinations that are made at a time.
    pub(super) width: usize,
    lanes: usize,
    products: Products,
    /// The same of blocks on the diagonal.
    diagonal: Products,
    combine: Combine,
}

impl Kernel {
    /// Those that this processor has, the best first.
    pub(super) fn all() -> Vec<Kernel> {
        #[cfg(target_arch = "x86_64")]
        let vectors = x86::all();
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = Vec::new();
        let portable = Kernel {
            right: 2,
            rows: portable::ROWS,
            width: portable::WIDTH,
            lanes: portable::LANES,
            products: portable::products,
            diagonal: portable::products,
            combine: portable::combine,
        };
        vectors.into_iter().chain([portable]).collect()
    }

    /// Adds the products of four columns from `left` on with as many as this takes from `right` on, of `length` rows from `row` on.
    /// Where there are fewer columns, the last stands for those behind it. Where both are the same, of a pair that comes twice the first
    /// one counts. Meanwhile it asks for as many numbers from `ahead` on, which need not be there.
    pub(super) fn add_products(
        self,
        columns: &Columns<'_>,
        (left, right): (usize, usize),
        (row, length): (usize, usize),
        ahead: *const f64,
        sums: &mut [f64; SUMS],
    ) {
        assert!(length.is_multiple_of(8), "whole vectors of a column");
        assert!(row.checked_add(length).is_some_and(|end| end <= columns.rows), "rows are there");
        let last = columns.starts.len() - 1;
        let starts = |first: usize| -> Starts {
            std::array::from_fn(|number| columns.starts[(first + number).min(last)])
        };
        let products = if left == right { self.diagonal } else { self.products };
        // SAFETY: the processor has the extension, or this were not among all; columns and rows are there.
        unsafe { products(&starts(left), &starts(right), row, length, ahead, sums) };
    }

    /// The sum of all lanes of a pair of a block.
    pub(super) fn sum(self, sums: &[f64; SUMS], left: usize, right: usize) -> f64 {
        sums[(left * self.right + right) * self.lanes..][..self.lanes].iter().sum()
    }

    /// Replaces a tile of rows of the columns from `first` on, at most as many as this makes at a time, by sums of multiples of
    /// them and those before them.
    pub(super) fn combine(self, columns: &mut ColumnsMut<'_>, row: usize, first: usize, factors: &[f64]) {
        // SAFETY: all columns are borrowed for writing.
        unsafe { self.combine_into(columns, row, first, factors, columns, row) };
    }

    /// The same of columns that stay as they are, into a tile of `target`.
    pub(super) fn combine_to(
        self,
        (columns, row): (&Columns<'_>, usize),
        first: usize,
        factors: &[f64],
        (target, target_row): (&mut ColumnsMut<'_>, usize),
    ) {
        // SAFETY: the target is borrowed for writing.
        unsafe { self.combine_into(columns, row, first, factors, target, target_row) };
    }

    /// # Safety
    /// Nobody else uses the columns of the target meanwhile.
    unsafe fn combine_into(
        self,
        columns: &Columns<'_>,
        row: usize,
        first: usize,
        factors: &[f64],
        target: &Columns<'_>,
        target_row: usize,
    ) {
        let end = columns.starts.len().min(first + self.width);
        assert!(factors.len() >= end * self.width, "each column has factors");
        for (columns, row) in [(columns, row), (target, target_row)] {
            assert!(row.checked_add(self.rows).is_some_and(|end| end <= columns.rows), "rows are there");
        }
        // SAFETY: the processor has the extension, or this were not among all; all columns have the rows; of the target the caller
        // says so.
        unsafe {
            (self.combine)(&columns.starts[..end], row, factors, &target.starts[first..end], target_row);
        }
    }
}

/// Plain code, which compilers make vectors of.
mod portable {
    use super::{LEFT, LINE, SUMS, Starts, prefetch};
    use std::slice::from_raw_parts;

    pub(super) const LANES: usize = 2;
    pub(super) const ROWS: usize = 8;
    pub(super) const WIDTH: usize = 4;

    /// # Safety
    /// As [`super::Products`]; every processor has what it needs.
    pub(super) unsafe fn products(
        left: &Starts,
        right: &Starts,
        row: usize,
        length: usize,
        ahead: *const f64,
        sums: &mut [f64; SUMS],
    ) {
        (0..length).step_by(LINE).for_each(|line| prefetch::<2, _>(ahead.wrapping_add(line)));
        // SAFETY: the caller says that these rows are there.
        let column =
            |start: *mut f64| unsafe { from_raw_parts(start.add(row), length) }.as_chunks::<LANES>().0;
        let left: [_; LEFT] = std::array::from_fn(|number| column(left[number]));
        let right = [column(right[0]), column(right[1])];
        let mut pairs = [[[0.0_f64; LANES]; 2]; LEFT];
        for step in 0..length / LANES {
            for (left, sums) in left.iter().zip(&mut pairs) {
                for (right, sums) in right.iter().zip(sums) {
                    for lane in 0..LANES {
                        sums[lane] += left[step][lane] * right[step][lane];
                    }
                }
            }
        }
        sums.iter_mut().zip(pairs.as_flattened().as_flattened()).for_each(|(sum, more)| *sum += more);
    }

    /// # Safety
    /// As [`super::Combine`]; every processor has what it needs.
    pub(super) unsafe fn combine(
        columns: &[*mut f64],
        row: usize,
        factors: &[f64],
        targets: &[*mut f64],
        target_row: usize,
    ) {
        let mut tile = [[0.0_f64; ROWS]; WIDTH];
        for (start, factors) in columns.iter().zip(factors.as_chunks::<WIDTH>().0) {
            // SAFETY: the caller says that these rows are there; the copy ends before anything is written.
            let values = unsafe { start.add(row).cast::<[f64; ROWS]>().read() };
            for (sums, factor) in tile.iter_mut().zip(factors) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * factor);
            }
        }
        for (target, sums) in targets.iter().zip(tile) {
            // SAFETY: as above.
            unsafe { target.add(target_row).cast::<[f64; ROWS]>().write(sums) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernel, LEFT, SUMS, Starts, prefetch};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    pub(super) fn all() -> Vec<Kernel> {
        let avx512 = Kernel {
            right: 4,
            rows: 24,
            width: 8,
            lanes: 8,
            products: avx512::products::<false>,
            diagonal: avx512::products::<true>,
            combine: avx512::combine,
        };
        let avx2 = Kernel {
            right: 2,
            rows: 8,
            width: 6,
            lanes: 4,
            products: avx2::products::<false>,
            diagonal: avx2::products::<true>,
            combine: avx2::combine,
        };
        let has_avx512 = is_x86_feature_detected!("avx512f");
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        [has_avx512.then_some(avx512), has_avx2.then_some(avx2)].into_iter().flatten().collect()
    }

    macro_rules! kernels {
        ($name:ident, $feature:literal, $register:ty, $lanes:literal, $right:literal, $vectors:literal x $width:literal,
         $zero:ident, $load:ident, $spread:ident, $multiply_add:ident, $add:ident, $store:ident) => {
            /// Loops count through constants, so that sums stay in registers.
            mod $name {
                use super::*;

                /// # Safety
                /// So many numbers are there. The load needs no alignment.
                #[inline]
                #[target_feature(enable = $feature)]
                unsafe fn load<const VECTORS: usize>(start: *const f64) -> [$register; VECTORS] {
                    let mut values = [$zero(); VECTORS];
                    for vector in 0..VECTORS {
                        // SAFETY: the caller says that these are there.
                        values[vector] = unsafe { $load(start.add(vector * $lanes)) };
                    }
                    values
                }

                /// # Safety
                /// As [`super::super::Products`].
                #[target_feature(enable = $feature)]
                pub(in super::super) unsafe fn products<const DIAGONAL: bool>(
                    left: &Starts,
                    right: &Starts,
                    row: usize,
                    length: usize,
                    ahead: *const f64,
                    sums: &mut [f64; SUMS],
                ) {
                    let mut pairs = [[$zero(); $right]; LEFT];
                    for step in (row..row + length).step_by($lanes) {
                        prefetch::<2, _>(ahead.wrapping_add(step - row));
                        let mut others = [$zero(); $right];
                        for number in 0..$right {
                            // SAFETY: whole vectors of rows that the caller says are there.
                            [others[number]] = unsafe { load(right[number].add(step)) };
                        }
                        for one in 0..LEFT {
                            // SAFETY: as above.
                            let [value] = unsafe { load(left[one].add(step)) };
                            for number in if DIAGONAL { one } else { 0 }..$right {
                                pairs[one][number] = $multiply_add(value, others[number], pairs[one][number]);
                            }
                        }
                    }
                    for (sum, pair) in sums.as_chunks_mut::<$lanes>().0.iter_mut().zip(pairs.as_flattened()) {
                        // SAFETY: the array has the size of the vector; neither needs alignment.
                        unsafe { $store(sum.as_mut_ptr(), $add($load(sum.as_ptr()), *pair)) };
                    }
                }

                /// # Safety
                /// As [`super::super::Combine`].
                #[target_feature(enable = $feature)]
                pub(in super::super) unsafe fn combine(
                    columns: &[*mut f64],
                    row: usize,
                    factors: &[f64],
                    targets: &[*mut f64],
                    target_row: usize,
                ) {
                    const HALF: usize = $width / 2;
                    let mut tile = [[$zero(); $vectors]; $width];
                    // What the second half of the targets stand for is in no sum of the first half.
                    let whole = columns.len().min(columns.len() - targets.len() + HALF);
                    let (columns, rest) = columns.split_at(whole);
                    let (factors, factors_of_rest) = factors.as_chunks::<$width>().0.split_at(whole);
                    for (start, factors) in columns.iter().zip(factors) {
                        // SAFETY: rows that the caller says are there.
                        let values: [_; $vectors] = unsafe { load(start.add(row)) };
                        for number in 0..$width {
                            let factor = $spread(factors[number]);
                            for vector in 0..$vectors {
                                tile[number][vector] =
                                    $multiply_add(values[vector], factor, tile[number][vector]);
                            }
                        }
                    }
                    for (start, factors) in rest.iter().zip(factors_of_rest) {
                        // SAFETY: as above.
                        let values: [_; $vectors] = unsafe { load(start.add(row)) };
                        for number in HALF..$width {
                            let factor = $spread(factors[number]);
                            for vector in 0..$vectors {
                                tile[number][vector] =
                                    $multiply_add(values[vector], factor, tile[number][vector]);
                            }
                        }
                    }
                    for number in 0..$width {
                        // Asked for each, so that the tile stays in registers.
                        let Some(target) = targets.get(number) else { return };
                        for vector in 0..$vectors {
                            // SAFETY: rows of a target that the caller says are there; the store needs no alignment.
                            unsafe { $store(target.add(target_row + vector * $lanes), tile[number][vector]) };
                        }
                    }
                }
            }
        };
    }

    kernels!(
        avx512,
        "avx512f",
        __m512d,
        8,
        4,
        3 x 8,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd
    );
    kernels!(
        avx2,
        "avx2,fma",
        __m256d,
        4,
        2,
        2 x 6,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 72;

    fn number(place: usize) -> f64 {
        (firsttouch_measure::mix(place as u64) % 13) as f64 - 6.0
    }

    #[test]
    fn every_pair_is_multiplied_and_added_to_what_was_there() {
        let numbers: Vec<f64> = (0..7 * ROWS).map(number).collect();
        let columns = Columns::of(numbers.chunks_exact(ROWS));
        for kernel in Kernel::all() {
            for (left, right, row, length) in [(0, 4, 0, 0), (0, 2, 8, 8), (4, 0, 0, 24), (4, 4, 16, 56)] {
                let mut sums = [0.0; SUMS];
                (0..3).for_each(|_| {
                    kernel.add_products(&columns, (left, right), (row, length), std::ptr::null(), &mut sums)
                });
                let pairs = (0..LEFT).flat_map(|i| (0..kernel.right).map(move |j| (i, j)));
                for (i, j) in pairs.filter(|(i, j)| left != right || i <= j) {
                    let column = |number: usize| &columns.column(number.min(6))[row..row + length];
                    let pairs = column(left + i).iter().zip(column(right + j));
                    let product: f64 = pairs.map(|(one, other)| one * other).sum();
                    assert_eq!(kernel.sum(&sums, i, j), 3.0 * product, "{kernel:?} {left} {right} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn a_tile_is_combined_where_it_is_or_elsewhere_and_nothing_else_changes() {
        for kernel in Kernel::all() {
            for (count, row) in [(1, 0), (5, 8), (11, 24), (kernel.width * 2, 48)] {
                let before: Vec<f64> = (0..count * ROWS).map(number).collect();
                for first in (0..count).step_by(kernel.width) {
                    let factor = |place: usize| {
                        let is_above = place / kernel.width <= first + place % kernel.width;
                        if is_above { number(1000 + place) } else { 0.0 }
                    };
                    let factors: Vec<f64> = (0..count * kernel.width).map(factor).collect();
                    let end = count.min(first + kernel.width);
                    let expected = |column: usize, row: usize| -> f64 {
                        let factor = |k: usize| factors[k * kernel.width + column - first];
                        (0..end).map(|k| before[k * ROWS + row] * factor(k)).sum()
                    };
                    let mut here = before.clone();
                    let mut columns = ColumnsMut::of(here.chunks_exact_mut(ROWS));
                    kernel.combine(&mut columns, row, first, &factors);
                    let mut there = vec![0.5; count * 32];
                    let source = Columns::of(before.chunks_exact(ROWS));
                    let mut target = ColumnsMut::of(there.chunks_exact_mut(32));
                    kernel.combine_to((&source, row), first, &factors, (&mut target, 8));
                    for (column, other) in
                        (0..count).flat_map(|column| (0..ROWS).map(move |row| (column, row)))
                    {
                        let is_new =
                            (first..end).contains(&column) && (row..row + kernel.rows).contains(&other);
                        let value =
                            if is_new { expected(column, other) } else { before[column * ROWS + other] };
                        assert_eq!(
                            here[column * ROWS + other],
                            value,
                            "{kernel:?} {count} {first} {column} {other}"
                        );
                    }
                    for (column, other) in (0..count).flat_map(|column| (0..32).map(move |row| (column, row)))
                    {
                        let is_new = (first..end).contains(&column) && (8..8 + kernel.rows).contains(&other);
                        let value = if is_new { expected(column, row + other - 8) } else { 0.5 };
                        assert_eq!(
                            there[column * 32 + other],
                            value,
                            "{kernel:?} {count} {first} {column} {other}"
                        );
                    }
                }
            }
        }
    }
}
