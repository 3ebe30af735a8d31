//! One pass of a kernel over parts of its arrays.

/// What a pass computes: of each element of what it reads, `x` and `y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// `x`.
    Copy,
    /// `3x`.
    Scale,
    /// `x + y`.
    Add,
    /// `x + 3y`.
    Triad,
}

/// How a pass stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Vectors past the caches.
    PastCaches,
    /// Vectors through the caches.
    Regular,
    /// As the compiler likes.
    Plain,
}

/// A pass: the part that is written, and the equally long parts that are read.
pub(super) type Pass = fn(&mut [f64], &[f64], &[f64]);

impl Kernel {
    /// The kernel of that name.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn of(name: &str) -> Kernel {
        match name {
            "copy" => Kernel::Copy,
            "scale" => Kernel::Scale,
            "add" => Kernel::Add,
            "triad" => Kernel::Triad,
            _ => panic!("`{name}` is no kernel of STREAM"),
        }
    }
}

/// The factor of scale and triad, as STREAM has it.
const FACTOR: f64 = 3.0;

/// The pass of a kernel, in vectors where the processor has them.
pub(super) fn pass(kernel: Kernel, stores: Stores) -> Pass {
    #[cfg(target_arch = "x86_64")]
    if stores != Stores::Plain
        && let Some(pass) = vectors::pass(kernel, stores)
    {
        return pass;
    }
    let _ = stores;
    match kernel {
        Kernel::Copy => plain::<COPY>,
        Kernel::Scale => plain::<SCALE>,
        Kernel::Add => plain::<ADD>,
        Kernel::Triad => plain::<TRIAD>,
    }
}

// Kernels as the numbers that loops are compiled for.
const COPY: u8 = Kernel::Copy as u8;
const SCALE: u8 = Kernel::Scale as u8;
const ADD: u8 = Kernel::Add as u8;
const TRIAD: u8 = Kernel::Triad as u8;

fn plain<const KERNEL: u8>(to: &mut [f64], x: &[f64], y: &[f64]) {
    for (to, (x, y)) in to.iter_mut().zip(x.iter().zip(y)) {
        *to = match KERNEL {
            COPY => *x,
            SCALE => FACTOR * x,
            ADD => x + y,
            _ => x + FACTOR * y,
        };
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use super::{ADD, COPY, FACTOR, Kernel, Pass, SCALE, Stores, TRIAD, plain};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// Doubles of a vector. Wider ones, and several in flight by hand, were no faster on the processors tried (AMD Zen 4): the
    /// prefetchers keep up best with short steps.
    const LANES: usize = 4;
    const LINE_BYTES: usize = 64;

    /// The pass in vectors, if this processor has them.
    pub(super) fn pass(kernel: Kernel, stores: Stores) -> Option<Pass> {
        is_x86_feature_detected!("avx2").then_some(match (kernel, stores == Stores::PastCaches) {
            (Kernel::Copy, false) => checked::<COPY, false>,
            (Kernel::Copy, true) => checked::<COPY, true>,
            (Kernel::Scale, false) => checked::<SCALE, false>,
            (Kernel::Scale, true) => checked::<SCALE, true>,
            (Kernel::Add, false) => checked::<ADD, false>,
            (Kernel::Add, true) => checked::<ADD, true>,
            (Kernel::Triad, false) => checked::<TRIAD, false>,
            (Kernel::Triad, true) => checked::<TRIAD, true>,
        })
    }

    fn checked<const KERNEL: u8, const PAST: bool>(to: &mut [f64], x: &[f64], y: &[f64]) {
        assert!(is_x86_feature_detected!("avx2"), "chosen from what the processor has");
        let head = to.as_ptr().align_offset(LINE_BYTES).min(to.len());
        let (to_head, to) = to.split_at_mut(head);
        plain::<KERNEL>(to_head, &x[..head], &y[..head]);
        // SAFETY: the processor has the extension, and what is written begins with a cache line.
        unsafe { lines::<KERNEL, PAST>(to, &x[head..], &y[head..]) }
    }

    /// # Safety
    /// What is written begins with a cache line.
    #[target_feature(enable = "avx2")]
    unsafe fn lines<const KERNEL: u8, const PAST: bool>(to: &mut [f64], x: &[f64], y: &[f64]) {
        let (tos, to) = to.as_chunks_mut::<LANES>();
        let ((xs, x), (ys, y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        let factor = _mm256_set1_pd(FACTOR);
        for (to, (x, y)) in tos.iter_mut().zip(xs.iter().zip(ys)) {
            // SAFETY: chunks are vectors, and these loads need no alignment.
            let (x, y) = unsafe { (_mm256_loadu_pd(x.as_ptr()), _mm256_loadu_pd(y.as_ptr())) };
            let vector = match KERNEL {
                COPY => x,
                SCALE => _mm256_mul_pd(factor, x),
                ADD => _mm256_add_pd(x, y),
                _ => _mm256_add_pd(x, _mm256_mul_pd(factor, y)),
            };
            // SAFETY: chunks are vectors, one after the other from the start of a line on, so that they are aligned.
            unsafe {
                if PAST {
                    _mm256_stream_pd(to.as_mut_ptr(), vector);
                } else {
                    _mm256_store_pd(to.as_mut_ptr(), vector);
                }
            }
        }
        if PAST {
            // Nothing else orders these stores before what others read.
            _mm_sfence();
        }
        plain::<KERNEL>(to, x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Vectors do what plain loops do, at any length and place, and write nothing else: to the bit, NaN and Inf included.
        #[test]
        fn vectors_do_what_plain_loops_do(
            numbers in prop::collection::vec(any::<f64>(), 0..200),
            before in 0_usize..9,
            after in 0_usize..3,
        ) {
            let length = numbers.len() / 2;
            let (x, y) = (&numbers[..length], &numbers[length..2 * length]);
            for kernel in [Kernel::Copy, Kernel::Scale, Kernel::Add, Kernel::Triad] {
                let mut expected = vec![0.5; before + length + after];
                pass(kernel, Stores::Plain)(&mut expected[before..before + length], x, y);
                for pass in [Stores::PastCaches, Stores::Regular].map(|stores| pass(kernel, stores)) {
                    let mut seen = vec![0.5; before + length + after];
                    pass(&mut seen[before..before + length], x, y);
                    let same = |(seen, expected): (&f64, &f64)| {
                        seen.to_bits() == expected.to_bits() || seen.is_nan() && expected.is_nan()
                    };
                    prop_assert!(seen.iter().zip(&expected).all(same), "{kernel:?}: {seen:?}, {expected:?}");
                }
            }
        }
    }
}
