//! Fused multiplications and additions that nothing but the processor bounds: chains in registers, so many that each has its
//! result when its turn comes again.

/// Chains under way at once: more than the latency of an operation times the units that do it, on every processor so far
/// (8 on most, 10 on some), and no more than half of the registers of the narrowest set.
const CHAINS: usize = 12;

/// Rounds over all chains and a value made of their ends, so that no round can be left out.
type Run = fn(rounds: u64) -> f64;

/// One way to multiply and add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MultiplyAdd {
    run: Run,
    lanes: usize,
}

impl MultiplyAdd {
    /// Every way that this processor has, in double precision.
    pub(crate) fn double() -> Vec<MultiplyAdd> {
        #[cfg(target_arch = "x86_64")]
        let vectors = x86::double();
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = Vec::new();
        let plain = MultiplyAdd { run: plain_double, lanes: PLAIN_DOUBLE };
        vectors.into_iter().chain([plain]).collect()
    }

    /// The same in single precision.
    pub(crate) fn single() -> Vec<MultiplyAdd> {
        #[cfg(target_arch = "x86_64")]
        let vectors = x86::single();
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = Vec::new();
        let plain = MultiplyAdd { run: plain_single, lanes: PLAIN_SINGLE };
        vectors.into_iter().chain([plain]).collect()
    }

    /// Goes round so often and answers the sum of all lanes: each has come to 2 - 2^-rounds.
    pub(crate) fn run(self, rounds: u64) -> f64 {
        (self.run)(rounds)
    }

    /// Operations of a round; a multiplication and an addition are two.
    pub(crate) fn operations(self) -> u64 {
        2 * (CHAINS * self.lanes) as u64
    }

    #[cfg(test)]
    pub(crate) fn values(self) -> usize {
        CHAINS * self.lanes
    }
}

/// Values by chain of plain code: a vector of 16 bytes, which every processor of 64 bits has.
const PLAIN_DOUBLE: usize = 2;
const PLAIN_SINGLE: usize = 4;

macro_rules! plain {
    ($name:ident, $number:ty, $lanes:ident) => {
        fn $name(rounds: u64) -> f64 {
            let (factor, addend) = std::hint::black_box((0.5 as $number, 1.0 as $number));
            let mut chains = [[1.0 as $number; $lanes]; CHAINS];
            for _ in 0..rounds {
                for value in chains.as_flattened_mut() {
                    // Fused where the target always can; elsewhere that would be a call for each.
                    *value = if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                        value.mul_add(factor, addend)
                    } else {
                        *value * factor + addend
                    };
                }
            }
            chains.as_flattened().iter().map(|value| f64::from(*value)).sum()
        }
    };
}

plain!(plain_double, f64, PLAIN_DOUBLE);
plain!(plain_single, f32, PLAIN_SINGLE);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHAINS, MultiplyAdd};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    macro_rules! chains {
        ($name:ident, $feature:tt, $number:ty, $lanes:literal, $spread:ident, $multiply_add:ident, $store:ident) => {
            pub(super) fn $name(rounds: u64) -> f64 {
                #[target_feature(enable = $feature)]
                fn run(rounds: u64) -> f64 {
                    let (factor, addend) = std::hint::black_box(($spread(0.5), $spread(1.0)));
                    let mut chains = [$spread(1.0); CHAINS];
                    for _ in 0..rounds {
                        for chain in &mut chains {
                            *chain = $multiply_add(*chain, factor, addend);
                        }
                    }
                    let mut lanes = [[0.0 as $number; $lanes]; CHAINS];
                    for (lanes, chain) in lanes.iter_mut().zip(chains) {
                        // SAFETY: the array has the size of the vector; the store needs no alignment.
                        unsafe { $store(lanes.as_mut_ptr(), chain) };
                    }
                    lanes.as_flattened().iter().map(|value| f64::from(*value)).sum()
                }
                assert!(is_x86_feature_detected!($feature), "chosen from what the processor has");
                // SAFETY: the processor has the extension.
                unsafe { run(rounds) }
            }
        };
    }

    chains!(double_avx512, "avx512f", f64, 8, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd);
    chains!(single_avx512, "avx512f", f32, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps);
    chains!(double_fma, "fma", f64, 4, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd);
    chains!(single_fma, "fma", f32, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps);

    pub(super) fn double() -> Vec<MultiplyAdd> {
        detected(MultiplyAdd { run: double_avx512, lanes: 8 }, MultiplyAdd { run: double_fma, lanes: 4 })
    }

    pub(super) fn single() -> Vec<MultiplyAdd> {
        detected(MultiplyAdd { run: single_avx512, lanes: 16 }, MultiplyAdd { run: single_fma, lanes: 8 })
    }

    fn detected(avx512: MultiplyAdd, fma: MultiplyAdd) -> Vec<MultiplyAdd> {
        let wide = is_x86_feature_detected!("avx512f").then_some(avx512);
        let narrow = is_x86_feature_detected!("fma").then_some(fma);
        wide.into_iter().chain(narrow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_goes_every_round() {
        for way in MultiplyAdd::double().into_iter().chain(MultiplyAdd::single()) {
            assert_eq!(way.operations(), 2 * way.values() as u64);
            for rounds in [0, 1, 2, 7, 20] {
                // v -> v / 2 + 1 from 1 is 2 - 2^-rounds, which single precision holds exactly up to 22 rounds.
                let value = 2.0 - (-(rounds as f64)).exp2();
                assert_eq!(way.run(rounds), value * way.values() as f64, "{way:?} {rounds}");
            }
        }
    }
}
