//! The exclusive-or of words.

use super::{BLOCKS, Line};

/// Makes targets of ten sources each, by vectors that are stored past the caches where the processor has them.
pub(super) struct All(Make);

/// # Safety
/// The processor has the extensions that this one needs.
type Make = unsafe fn(&mut [Line], &[&[Line]; BLOCKS], Option<Ahead>);

impl All {
    /// Does some work with it, which cannot keep it. Stores past the caches are ordered once, at its end, before what others read: that waits for all of
    /// them, which takes longer than a few lines do.
    pub(super) fn work<T>(work: impl FnOnce(&All) -> T) -> T {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            let _at_the_end = vectors::Order;
            return work(&All(vectors::all));
        }
        work(&All(plain_all))
    }

    /// Makes of ten sources their exclusive-or. The target begins where a cache line does.
    ///
    /// # Panics
    /// If it does not, or a source is shorter.
    #[expect(unsafe_code, reason = "chosen from what the processor has")]
    pub(super) fn make(&self, target: &mut [Line], sources: &[&[Line]; BLOCKS], ahead: Option<Ahead>) {
        // SAFETY: the processor has the extensions, or this would be another.
        unsafe { (self.0)(target, sources, ahead) }
    }
}

/// Lines of the sources that are asked for meanwhile, for later: prefetchers do not foresee a hundred streams.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "plain loops leave it to the processor"))]
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// How many lines later than what is read.
    pub(super) lines: usize,
    /// For which of what is read: from this line on.
    pub(super) first: usize,
    /// To before this one.
    pub(super) end: usize,
}

/// Changes a target by the exclusive-or with a source.
pub(super) type Pair = fn(&mut [u64], &[u64]);

/// By vectors where the processor has them.
pub(super) fn pair() -> Pair {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return vectors::pair;
    }
    plain_pair
}

fn plain_all(target: &mut [Line], sources: &[&[Line]; BLOCKS], _: Option<Ahead>) {
    let sources = sources.map(|source| &source[..target.len()]);
    for (number, line) in target.iter_mut().enumerate() {
        *line = std::array::from_fn(|word| sources.iter().fold(0, |sum, source| sum ^ source[number][word]));
    }
}

#[inline(always)]
pub(super) fn plain_pair(target: &mut [u64], source: &[u64]) {
    target.iter_mut().zip(source).for_each(|(target, source)| *target ^= source);
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use super::{Ahead, BLOCKS, Line, plain_pair};
    use crate::prefetch::prefetch;
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// Orders stores past the caches before what comes when it is dropped.
    pub(super) struct Order;

    impl Drop for Order {
        fn drop(&mut self) {
            // SAFETY: every x86-64 processor has it, and it changes nothing.
            unsafe { _mm_sfence() }
        }
    }

    /// Its stores are ordered by [`Order`] alone.
    ///
    /// # Safety
    /// The processor has the extension.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn all(target: &mut [Line], sources: &[&[Line]; BLOCKS], ahead: Option<Ahead>) {
        assert_eq!(target.as_ptr().cast::<u8>().align_offset(size_of::<Line>()), 0, "an aligned target");
        let lines = target.len();
        let sources = sources.map(|source| &source[..lines]);
        for (number, line) in target.iter_mut().enumerate() {
            let later = ahead.filter(|ahead| (ahead.first..ahead.end).contains(&number));
            let mut sums = [_mm256_setzero_si256(); 2];
            for source in &sources {
                let from = source[number].as_ptr().cast::<__m256i>();
                for (half, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: a line is two vectors, and these loads need no alignment.
                    *sum = unsafe { _mm256_xor_si256(*sum, _mm256_loadu_si256(from.add(half))) };
                }
                if let Some(ahead) = later {
                    prefetch::<2, _>(source.as_ptr().wrapping_add(number + ahead.lines));
                }
            }
            let to = line.as_mut_ptr().cast::<__m256i>();
            for (half, sum) in sums.into_iter().enumerate() {
                // SAFETY: a line is two vectors, and is aligned.
                unsafe { _mm256_stream_si256(to.add(half), sum) };
            }
        }
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
