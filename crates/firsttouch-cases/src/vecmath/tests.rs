//! Vector functions against a reference of twice the precision, and passes against the C library's functions.

#[cfg(target_arch = "x86_64")]
use super::pass::c_acosh;
use super::pass::{self, Function, How, Pass};
use super::{ABOUT, VecMath, value};
use crate::Work;
use crate::here::workload;
use firsttouch_linux::numa;
use firsttouch_measure::mix;
use firsttouch_threads::Team;
use proptest::prelude::*;

/// A sum of two doubles, the second far smaller: twice the precision. Source: Dekker, *A floating-point technique for extending the
/// available precision* (1971).
#[derive(Clone, Copy, Debug)]
struct Double(f64, f64);

impl Double {
    fn sum(one: f64, other: f64) -> Double {
        let sum = one + other;
        let of_other = sum - one;
        Double(sum, (one - (sum - of_other)) + (other - of_other))
    }

    fn product(one: f64, other: f64) -> Double {
        let product = one * other;
        Double(product, one.mul_add(other, -product))
    }

    fn plus(self, other: Double) -> Double {
        let (high, low) = (Double::sum(self.0, other.0), Double::sum(self.1, other.1));
        let Double(sum, rest) = Double::sum(high.0, high.1 + low.0);
        Double::sum(sum, rest + low.1)
    }

    fn times(self, other: Double) -> Double {
        let Double(product, rest) = Double::product(self.0, other.0);
        Double::sum(product, rest + (self.0 * other.1 + self.1 * other.0))
    }

    fn over(self, divisor: f64) -> Double {
        let quotient = self.0 / divisor;
        Double::sum(quotient, ((-quotient).mul_add(divisor, self.0) + self.1) / divisor)
    }

    /// Units in the last place between this and a double.
    #[cfg(target_arch = "x86_64")]
    fn units_to(self, made: f64) -> f64 {
        if made == self.0 && self.1 == 0.0 {
            return 0.0;
        }
        let unit = self.0.abs().next_up() - self.0.abs();
        (((made - self.0) - self.1) / unit).abs()
    }
}

/// ln 2 in three parts.
const LN2: [f64; 3] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17, 5.707_708_438_416_212e-34];

fn exp(x: f64) -> Double {
    let k = (x * std::f64::consts::LOG2_E).round();
    let parts = LN2.map(|part| Double::product(-k, part));
    let r = parts.into_iter().fold(Double(x, 0.0), Double::plus);
    let series =
        (1..30).rev().fold(Double(1.0, 0.0), |sum, n| Double(1.0, 0.0).plus(r.times(sum).over(f64::from(n))));
    // In two factors: the exponent may be beyond that of a double.
    let power = |exponent: f64| 2.0_f64.powi(exponent as i32);
    let (half, rest) = (power((k / 2.0).floor()), power((k / 2.0).ceil()));
    Double(series.0 * half * rest, series.1 * half * rest)
}

/// One step of Newton from the C library's logarithm.
fn log(Double(x, rest): Double) -> Double {
    if x < 1e-290 {
        let ln2 = LN2.map(|part| Double::product(-54.0, part));
        return ln2.into_iter().fold(log(Double(x * 2.0_f64.powi(54), 0.0)), Double::plus);
    }
    let near = x.ln();
    let off = exp(-near).times(Double(x, rest)).plus(Double(-1.0, 0.0));
    Double(near, 0.0).plus(off).plus(Double(-off.0 * off.0 / 2.0, 0.0))
}

fn acosh(x: f64) -> Double {
    if x > 1e150 {
        return log(Double(x, 0.0)).plus(Double(LN2[0], LN2[1]));
    }
    let q = Double::product(x, x).plus(Double(-1.0, 0.0));
    let root = q.0.sqrt();
    let rest = Double::product(-root, root).plus(q);
    let root = if root == 0.0 { Double(0.0, 0.0) } else { Double::sum(root, rest.0 / (2.0 * root)) };
    log(root.plus(Double(x, 0.0)))
}

#[test]
fn the_reference_is_right_where_results_are_known() {
    // e, ln 10 and acosh 2 to 32 digits: their first doubles and what is left of them.
    for (made, high, low) in [
        (exp(1.0), std::f64::consts::E, 1.445_646_891_729_250_2e-16),
        (log(Double(10.0, 0.0)), std::f64::consts::LN_10, -2.170_756_223_382_249_4e-16),
        (acosh(2.0), 1.316_957_896_924_816_7, -8.682_250_844_852_022e-17),
    ] {
        assert_eq!(made.0, high);
        assert!((made.1 - low).abs() < 1e-29, "{made:?}");
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use super::super::functions;
    use super::super::pass::{How, vectors, whole_vectors};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::{__m256d, __m512d};

    const HOW: How = How { patched: false, past_caches: false };

    macro_rules! arrays {
        ($name:ident, $features:literal, $vector:ty) => {
            #[target_feature(enable = $features)]
            fn $name(function: &str, to: &mut [f64], x: &[f64]) {
                let element = |x: $vector, _| match function {
                    "log" => functions::log(x),
                    "exp" => functions::exp(x),
                    _ => functions::acosh(x),
                };
                // SAFETY: the function has the features, and these are whole vectors.
                unsafe { vectors::<$vector>(HOW, to, x, x, element) }
            }
        };
    }

    arrays!(wide, "avx512f", __m512d);
    arrays!(narrow, "avx2,fma", __m256d);

    /// The function of all of them, in each kind of vectors that there is here.
    pub(super) fn of(function: &str, x: &[f64]) -> Vec<Vec<f64>> {
        let mut made = Vec::new();
        if is_x86_feature_detected!("avx512f") {
            made.push(vec![0.0; x.len()]);
            let to = made.last_mut().unwrap();
            // SAFETY: the processor has the feature.
            whole_vectors(to, x, x, |to, x, _| unsafe { wide(function, to, x) });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            made.push(vec![0.0; x.len()]);
            let to = made.last_mut().unwrap();
            // SAFETY: the processor has the features.
            whole_vectors(to, x, x, |to, x, _| unsafe { narrow(function, to, x) });
        }
        made
    }
}

/// Numbers of all sizes, and many where functions are hardest: near 1, and where results are barely numbers.
#[cfg(target_arch = "x86_64")]
fn numbers(count: u64, from: f64, to: f64) -> Vec<f64> {
    let random = |seed: u64| (mix(seed) >> 11) as f64 / (1_u64 << 53) as f64;
    let spread = (0..count).map(|seed| from + (to - from) * random(seed));
    let near_one =
        (0..count).map(|seed| 1.0 + (random(seed) - 0.5) * 2.0_f64.powi(-(mix(seed + count) as i32 & 63)));
    let any = (0..count).map(|seed| f64::from_bits(mix(seed)).abs());
    spread.chain(near_one).chain(any).filter(|x| x.is_finite() && (from..to).contains(x)).collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn functions_are_wrong_by_a_unit_in_the_last_place_at_most() {
    type Reference = fn(f64) -> Double;
    let functions: [(&str, f64, f64, Reference, f64); 4] = [
        ("log", 0.0, f64::MAX, |x| log(Double(x, 0.0)), 1.0),
        ("log", 0.0, 2.0, |x| log(Double(x, 0.0)), 1.0),
        ("exp", -745.0, 709.7, exp, 1.0),
        ("acosh", 1.0, 1e300, acosh, 1.5),
    ];
    for (name, from, to, reference, most) in functions {
        let x = numbers(20_000, from, to);
        for made in vectors::of(name, &x) {
            let units = made.iter().zip(&x).map(|(made, x)| (reference(*x).units_to(*made), *x));
            let worst = units.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap();
            assert!(worst.0 <= most, "{name} from {from}: {} units at {:e}", worst.0, worst.1);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn numbers_that_are_none_and_limits_are_those_of_the_c_library() {
    let x = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        1e308,
        1e-310,
        5e-324,
        -5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        709.782,
        709.783,
        710.0,
        1e9,
        -708.0,
        -744.0,
        -745.2,
        -746.0,
        -1e300,
        f64::MAX,
        f64::MIN,
    ];
    type Reference = fn(f64) -> f64;
    let functions: [(&str, Reference); 3] = [("log", f64::ln), ("exp", f64::exp), ("acosh", c_acosh)];
    for (name, reference) in functions {
        for made in vectors::of(name, &x) {
            for (x, made) in x.iter().zip(made) {
                let expected = reference(*x);
                let near = (made - expected).abs() <= 2e-16 * expected.abs().max(f64::MIN_POSITIVE);
                assert!(
                    near || made == expected || made.is_nan() && expected.is_nan(),
                    "{name}({x}): {made}, {expected}"
                );
            }
        }
    }
}

fn passes(function: Function) -> Vec<Pass> {
    pass::avx2(function).into_iter().chain(pass::widest(function)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the length, where parts begin, how they are stored, and what lies in them.
    #[test]
    fn passes_do_what_plain_loops_do(
        length in 0_usize..70,
        begin in 0_usize..9,
        patched: bool,
        past_caches: bool,
        numbers in prop::collection::vec(prop_oneof![3 => -9.0..9.0, 1 => any::<f64>()], 160),
        function in prop::sample::select(vec![Function::LogLog, Function::MaskedExp, Function::MaskedAcosh]),
    ) {
        let x = &numbers[begin..begin + length];
        let y = if function == Function::LogLog { &numbers[80..80 + length] } else { x };
        let how = How { patched, past_caches };
        let mut expected = vec![0.0; length];
        pass::branching(function)(how, &mut expected, x, y);
        for pass in passes(function) {
            let mut made = vec![7.0; length + begin + 1];
            pass(how, &mut made[begin..begin + length], x, y);
            prop_assert!(made[..begin].iter().chain(&made[begin + length..]).all(|untouched| *untouched == 7.0));
            for (made, expected) in made[begin..].iter().zip(&expected) {
                let near = (made - expected).abs() <= 2e-15 * expected.abs();
                let same = made == expected || made.is_nan() && expected.is_nan();
                prop_assert!(near || same, "{:?}: {} {}", function, made, expected);
            }
        }
    }
}

#[test]
fn work_is_each_array_once() {
    for (function, arrays) in [("log-log", 3), ("masked-exp", 2), ("masked-acosh", 2)] {
        let mut team = Team::of_this_process(2).unwrap();
        let chosen = [("function", function), ("elements", "1003")];
        let workload = workload(&VecMath, ABOUT.variants[0].name, &chosen, &mut team);
        assert_eq!(workload.work(), Work { bytes: 1003 * 8 * arrays, operations: 1003 });
        // Each may run on one CPU alone, as the kernel tells.
        let cpus =
            team.map(|_| numa::affinity(0).unwrap().iter().map(|cpu| cpu.to_string()).collect::<String>());
        assert_eq!(workload.notes(), [format!("threads: {}, on CPUs {}", cpus.len(), cpus.join(","))]);
    }
}

/// Three quarters of the article's products are no numbers.
#[test]
fn inputs_are_spread_over_their_ranges() {
    let numbers = |function, array| (0..4000).map(move |place| value(function, array, place));
    let products =
        numbers(Function::LogLog, 0).zip(numbers(Function::LogLog, 1)).map(|(a, b)| a.ln() * b.ln());
    let none = products.filter(|product| product.is_nan()).count();
    assert!((2850..3150).contains(&none), "{none}");
    for (function, most) in [(Function::LogLog, 1.0), (Function::MaskedExp, 8.0)] {
        let all: Vec<f64> = numbers(function, 0).collect();
        assert!(all.iter().all(|x| (-most..most).contains(x)));
        let positive = all.iter().filter(|x| **x > 0.0).count();
        assert!((1850..2150).contains(&positive), "{positive}");
    }
}
