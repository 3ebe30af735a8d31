//! A fill under way, as its owner sees it.

use crate::buffer::Buffer;
use crate::job::{Job, Tools};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far a fill is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Bytes that are filled.
    pub filled_bytes: usize,
    /// Bytes to be filled.
    pub total_bytes: usize,
}

/// Buffers that are being filled. Dropped before its end, it is cancelled, and the buffers with it.
#[derive(Debug)]
#[must_use = "dropping a fill cancels it"]
pub struct Fill<B: Buffer> {
    /// One after the other, of buffers one after the other.
    jobs: Vec<Arc<Job>>,
    tools: Tools,
    /// Empty once they are handed back. Until then nobody touches them but those who fill: if this is leaked, so are they.
    buffers: Vec<B>,
}

/// Buffers handed back.
#[derive(Debug)]
pub struct Filled<B> {
    /// As they were handed over, in the same order.
    pub buffers: Vec<B>,
    /// What of each is filled, as ranges of its bytes: all of it, or, after a cancel, exactly these. The rest is as it was.
    pub ranges: Vec<Vec<Range<usize>>>,
}

impl<B: Buffer> Fill<B> {
    pub(crate) fn new(jobs: Vec<Arc<Job>>, tools: Tools, buffers: Vec<B>) -> Fill<B> {
        Fill { jobs, tools, buffers }
    }

    /// How far it is.
    pub fn progress(&self) -> FillProgress {
        FillProgress {
            filled_bytes: self.jobs.iter().map(|job| job.filled_bytes()).sum(),
            total_bytes: self.jobs.iter().map(|job| job.total_bytes()).sum(),
        }
    }

    /// Whether all is filled.
    pub fn is_done(&self) -> bool {
        self.jobs.iter().all(|job| job.is_done())
    }

    /// Waits for the end, and does a share of the work meanwhile if that makes it faster.
    pub fn wait(mut self) -> Filled<B> {
        for job in &self.jobs {
            while !job.is_handed_out() {
                // Refused, more threads than there are would be no faster.
                if !job.work(None, &self.tools) {
                    job.wait_for_a_place();
                }
            }
        }
        for job in &self.jobs {
            job.wait(None);
        }
        self.hand_back()
    }

    /// Waits for the end at most so long; true if it has come. Does no share of the work.
    pub fn wait_for(&self, time: Duration) -> bool {
        // A time that no clock counts is for ever.
        let deadline = Instant::now().checked_add(time);
        self.jobs.iter().all(|job| job.wait(deadline))
    }

    /// Ends it now: no piece is begun any more, and those that were end within a fraction of a millisecond, filled up to some
    /// point or whole.
    pub fn cancel(mut self) -> Filled<B> {
        self.hand_back()
    }

    /// All are told before any is waited for.
    fn end(&self) {
        self.jobs.iter().for_each(|job| job.stop());
        self.jobs.iter().for_each(|job| job.cancel());
    }

    fn hand_back(&mut self) -> Filled<B> {
        // Nobody fills any more: all is done, or nobody may begin. That the last has left is waited for, too.
        self.end();
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut ranges = vec![Vec::new(); buffers.len()];
        self.jobs.iter().for_each(|job| job.add_filled(&mut ranges));
        for (buffer, ranges) in buffers.iter_mut().zip(&mut ranges) {
            let start = buffer.memory().0 as usize;
            for range in ranges {
                *range = range.start - start..range.end - start;
            }
        }
        Filled { buffers, ranges }
    }
}

impl<B: Buffer> Drop for Fill<B> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossovers::Next;
    use crate::filler::{Filler, Threads};
    use crate::job::PIECE;
    use firsttouch_linux::numa;
    use firsttouch_memory::{Pages, Region};
    use std::collections::BTreeMap;

    const BYTES: usize = 128 << 20;
    /// A fill that is over before it is told to end shows nothing, and is tried again.
    const TRIES: usize = 100;

    /// Told to end at some point, each who fills does no more than the piece that it has: counted in bytes, which no host that
    /// takes processors away can make more.
    #[test]
    fn after_a_cancel_nobody_begins_another_piece() {
        let cpus: Vec<u32> = numa::affinity(0).unwrap().iter().collect();
        let filler = Filler::new(&Threads { by_node: BTreeMap::from([(0, cpus)]) }).unwrap();
        for (pages, is_new) in [(Pages::Base, true), (Pages::Transparent, true), (Pages::Transparent, false)]
        {
            let cancelled = (0..TRIES).find(|turn| {
                let mut region = Region::map(BYTES, pages, None).unwrap();
                if !is_new {
                    region.prefault().unwrap();
                }
                let fill = filler.fill(vec![region], 0, Next::Leave);
                while fill.progress().filled_bytes < turn % 4 * PIECE {
                    fill.wait_for(Duration::from_micros(50));
                }
                fill.jobs.iter().for_each(|job| job.stop());
                let filled_bytes = fill.progress().filled_bytes;
                let workers: usize = fill.jobs.iter().map(|job| job.most_threads()).max().unwrap();
                let filled = fill.cancel();
                let ended: usize = filled.ranges[0].iter().map(ExactSizeIterator::len).sum();
                assert!(ended - filled_bytes <= workers * PIECE, "{filled_bytes} {ended} with {workers}");
                ended < BYTES
            });
            assert!(cancelled.is_some(), "no fill of {pages} pages was long enough");
        }
    }
}
