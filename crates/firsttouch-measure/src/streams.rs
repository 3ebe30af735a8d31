//! Bandwidth: passes over a region by several CPUs at once, and the choice of instructions.

use crate::MeasureError;
use crate::bandwidth::Stream;
use crate::team::timed;
use firsttouch_machine::StreamInstructions;
use std::hint::black_box;

/// Words of a page: parts of a region begin with one.
const PAGE_WORDS: usize = 512;
/// Passes with each candidate when the fastest is looked for.
const TRIALS: u32 = 3;

/// The fastest instructions for each kind of pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) read: Stream,
    pub(crate) write: Stream,
    pub(crate) copy: Stream,
}

impl Choice {
    /// Tries all on these CPUs and this memory.
    pub(crate) fn find(cpus: &[u32], words: &mut [u64]) -> Result<Choice, MeasureError> {
        Ok(Choice {
            read: fastest(&Stream::readers(), |stream| read(stream, cpus, words))?.0,
            write: fastest(&Stream::writers(), |stream| write(stream, cpus, words))?.0,
            copy: fastest(&Stream::writers(), |stream| copy(stream, cpus, words))?.0,
        })
    }

    /// For the document.
    pub(crate) fn means(&self) -> StreamInstructions {
        StreamInstructions { read: self.read.words(), write: self.write.words(), copy: self.copy.words() }
    }
}

/// The candidate with the best pass, and the rate of that: what is slowed down by somebody else in one pass is not in all.
pub(crate) fn fastest<C: Copy>(
    candidates: &[C],
    mut rate: impl FnMut(C) -> Result<f64, MeasureError>,
) -> Result<(C, f64), MeasureError> {
    let mut best = (candidates[0], 0.0);
    for _ in 0..TRIALS {
        for &candidate in candidates {
            let rate = rate(candidate)?;
            if rate > best.1 {
                best = (candidate, rate);
            }
        }
    }
    Ok(best)
}

/// One pass of reading, in 10^9 bytes a second.
pub(crate) fn read(stream: Stream, cpus: &[u32], words: &[u64]) -> Result<f64, MeasureError> {
    let parts = words.chunks(part(words.len(), cpus.len()));
    let work = cpus.iter().copied().zip(parts).map(|(cpu, part)| {
        (cpu, move || {
            black_box(stream.read(part));
        })
    });
    Ok(gbps(words.len(), timed(work)?))
}

/// One pass of writing.
pub(crate) fn write(stream: Stream, cpus: &[u32], words: &mut [u64]) -> Result<f64, MeasureError> {
    let length = words.len();
    let parts = words.chunks_mut(part(length, cpus.len()));
    let work = cpus.iter().copied().zip(parts).map(|(cpu, part)| (cpu, move || stream.write(part)));
    Ok(gbps(length, timed(work)?))
}

/// One pass of copying the first half into the second. Bytes read and bytes written both count, as in STREAM.
pub(crate) fn copy(stream: Stream, cpus: &[u32], words: &mut [u64]) -> Result<f64, MeasureError> {
    let half = words.len() / 2;
    let (from, to) = words.split_at_mut(half);
    let to = &mut to[..half];
    let part = part(half, cpus.len());
    let pieces = cpus.iter().copied().zip(from.chunks(part).zip(to.chunks_mut(part)));
    let work = pieces.map(|(cpu, (from, to))| (cpu, move || stream.copy(from, to)));
    Ok(gbps(2 * half, timed(work)?))
}

/// Words of each CPU's part: whole pages.
pub(crate) fn part(words: usize, cpus: usize) -> usize {
    words.div_ceil(cpus.max(1)).next_multiple_of(PAGE_WORDS)
}

fn gbps(words: usize, seconds: f64) -> f64 {
    (words * size_of::<u64>()) as f64 / seconds / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::own_cpus;

    #[test]
    fn passes_cover_everything_whatever_the_number_of_cpus() {
        let cpus = own_cpus();
        let mut words = vec![7_u64; 5 * PAGE_WORDS];
        let stream = Stream::writers()[0];
        assert!(read(stream, &cpus, &words).unwrap() > 0.0);
        words[..2 * PAGE_WORDS].fill(9);
        copy(stream, &cpus, &mut words).unwrap();
        assert!(words[5 * PAGE_WORDS / 2..9 * PAGE_WORDS / 2].iter().all(|word| *word == 9));
        write(stream, &cpus, &mut words).unwrap();
        assert!(words.iter().all(|word| *word == 0));
        for (length, cpus) in [(1 << 20, 3), (5 * PAGE_WORDS, 64), (1, 1)] {
            assert!(length <= part(length, cpus) * cpus, "{length} words, {cpus} CPUs");
        }
    }

    #[test]
    fn the_best_pass_decides() {
        let candidates = Stream::readers();
        let mut calls = 0;
        let chosen = fastest(&candidates, |stream| {
            calls += 1;
            // The last candidate is slow but for one pass.
            Ok(if Some(&stream) == candidates.last() && calls > candidates.len() { 9.0 } else { 5.0 })
        });
        assert_eq!(chosen.unwrap(), (*candidates.last().unwrap(), 9.0));
    }
}
