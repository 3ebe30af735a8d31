//! Which means fills how much the fastest: measured, not compiled in.
//!
//! Stores past the caches do not read the lines first, and so are twice as fast on memory that lies in no cache; but
//! whoever reads it next finds nothing in the caches either. From which size on they pay differs from processor to
//! processor, and with what comes after.

use firsttouch_memory::{FillMeans, Pages, Region, RegionError};
use std::time::Instant;

/// What the program will do with the memory when it is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read it at once, on the same CPU.
    Read,
    /// Something else first.
    Leave,
    /// Nobody knows; taken for [`Next::Leave`].
    Unknown,
}

/// The sizes that are compared.
const SIZES: [usize; 7] = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20];
/// The sizes for which lines may be in the caches.
const SMALL_SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Memory that trials slide through, so that no line of theirs is in a cache: larger than most last-level caches.
const FIELD: usize = 128 << 20;
/// Bytes of one trial, at the least; of several, the fastest counts, because noise only ever adds.
const TRIAL: usize = 8 << 20;
const TRIALS: usize = 3;
/// Streaming has to be so much faster to be taken.
const MARGIN: f64 = 1.05;

/// From which size on memory is filled past the caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossovers {
    /// The means that passes the caches: AMD's `clzero` for zeroes where it is there and no slower, else streaming stores.
    pub past_caches: FillMeans,
    /// Bytes from which on it is taken for memory that is not read next; `None` if never.
    pub left_from_bytes: Option<usize>,
    /// The same for memory that is read next.
    pub read_from_bytes: Option<usize>,
    /// Bytes up to which vector stores through the caches are taken for memory that is read next: while lines are in the
    /// caches, nothing is faster. `None` if never.
    pub vector_to_bytes: Option<usize>,
    /// The best rate of one thread over memory in no cache, in bytes per second.
    pub store_bytes_per_s: f64,
}

impl Crossovers {
    /// Measures them on the calling thread: some tenths of a second, and 128 MiB meanwhile.
    pub fn measure() -> Result<Crossovers, RegionError> {
        let mut field = Region::map(FIELD, Pages::Transparent, None)?;
        field.prefault()?;
        let mut field = Field { memory: field, at: 0 };
        let available: Vec<FillMeans> =
            FillMeans::ALL.into_iter().filter(|means| means.is_available()).collect();
        let largest = SIZES[SIZES.len() - 1];
        let past_caches =
            available.iter().copied().filter(|means| is_past_caches(*means)).min_by(|a, b| {
                field.seconds(*a, largest, false).total_cmp(&field.seconds(*b, largest, false))
            });
        let vector_to_bytes = FillMeans::Vector.is_available().then(|| field.vector_to()).flatten();
        let Some(past_caches) = past_caches else {
            let store_bytes_per_s = largest as f64 / field.seconds(FillMeans::String, largest, false);
            return Ok(Crossovers {
                past_caches: FillMeans::String,
                left_from_bytes: None,
                read_from_bytes: None,
                vector_to_bytes,
                store_bytes_per_s,
            });
        };
        let mut from = |reads: bool| {
            let pays = SIZES.map(|bytes| {
                field.seconds(FillMeans::String, bytes, reads)
                    > MARGIN * field.seconds(past_caches, bytes, reads)
            });
            // The size from which on it pays at every size.
            let first = pays.iter().rposition(|pays| !pays).map_or(0, |last| last + 1);
            SIZES.get(first).copied()
        };
        let (left_from_bytes, read_from_bytes) = (from(false), from(true));
        let seconds =
            available.iter().map(|means| field.seconds(*means, largest, false)).fold(f64::INFINITY, f64::min);
        let store_bytes_per_s = largest as f64 / seconds;
        Ok(Crossovers { past_caches, left_from_bytes, read_from_bytes, vector_to_bytes, store_bytes_per_s })
    }

    /// The means for a buffer of so many bytes.
    pub fn means(&self, bytes: usize, next: Next) -> FillMeans {
        let from = match next {
            Next::Read => self.read_from_bytes,
            Next::Leave | Next::Unknown => self.left_from_bytes,
        };
        if from.is_some_and(|from| bytes >= from) {
            self.past_caches
        } else if next == Next::Read && self.vector_to_bytes.is_some_and(|to| bytes <= to) {
            FillMeans::Vector
        } else {
            FillMeans::String
        }
    }
}

fn is_past_caches(means: FillMeans) -> bool {
    matches!(means, FillMeans::Streaming | FillMeans::Clzero)
}

#[derive(Debug)]
struct Field {
    memory: Region,
    at: usize,
}

impl Field {
    /// Seconds to fill `bytes` that are in no cache, and to read them once if `reads`: the fastest of some trials.
    fn seconds(&mut self, means: FillMeans, bytes: usize, reads: bool) -> f64 {
        let times = TRIAL.div_ceil(bytes);
        let trial = |_| {
            let begun = Instant::now();
            for _ in 0..times {
                self.once(means, bytes, reads);
            }
            begun.elapsed().as_secs_f64() / times as f64
        };
        (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min)
    }

    /// The size up to which vector stores are faster at every size, on lines that are in the caches already.
    fn vector_to(&mut self) -> Option<usize> {
        let pays = SMALL_SIZES.map(|bytes| {
            self.hot_seconds(FillMeans::String, bytes) > MARGIN * self.hot_seconds(FillMeans::Vector, bytes)
        });
        let few = pays.iter().position(|pays| !pays).unwrap_or(pays.len());
        SMALL_SIZES[..few].last().copied()
    }

    /// Seconds to fill and read the same bytes again: the fastest of some trials.
    fn hot_seconds(&mut self, means: FillMeans, bytes: usize) -> f64 {
        let times = (TRIAL / 4).div_ceil(bytes);
        let mut trial = |_| {
            let begun = Instant::now();
            for _ in 0..times {
                self.at = 0;
                self.once(means, bytes, true);
            }
            begun.elapsed().as_secs_f64() / times as f64
        };
        (0..=TRIALS).map(&mut trial).fold(f64::INFINITY, f64::min)
    }

    fn once(&mut self, means: FillMeans, bytes: usize, reads: bool) {
        if self.at + bytes > FIELD {
            self.at = 0;
        }
        let part = &mut self.memory.as_mut_slice()[self.at..self.at + bytes];
        self.at += bytes;
        // SAFETY: the part is borrowed; the processor has the means.
        unsafe { means.fill(part.as_mut_ptr(), part.len(), 0) };
        if reads {
            let (words, _) = part.as_chunks::<8>();
            let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
            std::hint::black_box(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_follows_size_and_use() {
        let crossovers = Crossovers {
            past_caches: FillMeans::Streaming,
            left_from_bytes: Some(1000),
            read_from_bytes: None,
            vector_to_bytes: Some(500),
            store_bytes_per_s: 1e9,
        };
        assert_eq!(crossovers.means(500, Next::Leave), FillMeans::String);
        assert_eq!(crossovers.means(500, Next::Read), FillMeans::Vector);
        assert_eq!(crossovers.means(501, Next::Read), FillMeans::String);
        assert_eq!(crossovers.means(999, Next::Leave), FillMeans::String);
        assert_eq!(crossovers.means(1000, Next::Leave), FillMeans::Streaming);
        assert_eq!(crossovers.means(1000, Next::Unknown), FillMeans::Streaming);
        assert_eq!(crossovers.means(1 << 40, Next::Read), FillMeans::String);
    }

    #[test]
    fn what_is_measured_is_of_this_processor() {
        let crossovers = Crossovers::measure().unwrap();
        assert!(
            crossovers.past_caches.is_available() && crossovers.store_bytes_per_s > 1e8,
            "{crossovers:?}"
        );
        assert!(crossovers.left_from_bytes.is_none_or(|bytes| SIZES.contains(&bytes)));
        assert!(crossovers.read_from_bytes.is_none_or(|bytes| SIZES.contains(&bytes)));
        assert!(crossovers.vector_to_bytes.is_none() || FillMeans::Vector.is_available());
    }
}
