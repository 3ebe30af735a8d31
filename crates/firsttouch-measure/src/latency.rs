//! Dependent reads: each names the place of the next, so that nothing can be overlapped or foreseen.

use std::thread;

/// Words of a cache line of 64 bytes; the chain visits one word of each.
const LINE: usize = 8;
/// Any number: the order of the reads is the same in every run.
const SEED: u64 = 0x666f_7563_6869;

/// One cycle through every cache line of a piece of memory, in random order.
#[derive(Debug)]
pub(crate) struct Chain<'a> {
    words: &'a [u64],
    at: u64,
}

impl<'a> Chain<'a> {
    /// Writes a cycle that depends on `seed` into the first word of every whole line.
    ///
    /// A shuffle that always exchanges with an earlier place makes a permutation of one cycle (Sattolo), so no line is
    /// left out and none comes twice before all have been.
    pub(crate) fn new(words: &'a mut [u64], seed: u64) -> Chain<'a> {
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
    pub(crate) fn walk(&mut self, steps: u64) -> u64 {
        let mut at = self.at;
        for _ in 0..steps {
            at = self.words[at as usize];
        }
        self.at = at;
        at
    }
}

/// A chain through each piece of memory, made by one thread for each: of large ones that takes a while.
pub(crate) fn chains<'a>(pieces: impl Iterator<Item = &'a mut [u64]>) -> Vec<Chain<'a>> {
    thread::scope(|scope| {
        let threads: Vec<_> = pieces.map(|piece| scope.spawn(move || Chain::new(piece, SEED))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Scatters a number over all 64 bits: multiply and shift, with the odd constant of the golden ratio. Always the same, so that
/// places drawn by it are the same in every run; nothing to keep a secret by.
#[must_use]
pub fn mix(number: u64) -> u64 {
    let scattered = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (scattered ^ (scattered >> 29)).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ (scattered >> 32)
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
                let at = chain.walk(1) as usize;
                assert_eq!(at % LINE, 0);
                assert!(!std::mem::replace(&mut seen[at / LINE], true), "{lines} lines");
            }
            assert_eq!(chain.walk(0), 0);
        }
    }

    #[test]
    fn steps_are_long_and_go_both_ways() {
        const LINES: usize = 1 << 14;
        let mut words = vec![0; LINES * LINE];
        let mut chain = Chain::new(&mut words, 3);
        let (mut forward, mut near, mut at) = (0, 0, 0);
        for _ in 0..LINES {
            let next = chain.walk(1);
            forward += usize::from(next > at);
            near += usize::from(next.abs_diff(at) < 64 * LINE as u64);
            at = next;
        }
        assert!((LINES * 2 / 5..LINES * 3 / 5).contains(&forward), "{forward}");
        // Two places of 16384 are less than 64 apart with a chance of 1/128.
        assert!(near < LINES / 64, "{near}");
    }
}
