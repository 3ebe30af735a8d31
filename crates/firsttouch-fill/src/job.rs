//! One fill: its ranges cut into pieces, who takes which, and what is done.

#[cfg(feature = "dsa")]
mod device;

use crate::cost::Cost;
use crate::crossovers::{Crossovers, Next};
use crate::primitives::populate_pages;
use crate::residency::{PAGE, Residency};
use crate::scaling::Trial;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is taken at a time: one huge page, filled within tenths of a millisecond.
pub(crate) const PIECE: usize = 2 << 20;

/// Pages are created in steps of so much, at the most, between looks whether the fill was cancelled.
const CREATED_AT_ONCE: usize = 512 << 10;

/// For those who wait for a place.
const PATIENCE: Duration = Duration::from_millis(2);

/// A range of memory to be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) memory: Range<usize>,
    pub(crate) buffer: usize,
    pub(crate) is_anonymous: bool,
}

/// Who works: an engine, as the queues know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineLocation {
    /// The node it is on.
    pub(crate) node: u32,
    /// Its number among the engines of its node, which is that of its bin in a queue of that node.
    pub(crate) of_node: usize,
    /// Its number among all engines, for memory of no known node.
    pub(crate) of_all: usize,
}

/// Spans of one node in a row. Their places in it are such that pieces begin where huge pages do.
#[derive(Debug)]
struct Queue {
    node: Option<u32>,
    /// Each with the place of its first byte, ascending.
    spans: Vec<(usize, Span)>,
    /// The number of the first piece, and how many there are.
    first_piece: usize,
    pieces: usize,
    /// The pieces in a row, shared out among engines by what each is predicted to do in the same time.
    bins: Vec<Bin>,
}

/// Pieces of one engine; when it has done its own it takes others', so that none idles while there is work.
#[derive(Debug)]
struct Bin {
    next: AtomicUsize,
    end: usize,
}

impl Bin {
    fn left(&self) -> usize {
        self.end.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn take(&self) -> Option<usize> {
        // Looked at first, so that the count of those who come in vain cannot run over.
        let number = (self.left() > 0).then(|| self.next.fetch_add(1, Ordering::Relaxed))?;
        (number < self.end).then_some(number)
    }
}

/// Bins for so many pieces, in proportion to the engines' rates.
fn bins(pieces: usize, rates: &[f64]) -> Vec<Bin> {
    let all: f64 = rates.iter().sum();
    let (mut sum, mut start) = (0.0, 0);
    let share = |rate: &f64| {
        sum += rate;
        // The last one ends with the last piece, whatever was rounded.
        let end = ((pieces as f64 * sum / all).round() as usize).clamp(start, pieces);
        let bin = Bin { next: AtomicUsize::new(start), end };
        start = end;
        bin
    };
    let mut bins: Vec<Bin> = rates.iter().map(share).collect();
    match bins.last_mut() {
        Some(last) => last.end = pieces,
        None => bins.push(Bin { next: AtomicUsize::new(0), end: pieces }),
    }
    bins
}

impl Queue {
    fn new(node: Option<u32>, spans: Vec<Span>, first_piece: usize, rates: &[f64]) -> Queue {
        let mut end = 0;
        let mut placed = Vec::with_capacity(spans.len());
        for span in spans {
            let bytes = span.memory.len();
            // Small ones follow each other, many in a piece.
            let place = if bytes < PIECE { end } else { aligned_alike(end, span.memory.start) };
            end = place + bytes;
            placed.push((place, span));
        }
        let pieces = end.div_ceil(PIECE);
        Queue { node, spans: placed, first_piece, pieces, bins: bins(pieces, rates) }
    }

    fn left(&self) -> usize {
        self.bins.iter().map(Bin::left).sum()
    }

    /// A piece of the engine's own bin, else of the fullest.
    fn take(&self, location: Option<EngineLocation>) -> Option<usize> {
        let own = location.and_then(|location| match self.node {
            Some(node) if node == location.node => self.bins.get(location.of_node),
            Some(_) => None,
            None => self.bins.get(location.of_all),
        });
        if let Some(piece) = own.and_then(Bin::take) {
            return Some(piece);
        }
        loop {
            let fullest = self.bins.iter().max_by_key(|bin| bin.left()).filter(|bin| bin.left() > 0)?;
            if let Some(piece) = fullest.take() {
                return Some(piece);
            }
        }
    }

    /// The parts of spans that a piece covers, with what they are parts of.
    fn parts(&self, piece: usize) -> impl Iterator<Item = (Range<usize>, &Span)> {
        let (start, end) = (piece * PIECE, (piece + 1) * PIECE);
        let first = self.spans.partition_point(|(place, span)| place + span.memory.len() <= start);
        self.spans[first..].iter().take_while(move |(place, _)| *place < end).map(move |(place, span)| {
            let from = span.memory.start + start.saturating_sub(*place);
            let to = span.memory.end.min(span.memory.start + (end - place));
            (from..to, span)
        })
    }
}

/// The first place from `end` on that lies in its piece as `address` lies in its huge page.
fn aligned_alike(end: usize, address: usize) -> usize {
    let (wanted, there) = (address % PIECE, end % PIECE);
    end + (PIECE + wanted - there) % PIECE
}

/// What is to be done, and who may.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) value: u8,
    pub(crate) next: Next,
    /// Threads of each node, and the nodes that have some.
    pub(crate) threads: usize,
    pub(crate) nodes: usize,
    /// What a thread does, in bytes per second.
    pub(crate) thread_rate: f64,
    /// The devices and what each does, by node; empty where they are of no use.
    pub(crate) devices: Vec<(u32, f64)>,
}

impl Work {
    /// The rates of those who work on memory of a node: threads first, then devices.
    fn rates(&self, node: Option<u32>) -> Vec<f64> {
        let threads = if node.is_none() { self.threads * self.nodes } else { self.threads };
        let mut rates = vec![self.thread_rate.max(1.0); threads.max(1)];
        let devices = self.devices.iter().filter(|(of, _)| node.is_none_or(|node| node == *of));
        rates.extend(devices.map(|(_, rate)| *rate));
        rates
    }
}

/// What everybody works with.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) residency: Residency,
    pub(crate) crossovers: Crossovers,
    pub(crate) costs: Arc<Costs>,
}

/// What a thread costs, learnt while it works.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// Storing into memory that is there.
    pub(crate) store: Cost,
    /// Creating pages.
    pub(crate) create: Cost,
}

/// A piece that somebody has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    queue: usize,
    number: usize,
}

#[derive(Debug)]
pub(crate) struct Job {
    queues: Vec<Queue>,
    value: u8,
    next: Next,
    total_bytes: usize,
    /// Bytes of each piece that are filled, from its beginning.
    done: Vec<AtomicUsize>,
    done_pieces: AtomicUsize,
    filled_bytes: AtomicUsize,
    /// So many threads may fill at the same time: now, and ever.
    threads: AtomicUsize,
    most_threads: usize,
    /// Those that its pieces were shared out among, before the devices: of each node, and of all.
    #[cfg(feature = "dsa")]
    sharers: [usize; 2],
    trial: Option<Trial>,
    busy: AtomicUsize,
    /// Devices that fill; they are no threads.
    devices: AtomicUsize,
    /// Devices may take pieces of it: it has memory that is there.
    #[cfg(feature = "dsa")]
    is_for_devices: bool,
    stop: AtomicBool,
    /// Protects nothing: those who wait look at the counts above.
    waiting: Mutex<()>,
    changed: Condvar,
}

impl Job {
    /// `by_node`: the spans of each node; the order of nodes and spans is kept. A trial changes the number of threads on the
    /// way.
    pub(crate) fn new(by_node: Vec<(Option<u32>, Vec<Span>)>, work: &Work, trial: Option<Trial>) -> Job {
        let mut queues: Vec<Queue> = Vec::new();
        for (node, spans) in by_node {
            let first_piece = queues.last().map_or(0, |queue| queue.first_piece + queue.pieces);
            queues.push(Queue::new(node, spans, first_piece, &work.rates(node)));
        }
        let pieces = queues.last().map_or(0, |queue| queue.first_piece + queue.pieces);
        let all = queues.iter().flat_map(|queue| &queue.spans);
        Job {
            total_bytes: all.map(|(_, span)| span.memory.len()).sum(),
            queues,
            value: work.value,
            next: work.next,
            done: (0..pieces).map(|_| AtomicUsize::new(0)).collect(),
            done_pieces: AtomicUsize::new(0),
            filled_bytes: AtomicUsize::new(0),
            threads: AtomicUsize::new(work.threads * work.nodes),
            most_threads: trial.as_ref().map_or(0, Trial::most).max(work.threads * work.nodes),
            #[cfg(feature = "dsa")]
            sharers: [work.threads, work.threads * work.nodes],
            trial,
            busy: AtomicUsize::new(0),
            devices: AtomicUsize::new(0),
            #[cfg(feature = "dsa")]
            is_for_devices: !work.devices.is_empty(),
            stop: AtomicBool::new(false),
            waiting: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    pub(crate) fn filled_bytes(&self) -> usize {
        self.filled_bytes.load(Ordering::Relaxed)
    }

    /// Threads that may fill at the same time, at any time.
    pub(crate) fn most_threads(&self) -> usize {
        self.most_threads
    }

    fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Every piece is filled.
    pub(crate) fn is_done(&self) -> bool {
        self.done_pieces.load(Ordering::Acquire) == self.done.len()
    }

    /// Nothing is left that could be taken.
    pub(crate) fn is_handed_out(&self) -> bool {
        self.stop.load(Ordering::SeqCst) || self.queues.iter().all(|queue| queue.left() == 0)
    }

    /// Fills piece after piece, of this node first, as long as there are some; false if enough others do.
    pub(crate) fn work(&self, location: Option<EngineLocation>, tools: &Tools) -> bool {
        // Counted before looking at `stop`: whoever has set it waits for those who are counted.
        let is_wanted = self.busy.fetch_add(1, Ordering::SeqCst) < self.threads();
        if is_wanted {
            while !self.stop.load(Ordering::SeqCst)
                && let Some(piece) = self.take(location)
            {
                self.fill(piece, tools);
                self.try_another_number();
                if self.trial.is_some() && self.busy.load(Ordering::SeqCst) > self.threads() {
                    break;
                }
            }
        }
        self.busy.fetch_sub(1, Ordering::SeqCst);
        let _waiting = self.lock();
        self.changed.notify_all();
        is_wanted
    }

    /// Lets more or fewer threads fill from now on, if a trial says so.
    fn try_another_number(&self) {
        let Some(trial) = &self.trial else { return };
        if let Some(threads) = trial.piece_filled(Instant::now(), self.filled_bytes()) {
            self.threads.store(threads, Ordering::Relaxed);
            let _waiting = self.lock();
            self.changed.notify_all();
        }
    }

    fn take(&self, location: Option<EngineLocation>) -> Option<Piece> {
        let node = location.map(|location| location.node);
        let own = self.queues.iter().enumerate().filter(|(_, queue)| queue.node == node);
        let others = self.queues.iter().enumerate().filter(|(_, queue)| queue.node != node);
        own.chain(others)
            .find_map(|(index, queue)| queue.take(location).map(|number| Piece { queue: index, number }))
    }

    fn fill(&self, piece: Piece, tools: &Tools) {
        let begun = Instant::now();
        let (mut stored, mut created, mut is_over) = (0, 0, false);
        self.each_run(piece, tools, |run, span, is_there| {
            is_over |= self.stop.load(Ordering::SeqCst);
            if is_over {
                return;
            }
            if is_there {
                stored += run.len();
                let means = tools.crossovers.means(span.memory.len(), self.next);
                // SAFETY: the range lies in a buffer that was handed over for this fill, every piece is taken once, and the
                // means was found on this processor.
                unsafe { means.fill(run.start as *mut u8, run.len(), self.value) };
                return;
            }
            // Small pages take ten times as long as huge ones: whoever cancels need not wait for all of them.
            for start in run.clone().step_by(CREATED_AT_ONCE) {
                let part = start..run.end.min(start + CREATED_AT_ONCE);
                created += part.len();
                create(part);
                is_over |= self.stop.load(Ordering::SeqCst);
                if is_over {
                    return;
                }
            }
        });
        match (stored, created) {
            (bytes, 0) => tools.costs.store.learn(bytes, begun.elapsed()),
            (0, bytes) => tools.costs.create.learn(bytes, begun.elapsed()),
            // Of a mixture nothing is to be learnt.
            _ => {}
        }
        self.is_filled(piece, stored + created);
    }

    /// The parts of a piece, each with whether its pages exist; those that nobody asks about count as existing.
    fn each_run(&self, piece: Piece, tools: &Tools, mut each: impl FnMut(Range<usize>, &Span, bool)) {
        for (part, span) in self.queues[piece.queue].parts(piece.number) {
            if self.value == 0 && span.is_anonymous {
                tools.residency.runs(part, |run, is_there| each(run, span, is_there));
            } else {
                each(part, span, true);
            }
        }
    }

    fn bytes_of(&self, piece: Piece) -> usize {
        self.queues[piece.queue].parts(piece.number).map(|(part, _)| part.len()).sum()
    }

    /// So many bytes of a piece are filled, from its beginning.
    fn is_filled(&self, piece: Piece, bytes: usize) {
        let index = self.queues[piece.queue].first_piece + piece.number;
        self.filled_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.done[index].store(bytes, Ordering::Release);
        if bytes == self.bytes_of(piece) {
            self.done_pieces.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Waits until all is done, or `deadline` has come; true if all is done.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> bool {
        self.wait_until(deadline, || self.is_done())
    }

    /// Lets nobody take another piece.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Lets nobody take another piece, and waits for those who have one.
    pub(crate) fn cancel(&self) {
        self.stop();
        self.wait_until(None, || {
            self.busy.load(Ordering::SeqCst) == 0 && self.devices.load(Ordering::SeqCst) == 0
        });
    }

    /// Waits until somebody stops working on it, but not for long, if there are as many as may work on it.
    pub(crate) fn wait_for_a_place(&self) {
        let waiting = self.lock();
        if self.busy.load(Ordering::SeqCst) >= self.threads() {
            drop(self.changed.wait_timeout(waiting, PATIENCE));
        }
    }

    fn wait_until(&self, deadline: Option<Instant>, come: impl Fn() -> bool) -> bool {
        let mut waiting = self.lock();
        while !come() {
            waiting = match deadline {
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left == Duration::ZERO {
                        return false;
                    }
                    self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what is filled to that of each buffer, as ranges of addresses, ascending and joined.
    pub(crate) fn add_filled(&self, filled: &mut [Vec<Range<usize>>]) {
        for queue in &self.queues {
            for number in 0..queue.pieces {
                let mut left = self.done[queue.first_piece + number].load(Ordering::Acquire);
                for (part, span) in queue.parts(number) {
                    let part = part.start..part.end.min(part.start + left);
                    if part.is_empty() {
                        break;
                    }
                    left -= part.len();
                    match filled[span.buffer].last_mut() {
                        Some(last) if last.end == part.start => last.end = part.end,
                        _ => filled[span.buffer].push(part),
                    }
                }
            }
        }
    }
}

/// Makes the kernel create zeroed pages in a range of whole pages that has none.
fn create(range: Range<usize>) {
    // SAFETY: the range lies in a buffer that was handed over; creating its pages changes no contents.
    if unsafe { populate_pages(range.clone()) }.is_ok() {
        return;
    }
    // Before Linux 5.14, or the kernel has no memory left: then writing ends as it would for anybody.
    for page in range.step_by(PAGE) {
        // SAFETY: a byte of the buffer; volatile, because it is written for the page's sake.
        unsafe { std::ptr::write_volatile(page as *mut u8, 0) };
    }
}

#[cfg(test)]
mod tests;
