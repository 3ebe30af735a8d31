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

/// Descriptors that are handed over together: of at most 2 MiB each, and two such hands are under way at most, so that whoever
/// cancels waits for fractions of a millisecond (the device cannot be told to stop).
pub(crate) const DEPTH: usize = 4;
/// While the device works on one, the next is made ready: as the halves of memory in "An Implementation of Fast memset() Using
/// Hardware Accelerators" (Pusukuri, Gardner and Smolens 2018).
const HANDS: usize = 2;
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
    hands: Box<[Hand; HANDS]>,
    totals: DeviceTotals,
    cost: Cost,
}

/// Descriptors that are handed over together. What the device reads and writes stays where it is.
#[derive(Debug, Default)]
struct Hand {
    descriptors: [Descriptor; DEPTH],
    completions: [Completion; DEPTH],
    batch: Completion,
    /// The batch itself was taken.
    is_batched: bool,
    /// Which were taken one by one.
    taken: [bool; DEPTH],
    pieces: [Range<usize>; DEPTH],
    count: usize,
    begun: Option<Instant>,
}

impl Hand {
    fn bytes(&self) -> usize {
        self.pieces[..self.count].iter().map(Range::len).sum()
    }
}

/// Memory to be filled, and what to be told of when it is.
pub(crate) type Asked<T> = (Range<usize>, Option<T>);

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
            hands: Box::default(),
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
        let mut whole = Some((range, None::<()>));
        // SAFETY: the memory is borrowed, and what comes next does not panic.
        unsafe { self.fill_each(value, |_| whole.take(), |()| ()) };
    }

    /// Fills memory with a byte, range after range, as long as `next` names some, which is asked for more while the device works
    /// on what it named before. `filled` is told of ranges when they are, in their order. When this returns all are.
    ///
    /// # Safety
    /// The ranges are writable, and nobody else accesses them from when they are named until they are filled. Neither function panics.
    pub(crate) unsafe fn fill_each<T>(
        &mut self,
        value: u8,
        mut next: impl FnMut(&DeviceQueue) -> Option<Asked<T>>,
        mut filled: impl FnMut(T),
    ) {
        // The first of what was named, as far as it is not in a hand.
        let mut rest: Option<Asked<T>> = None;
        let mut told: [[Option<T>; DEPTH]; HANDS] = Default::default();
        let mut under_way: Option<usize> = None;
        let mut last_done = None;
        loop {
            // A queue of one's own loses what it has no entry for.
            let entries = self.info.entries as usize;
            let together = if entries >= HANDS { HANDS } else { 1 };
            let wide = DEPTH.min(entries / together);
            let most = if self.is_alive() { self.most_bytes() } else { 0 };
            if let Some(hand) = under_way.filter(|_| together == 1) {
                self.finish(hand, value, &mut last_done);
                told[hand].iter_mut().filter_map(Option::take).for_each(&mut filled);
                under_way = None;
            }
            let free = under_way.map_or(0, |hand| (hand + 1) % HANDS);
            let mut count = 0;
            while count < wide.max(1) {
                let Some((range, tag)) = rest.take().or_else(|| next(self)) else { break };
                let end =
                    range.end.min(range.start.saturating_add(if most == 0 { usize::MAX } else { most }));
                let (piece, left) = (range.start..end, end..range.end);
                self.hands[free].pieces[count] = piece;
                if left.is_empty() {
                    told[free][count] = tag;
                } else {
                    rest = Some((left, tag));
                }
                count += 1;
            }
            self.hands[free].count = count;
            if count > 0 {
                self.begin(free, value, most > 0 && wide > 0);
            }
            if let Some(hand) = under_way {
                self.finish(hand, value, &mut last_done);
                told[hand].iter_mut().filter_map(Option::take).for_each(&mut filled);
            }
            if count == 0 && under_way.is_none() {
                return;
            }
            under_way = (count > 0).then_some(free);
        }
    }

    /// Hands a hand over, if the device is to have it: as a batch where that is possible.
    fn begin(&mut self, hand: usize, value: u8, by_device: bool) {
        let takes_batches = self.portal.as_ref().is_some_and(Portal::takes_batches);
        let max_batch = self.info.max_batch as usize;
        let Hand { descriptors, completions, batch, is_batched, taken, pieces, count, begun } =
            &mut self.hands[hand];
        (*is_batched, *taken, *begun) = (false, [false; DEPTH], Some(Instant::now()));
        if !by_device {
            return;
        }
        let count = *count;
        for ((descriptor, completion), piece) in
            descriptors.iter_mut().zip(&*completions).zip(&pieces[..count])
        {
            completion.reset();
            *descriptor = Descriptor::fill(piece.start, piece.len() as u32, value, completion);
        }
        // A range of no bytes is only there to be told of.
        if count >= 2
            && takes_batches
            && max_batch >= count
            && pieces[..count].iter().all(|piece| !piece.is_empty())
        {
            batch.reset();
            let all = Descriptor::batch(&descriptors[..count], batch);
            let is_taken = self.hand_over(&all);
            self.hands[hand].is_batched = is_taken;
            return;
        }
        for index in 0..count {
            let Hand { descriptors, pieces, .. } = &self.hands[hand];
            let is_taken = !pieces[index].is_empty() && self.hand_over(&descriptors[index]);
            self.hands[hand].taken[index] = is_taken;
        }
    }

    /// Waits for a hand, and fills what the device did not.
    fn finish(&mut self, hand: usize, value: u8, last_done: &mut Option<Instant>) {
        if self.hands[hand].is_batched {
            if self.wait_for(&self.hands[hand].batch).is_none() {
                self.give_up();
            }
            // All parts are complete when the batch is, each with a completion of its own; if the batch was refused, none of
            // them was begun.
            let Hand { taken, completions, count, .. } = &mut self.hands[hand];
            for (taken, completion) in taken[..*count].iter_mut().zip(&*completions) {
                *taken = completion.ended().is_some();
            }
        }
        let mut by_device = 0;
        for index in 0..self.hands[hand].count {
            let piece = self.hands[hand].pieces[index].clone();
            let ended = if self.hands[hand].taken[index] { self.wait(hand, index) } else { None };
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
        // Two are under way: the time of one begins when the other was done.
        let (now, begun) = (Instant::now(), self.hands[hand].begun);
        if let Some(since) = begun.max(*last_done) {
            self.cost.learn(self.hands[hand].bytes(), now - since);
        }
        *last_done = Some(now);
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

    fn wait(&mut self, hand: usize, index: usize) -> Option<Ended> {
        let ended = self.wait_for(&self.hands[hand].completions[index]);
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
        // SAFETY: a part of what `fill_each` was given, which the device does not write (any more); every processor has
        // the means.
        unsafe { FillMeans::String.fill(range.start as *mut u8, range.len(), value) };
    }
}
