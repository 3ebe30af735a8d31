//! Sums of products: a matrix times blocks of bytes, several of which lie in a word.

use super::field::{Matrix, product};
use super::{DATA, PARITY};

/// Multiplies the matrix by blocks that are all of one length.
pub(super) type Product = fn(&Matrix, &[&[u64]; DATA], &mut [&mut [u64]; PARITY]);

/// By the fastest instructions of this processor.
pub(super) fn fastest() -> Product {
    #[cfg(target_arch = "x86_64")]
    if let Some(product) = vectors::affine() {
        return product;
    }
    shuffle().unwrap_or(tables)
}

/// By shuffles of vectors, where the processor has them.
pub(super) fn shuffle() -> Option<Product> {
    #[cfg(target_arch = "x86_64")]
    return vectors::shuffle();
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Byte by byte, by a table for each coefficient.
pub(super) fn tables(matrix: &Matrix, sources: &[&[u64]; DATA], targets: &mut [&mut [u64]; PARITY]) {
    for (factors, target) in matrix.iter().zip(targets) {
        let tables =
            factors.map(|factor| std::array::from_fn::<u8, 256, _>(|byte| product(factor, byte as u8)));
        for (place, word) in target.iter_mut().enumerate() {
            let products = sources.iter().zip(&tables).map(|(source, table)| {
                u64::from_ne_bytes(source[place].to_ne_bytes().map(|byte| table[usize::from(byte)]))
            });
            *word = products.fold(0, |sum, product| sum ^ product);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use super::{DATA, Matrix, PARITY, Product, product};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// Words of a cache line.
    const LINE: usize = 8;
    const LINE_BYTES: usize = 64;

    pub(super) fn affine() -> Option<Product> {
        let has = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("gfni");
        has.then_some(|matrix, sources, targets| {
            let lines = lines(sources, targets);
            // SAFETY: only a processor that has both extensions is given this one, above; all are so many lines.
            unsafe { affine_lines(matrix, sources, targets, lines) };
        })
    }

    pub(super) fn shuffle() -> Option<Product> {
        is_x86_feature_detected!("avx2").then_some(|matrix, sources, targets| {
            let lines = lines(sources, targets);
            // SAFETY: only a processor that has the extension is given this one, above; all are so many lines.
            unsafe { shuffle_lines(matrix, sources, targets, lines) };
        })
    }

    /// How many lines all are.
    ///
    /// # Panics
    /// If they are not equally many whole ones, or a target does not begin with one, as stores past the caches need.
    fn lines(sources: &[&[u64]; DATA], targets: &[&mut [u64]; PARITY]) -> usize {
        let length = targets[0].len();
        let whole =
            |target: &&mut [u64]| target.len() == length && target.as_ptr().align_offset(LINE_BYTES) == 0;
        assert!(length.is_multiple_of(LINE) && targets.iter().all(whole), "targets are whole lines");
        assert!(sources.iter().all(|source| source.len() == length), "sources as long as targets");
        length / LINE
    }

    /// # Safety
    /// All are so many lines, and targets begin with one.
    #[target_feature(enable = "avx512f,gfni")]
    unsafe fn affine_lines(
        matrix: &Matrix,
        sources: &[&[u64]; DATA],
        targets: &mut [&mut [u64]; PARITY],
        lines: usize,
    ) {
        let factors = matrix.map(|row| row.map(|factor| _mm512_set1_epi64(bits(factor).cast_signed())));
        for line in 0..lines {
            let mut sums = [_mm512_setzero_si512(); PARITY];
            for (number, source) in sources.iter().enumerate() {
                // SAFETY: there are so many lines; the load needs no alignment.
                let bytes = unsafe { _mm512_loadu_si512(source.as_ptr().add(line * LINE).cast()) };
                for (sum, factors) in sums.iter_mut().zip(&factors) {
                    *sum = _mm512_xor_si512(*sum, _mm512_gf2p8affine_epi64_epi8::<0>(bytes, factors[number]));
                }
            }
            for (sum, target) in sums.into_iter().zip(targets.iter_mut()) {
                // SAFETY: there are so many lines, and they are aligned.
                unsafe { _mm512_stream_si512(target.as_mut_ptr().add(line * LINE).cast(), sum) };
            }
        }
        // Nothing else orders these stores before what others read.
        _mm_sfence();
    }

    /// The product with a factor as a matrix of bits, as `GF2P8AFFINEQB` has it: a byte of it, from the last on, is the bits of the
    /// other factor that a bit of the product is the sum of.
    fn bits(factor: u8) -> u64 {
        u64::from_be_bytes(std::array::from_fn(|bit| {
            (0..8).map(|other| (product(factor, 1 << other) >> bit & 1) << other).sum()
        }))
    }

    /// # Safety
    /// All are so many lines, and targets begin with one.
    #[target_feature(enable = "avx2")]
    unsafe fn shuffle_lines(
        matrix: &Matrix,
        sources: &[&[u64]; DATA],
        targets: &mut [&mut [u64]; PARITY],
        lines: usize,
    ) {
        // The products with each low half of a byte, and with each high one; a shuffle looks up within 16 bytes.
        let tables = matrix.map(|row| row.map(|factor| [0, 4].map(|shift| half_table(factor, shift))));
        let low = _mm256_set1_epi8(0xf);
        for vector in 0..2 * lines {
            let mut sums = [_mm256_setzero_si256(); PARITY];
            for (number, source) in sources.iter().enumerate() {
                // SAFETY: there are two vectors for each line; the load needs no alignment.
                let bytes = unsafe { _mm256_loadu_si256(source.as_ptr().cast::<__m256i>().add(vector)) };
                let halves =
                    [_mm256_and_si256(bytes, low), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low)];
                for (sum, tables) in sums.iter_mut().zip(&tables) {
                    let [first, second] = &tables[number];
                    *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(*first, halves[0]));
                    *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(*second, halves[1]));
                }
            }
            for (sum, target) in sums.into_iter().zip(targets.iter_mut()) {
                // SAFETY: there are two vectors for each line, and they are aligned.
                unsafe { _mm256_stream_si256(target.as_mut_ptr().cast::<__m256i>().add(vector), sum) };
            }
        }
        // Nothing else orders these stores before what others read.
        _mm_sfence();
    }

    /// The products of a factor with each half of a byte, which begins at a bit.
    #[target_feature(enable = "avx2")]
    fn half_table(factor: u8, shift: u32) -> __m256i {
        let products: [u8; 16] = std::array::from_fn(|half| product(factor, (half as u8) << shift));
        _mm256_broadcastsi128_si256(_mm_set_epi64x(
            i64::from_le_bytes(*products.last_chunk().expect("sixteen bytes")),
            i64::from_le_bytes(*products.first_chunk().expect("sixteen bytes")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrays;
    use firsttouch_measure::mix;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_makes_the_sums_of_products(lines in 1_usize..9, seed in any::<u64>(), factors in any::<[u8; 27]>()) {
            let words = 8 * lines;
            let matrix: Matrix = std::array::from_fn(|row| std::array::from_fn(|column| factors[DATA * row + column]));
            let numbers: Vec<u64> = (0..=(DATA * words) as u64).map(|place| mix(seed ^ place)).collect();
            // Sources need not be aligned.
            let sources: [&[u64]; DATA] = std::array::from_fn(|block| &numbers[1 + block * words..][..words]);
            let byte = |row: usize, place: usize| {
                let factors = matrix[row].iter().zip(&sources);
                factors.fold(0, |sum, (factor, source)| sum ^ product(*factor, source[place / 8].to_ne_bytes()[place % 8]))
            };
            for way in [Some(tables as Product), Some(fastest()), shuffle()].into_iter().flatten() {
                let mut array = Arrays::default().zeroed::<u64>("made", PARITY * words).unwrap();
                let made: Vec<&mut [u64]> = array.chunks_exact_mut(words).collect();
                way(&matrix, &sources, &mut made.try_into().unwrap());
                for (row, made) in array.chunks_exact(words).enumerate() {
                    let bytes = made.iter().flat_map(|word| word.to_ne_bytes());
                    prop_assert!(bytes.eq((0..8 * words).map(|place| byte(row, place))), "row {row}");
                }
            }
        }
    }
}
