//! Vectors of lengths: the four operations that shortest paths need, in three sets of instructions.

use crate::hierarchy::row::LANES;

/// Some lanes side by side.
pub(super) trait Vector<T>: Copy {
    /// The same length in every lane.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn splat(length: T) -> Self;

    /// # Safety
    /// As many lengths as there are lanes are there, aligned to the vector; the processor has the instructions.
    unsafe fn load(from: *const T) -> Self;

    /// # Safety
    /// As for [`Vector::load`].
    unsafe fn store(self, to: *mut T);

    /// Lane by lane, wrapping around.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn plus(self, other: Self) -> Self;

    /// The shorter, lane by lane.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn least(self, other: Self) -> Self;

    /// The longer, lane by lane.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn most(self, other: Self) -> Self;
}

macro_rules! portable {
    ($($length:ty),*) => {$(
        impl Vector<$length> for [$length; LANES] {
            #[inline(always)]
            unsafe fn splat(length: $length) -> Self {
                [length; LANES]
            }

            #[inline(always)]
            unsafe fn load(from: *const $length) -> Self {
                // SAFETY: the caller's duty.
                unsafe { *from.cast() }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $length) {
                // SAFETY: the caller's duty.
                unsafe { *to.cast() = self }
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                std::array::from_fn(|lane| self[lane].wrapping_add(other[lane]))
            }

            #[inline(always)]
            unsafe fn least(self, other: Self) -> Self {
                std::array::from_fn(|lane| self[lane].min(other[lane]))
            }

            #[inline(always)]
            unsafe fn most(self, other: Self) -> Self {
                std::array::from_fn(|lane| self[lane].max(other[lane]))
            }
        }
    )*};
}

portable!(u32, u64);

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($name:ident, $doc:literal, $raw:ty, $length:ty, $signed:ty, $splat:ident, $load:ident, $store:ident,
         $plus:ident, $least:expr, $most:expr) => {
            #[doc = $doc]
            #[derive(Clone, Copy)]
            pub(crate) struct $name($raw);

            impl Vector<$length> for $name {
                #[inline(always)]
                unsafe fn splat(length: $length) -> Self {
                    // SAFETY: the caller's duty.
                    unsafe { $name($splat(length as $signed)) }
                }

                #[inline(always)]
                unsafe fn load(from: *const $length) -> Self {
                    // SAFETY: the caller's duty.
                    unsafe { $name($load(from.cast())) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $length) {
                    // SAFETY: the caller's duty.
                    unsafe { $store(to.cast(), self.0) }
                }

                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    // SAFETY: the caller's duty.
                    unsafe { $name($plus(self.0, other.0)) }
                }

                #[inline(always)]
                unsafe fn least(self, other: Self) -> Self {
                    // SAFETY: the caller's duty.
                    unsafe { $name($least(self.0, other.0)) }
                }

                #[inline(always)]
                unsafe fn most(self, other: Self) -> Self {
                    // SAFETY: the caller's duty.
                    unsafe { $name($most(self.0, other.0)) }
                }
            }
        };
    }

    vector!(
        U32x16,
        "16 lengths (AVX-512F).",
        __m512i,
        u32,
        i32,
        _mm512_set1_epi32,
        _mm512_load_si512,
        _mm512_store_si512,
        _mm512_add_epi32,
        _mm512_min_epu32,
        _mm512_max_epu32
    );
    vector!(
        U64x8,
        "8 lengths (AVX-512F).",
        __m512i,
        u64,
        i64,
        _mm512_set1_epi64,
        _mm512_load_si512,
        _mm512_store_si512,
        _mm512_add_epi64,
        _mm512_min_epu64,
        _mm512_max_epu64
    );
    vector!(
        U32x8,
        "8 lengths (AVX2).",
        __m256i,
        u32,
        i32,
        _mm256_set1_epi32,
        _mm256_load_si256,
        _mm256_store_si256,
        _mm256_add_epi32,
        _mm256_min_epu32,
        _mm256_max_epu32
    );
    // AVX2 has no smaller of two words; lengths leave the sign bit free, so signed comparison does.
    vector!(
        U64x4,
        "4 lengths (AVX2).",
        __m256i,
        u64,
        i64,
        _mm256_set1_epi64x,
        _mm256_load_si256,
        _mm256_store_si256,
        _mm256_add_epi64,
        |one, other| _mm256_blendv_epi8(one, other, _mm256_cmpgt_epi64(one, other)),
        |one, other| _mm256_blendv_epi8(other, one, _mm256_cmpgt_epi64(one, other))
    );
}
