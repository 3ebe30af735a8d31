//! The random draws of a session: block orders and environment offsets.
//!
//! A printed seed must give the same session years later, so the draws are written out here on top of the raw
//! ChaCha stream; the shuffles of random-number crates may change between their versions.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Environment offsets lie below this many bytes: one page covers every alignment of the stack that matters.
const ENVIRONMENT_OFFSETS: u32 = 4096;

#[derive(Debug)]
pub(crate) struct Schedule {
    generator: ChaCha8Rng,
}

impl Schedule {
    pub(crate) fn new(seed: u64) -> Self {
        Schedule { generator: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The configurations of a block, each once, every order equally likely (Fisher and Yates).
    pub(crate) fn block(&mut self, live: &[usize]) -> Vec<usize> {
        let mut order = live.to_vec();
        for last in (1..order.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            order.swap(last, other);
        }
        order
    }

    pub(crate) fn environment_offset_bytes(&mut self) -> u32 {
        self.below(ENVIRONMENT_OFFSETS)
    }

    /// A whole number below `bound`, without the bias of a plain remainder.
    fn below(&mut self, bound: u32) -> u32 {
        let fair = u32::MAX - u32::MAX % bound;
        loop {
            let draw = self.generator.next_u32();
            if draw < fair {
                return draw % bound;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut schedule = Schedule::new(3);
        let mut counts: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for _ in 0..6000 {
            *counts.entry(schedule.block(&[0, 4, 7])).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        // 1000 expected, standard deviation 29.
        assert!(counts.values().all(|&count| (880..1120).contains(&count)), "{counts:?}");
    }

    #[test]
    fn offsets_spread_over_one_page() {
        let mut schedule = Schedule::new(4);
        let offsets: Vec<u32> = (0..2000).map(|_| schedule.environment_offset_bytes()).collect();
        assert!(offsets.iter().all(|&offset| offset < 4096));
        assert!(offsets.iter().any(|&offset| offset < 64) && offsets.iter().any(|&offset| offset >= 4032));
    }

    #[test]
    fn a_seed_is_a_promise() {
        // Written down on purpose: if this changes, printed seeds of earlier versions no longer reproduce.
        let mut schedule = Schedule::new(42);
        let orders = [schedule.block(&[0, 1, 2, 3]), schedule.block(&[0, 1, 2, 3])];
        assert_eq!(orders, [[3, 2, 0, 1], [1, 0, 3, 2]]);
    }
}
