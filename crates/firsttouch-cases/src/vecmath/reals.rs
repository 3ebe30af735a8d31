//! Doubles in vectors of 256 and 512 bits, and what functions on them are made of.
#![expect(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64::*;

/// Doubles in a vector. Its operations need extensions of the processor; values are made by [`Reals::read`] and from other values
/// only, so that whoever has one may use them.
pub(super) trait Reals: Copy {
    const LANES: usize;
    type Mask: Copy;

    /// # Safety
    /// The processor has the extensions, and there are [`Reals::LANES`] doubles.
    unsafe fn read(from: *const f64) -> Self;
    /// # Safety
    /// There is room for as many, aligned to the vector's size where the store goes past the caches.
    unsafe fn write(self, to: *mut f64, past_caches: bool);
    fn every(self, value: f64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn root(self) -> Self;
    /// `self * factor + summand`, rounded once.
    fn fused(self, factor: Self, summand: Self) -> Self;
    /// `summand - self * factor`, rounded once.
    fn fused_from(self, factor: Self, summand: Self) -> Self;
    /// This value within the limits; what is no number stays so.
    fn clamped(self, least: Self, most: Self) -> Self;
    /// Multiplied with two to the power of a whole number from -1100 to 1100, rounded once.
    fn scaled(self, exponent: Self) -> Self;
    /// Whether it is greater; never where one is no number.
    fn above(self, other: Self) -> Self::Mask;
    fn equals(self, other: Self) -> Self::Mask;
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The exponent k and the mantissa m from 3/4 to 3/2 of a number above 0, `2^k m`. Of 0 and of infinity the exponent is
    /// infinite, and of what is below 0 or no number one of both is no number.
    fn parts(self) -> (Self, Self);
}

/// The trait's operations: each is what its intrinsics do, and may be executed because a value exists.
macro_rules! operations {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty = $made:expr;)*) => {
        $(#[inline(always)]
        fn $name($($argument: $kind),*) -> $answer {
            // SAFETY: values are made only where the processor has the extensions.
            unsafe { $made }
        })*
    };
    ($($name:ident(self $(, $argument:ident: $kind:ty)*) using $this:ident -> $answer:ty = $made:expr;)*) => {
        $(#[inline(always)]
        fn $name(self $(, $argument: $kind)*) -> $answer {
            let $this = self;
            // SAFETY: values are made only where the processor has the extensions.
            unsafe { $made }
        })*
    };
}

impl Reals for __m512d {
    const LANES: usize = 8;
    type Mask = __mmask8;

    #[inline(always)]
    unsafe fn read(from: *const f64) -> __m512d {
        // SAFETY: as the caller vouches; the load needs no alignment.
        unsafe { _mm512_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn write(self, to: *mut f64, past_caches: bool) {
        // SAFETY: as the caller vouches.
        unsafe { if past_caches { _mm512_stream_pd(to, self) } else { _mm512_storeu_pd(to, self) } }
    }

    operations! {
        every(self, value: f64) using _it -> Self = _mm512_set1_pd(value);
        add(self, other: Self) using it -> Self = _mm512_add_pd(it, other);
        sub(self, other: Self) using it -> Self = _mm512_sub_pd(it, other);
        mul(self, other: Self) using it -> Self = _mm512_mul_pd(it, other);
        div(self, other: Self) using it -> Self = _mm512_div_pd(it, other);
        root(self) using it -> Self = _mm512_sqrt_pd(it);
        fused(self, factor: Self, summand: Self) using it -> Self = _mm512_fmadd_pd(it, factor, summand);
        fused_from(self, factor: Self, summand: Self) using it -> Self = _mm512_fnmadd_pd(it, factor, summand);
        clamped(self, least: Self, most: Self) using it -> Self = _mm512_min_pd(most, _mm512_max_pd(least, it));
        scaled(self, exponent: Self) using it -> Self = _mm512_scalef_pd(it, exponent);
        above(self, other: Self) using it -> __mmask8 = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(it, other);
        equals(self, other: Self) using it -> __mmask8 = _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(it, other);
        parts(self) using it -> (Self, Self) = {
            // Of minus 0 the mantissa would be minus 1.
            let it = it.add(it.every(0.0));
            let mantissa = _mm512_getmant_pd::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_NAN>(it);
            // The exponent is that of a mantissa from 1 to 2.
            let (exponent, one) = (_mm512_getexp_pd(it), it.every(1.0));
            (_mm512_mask_add_pd(exponent, one.above(mantissa), exponent, one), mantissa)
        };
    }
    operations! {
        select(mask: __mmask8, yes: Self, no: Self) -> Self = _mm512_mask_blend_pd(mask, no, yes);
    }
}

impl Reals for __m256d {
    const LANES: usize = 4;
    type Mask = __m256d;

    #[inline(always)]
    unsafe fn read(from: *const f64) -> __m256d {
        // SAFETY: as the caller vouches; the load needs no alignment.
        unsafe { _mm256_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn write(self, to: *mut f64, past_caches: bool) {
        // SAFETY: as the caller vouches.
        unsafe { if past_caches { _mm256_stream_pd(to, self) } else { _mm256_storeu_pd(to, self) } }
    }

    operations! {
        every(self, value: f64) using _it -> Self = _mm256_set1_pd(value);
        add(self, other: Self) using it -> Self = _mm256_add_pd(it, other);
        sub(self, other: Self) using it -> Self = _mm256_sub_pd(it, other);
        mul(self, other: Self) using it -> Self = _mm256_mul_pd(it, other);
        div(self, other: Self) using it -> Self = _mm256_div_pd(it, other);
        root(self) using it -> Self = _mm256_sqrt_pd(it);
        fused(self, factor: Self, summand: Self) using it -> Self = _mm256_fmadd_pd(it, factor, summand);
        fused_from(self, factor: Self, summand: Self) using it -> Self = _mm256_fnmadd_pd(it, factor, summand);
        clamped(self, least: Self, most: Self) using it -> Self = _mm256_min_pd(most, _mm256_max_pd(least, it));
        scaled(self, exponent: Self) using it -> Self = {
            // In two factors, neither of which is too large or too small to be a double.
            let magic = it.every(super::functions::MAGIC);
            let half = exponent.fused(it.every(0.5), magic);
            let rest = exponent.sub(half.sub(magic)).add(magic);
            let power = |bits: __m256d| {
                let one = _mm256_castpd_si256(it.every(1.0));
                _mm256_castsi256_pd(_mm256_add_epi64(_mm256_slli_epi64::<52>(_mm256_castpd_si256(bits)), one))
            };
            it.mul(power(half)).mul(power(rest))
        };
        above(self, other: Self) using it -> Self = _mm256_cmp_pd::<_CMP_GT_OQ>(it, other);
        equals(self, other: Self) using it -> Self = _mm256_cmp_pd::<_CMP_EQ_OQ>(it, other);
        parts(self) using it -> (Self, Self) = {
            // Numbers that have no exponent of their own are made larger.
            let tiny = it.every(f64::MIN_POSITIVE).above(it);
            let normal = Self::select(tiny, it.mul(it.every(18_014_398_509_481_984.0)), it);
            let lifted = Self::select(tiny, it.every(1023.0 + 54.0), it.every(1023.0));
            let bits = _mm256_castpd_si256(normal);
            let number = |value: f64| _mm256_castpd_si256(it.every(value));
            // From 3/4 on, the exponent is the next one.
            let shifted = _mm256_add_epi64(bits, _mm256_sub_epi64(number(1.0), number(0.75)));
            let power = _mm256_and_si256(shifted, _mm256_set1_epi64x(0xfff << 52));
            let mantissa = _mm256_castsi256_pd(_mm256_add_epi64(_mm256_sub_epi64(bits, power), number(1.0)));
            // The exponent's bits behind those of 2^52 are that and the exponent.
            let two_to_52 = 4_503_599_627_370_496.0;
            let biased = _mm256_or_si256(_mm256_srli_epi64::<52>(shifted), number(two_to_52));
            let exponent = _mm256_castsi256_pd(biased).sub(it.every(two_to_52)).sub(lifted);
            let finite = Self::select(it.every(f64::INFINITY).above(it), exponent, it);
            let zero = it.equals(it.every(0.0));
            let not_above = Self::select(zero, it.every(f64::NEG_INFINITY), it.every(f64::NAN));
            (Self::select(it.above(it.every(0.0)), finite, not_above), mantissa)
        };
    }
    operations! {
        select(mask: __m256d, yes: Self, no: Self) -> Self = _mm256_blendv_pd(no, yes, mask);
    }
}
