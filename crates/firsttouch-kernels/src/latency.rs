//! Dependent reads: each names the place of the next, so that nothing can be overlapped or foreseen.

#![forbid(unsafe_code)]

use crate::gather::mix;

/// Words of a cache line of 64 bytes; the chain visits one word of each.
const LINE: usize = 8;

/// One cycle through every cache line of a piece of memory, in random order.
///
/// ```
/// let mut memory = vec![0; 8 * 1000];
/// let mut chain = firsttouch_kernels::Chain::new(&mut memory, 1);
/// assert_eq!(chain.follow(1000), 0, "after as many steps as lines it is back where it began");
/// ```
#[derive(Debug)]
pub struct Chain<'a> {
    words: &'a [u64],
    at: u64,
}

impl<'a> Chain<'a> {
    /// Writes a cycle that depends on `seed` into the first word of every whole line.
    ///
    /// A shuffle that always exchanges with an earlier place makes a permutation of one cycle (Sattolo), so no line is
    /// left out and none comes twice before all have been.
    pub fn new(words: &'a mut [u64], seed: u64) -> Chain<'a> {
        let lines = words.len() / LINE;
        for line in 0..lines {
            words[line * LINE] = (line * LINE) as u64;
        }
        for line in (1..lines).rev() {
            let wide = u128::from(mix(seed.wrapping_add(line as u64))) * line as u128;
            let other = (wide >> 64) as usize;
            words.swap(line * LINE, other * LINE);
        }
        Chain { words, at: 0 }
    }

    /// Takes that many steps from where the last call ended, and returns where it stands.
    pub fn follow(&mut self, steps: u64) -> u64 {
        let mut at = self.at;
        for _ in 0..steps {
            at = self.words[at as usize];
        }
        self.at = at;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_visited_once_before_the_first_comes_again() {
        for lines in [1, 2, 3, 64, 4099] {
            let mut words = vec![0; lines * LINE + 3];
            let mut chain = Chain::new(&mut words, 7);
            let mut seen = vec![false; lines];
            for _ in 0..lines {
                let at = chain.follow(1) as usize;
                assert_eq!(at % LINE, 0);
                assert!(!std::mem::replace(&mut seen[at / LINE], true), "{lines} lines");
            }
            assert_eq!(chain.follow(0), 0);
        }
    }

    #[test]
    fn steps_are_long_and_go_both_ways() {
        const LINES: usize = 1 << 14;
        let mut words = vec![0; LINES * LINE];
        let mut chain = Chain::new(&mut words, 3);
        let (mut forward, mut near, mut at) = (0, 0, 0);
        for _ in 0..LINES {
            let next = chain.follow(1);
            forward += usize::from(next > at);
            near += usize::from(next.abs_diff(at) < 64 * LINE as u64);
            at = next;
        }
        assert!((LINES * 2 / 5..LINES * 3 / 5).contains(&forward), "{forward}");
        // Two places of 16384 are less than 64 apart with a chance of 1/128.
        assert!(near < LINES / 64, "{near}");
    }
}
