//! Logarithm, exponential function and inverse hyperbolic cosine of vectors, wrong by one unit in the last place at most
//! (the last by one and a half).
//!
//! Source: the reduction of arguments and the order of operations are those that the comments of fdlibm's `e_log.c` and `e_exp.c`
//! (Sun Microsystems, 1993) describe. The polynomials are fits of ours: weighted least squares, repeated with the errors as weights
//! until the largest was the least (Lawson's algorithm).

use super::reals::Reals;

/// ln 2, the part that has zeroes behind 41 bits: its products with exponents are exact.
const LN2_HIGH: f64 = 0.693_147_180_559_663;
/// The rest of it.
const LN2_LOW: f64 = 2.823_529_056_303_157_7e-13;

/// Added to a number, it rounds it to a whole one, which the lowest bits are then.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0;

/// `log((1 + s) / (1 - s)) - 2s` by `s³`, in powers of `s²`, for mantissas from 3/4 to 3/2: wrong by 2^-62 of the logarithm.
const LOGARITHM: [f64; 8] = [
    0.666_666_666_666_666,
    0.400_000_000_000_561_7,
    0.285_714_285_559_549_86,
    0.222_222_242_819_131_2,
    0.181_816_667_546_963_05,
    0.153_910_831_261_745_2,
    0.131_740_846_727_534_97,
    0.138_397_520_069_006_85,
];

/// `exp(r) - 1 - r` by `r²`, in powers of `r`, for at most half of ln 2: wrong by 2^-58.
const EXPONENTIAL: [f64; 10] = [
    0.500_000_000_000_001_3,
    0.166_666_666_666_666_93,
    0.041_666_666_666_514_16,
    0.008_333_333_333_310_812,
    0.001_388_888_894_732_102_2,
    0.000_198_412_699_101_214_36,
    0.000_024_801_489_639_640_63,
    0.000_002_755_722_243_114_284,
    2.763_138_566_699_932e-7,
    2.511_600_681_409_405_5e-8,
];

#[inline(always)]
fn polynomial<V: Reals>(at: V, coefficients: &[f64]) -> V {
    let mut sum = at.every(coefficients[coefficients.len() - 1]);
    for coefficient in coefficients[..coefficients.len() - 1].iter().rev() {
        sum = sum.fused(at, at.every(*coefficient));
    }
    sum
}

/// The natural logarithm: of what is below 0 no number, of 0 minus infinity.
#[inline(always)]
pub(super) fn log<V: Reals>(x: V) -> V {
    log_of_sum(x, None)
}

/// The logarithm of a number and of something far smaller that is added to it; with that, for numbers from 1 to 2^1000.
#[inline(always)]
fn log_of_sum<V: Reals>(x: V, rest: Option<V>) -> V {
    let (k, mantissa) = x.parts();
    let mut f = mantissa.sub(x.every(1.0));
    if let Some(rest) = rest {
        let back = x.every(0.0).sub(k).clamped(x.every(-1100.0), x.every(1100.0));
        f = f.add(rest.scaled(back));
    }
    // log(1 + f) = 2 artanh(s) with s = f / (2 + f), written so that f, which is exact, comes last.
    let s = f.div(f.add(f.every(2.0)));
    let z = s.mul(s);
    let half = f.mul(f).mul(f.every(0.5));
    let series = polynomial(z, &LOGARITHM).fused(z, half);
    let small = half.sub(s.fused(series, k.mul(k.every(LN2_LOW))));
    // What the exponent is of no number or of 0, this is, too.
    k.fused(k.every(LN2_HIGH), f.sub(small))
}

/// The exponential function.
#[inline(always)]
pub(super) fn exp<V: Reals>(x: V) -> V {
    // Beyond these it is 0 and infinity, by rounding.
    let x = x.clamped(x.every(-750.0), x.every(720.0));
    let n = x.fused(x.every(std::f64::consts::LOG2_E), x.every(MAGIC)).sub(x.every(MAGIC));
    let r = n.fused_from(n.every(LN2_LOW), n.fused_from(n.every(LN2_HIGH), x));
    let beyond_one = polynomial(r, &EXPONENTIAL).fused(r.mul(r), r);
    beyond_one.add(r.every(1.0)).scaled(n)
}

/// The inverse hyperbolic cosine: of what is below 1 no number.
#[inline(always)]
pub(super) fn acosh<V: Reals>(x: V) -> V {
    let (zero, one) = (x.every(0.0), x.every(1.0));
    // x² - 1 = q + q_rest, to twice the precision.
    let square = x.mul(x);
    let square_rest = x.fused(x, zero.sub(square));
    let less = square.sub(one);
    let less_rest = square.sub(less).sub(one).add(square_rest);
    let q = less.add(less_rest);
    let q_rest = less.sub(q).add(less_rest);
    let root = q.root();
    // Of 1 the root is 0, and so is its rest.
    let by = V::select(root.above(zero), x.every(0.5).div(root), zero);
    let root_rest = root.fused_from(root, q).add(q_rest).mul(by);
    let sum = x.add(root);
    let sum_rest = x.sub(sum).add(root).add(root_rest);
    // From here on the root is x, and its square may be too large.
    let large = x.above(x.every(268_435_456.0));
    let log = log_of_sum(V::select(large, x, sum), Some(V::select(large, zero, sum_rest)));
    let log = log.add(V::select(large, x.every(std::f64::consts::LN_2), zero));
    V::select(one.above(x), x.every(f64::NAN), log)
}
