//! Producers that fill chunks, and a consumer that hashes them.

use super::algorithm::Digest;
use super::manager::{Hasher, Job};
use firsttouch_measure::mix;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What is to be produced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) producers: usize,
    /// Chunks of all producers together. Producer `p` makes number `p`, `p + producers` and so on.
    pub(super) chunks: usize,
    /// Time that a producer takes for a chunk at least.
    pub(super) pace: Duration,
}

/// What the consumer came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Consumed {
    /// Of all digests, each by the number of its chunk.
    pub(super) sum: u64,
    pub(super) bytes: u64,
    /// From its begin to its end.
    pub(super) elapsed: Duration,
    /// Of that, without a chunk to hash.
    pub(super) waited: Duration,
}

impl Consumed {
    fn add(&mut self, job: &Job<'_>, digest: &Digest) {
        self.sum = self.sum.wrapping_add(weigh(job.number, digest));
        self.bytes += job.data.len() as u64;
    }
}

/// The part of a chunk in the sum of all: depends on each byte of the digest and on the chunk's number.
pub(super) fn weigh(number: usize, digest: &Digest) -> u64 {
    let (words, _) = digest.as_chunks();
    words.iter().fold(mix(number as u64), |sum, word| mix(sum ^ u64::from_le_bytes(*word)))
}

/// Fills a chunk as the article's producers do, with one byte throughout, but for its number at the begin: no two are the same.
pub(super) fn fill(chunk: &mut [u8], number: usize) {
    chunk.fill(mix(number as u64) as u8);
    let number = (number as u64).to_le_bytes();
    chunk.iter_mut().zip(number).for_each(|(to, byte)| *to = byte);
}

/// A producer and its chunk.
struct Producer<'data> {
    /// The number of the chunk to come.
    next: usize,
    /// When that will have been produced.
    due: Instant,
    /// Where it goes; `None` while the one before is being hashed.
    chunk: Option<&'data mut [u8]>,
}

/// The producers that one thread stands for.
pub(super) struct Producers<'data> {
    plan: Plan,
    all: Vec<Producer<'data>>,
}

/// What producers can do next.
enum Next<'data> {
    /// A chunk is there.
    Made(Job<'data>),
    /// One will be, after this time.
    Later(Duration),
    /// None, before one is given back.
    Waiting,
    /// There will be no more.
    Ended,
}

impl<'data> Producers<'data> {
    /// Each with its chunk, by their indices.
    pub(super) fn new(plan: Plan, chunks: impl Iterator<Item = (usize, &'data mut [u8])>) -> Self {
        let due = Instant::now() + plan.pace;
        let all = chunks.map(|(next, chunk)| Producer { next, due, chunk: Some(chunk) }).collect();
        Producers { plan, all }
    }

    /// Touches all chunks.
    pub(super) fn touch(&mut self) {
        self.all.iter_mut().filter_map(|producer| producer.chunk.as_mut()).for_each(|chunk| fill(chunk, 0));
    }

    fn next(&mut self) -> Next<'data> {
        let chunks = self.plan.chunks;
        let mut left = self.all.iter_mut().filter(|producer| producer.next < chunks).peekable();
        if left.peek().is_none() {
            return Next::Ended;
        }
        let free = left.filter(|producer| producer.chunk.is_some());
        let Some(producer) = free.min_by_key(|producer| producer.due) else { return Next::Waiting };
        let later = producer.due.saturating_duration_since(Instant::now());
        match producer.chunk.take_if(|_| later.is_zero()) {
            Some(data) => {
                let number = producer.next;
                fill(data, number);
                producer.next += self.plan.producers;
                Next::Made(Job { number, data })
            }
            None => Next::Later(later),
        }
    }

    /// Takes a chunk back, so that its producer goes on.
    fn give_back(&mut self, job: Job<'data>) {
        let next = job.number + self.plan.producers;
        if let Some(producer) = self.all.iter_mut().find(|producer| producer.next == next) {
            (producer.due, producer.chunk) = (Instant::now() + self.plan.pace, Some(job.data));
        }
    }
}

/// The part of a thread.
pub(super) enum Role<'data> {
    /// Hashes what comes, and gives each chunk back to the thread that it came from.
    Consumer(Receiver<Job<'data>>, Vec<Sender<Job<'data>>>),
    /// Fills chunks.
    Producers(Producers<'data>, Sender<Job<'data>>, Receiver<Job<'data>>),
    /// Does both in turn, as the only one.
    Both(Producers<'data>),
    /// Has nothing to do: there are more threads than producers.
    Idle,
}

/// Gives the first thread the consumer, and the others the producers in turn.
pub(super) fn roles<'data>(plan: Plan, threads: usize, chunks: Vec<&'data mut [u8]>) -> Vec<Role<'data>> {
    let chunks = chunks.into_iter().enumerate();
    if threads == 1 {
        return vec![Role::Both(Producers::new(plan, chunks))];
    }
    let filling = (threads - 1).min(plan.producers);
    let mut shares: Vec<Vec<(usize, &'data mut [u8])>> = (0..filling).map(|_| Vec::new()).collect();
    chunks.for_each(|(index, chunk)| shares[index % filling].push((index, chunk)));
    let (made, ready) = channel();
    let (back, returned): (Vec<_>, Vec<_>) = (0..filling).map(|_| channel()).unzip();
    let producers = shares.into_iter().zip(returned).map(|(share, returned)| {
        Role::Producers(Producers::new(plan, share.into_iter()), made.clone(), returned)
    });
    let idle = std::iter::repeat_with(|| Role::Idle).take(threads - 1 - filling);
    std::iter::once(Role::Consumer(ready, back)).chain(producers).chain(idle).collect()
}

/// Produces until every chunk is made.
pub(super) fn produce<'data>(
    mut producers: Producers<'data>,
    made: &Sender<Job<'data>>,
    returned: &Receiver<Job<'data>>,
) {
    loop {
        returned.try_iter().for_each(|job| producers.give_back(job));
        let back = match producers.next() {
            Next::Made(job) => {
                // The consumer stays until it has them all.
                let _ = made.send(job);
                None
            }
            Next::Later(time) => returned.recv_timeout(time).ok(),
            Next::Waiting => returned.recv().ok(),
            Next::Ended => return,
        };
        back.into_iter().for_each(|job| producers.give_back(job));
    }
}

/// Hashes all chunks, and gives each back to the thread that it came from once its digest is there.
pub(super) fn consume<'data>(
    plan: Plan,
    mut hasher: Box<dyn Hasher<'data> + '_>,
    ready: &Receiver<Job<'data>>,
    back: &[Sender<Job<'data>>],
) -> Consumed {
    let (begin, mut consumed) = (Instant::now(), Consumed::default());
    let (mut taken, mut handed_back) = (0, 0);
    while handed_back < plan.chunks {
        let job = match ready.try_recv() {
            Ok(job) => Some(job),
            Err(_) if taken > handed_back => None,
            Err(_) => {
                let wait = Instant::now();
                let Ok(job) = ready.recv() else { break };
                consumed.waited += wait.elapsed();
                Some(job)
            }
        };
        let mut done = |job: Job<'data>, digest: &Digest| {
            consumed.add(&job, digest);
            handed_back += 1;
            // A thread that has made all of its chunks wants none back.
            let _ = back[job.number % plan.producers % back.len()].send(job);
        };
        match job {
            Some(job) => {
                taken += 1;
                hasher.submit(job, &mut done);
            }
            None => hasher.flush(&mut done),
        }
    }
    consumed.elapsed = begin.elapsed();
    consumed
}

/// Produces and hashes in turn: all chunks that are due, and then their digests. What it takes to fill them is waiting, too, for
/// somebody who hashes.
pub(super) fn produce_and_consume<'data>(
    plan: Plan,
    mut producers: Producers<'data>,
    mut hasher: Box<dyn Hasher<'data> + '_>,
) -> Consumed {
    let (begin, mut consumed) = (Instant::now(), Consumed::default());
    let (mut taken, mut handed_back) = (0, 0);
    let mut back = Vec::new();
    while handed_back < plan.chunks {
        let wait = Instant::now();
        let next = producers.next();
        if let (Next::Later(time), true) = (&next, taken == handed_back) {
            std::thread::sleep(*time);
        }
        consumed.waited += wait.elapsed();
        let mut done = |job: Job<'data>, digest: &Digest| {
            consumed.add(&job, digest);
            handed_back += 1;
            back.push(job);
        };
        match next {
            Next::Made(job) => {
                taken += 1;
                hasher.submit(job, &mut done);
            }
            _ => hasher.flush(&mut done),
        }
        back.drain(..).for_each(|job| producers.give_back(job));
    }
    consumed.elapsed = begin.elapsed();
    consumed
}
