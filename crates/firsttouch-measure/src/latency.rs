//! Dependent reads: each names the place of the next, so that nothing can be overlapped or foreseen.

use firsttouch_threads::at_once;
use std::ops::{Deref, DerefMut};

/// Words of a cache line of 64 bytes; the chain visits one word of each.
const LINE: usize = 8;
/// Any number: the order of the reads is the same in every run.
const SEED: u64 = 0x666f_7563_6869;

/// One cycle through every cache line of some memory, in random order: of a slice, or of whatever owns one.
#[derive(Debug)]
pub struct Chain<W> {
    words: W,
    at: u64,
}

impl<W: DerefMut<Target = [u64]>> Chain<W> {
    /// Writes a cycle that depends on `seed` into the first word of every whole line.
    pub fn new(words: W, seed: u64) -> Chain<W> {
        let all = words.len();
        Chain::by_blocks(words, all, seed)
    }

    /// As [`Chain::new`], but all lines of a block of that many words come one after the other, in random order, before those of
    /// the next block, which is any: with blocks of a page its translation is looked up once for all of its lines.
    pub fn by_blocks(mut words: W, block: usize, seed: u64) -> Chain<W> {
        let lines = words.len() / LINE;
        let block = (block / LINE).clamp(1, lines.max(1));
        for line in 0..lines {
            words[line * LINE] = (line * LINE) as u64;
        }
        // A shuffle that always exchanges with an earlier place makes a permutation of one cycle (Sattolo), so no line is left
        // out and none comes twice before all have been.
        for start in (0..lines).step_by(block) {
            for line in (1..block.min(lines - start)).rev() {
                let other = below(line, seed.wrapping_add((start + line) as u64));
                words.swap((start + line) * LINE, (start + other) * LINE);
            }
        }
        // Two cycles become one when a line of each goes on where the other's would have.
        let mut later: Vec<usize> = (block..lines).step_by(block).collect();
        for last in (1..later.len()).rev() {
            later.swap(last, below(last + 1, !seed.wrapping_add(last as u64)));
        }
        for start in later {
            words.swap(0, start * LINE);
        }
        Chain { words, at: 0 }
    }
}

impl<W: Deref<Target = [u64]>> Chain<W> {
    /// The next walk begins where the first one did.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// Takes that many steps from where the last call ended, and returns where it stands: the place of a word.
    pub fn walk(&mut self, steps: u64) -> u64 {
        let words = &*self.words;
        self.at = (0..steps).fold(self.at, |at, _| words[at as usize]);
        self.at
    }
}

/// A number below `limit`, drawn by `draw`.
fn below(limit: usize, draw: u64) -> usize {
    ((u128::from(mix(draw)) * limit as u128) >> 64) as usize
}

/// A chain through each piece of memory, made by one thread for each: of large ones that takes a while.
pub(crate) fn chains<'a>(pieces: impl Iterator<Item = &'a mut [u64]>) -> Vec<Chain<&'a mut [u64]>> {
    at_once(pieces.map(|piece| move || Chain::new(piece, SEED)))
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
            let mut chain = Chain::new(&mut words[..], 7);
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
    fn lines_of_a_block_follow_one_another() {
        for (lines, block) in [(1, 4), (4, 4), (5, 4), (64, 4), (64, 16), (70, 16), (64, 1000)] {
            let mut words = vec![0; lines * LINE];
            let mut chain = Chain::by_blocks(&mut words[..], block * LINE, 11);
            let visits: Vec<usize> = (0..lines).map(|_| chain.walk(1) as usize / LINE).collect();
            let mut sorted = visits.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..lines), "{lines} lines by {block}");
            chain.rewind();
            assert_eq!(chain.walk(1) as usize / LINE, visits[0]);
            // The walk begins within the first block, so that this one alone may come at both ends.
            let changes = visits.windows(2).filter(|pair| pair[0] / block != pair[1] / block).count();
            assert!(changes <= lines.div_ceil(block), "{lines} lines by {block}: {visits:?}");
        }
    }

    #[test]
    fn steps_are_long_and_go_both_ways() {
        const LINES: usize = 1 << 14;
        let mut words = vec![0; LINES * LINE];
        let mut chain = Chain::new(&mut words[..], 3);
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
