//! One pass of a function over parts of its arrays.

/// What is computed of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// `log(x) * log(y)`.
    LogLog,
    /// `exp(x)` where x is above 0, otherwise 0.
    MaskedExp,
    /// `acosh(x)` where x is above 1, otherwise 0.
    MaskedAcosh,
}

/// How it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct How {
    /// Inactive lanes get a harmless value first.
    pub(super) patched: bool,
    /// Stores go past the caches: a line that is written is not read before.
    pub(super) past_caches: bool,
}

/// A pass: the part that is written, and the equally long parts that are read; the second is the first where a function has one
/// argument.
pub(super) type Pass = fn(How, &mut [f64], &[f64], &[f64]);

impl Function {
    pub(super) const WORDS: &'static [&'static str] = &["log-log", "masked-exp", "masked-acosh"];

    /// The function of one of these words.
    pub(super) fn of(word: &str) -> Function {
        match word {
            "log-log" => Function::LogLog,
            "masked-exp" => Function::MaskedExp,
            _ => Function::MaskedAcosh,
        }
    }

    /// Above this an element is active, and this is put in place of one that is not: 0.5 and 2, as the article has them.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn threshold_and_patch(self) -> (f64, f64) {
        match self {
            Function::LogLog => (f64::NEG_INFINITY, 1.0),
            Function::MaskedExp => (0.0, 0.5),
            Function::MaskedAcosh => (1.0, 2.0),
        }
    }

    /// Arrays that are read.
    pub(super) fn inputs(self) -> usize {
        if self == Function::LogLog { 2 } else { 1 }
    }
}

/// The C library's acosh. The standard library has a formula of its own, which loses digits near 1 and overflows at 1e154.
#[expect(unsafe_code, reason = "the C library's function, declared")]
pub(super) fn c_acosh(x: f64) -> f64 {
    unsafe extern "C" {
        safe fn acosh(x: f64) -> f64;
    }
    acosh(x)
}

/// The loop as it is written first: a branch for each element, and the C library's functions.
pub(super) fn branching(function: Function) -> Pass {
    match function {
        Function::LogLog => |_, to, x, y| {
            to.iter_mut().zip(x.iter().zip(y)).for_each(|(to, (x, y))| *to = x.ln() * y.ln());
        },
        Function::MaskedExp => |_, to, x, _| {
            to.iter_mut().zip(x).for_each(|(to, x)| *to = if *x > 0.0 { x.exp() } else { 0.0 });
        },
        Function::MaskedAcosh => |_, to, x, _| {
            to.iter_mut().zip(x).for_each(|(to, x)| *to = if *x > 1.0 { c_acosh(*x) } else { 0.0 });
        },
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use vectors::{avx2, vectors, whole_vectors, widest};

/// Vectors of which the processor has none.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn avx2(_: Function) -> Option<Pass> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use avx2 as widest;

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use super::super::functions::{acosh, exp, log};
    use super::super::reals::Reals;
    use super::{Function, How, Pass};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// The widest vectors there are.
    pub(in super::super) fn widest(function: Function) -> Option<Pass> {
        avx512(function).or_else(|| avx2(function))
    }

    macro_rules! passes {
        ($features:literal, $vector:ty, $detected:expr, $function:ident) => {
            /// The pass in these vectors; `None` where the processor has no such.
            pub(in super::super) fn $function(function: Function) -> Option<Pass> {
                macro_rules! pass {
                    ($kind:literal) => {{
                        #[target_feature(enable = $features)]
                        fn pass(how: How, to: &mut [f64], x: &[f64], y: &[f64]) {
                            let element = |x, y| element::<$vector, $kind>(how, x, y);
                            // SAFETY: the function has the features that the vectors need.
                            unsafe { vectors::<$vector>(how, to, x, y, element) }
                        }
                        |how, to, x, y| {
                            assert!($detected, "chosen from what the processor has");
                            // SAFETY: the processor has the features.
                            whole_vectors(to, x, y, |to, x, y| unsafe { pass(how, to, x, y) });
                        }
                    }};
                }
                let pass: Pass = match function {
                    Function::LogLog => pass!(0),
                    Function::MaskedExp => pass!(1),
                    Function::MaskedAcosh => pass!(2),
                };
                $detected.then_some(pass)
            }
        };
    }

    passes!("avx512f", __m512d, is_x86_feature_detected!("avx512f"), avx512);
    passes!("avx2,fma", __m256d, (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")), avx2);

    const FUNCTIONS: [Function; 3] = [Function::LogLog, Function::MaskedExp, Function::MaskedAcosh];

    /// Doubles of the widest vector.
    const WIDEST: usize = 8;

    /// What vectors are aligned as where their stores go past the caches.
    #[repr(align(64))]
    struct Line;

    /// Lets a loop do whole vectors: what is left over becomes one, with zeroes.
    pub(in super::super) fn whole_vectors(
        to: &mut [f64],
        x: &[f64],
        y: &[f64],
        vectors: impl Fn(&mut [f64], &[f64], &[f64]),
    ) {
        assert!(x.len() == to.len() && y.len() == to.len(), "parts of equal length");
        let whole = to.len() / WIDEST * WIDEST;
        vectors(&mut to[..whole], &x[..whole], &y[..whole]);
        if whole < to.len() {
            let (mut last, mut last_too, mut made) = ([0.0; WIDEST], [0.0; WIDEST], [0.0; WIDEST]);
            last[..x.len() - whole].copy_from_slice(&x[whole..]);
            last_too[..y.len() - whole].copy_from_slice(&y[whole..]);
            vectors(&mut made, &last, &last_too);
            let rest = to.len() - whole;
            to[whole..].copy_from_slice(&made[..rest]);
        }
    }

    /// Computes whole vectors, one after another.
    ///
    /// # Safety
    /// The processor has the extensions that the vectors need; all parts are equally long, and whole vectors.
    #[inline(always)]
    pub(in super::super) unsafe fn vectors<V: Reals>(
        how: How,
        to: &mut [f64],
        x: &[f64],
        y: &[f64],
        element: impl Fn(V, V) -> V,
    ) {
        let past_caches = how.past_caches && to.as_ptr().cast::<Line>().is_aligned();
        for at in (0..to.len()).step_by(V::LANES) {
            // SAFETY: a whole vector follows in all of them, aligned where the first is.
            unsafe {
                let (x, y) = (V::read(x.as_ptr().add(at)), V::read(y.as_ptr().add(at)));
                element(x, y).write(to.as_mut_ptr().add(at), past_caches);
            }
        }
        if past_caches {
            // SAFETY: every processor of this kind has it. Nothing else orders these stores before what others read.
            unsafe { _mm_sfence() };
        }
    }

    #[inline(always)]
    fn element<V: Reals, const FUNCTION: usize>(how: How, x: V, y: V) -> V {
        let (threshold, patch) = FUNCTIONS[FUNCTION].threshold_and_patch();
        let active = x.above(x.every(threshold));
        let harmless = if how.patched { V::select(active, x, x.every(patch)) } else { x };
        match FUNCTIONS[FUNCTION] {
            Function::LogLog => log(x).mul(log(y)),
            Function::MaskedExp => V::select(active, exp(harmless), x.every(0.0)),
            Function::MaskedAcosh => V::select(active, acosh(harmless), x.every(0.0)),
        }
    }
}
