//! A queue that is open: ranges in, filled memory out, whatever the device makes of it.

use super::descriptor::{Completion, Descriptor, Ended};
use super::discovery::QueueInfo;
use super::portal::{Answer, Portal, Submission};
use crate::cost::Cost;
use firsttouch_linux::sys;
use firsttouch_memory::FillMeans;
use std::hint;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Descriptors that are under way at a time: of at most 2 MiB each, so that whoever cancels waits for fractions of a
/// millisecond (the device cannot be told to stop).
pub(crate) const DEPTH: usize = 4;
/// Bytes of a descriptor, at most.
const MOST_BYTES: usize = 2 << 20;
/// A queue that is full is tried so often before the processor does the work.
const RETRIES: u32 = 64;
/// Looks at a completion before the processor is lent to others between looks.
const LOOKS: u32 = 2000;
/// No answer for so long is none: the queue is closed, for which the kernel waits for the device.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a queue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Something is in the way that `/sys` tells of.
    #[error("{name}: {obstacle}")]
    Obstacle {
        /// The queue.
        name: String,
        /// What is in the way.
        obstacle: super::Obstacle,
    },
    /// The file cannot be opened or mapped.
    #[error("{name} cannot be opened")]
    Open {
        /// The queue.
        name: String,
        /// What the kernel answered: `EBUSY` for a queue that somebody else has for himself.
        source: io::Error,
    },
}

impl QueueError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            QueueError::Obstacle { obstacle, .. } => obstacle.hint(),
            QueueError::Open { source, .. } if source.raw_os_error() == Some(16) => {
                "another program has this queue for itself: make it a shared one, or wait"
            }
            QueueError::Open { .. } => {
                "the file in /dev/dsa must be readable and writable: chgrp, or a udev rule"
            }
        }
    }
}

/// What a queue has done.
#[derive(Debug, Default)]
pub struct DeviceTotals {
    /// Bytes that the device wrote.
    pub device_bytes: AtomicU64,
    /// Bytes that the processor wrote in its place: after faults, refusals and while the queue was full.
    pub processor_bytes: AtomicU64,
    /// Descriptors that ended at a page that was not there.
    pub faults: AtomicU64,
    /// Times that the queue was full.
    pub retries: AtomicU64,
    /// Descriptors that the device refused.
    pub refusals: AtomicU64,
}

/// An open queue. It belongs to the process that opened it, and to no child of it.
#[derive(Debug)]
pub struct DeviceQueue {
    info: QueueInfo,
    /// `None` after the device did not answer.
    portal: Option<Portal>,
    process: u32,
    work: Box<Work>,
    totals: DeviceTotals,
    cost: Cost,
}

/// What the device reads and writes; it stays where it is.
#[derive(Debug, Default)]
struct Work {
    descriptors: [Descriptor; DEPTH],
    completions: [Completion; DEPTH],
    batch: Completion,
}

impl DeviceQueue {
    /// Opens a queue.
    pub fn open(info: QueueInfo, submission: Submission) -> Result<DeviceQueue, QueueError> {
        let name = || info.name.clone();
        if let Some(obstacle) = info.obstacle {
            return Err(QueueError::Obstacle { name: name(), obstacle });
        }
        let portal = Portal::open(&info.path, info.is_shared, submission)
            .map_err(|source| QueueError::Open { name: name(), source })?;
        Ok(DeviceQueue {
            info,
            portal: Some(portal),
            process: sys::process_id(),
            work: Box::default(),
            totals: DeviceTotals::default(),
            cost: Cost::new(),
        })
    }

    /// What it is.
    pub fn info(&self) -> &QueueInfo {
        &self.info
    }

    /// What it has done.
    pub fn totals(&self) -> &DeviceTotals {
        &self.totals
    }

    /// What it was seen to cost.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Whether the device takes work: not after it did not answer, and not in a child of the process that opened it.
    pub fn is_alive(&self) -> bool {
        self.portal.is_some() && sys::process_id() == self.process
    }

    /// Bytes of a descriptor, as far as the queue allows.
    fn most_bytes(&self) -> usize {
        MOST_BYTES.min(usize::try_from(self.info.max_transfer_bytes).unwrap_or(MOST_BYTES))
    }

    /// Fills memory with a byte, for the most part by the device; when it returns all is filled.
    pub fn fill(&mut self, memory: &mut [u8], value: u8) {
        let start = memory.as_mut_ptr() as usize;
        let range = start..start + memory.len();
        // SAFETY: the memory is borrowed.
        unsafe { self.fill_ranges(std::slice::from_ref(&range), value) };
    }

    /// Fills ranges of memory with a byte.
    ///
    /// # Safety
    /// They are writable, and nobody else accesses them meanwhile.
    pub(crate) unsafe fn fill_ranges(&mut self, ranges: &[Range<usize>], value: u8) {
        let most = self.most_bytes();
        if most == 0 || !self.is_alive() {
            ranges.iter().for_each(|range| self.by_processor(range.clone(), value));
            return;
        }
        let mut pieces = ranges.iter().flat_map(|range| {
            let starts = range.clone().step_by(most);
            starts.map(|start| start..range.end.min(start + most))
        });
        loop {
            let mut now: [Range<usize>; DEPTH] = Default::default();
            let mut count = 0;
            let wide = DEPTH.min(self.info.entries as usize);
            while count < wide
                && let Some(piece) = pieces.next()
            {
                now[count] = piece;
                count += 1;
            }
            if count == 0 {
                return;
            }
            self.fill_together(&now[..count], value);
        }
    }

    fn fill_together(&mut self, pieces: &[Range<usize>], value: u8) {
        let begun = Instant::now();
        for (index, piece) in pieces.iter().enumerate() {
            let completion = &self.work.completions[index];
            completion.reset();
            self.work.descriptors[index] =
                Descriptor::fill(piece.start, piece.len() as u32, value, completion);
        }
        let submitted = self.submit(pieces.len());
        let mut by_device = 0;
        for (index, piece) in pieces.iter().enumerate() {
            let ended = if submitted[index] { self.wait(index) } else { None };
            let done = match ended {
                Some(Ended::Whole) => piece.len(),
                Some(Ended::Fault(bytes)) => {
                    self.totals.faults.fetch_add(1, Ordering::Relaxed);
                    // As much as it says, and never more than it was given.
                    (bytes as usize).min(piece.len())
                }
                Some(Ended::Refused(_)) => {
                    self.totals.refusals.fetch_add(1, Ordering::Relaxed);
                    0
                }
                None => 0,
            };
            by_device += done;
            self.by_processor(piece.start + done..piece.end, value);
        }
        self.totals.device_bytes.fetch_add(by_device as u64, Ordering::Relaxed);
        let bytes: usize = pieces.iter().map(Range::len).sum();
        self.cost.learn(bytes, begun.elapsed());
    }

    /// Hands so many descriptors over, as a batch where that is possible; says which were taken.
    fn submit(&mut self, count: usize) -> [bool; DEPTH] {
        let mut taken = [false; DEPTH];
        let takes_batches = self.portal.as_ref().is_some_and(Portal::takes_batches);
        if count < 2 || !takes_batches || (self.info.max_batch as usize) < count {
            for (taken, descriptor) in taken[..count].iter_mut().zip(&self.work.descriptors) {
                *taken = self.hand_over(descriptor);
            }
            return taken;
        }
        self.work.batch.reset();
        let batch = Descriptor::batch(&self.work.descriptors[..count], &self.work.batch);
        if self.hand_over(&batch) {
            if self.wait_for(&self.work.batch).is_none() {
                self.give_up();
            }
            // All parts are complete when the batch is, each with a completion of its own; if the batch was refused, none of
            // them was begun.
            for (taken, completion) in taken[..count].iter_mut().zip(&self.work.completions) {
                *taken = completion.ended().is_some();
            }
        }
        taken
    }

    fn hand_over(&self, descriptor: &Descriptor) -> bool {
        let Some(portal) = &self.portal else { return false };
        for _ in 0..RETRIES {
            match portal.submit(descriptor) {
                Ok(Answer::Taken) => return true,
                Ok(Answer::Full) => {
                    self.totals.retries.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                }
                Err(_) => return false,
            }
        }
        false
    }

    fn wait(&mut self, index: usize) -> Option<Ended> {
        let ended = self.wait_for(&self.work.completions[index]);
        if ended.is_none() {
            self.give_up();
        }
        ended
    }

    fn wait_for(&self, completion: &Completion) -> Option<Ended> {
        for _ in 0..LOOKS {
            if let Some(ended) = completion.ended() {
                return Some(ended);
            }
            hint::spin_loop();
        }
        let begun = Instant::now();
        while self.portal.is_some() && begun.elapsed() < PATIENCE {
            if let Some(ended) = completion.ended() {
                return Some(ended);
            }
            thread::yield_now();
        }
        completion.ended()
    }

    /// Closes the queue. The kernel waits for what the device has in hand, so that it writes nowhere any more.
    fn give_up(&mut self) {
        self.portal = None;
    }

    fn by_processor(&self, range: Range<usize>, value: u8) {
        if range.is_empty() {
            return;
        }
        self.totals.processor_bytes.fetch_add(range.len() as u64, Ordering::Relaxed);
        // SAFETY: a part of what `fill_ranges` was given, which the device does not write (any more); every processor has
        // the means.
        unsafe { FillMeans::String.fill(range.start as *mut u8, range.len(), value) };
    }
}
