//! What a set of CPUs can do at most, each measured in a fraction of a second.

use crate::MeasureError;
use crate::bandwidth::Stream;
use crate::disk;
use crate::latency::chains;
use crate::simd::multiply_add::MultiplyAdd;
use crate::simd::words;
use crate::streams::{copy, fastest, part, read, write};
use crate::team::timed;
use firsttouch_memory::{Pages, Region};
use std::fs::File;
use std::hint::black_box;

/// The least memory for each CPU: a huge page.
const LEAST_BYTES: usize = 2 << 20;
/// Repetitions with the fastest means. Each takes some milliseconds, so that some are not interrupted on a machine that does
/// other things as well.
const REPETITIONS: u32 = 8;
/// Dependent reads of each CPU in a repetition.
const READS: u64 = 20_000;
/// Rounds over chains of multiplications in a repetition.
const ROUNDS: u64 = 500_000;

/// A limit of a machine that no program can beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Reading memory, in bytes by second.
    Read,
    /// Copying memory, in bytes by second; what is read and what is written both count, as in STREAM.
    Copy,
    /// Writing memory, in bytes by second.
    Write,
    /// Reads that wait for one another, in seconds by read.
    Latency,
    /// Multiplications and additions of double precision, fused where the processor can, in operations by second: each is two.
    MultiplyAdd,
    /// The same in single precision.
    MultiplyAddSingle,
    /// Reading a file past the page cache, in bytes by second.
    Disk,
}

impl Limit {
    /// What it is, for people and documents.
    pub fn what(self) -> &'static str {
        match self {
            Limit::Read => "read bandwidth",
            Limit::Copy => "copy bandwidth",
            Limit::Write => "write bandwidth",
            Limit::Latency => "latency of dependent reads",
            Limit::MultiplyAdd => "multiply-add peak, double precision",
            Limit::MultiplyAddSingle => "multiply-add peak, single precision",
            Limit::Disk => "read bandwidth of the disk",
        }
    }
}

/// Measures what these CPUs together can do at most, by the fastest means of several: the best of some repetitions, because
/// a limit is what nothing beats.
///
/// What is about memory is measured on `bytes` of it, on huge pages where there are any; multiply-add peaks need none. Each
/// CPU has a part of its own, which it touches first, so that it lies where a thread's pages lie by default. What fits in a cache may be
/// a limit of that cache.
///
/// For latency all CPUs read at the same time, and the time is divided by the reads of all, so that it compares with
/// the time and the operations of a team; of one CPU it is the latency.
///
/// A disk is measured by the first `bytes` of a `file` on it, which the other limits do without. It may have a cache of its own, that of a
/// virtual machine the memory of its host.
///
/// # Errors
/// Where the memory cannot be had, this process may not use one of the CPUs, or the file cannot be read past the page cache.
pub fn measure_limit(
    limit: Limit,
    cpus: &[u32],
    bytes: u64,
    file: Option<&File>,
) -> Result<f64, MeasureError> {
    if cpus.is_empty() {
        return Err(MeasureError::NoCpu);
    }
    match limit {
        Limit::Latency => latency(cpus, words(map(cpus, bytes)?.as_mut_slice())),
        Limit::MultiplyAdd => multiply_add(&MultiplyAdd::double(), cpus),
        Limit::MultiplyAddSingle => multiply_add(&MultiplyAdd::single(), cpus),
        Limit::Disk => disk::bandwidth(file.ok_or(MeasureError::NoFile)?, cpus, bytes),
        Limit::Read | Limit::Write | Limit::Copy => {
            Ok(1e9 * gbps(limit, cpus, words(map(cpus, bytes)?.as_mut_slice()))?)
        }
    }
}

fn map(cpus: &[u32], bytes: u64) -> Result<Region, MeasureError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(cpus.len() * LEAST_BYTES);
    Ok(Region::map(bytes, Pages::Auto, None)?)
}

/// The rate of a stream in 10^9 bytes a second.
fn gbps(limit: Limit, cpus: &[u32], words: &mut [u64]) -> Result<f64, MeasureError> {
    // For copies each CPU has its part of the one half and of the other.
    let pieces = if limit == Limit::Copy { 2 } else { 1 };
    for piece in words.chunks_exact_mut(words.len() / pieces) {
        write(Stream::plain(), cpus, piece)?;
    }
    match limit {
        Limit::Copy => most(&Stream::writers(), |stream| copy(stream, cpus, words)),
        Limit::Write => most(&Stream::writers(), |stream| write(stream, cpus, words)),
        _ => most(&Stream::readers(), |stream| read(stream, cpus, words)),
    }
}

/// The best rate of the fastest.
fn most<C: Copy>(
    candidates: &[C],
    mut rate: impl FnMut(C) -> Result<f64, MeasureError>,
) -> Result<f64, MeasureError> {
    let (chosen, first) = fastest(candidates, &mut rate)?;
    (0..REPETITIONS).try_fold(first, |most, _| Ok(rate(chosen)?.max(most)))
}

/// Seconds by dependent read, of all CPUs together.
fn latency(cpus: &[u32], words: &mut [u64]) -> Result<f64, MeasureError> {
    write(Stream::plain(), cpus, words)?;
    let mut chains = chains(words.chunks_mut(part(words.len(), cpus.len())));
    let mut least = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let walks = cpus.iter().zip(&mut chains);
        let seconds = timed(walks.map(|(&cpu, chain)| {
            (cpu, move || {
                black_box(chain.walk(READS));
            })
        }))?;
        least = least.min(seconds);
    }
    Ok(least / (READS * cpus.len() as u64) as f64)
}

/// Operations by second of the fastest instructions.
fn multiply_add(ways: &[MultiplyAdd], cpus: &[u32]) -> Result<f64, MeasureError> {
    let rate = |way: MultiplyAdd| {
        let seconds = timed(cpus.iter().map(|&cpu| {
            (cpu, move || {
                black_box(way.run(ROUNDS));
            })
        }))?;
        Ok((way.operations() * ROUNDS * cpus.len() as u64) as f64 / seconds)
    };
    most(ways, rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::own_cpus;

    const ALL: [Limit; 7] = [
        Limit::Read,
        Limit::Copy,
        Limit::Write,
        Limit::Latency,
        Limit::MultiplyAdd,
        Limit::MultiplyAddSingle,
        Limit::Disk,
    ];

    fn file() -> File {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.set_len(4 << 20).unwrap();
        file
    }

    /// Within what any processor of 64 bits can do: a unit that is wrong by a thousand is outside.
    #[test]
    fn limits_are_in_their_units() {
        let cpus = own_cpus();
        for limit in ALL {
            let value = measure_limit(limit, &cpus, 16 << 20, Some(&file())).unwrap();
            let plausible = match limit {
                Limit::Read | Limit::Copy | Limit::Write => 1e7..1e14,
                Limit::Disk => 1e4..1e14,
                Limit::Latency => 1e-11..1e-4,
                Limit::MultiplyAdd | Limit::MultiplyAddSingle => 1e7..1e15,
            };
            assert!(plausible.contains(&value), "{}: {value}", limit.what());
        }
    }

    #[test]
    fn memory_is_not_too_little_and_cpus_are_there() {
        for limit in ALL {
            if limit != Limit::Disk {
                assert!(measure_limit(limit, &own_cpus(), 0, None).is_ok(), "{}", limit.what());
            }
            assert!(matches!(measure_limit(limit, &[], 1 << 20, None), Err(MeasureError::NoCpu)));
            let refused = measure_limit(limit, &[100_000], 1 << 20, Some(&file()));
            assert!(matches!(refused, Err(MeasureError::Pin { cpu: 100_000, .. })), "{}", limit.what());
        }
        assert!(matches!(measure_limit(Limit::Disk, &own_cpus(), 1 << 20, None), Err(MeasureError::NoFile)));
        let refused = measure_limit(Limit::Read, &own_cpus(), u64::MAX, None);
        assert!(matches!(refused, Err(MeasureError::Region(_))));
    }
}
