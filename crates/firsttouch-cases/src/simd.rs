//! Loops of plain Rust that are compiled for several sets of vector instructions, and run by the best that the processor has.

/// Vector instructions that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// Registers of 64 bytes, 32 of them, and fused multiplication and addition.
    Avx512,
    /// Registers of 32 bytes, 16 of them, and fused multiplication and addition.
    Avx2,
    /// What every processor of this architecture has.
    Portable,
}

impl Instructions {
    /// All of this processor, the widest first.
    pub(crate) fn available() -> impl Iterator<Item = Instructions> {
        let all = [Instructions::Avx512, Instructions::Avx2, Instructions::Portable];
        all.into_iter().filter(|wide| wide.are_available())
    }

    /// The widest of this processor.
    pub(crate) fn best() -> Instructions {
        Instructions::available().next().unwrap_or(Instructions::Portable)
    }

    /// Whether this processor has them.
    pub(crate) fn are_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            Instructions::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            Instructions::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
            }
            Instructions::Portable => true,
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Instructions::Portable
        }
    }
}

/// How products are added.
pub(crate) trait MultiplyAdd {
    /// `a * b + c` in single precision.
    fn single(a: f32, b: f32, c: f32) -> f32;
    /// `a * b + c` in double precision.
    fn double(a: f64, b: f64, c: f64) -> f64;
}

/// By one instruction that rounds once.
pub(crate) struct Fused;

/// By two: where a processor lacks the one, a function of the C library would stand in for it.
pub(crate) struct Separate;

impl MultiplyAdd for Fused {
    #[inline(always)]
    fn single(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn double(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl MultiplyAdd for Separate {
    #[inline(always)]
    fn single(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }

    #[inline(always)]
    fn double(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

/// Defines a function that does by the instructions given what an `#[inline(always)]` one does, of a shape for each.
macro_rules! by_instructions {
    ($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),* $(,)?):
        $avx512:expr, $avx2:expr, $portable:expr) => {
        $(#[$about])*
        ///
        /// # Panics
        /// If this processor lacks the instructions.
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "instructions that not every processor has"))]
        pub(super) fn $name(instructions: $crate::simd::Instructions, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            mod compiled {
                use super::*;

                #[target_feature(enable = "avx512f")]
                pub(super) fn avx512($($argument: $type),*) {
                    $avx512($($argument),*);
                }

                #[target_feature(enable = "avx2,fma")]
                pub(super) fn avx2($($argument: $type),*) {
                    $avx2($($argument),*);
                }
            }
            assert!(instructions.are_available(), "{instructions:?}");
            match instructions {
                // SAFETY: the processor has these instructions, as was asserted.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Instructions::Avx512 => unsafe { compiled::avx512($($argument),*) },
                // SAFETY: as before.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Instructions::Avx2 => unsafe { compiled::avx2($($argument),*) },
                // Never: they are not available.
                #[cfg(not(target_arch = "x86_64"))]
                $crate::simd::Instructions::Avx512 => $avx512($($argument),*),
                #[cfg(not(target_arch = "x86_64"))]
                $crate::simd::Instructions::Avx2 => $avx2($($argument),*),
                $crate::simd::Instructions::Portable => $portable($($argument),*),
            }
        }
    };
}
pub(crate) use by_instructions;
