//! Inner products of all pairs of vectors, a block of four by a few pairs at a time: so that what is loaded is used more than once.

/// Vectors of the left side of a block.
pub(super) const LEFT: usize = 4;
/// Sums of a block: for each pair as many as a vector has lanes, at most eight.
pub(super) const SUMS: usize = LEFT * 4 * 8;

/// Adds the products of `LEFT` vectors with the kernel's number of others to sums in lanes. Both are columns of `stride` numbers of
/// which the first `length`, a multiple of eight, count.
///
/// # Safety
/// The processor has the extension that the kernel is for; columns are `length` long at least.
type Products = unsafe fn(left: &[f64], right: &[f64], stride: usize, length: usize, sums: &mut [f64; SUMS]);

/// A way to multiply. There are only those that this processor has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairs {
    /// Vectors of the right side of a block.
    pub(super) right: usize,
    lanes: usize,
    products: Products,
}

impl Pairs {
    /// Those that this processor has, the best first.
    pub(super) fn all() -> Vec<Pairs> {
        #[cfg(target_arch = "x86_64")]
        let vectors = x86::all();
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = Vec::new();
        vectors.into_iter().chain([Pairs { right: 2, lanes: 2, products: portable }]).collect()
    }

    /// Adds the products of four columns from `left` on with as many as this takes from `right` on.
    pub(super) fn add(
        self,
        left: &[f64],
        right: &[f64],
        stride: usize,
        length: usize,
        sums: &mut [f64; SUMS],
    ) {
        assert!(length.is_multiple_of(8) && length <= stride, "whole vectors of a column");
        assert!(left.len() >= LEFT * stride && right.len() >= self.right * stride, "all columns are there");
        // SAFETY: the processor has the extension, or this were not among all; lengths are as they have to be.
        unsafe { (self.products)(left, right, stride, length, sums) };
    }

    /// The sum of all lanes of a pair.
    pub(super) fn sum(self, sums: &[f64; SUMS], left: usize, right: usize) -> f64 {
        sums[(left * self.right + right) * self.lanes..][..self.lanes].iter().sum()
    }
}

/// Plain code, which compilers make vectors of.
///
/// # Safety
/// None is needed: indices are checked.
unsafe fn portable(left: &[f64], right: &[f64], stride: usize, length: usize, sums: &mut [f64; SUMS]) {
    let column =
        |columns: &'_ [f64], number: usize| number * stride..number * stride + length.min(columns.len());
    let left: [&[[f64; 2]]; LEFT] = std::array::from_fn(|number| left[column(left, number)].as_chunks().0);
    let right: [&[[f64; 2]]; 2] = std::array::from_fn(|number| right[column(right, number)].as_chunks().0);
    let mut pairs = [[[0.0_f64; 2]; 2]; LEFT];
    for step in 0..length / 2 {
        for (left, sums) in left.iter().zip(&mut pairs) {
            for (right, sums) in right.iter().zip(sums) {
                for lane in 0..2 {
                    sums[lane] += left[step][lane] * right[step][lane];
                }
            }
        }
    }
    sums.iter_mut().zip(pairs.as_flattened().as_flattened()).for_each(|(sum, more)| *sum += more);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LEFT, Pairs, SUMS};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    pub(super) fn all() -> Vec<Pairs> {
        let avx512 =
            is_x86_feature_detected!("avx512f").then_some(Pairs { right: 4, lanes: 8, products: avx512 });
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx2 = avx2.then_some(Pairs { right: 2, lanes: 4, products: avx2_fma });
        avx512.into_iter().chain(avx2).collect()
    }

    macro_rules! products {
        ($name:ident, $feature:literal, $lanes:literal, $right:literal,
         $zero:ident, $load:ident, $multiply_add:ident, $add:ident, $store:ident) => {
            /// # Safety
            /// As [`super::Products`].
            #[target_feature(enable = $feature)]
            unsafe fn $name(
                left: &[f64],
                right: &[f64],
                stride: usize,
                length: usize,
                sums: &mut [f64; SUMS],
            ) {
                let mut pairs = [[$zero(); $right]; LEFT];
                for step in (0..length).step_by($lanes) {
                    let mut others = [$zero(); $right];
                    for (number, other) in others.iter_mut().enumerate() {
                        // SAFETY: whole vectors of a column that the caller says is there; the load needs no alignment.
                        *other = unsafe { $load(right.as_ptr().add(number * stride + step)) };
                    }
                    for (number, sums) in pairs.iter_mut().enumerate() {
                        // SAFETY: as above.
                        let value = unsafe { $load(left.as_ptr().add(number * stride + step)) };
                        for (sum, other) in sums.iter_mut().zip(others) {
                            *sum = $multiply_add(value, other, *sum);
                        }
                    }
                }
                for (sum, pair) in sums.as_chunks_mut::<$lanes>().0.iter_mut().zip(pairs.as_flattened()) {
                    // SAFETY: the array has the size of the vector; neither needs alignment.
                    unsafe { $store(sum.as_mut_ptr(), $add($load(sum.as_ptr()), *pair)) };
                }
            }
        };
    }

    products!(
        avx512,
        "avx512f",
        8,
        4,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd
    );
    products!(
        avx2_fma,
        "avx2,fma",
        4,
        2,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_multiplied_and_added_to_what_was_there() {
        const STRIDE: usize = 24;
        let number = |place: usize| (firsttouch_measure::mix(place as u64) % 13) as f64 - 6.0;
        let columns: Vec<f64> = (0..8 * STRIDE).map(number).collect();
        let (left, right) = columns.split_at(LEFT * STRIDE);
        for pairs in Pairs::all() {
            for length in [0, 8, 16, 24] {
                let mut sums = [0.0; SUMS];
                (0..3).for_each(|_| pairs.add(left, right, STRIDE, length, &mut sums));
                for (i, j) in (0..LEFT).flat_map(|i| (0..pairs.right).map(move |j| (i, j))) {
                    let product: f64 =
                        (0..length).map(|row| left[i * STRIDE + row] * right[j * STRIDE + row]).sum();
                    assert_eq!(pairs.sum(&sums, i, j), 3.0 * product, "{pairs:?} {i} {j} {length}");
                }
            }
        }
    }
}
