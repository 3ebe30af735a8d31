//! The exclusive-or of words.

use super::BLOCKS;

/// Makes of ten sources, each at least as long as the target, their exclusive-or.
pub(super) type All = fn(&mut [u64], &[&[u64]; BLOCKS], Option<Ahead>);

/// Lines of the sources that are asked for meanwhile, for later: prefetchers do not foresee a hundred streams.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "plain loops leave it to the processor"))]
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// How many words later than what is read.
    pub(super) words: usize,
    /// One line of so many, and which of them.
    pub(super) every: usize,
    pub(super) first: usize,
}

/// Changes a target by the exclusive-or with a source.
pub(super) type Pair = fn(&mut [u64], &[u64]);

/// By vectors, stored past the caches, where the processor has them.
pub(super) fn all() -> All {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return vectors::all;
    }
    plain_all
}

/// By vectors where the processor has them.
pub(super) fn pair() -> Pair {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return vectors::pair;
    }
    plain_pair
}

fn plain_all(target: &mut [u64], sources: &[&[u64]; BLOCKS], _: Option<Ahead>) {
    let sources = sources.map(|source| &source[..target.len()]);
    for (place, word) in target.iter_mut().enumerate() {
        *word = sources.iter().fold(0, |sum, source| sum ^ source[place]);
    }
}

#[inline(always)]
pub(super) fn plain_pair(target: &mut [u64], source: &[u64]) {
    target.iter_mut().zip(source).for_each(|(target, source)| *target ^= source);
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use super::{Ahead, BLOCKS, plain_all, plain_pair};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// Words of a cache line.
    const LINE: usize = 8;
    const LINE_BYTES: usize = 64;

    pub(super) fn all(target: &mut [u64], sources: &[&[u64]; BLOCKS], ahead: Option<Ahead>) {
        assert!(is_x86_feature_detected!("avx2"), "chosen from what the processor has");
        let length = target.len();
        let head = target.as_ptr().align_offset(LINE_BYTES).min(length);
        let (first, target) = target.split_at_mut(head);
        plain_all(first, sources, ahead);
        let sources = sources.map(|source| &source[head..length]);
        // SAFETY: the processor has the extension, and the target begins with a cache line.
        unsafe { lines(target, &sources, ahead) }
    }

    /// # Safety
    /// The target begins with a cache line.
    #[target_feature(enable = "avx2")]
    unsafe fn lines(target: &mut [u64], sources: &[&[u64]; BLOCKS], ahead: Option<Ahead>) {
        let (lines, rest) = target.as_chunks_mut::<LINE>();
        let whole = lines.len();
        let by_line = sources.map(|source| &source.as_chunks::<LINE>().0[..whole]);
        for (number, line) in lines.iter_mut().enumerate() {
            let later = ahead.filter(|ahead| number % ahead.every == ahead.first);
            let mut sums = [_mm256_setzero_si256(); 2];
            for source in &by_line {
                let from = source[number].as_ptr().cast::<__m256i>();
                // SAFETY: a line is two vectors, and these loads need no alignment; a prefetch never faults, whatever the address.
                unsafe {
                    for (half, sum) in sums.iter_mut().enumerate() {
                        *sum = _mm256_xor_si256(*sum, _mm256_loadu_si256(from.add(half)));
                    }
                    if let Some(ahead) = later {
                        _mm_prefetch::<_MM_HINT_T1>(source[number].as_ptr().wrapping_add(ahead.words).cast());
                    }
                }
            }
            let to = line.as_mut_ptr().cast::<__m256i>();
            for (half, sum) in sums.into_iter().enumerate() {
                // SAFETY: a line is two vectors, and is aligned.
                unsafe { _mm256_stream_si256(to.add(half), sum) };
            }
        }
        // Nothing else orders these stores before what others read.
        _mm_sfence();
        plain_all(rest, &sources.map(|source| &source[whole * LINE..]), ahead);
    }

    pub(super) fn pair(target: &mut [u64], source: &[u64]) {
        #[target_feature(enable = "avx2")]
        fn wide(target: &mut [u64], source: &[u64]) {
            plain_pair(target, source);
        }
        assert!(is_x86_feature_detected!("avx2"), "chosen from what the processor has");
        // SAFETY: the processor has the extension.
        unsafe { wide(target, source) }
    }
}
