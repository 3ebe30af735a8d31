//! One fill: its ranges cut into pieces, who takes which, and what is done.

use crate::by_hand::populate_pages;
use crate::crossovers::{Crossovers, Next};
use crate::residency::{PAGE, Residency};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is taken at a time: one huge page, filled within tenths of a millisecond.
pub(crate) const PIECE: usize = 2 << 20;

/// A range of memory to be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) memory: Range<usize>,
    pub(crate) buffer: usize,
    pub(crate) is_anonymous: bool,
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
    taken: AtomicUsize,
}

impl Queue {
    fn new(node: Option<u32>, spans: Vec<Span>, first_piece: usize) -> Queue {
        let mut end = 0;
        let mut placed = Vec::with_capacity(spans.len());
        for span in spans {
            let bytes = span.memory.len();
            // Small ones follow each other, many in a piece.
            let place = if bytes < PIECE { end } else { aligned_alike(end, span.memory.start) };
            end = place + bytes;
            placed.push((place, span));
        }
        Queue { node, spans: placed, first_piece, pieces: end.div_ceil(PIECE), taken: AtomicUsize::new(0) }
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
    done: Vec<AtomicBool>,
    done_pieces: AtomicUsize,
    filled_bytes: AtomicUsize,
    /// So many threads may fill at the same time.
    threads: usize,
    busy: AtomicUsize,
    stop: AtomicBool,
    /// Protects nothing: those who wait look at the counts above.
    waiting: Mutex<()>,
    changed: Condvar,
}

impl Job {
    /// `by_node`: the spans of each node; the order of nodes and spans is kept.
    pub(crate) fn new(by_node: Vec<(Option<u32>, Vec<Span>)>, value: u8, next: Next, threads: usize) -> Job {
        let mut queues: Vec<Queue> = Vec::new();
        for (node, spans) in by_node {
            let first_piece = queues.last().map_or(0, |queue| queue.first_piece + queue.pieces);
            queues.push(Queue::new(node, spans, first_piece));
        }
        let pieces = queues.last().map_or(0, |queue| queue.first_piece + queue.pieces);
        let all = queues.iter().flat_map(|queue| &queue.spans);
        Job {
            total_bytes: all.map(|(_, span)| span.memory.len()).sum(),
            queues,
            value,
            next,
            done: (0..pieces).map(|_| AtomicBool::new(false)).collect(),
            done_pieces: AtomicUsize::new(0),
            filled_bytes: AtomicUsize::new(0),
            threads,
            busy: AtomicUsize::new(0),
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

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Every piece is filled.
    pub(crate) fn is_done(&self) -> bool {
        self.done_pieces.load(Ordering::Acquire) == self.done.len()
    }

    /// Nothing is left that could be taken.
    pub(crate) fn is_handed_out(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
            || self.queues.iter().all(|queue| queue.taken.load(Ordering::Relaxed) >= queue.pieces)
    }

    /// Fills piece after piece, of this node first, as long as there are some; false if enough others do.
    pub(crate) fn work(&self, node: Option<u32>, residency: &Residency, crossovers: &Crossovers) -> bool {
        // Counted before looking at `stop`: whoever has set it waits for those who are counted.
        let is_wanted = self.busy.fetch_add(1, Ordering::SeqCst) < self.threads;
        if is_wanted {
            while !self.stop.load(Ordering::SeqCst)
                && let Some(piece) = self.take(node)
            {
                self.fill(piece, residency, crossovers);
            }
        }
        self.busy.fetch_sub(1, Ordering::SeqCst);
        let _waiting = self.lock();
        self.changed.notify_all();
        is_wanted
    }

    fn take(&self, node: Option<u32>) -> Option<Piece> {
        let own = self.queues.iter().enumerate().filter(|(_, queue)| queue.node == node);
        let others = self.queues.iter().enumerate().filter(|(_, queue)| queue.node != node);
        own.chain(others).find_map(|(index, queue)| {
            // Looked at first, so that the count of those who come in vain cannot run over.
            let left = queue.taken.load(Ordering::Relaxed) < queue.pieces;
            let number = left.then(|| queue.taken.fetch_add(1, Ordering::Relaxed))?;
            (number < queue.pieces).then_some(Piece { queue: index, number })
        })
    }

    fn fill(&self, piece: Piece, residency: &Residency, crossovers: &Crossovers) {
        let queue = &self.queues[piece.queue];
        let mut bytes = 0;
        for (part, span) in queue.parts(piece.number) {
            bytes += part.len();
            let means = crossovers.means(span.memory.len(), self.next);
            let store = |range: Range<usize>| {
                // SAFETY: the range lies in a buffer that was handed over for this fill, every piece is taken once, and
                // the means was found on this processor.
                unsafe { means.fill(range.start as *mut u8, range.len(), self.value) };
            };
            if self.value == 0 && span.is_anonymous {
                residency.runs(part, |run, is_there| if is_there { store(run) } else { create(run) });
            } else {
                store(part);
            }
        }
        self.filled_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.done[queue.first_piece + piece.number].store(true, Ordering::Release);
        self.done_pieces.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until all is done, or `deadline` has come; true if all is done.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> bool {
        self.wait_until(deadline, || self.is_done())
    }

    /// Lets nobody take another piece, and waits for those who have one.
    pub(crate) fn cancel(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wait_until(None, || self.busy.load(Ordering::SeqCst) == 0);
    }

    /// Waits until somebody stops working on it, but not for long.
    pub(crate) fn wait_for_a_place(&self) {
        const PATIENCE: Duration = Duration::from_millis(2);
        let waiting = self.lock();
        if self.busy.load(Ordering::SeqCst) >= self.threads {
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

    /// What is filled of each of so many buffers, as ranges of addresses, ascending and joined.
    pub(crate) fn filled(&self, buffers: usize) -> Vec<Vec<Range<usize>>> {
        let mut filled: Vec<Vec<Range<usize>>> = vec![Vec::new(); buffers];
        for queue in &self.queues {
            for number in 0..queue.pieces {
                if !self.done[queue.first_piece + number].load(Ordering::Acquire) {
                    continue;
                }
                for (part, span) in queue.parts(number) {
                    match filled[span.buffer].last_mut() {
                        Some(last) if last.end == part.start => last.end = part.end,
                        _ => filled[span.buffer].push(part),
                    }
                }
            }
        }
        filled
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans(lengths: &[(usize, usize)]) -> Vec<Span> {
        let mut end = 1 << 30;
        let span = |(buffer, (gap, bytes)): (usize, &(usize, usize))| {
            let start = end + gap;
            end = start + bytes;
            Span { memory: start..end, buffer, is_anonymous: false }
        };
        lengths.iter().enumerate().map(span).collect()
    }

    proptest! {
        #[test]
        fn pieces_cover_every_byte_once_and_end_where_huge_pages_do(
            lengths in proptest::collection::vec((0_usize..5 << 20, 0_usize..9 << 20), 0..20),
        ) {
            let spans = spans(&lengths);
            let queue = Queue::new(None, spans.clone(), 0);
            let mut covered: Vec<Vec<Range<usize>>> = vec![Vec::new(); spans.len()];
            for piece in 0..queue.pieces {
                let parts: Vec<_> = queue.parts(piece).collect();
                prop_assert!(parts.iter().map(|(part, _)| part.len()).sum::<usize>() <= PIECE);
                for (part, span) in parts {
                    let large = span.memory.len() >= PIECE;
                    prop_assert!(!large || part.end == span.memory.end || part.end % PIECE == 0);
                    covered[span.buffer].push(part);
                }
            }
            for (span, parts) in spans.iter().zip(covered) {
                let mut at = span.memory.start;
                for part in parts {
                    prop_assert_eq!(part.start, at);
                    at = part.end;
                }
                prop_assert_eq!(at, span.memory.end);
            }
        }
    }

    #[test]
    fn a_thread_takes_of_its_own_node_first_and_then_of_others() {
        let mut all = spans(&[(0, 2 * PIECE), (0, PIECE)]);
        let second = all.split_off(1);
        let job = Job::new(vec![(Some(0), all), (Some(1), second)], 0, Next::Leave, 1);
        let taken: Vec<(usize, usize)> =
            std::iter::from_fn(|| job.take(Some(1))).map(|piece| (piece.queue, piece.number)).collect();
        assert_eq!(taken, [(1, 0), (0, 0), (0, 1)]);
        assert!(job.is_handed_out() && !job.is_done());
    }
}
