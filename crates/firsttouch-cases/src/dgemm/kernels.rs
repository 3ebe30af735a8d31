//! Micro-kernels: a tile of C that stays in registers while a strip of A and a strip of B go by.
//!
//! The shape is that of Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (ACM TOMS 34, 2008): each step takes a
//! column of A's strip and a row of B's, and adds their outer product. Tiles are as large as registers allow: 24 x 8 has 24 of 32
//! registers of 64 bytes for sums and loads 3 vectors and 8 numbers for 24 operations; 8 x 28 is the article's and loads
//! 29 times for 28.

/// Steps ahead at which strips are asked for: into the second-level cache, and into the first. 0 leaves it to the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ahead {
    pub(super) second_level: usize,
    pub(super) first_level: usize,
}

/// The strips of a tile: of A, which is as wide as the tile has rows, and of B, which is as wide as it has columns; and what is
/// needed after them, which comes into the second-level cache meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips<'a> {
    pub(super) a: &'a [f64],
    pub(super) b: &'a [f64],
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "portable code fetches nothing ahead")
    )]
    pub(super) next: &'a [f64],
}

/// What is done for a tile: `c` (columns `stride` apart) becomes the product of the strips, or has it added.
///
/// # Safety
/// The processor has the extension that the kernel is for; at each of its columns `c` is valid for its rows, and nobody else uses
/// them meanwhile.
type Multiply = unsafe fn(strips: Strips<'_>, c: *mut f64, stride: usize, add: bool, ahead: Ahead);

/// A micro-kernel and the size of its tile. There are only those that this processor has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub(super) rows: usize,
    pub(super) columns: usize,
    multiply: Multiply,
}

/// Numbers of the largest tile.
const LARGEST: usize = 224;

impl Kernel {
    /// The best that this processor has.
    pub(super) fn best() -> Kernel {
        Kernel::of("24x8").or_else(|| Kernel::of("avx2")).unwrap_or(PORTABLE)
    }

    /// The one of that name; `None` if the processor lacks what it needs.
    pub(super) fn of(name: &str) -> Option<Kernel> {
        match name {
            "portable" => Some(PORTABLE),
            #[cfg(target_arch = "x86_64")]
            name => x86::of(name),
            #[cfg(not(target_arch = "x86_64"))]
            _ => None,
        }
    }

    /// Multiplies strips of A and B, which are `rows` and `columns` wide, into the upper left part of a tile of C, or adds them
    /// there.
    ///
    /// # Safety
    /// At each of `columns` places, `stride` apart, `c` is valid for `rows`, and nobody else uses them meanwhile.
    pub(super) unsafe fn multiply(
        self,
        strips: Strips<'_>,
        c: *mut f64,
        stride: usize,
        (rows, columns): (usize, usize),
        add: bool,
        ahead: Ahead,
    ) {
        if (rows, columns) == (self.rows, self.columns) {
            // SAFETY: the processor has the extension, or there were no such kernel; of `c` the caller says so.
            return unsafe { (self.multiply)(strips, c, stride, add, ahead) };
        }
        let mut tile = [0.0_f64; LARGEST];
        // SAFETY: as above; the tile is ours and large enough for every kernel.
        unsafe { (self.multiply)(strips, tile.as_mut_ptr(), self.rows, false, ahead) };
        for (column, sums) in tile.chunks(self.rows).take(columns).enumerate() {
            // SAFETY: a column of the part that the caller says is valid.
            let target = unsafe { std::slice::from_raw_parts_mut(c.add(column * stride), rows) };
            for (value, sum) in target.iter_mut().zip(sums) {
                *value = if add { *value + sum } else { *sum };
            }
        }
    }
}

const PORTABLE: Kernel = Kernel { rows: PORTABLE_ROWS, columns: PORTABLE_COLUMNS, multiply: portable };
const PORTABLE_ROWS: usize = 8;
const PORTABLE_COLUMNS: usize = 4;

/// Plain code, which compilers make vectors of.
///
/// # Safety
/// As [`Multiply`]; every processor has what it needs.
unsafe fn portable(Strips { a, b, .. }: Strips<'_>, c: *mut f64, stride: usize, add: bool, _: Ahead) {
    let mut sums = [[0.0_f64; PORTABLE_ROWS]; PORTABLE_COLUMNS];
    let (a, b) = (a.as_chunks::<PORTABLE_ROWS>().0, b.as_chunks::<PORTABLE_COLUMNS>().0);
    for (a, b) in a.iter().zip(b) {
        for (sums, factor) in sums.iter_mut().zip(b) {
            for (sum, value) in sums.iter_mut().zip(a) {
                // Fused where the target always can; elsewhere that would be a call for each.
                *sum = if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    value.mul_add(*factor, *sum)
                } else {
                    *sum + value * factor
                };
            }
        }
    }
    for (column, sums) in sums.iter().enumerate() {
        // SAFETY: of `c` the caller says so.
        let target = unsafe { std::slice::from_raw_parts_mut(c.add(column * stride), PORTABLE_ROWS) };
        for (value, sum) in target.iter_mut().zip(sums) {
            *value = if add { *value + sum } else { *sum };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Ahead, Kernel, Strips};
    use crate::prefetch::prefetch;
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// The kernel of that name, if there is one and the processor has what it needs.
    pub(super) fn of(name: &str) -> Option<Kernel> {
        let avx512 = is_x86_feature_detected!("avx512f");
        match name {
            "24x8" if avx512 => Some(Kernel { rows: 24, columns: 8, multiply: avx512_24x8::multiply }),
            "8x28" if avx512 => Some(Kernel { rows: 8, columns: 28, multiply: avx512_8x28::multiply }),
            "avx2" if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") => {
                Some(Kernel { rows: 8, columns: 6, multiply: avx2_8x6::multiply })
            }
            _ => None,
        }
    }

    /// Numbers of a cache line.
    const LINE: usize = 8;
    /// Steps between which a line or a few are asked for.
    const GROUP: usize = 4;

    /// Asks for the numbers that so many steps from here are needed.
    #[inline(always)]
    fn prefetch_step<const LEVEL: u8, const WIDTH: usize>(step: &[f64; WIDTH], ahead: usize) {
        for line in 0..WIDTH.div_ceil(LINE) {
            prefetch::<LEVEL, _>(step.as_ptr().wrapping_add(ahead * WIDTH + line * LINE));
        }
    }

    macro_rules! kernel {
        ($name:ident, $feature:literal, $register:ty, $vectors:literal * $lanes:literal, $columns:literal,
         $zero:ident, $load:ident, $spread:ident, $multiply_add:ident, $add:ident, $store:ident) => {
            mod $name {
                use super::*;

                const ROWS: usize = $vectors * $lanes;
                // A column of C may have one line more than it fills.
                const LINES: usize = $columns * (ROWS / LINE + 1);
                type Sums = [[$register; $vectors]; $columns];

                /// # Safety
                /// As [`super::super::Multiply`].
                #[target_feature(enable = $feature)]
                pub(super) unsafe fn multiply(
                    strips: Strips<'_>,
                    c: *mut f64,
                    stride: usize,
                    add: bool,
                    ahead: Ahead,
                ) {
                    let sums = match (ahead.second_level != 0, ahead.first_level != 0) {
                        (false, false) => products::<false, false>(strips, c, stride, ahead),
                        (false, true) => products::<false, true>(strips, c, stride, ahead),
                        (true, false) => products::<true, false>(strips, c, stride, ahead),
                        (true, true) => products::<true, true>(strips, c, stride, ahead),
                    };
                    for (column, sums) in sums.into_iter().enumerate() {
                        for (vector, sum) in sums.into_iter().enumerate() {
                            // SAFETY: of `c` the caller says so; neither needs alignment.
                            unsafe {
                                let target = c.add(column * stride + vector * $lanes);
                                $store(target, if add { $add($load(target), sum) } else { sum });
                            }
                        }
                    }
                }

                /// The product of the strips, while what is needed after it is asked for.
                #[inline]
                #[target_feature(enable = $feature)]
                fn products<const SECOND: bool, const FIRST: bool>(
                    Strips { a, b, next }: Strips<'_>,
                    c: *const f64,
                    stride: usize,
                    ahead: Ahead,
                ) -> Sums {
                    let mut sums = [[$zero(); $vectors]; $columns];
                    let (a, b) = (a.as_chunks::<ROWS>().0, b.as_chunks::<$columns>().0);
                    let ((a, last_of_a), (b, last_of_b)) = (a.as_chunks::<GROUP>(), b.as_chunks::<GROUP>());
                    let lines = (next.len() / LINE).div_ceil(a.len().max(1));
                    let mut next = next.as_ptr();
                    let last = a.len().saturating_sub(LINES);
                    for (group, (a, b)) in a.iter().zip(b).enumerate() {
                        // What is needed after this tile, and C at its end, from memory: a few lines at a time, which keep no strip waiting.
                        for _ in 0..lines {
                            prefetch::<2, _>(next);
                            next = next.wrapping_add(LINE);
                        }
                        if let Some(line) = group.checked_sub(last) {
                            let (column, line) = (line % $columns, line / $columns);
                            let row = (line * LINE).min(ROWS - 1);
                            prefetch::<1, _>(c.wrapping_add(column * stride + row));
                        }
                        for place in 0..GROUP {
                            step::<SECOND, FIRST>(&a[place], &b[place], &mut sums, ahead);
                        }
                    }
                    for (a, b) in last_of_a.iter().zip(last_of_b) {
                        step::<SECOND, FIRST>(a, b, &mut sums, ahead);
                    }
                    sums
                }

                #[inline]
                #[target_feature(enable = $feature)]
                fn step<const SECOND: bool, const FIRST: bool>(
                    a: &[f64; ROWS],
                    b: &[f64; $columns],
                    sums: &mut Sums,
                    ahead: Ahead,
                ) {
                    if SECOND {
                        prefetch_step::<2, ROWS>(a, ahead.second_level);
                        prefetch_step::<2, $columns>(b, ahead.second_level);
                    }
                    if FIRST {
                        prefetch_step::<1, ROWS>(a, ahead.first_level);
                        prefetch_step::<1, $columns>(b, ahead.first_level);
                    }
                    let mut values = [$zero(); $vectors];
                    for (vector, values) in values.iter_mut().enumerate() {
                        // SAFETY: the step has ROWS numbers; the load needs no alignment.
                        *values = unsafe { $load(a.as_ptr().add(vector * $lanes)) };
                    }
                    for (sums, factor) in sums.iter_mut().zip(b) {
                        let factor = $spread(*factor);
                        for (sum, values) in sums.iter_mut().zip(values) {
                            *sum = $multiply_add(values, factor, *sum);
                        }
                    }
                }
            }
        };
    }

    kernel!(
        avx512_24x8,
        "avx512f",
        __m512d,
        3 * 8,
        8,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd
    );
    kernel!(
        avx512_8x28,
        "avx512f",
        __m512d,
        1 * 8,
        28,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd
    );
    kernel!(
        avx2_8x6,
        "avx2,fma",
        __m256d,
        2 * 4,
        6,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd
    );
}
