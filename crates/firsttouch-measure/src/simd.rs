//! The streams of [`crate::Stream`] in vector instructions, memory seen as words, and chains of multiplications.
//!
//! This is the only module of the crate with `unsafe`. Its functions are safe to call: those that need an extension of
//! the processor look whether it is there (a load of a flag), ends that make no whole block are done by plain code, and
//! stores past the caches, which must be aligned, begin where they are.

pub(crate) mod multiply_add;

/// How stores reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Through the caches: a line that is written is read first.
    Regular,
    /// Past the caches, a whole line at a time.
    NonTemporal,
}

/// Memory as words; the bytes before the first aligned word and after the last whole one are left out.
pub(crate) fn words(bytes: &mut [u8]) -> &mut [u64] {
    // SAFETY: any eight bytes are a valid u64, and any u64 is eight valid bytes.
    unsafe { bytes.align_to_mut::<u64>().1 }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::*;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Stores;
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// Vectors that are under way at once: enough to keep all line-fill buffers of a core busy.
    const UNROLLED: usize = 8;

    macro_rules! streams {
        ($feature:tt, $vector:ty, $lanes:literal, $zero:ident, $add:ident, $load:ident, $store:ident, $stream:ident,
         $read:ident, $write:ident, $copy:ident, $read_blocks:ident, $write_blocks:ident, $copy_blocks:ident) => {
            pub(crate) fn $read(words: &[u64]) -> u64 {
                assert!(is_x86_feature_detected!($feature), "chosen from what the processor has");
                // SAFETY: the processor has the extension.
                unsafe { $read_blocks(words) }
            }

            pub(crate) fn $write(words: &mut [u64], stores: Stores) {
                assert!(is_x86_feature_detected!($feature), "chosen from what the processor has");
                let (head, body) = words.split_at_mut(unaligned(words));
                head.fill(0);
                // SAFETY: the processor has the extension, and the body begins with a cache line.
                unsafe {
                    match stores {
                        Stores::Regular => $write_blocks::<false>(body),
                        Stores::NonTemporal => $write_blocks::<true>(body),
                    }
                }
            }

            pub(crate) fn $copy(from: &[u64], to: &mut [u64], stores: Stores) {
                assert!(is_x86_feature_detected!($feature), "chosen from what the processor has");
                assert_eq!(from.len(), to.len());
                let head = unaligned(to);
                to[..head].copy_from_slice(&from[..head]);
                let (from, to) = (&from[head..], &mut to[head..]);
                // SAFETY: the processor has the extension, the target begins with a cache line, and both are equally
                // long.
                unsafe {
                    match stores {
                        Stores::Regular => $copy_blocks::<false>(from, to),
                        Stores::NonTemporal => $copy_blocks::<true>(from, to),
                    }
                }
            }

            #[target_feature(enable = $feature)]
            fn $read_blocks(words: &[u64]) -> u64 {
                let (blocks, rest) = words.as_chunks::<{ $lanes * UNROLLED }>();
                let mut sums = [$zero(); UNROLLED];
                for block in blocks {
                    for (index, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: the block has UNROLLED vectors; the load needs no alignment.
                        let vector = unsafe { $load(block.as_ptr().add(index * $lanes).cast()) };
                        *sum = $add(*sum, vector);
                    }
                }
                let mut lanes = [0_u64; $lanes];
                let mut total = rest.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
                for sum in sums {
                    // SAFETY: the array has the size of the vector; the store needs no alignment.
                    unsafe { $store(lanes.as_mut_ptr().cast(), sum) };
                    total = lanes.iter().fold(total, |sum, word| sum.wrapping_add(*word));
                }
                total
            }

            /// # Safety
            /// The words begin with a cache line.
            #[target_feature(enable = $feature)]
            unsafe fn $write_blocks<const PAST_CACHES: bool>(words: &mut [u64]) {
                let (blocks, rest) = words.as_chunks_mut::<{ $lanes * UNROLLED }>();
                let zero = $zero();
                for block in blocks {
                    for index in 0..UNROLLED {
                        let target = block.as_mut_ptr().wrapping_add(index * $lanes).cast();
                        // SAFETY: the block has UNROLLED vectors, and blocks are whole lines from an aligned start on,
                        // which only the store past the caches needs.
                        unsafe { if PAST_CACHES { $stream(target, zero) } else { $store(target, zero) } };
                    }
                }
                // Stores past the caches are ordered by this only.
                _mm_sfence();
                rest.fill(0);
            }

            /// # Safety
            /// The target begins with a cache line, and both are equally long.
            #[target_feature(enable = $feature)]
            unsafe fn $copy_blocks<const PAST_CACHES: bool>(from: &[u64], to: &mut [u64]) {
                let (sources, source_rest) = from.as_chunks::<{ $lanes * UNROLLED }>();
                let (blocks, rest) = to.as_chunks_mut::<{ $lanes * UNROLLED }>();
                for (source, block) in sources.iter().zip(blocks) {
                    let mut vectors: [$vector; UNROLLED] = [$zero(); UNROLLED];
                    for (index, vector) in vectors.iter_mut().enumerate() {
                        // SAFETY: the block has UNROLLED vectors; the load needs no alignment.
                        *vector = unsafe { $load(source.as_ptr().add(index * $lanes).cast()) };
                    }
                    for (index, vector) in vectors.into_iter().enumerate() {
                        let target = block.as_mut_ptr().wrapping_add(index * $lanes).cast();
                        // SAFETY: as for writing.
                        unsafe { if PAST_CACHES { $stream(target, vector) } else { $store(target, vector) } };
                    }
                }
                _mm_sfence();
                rest.copy_from_slice(source_rest);
            }
        };
    }

    streams!(
        "sse2",
        __m128i,
        2,
        _mm_setzero_si128,
        _mm_add_epi64,
        _mm_loadu_si128,
        _mm_storeu_si128,
        _mm_stream_si128,
        read_sse2,
        write_sse2,
        copy_sse2,
        read_blocks_sse2,
        write_blocks_sse2,
        copy_blocks_sse2
    );
    streams!(
        "avx2",
        __m256i,
        4,
        _mm256_setzero_si256,
        _mm256_add_epi64,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_stream_si256,
        read_avx2,
        write_avx2,
        copy_avx2,
        read_blocks_avx2,
        write_blocks_avx2,
        copy_blocks_avx2
    );
    streams!(
        "avx512f",
        __m512i,
        8,
        _mm512_setzero_si512,
        _mm512_add_epi64,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_stream_si512,
        read_avx512,
        write_avx512,
        copy_avx512,
        read_blocks_avx512,
        write_blocks_avx512,
        copy_blocks_avx512
    );

    /// Words before the first that begins a cache line.
    fn unaligned(words: &[u64]) -> usize {
        const LINE_BYTES: usize = 64;
        let address = words.as_ptr() as usize;
        ((address.next_multiple_of(LINE_BYTES) - address) / size_of::<u64>()).min(words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_lie_inside_the_bytes() {
        let mut bytes = vec![0_u8; 1001];
        let (start, end) = (bytes.as_ptr() as usize, bytes.as_ptr() as usize + 1001);
        for offset in 0..9 {
            let words = words(&mut bytes[offset..]);
            assert!(words.len() >= 122);
            assert_eq!(words.as_ptr() as usize % 8, 0);
            assert!(
                words.as_ptr() as usize >= start + offset && words.as_ptr() as usize + words.len() * 8 <= end
            );
            words[0] = u64::MAX;
        }
        assert!(words(&mut []).is_empty());
    }
}
