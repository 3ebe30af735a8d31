//! Messages of unequal length on the lanes of one engine.

use super::algorithm::{Algorithm, Digest, State};
use super::engine::{Engine, Paced};

/// Most lanes that an engine has.
const LANES: usize = 32;

/// Most bytes by which messages go forward before the manager takes further ones. Lanes stay empty until then: a message that is there
/// by itself would go through to its end at the speed of one lane, while those that come meanwhile wait. A multiple of all blocks.
const PIECE: usize = 64 << 10;

/// A message to be hashed.
#[derive(Debug)]
pub(super) struct Job<'data> {
    /// Which one it is, for whoever hands it in.
    pub(super) number: usize,
    pub(super) data: &'data mut [u8],
}

/// Whatever hashes messages, at once or later.
pub(super) trait Hasher<'data> {
    /// Takes a message, and hands back what has been done by then.
    fn submit(&mut self, job: Job<'data>, done: &mut dyn FnMut(Job<'data>, &Digest));

    /// Goes on with the messages that it has, if it has any, and hands back those that are done.
    fn flush(&mut self, done: &mut dyn FnMut(Job<'data>, &Digest));
}

/// Hashes on lanes: a message takes a free lane and leaves it when it ends, whatever the others do. Nothing is computed until all
/// lanes are taken or somebody asks to go on; then that engine takes a piece of the first messages that brings what is there forward
/// fastest, down to one that takes a single message.
#[derive(Debug)]
pub(super) struct Manager<'data> {
    algorithm: Algorithm,
    /// At least one.
    engines: &'data [Paced],
    lanes: usize,
    under_way: Vec<Message<'data>>,
}

/// A message on a lane.
#[derive(Debug)]
struct Message<'data> {
    job: Job<'data>,
    state: State,
    /// Bytes taken, of the whole blocks and what follows them.
    taken: usize,
    /// Bytes of its whole blocks.
    whole: usize,
    end: [u8; 256],
    end_bytes: usize,
}

impl Message<'_> {
    /// Blocks to be taken that lie behind one another.
    fn rest(&self) -> &[u8] {
        match self.taken.checked_sub(self.whole) {
            None => &self.job.data[self.taken..self.whole],
            Some(taken) => &self.end[taken..self.end_bytes],
        }
    }

    fn is_done(&self) -> bool {
        self.taken == self.whole + self.end_bytes
    }
}

impl<'data> Manager<'data> {
    pub(super) fn new(algorithm: Algorithm, engines: &'data [Paced]) -> Manager<'data> {
        let lanes = engines.iter().map(|paced| paced.engine.lanes).max().unwrap_or(1);
        Manager { algorithm, engines, lanes, under_way: Vec::with_capacity(lanes) }
    }

    /// Takes a piece of the first messages, and hands back those that are done.
    fn advance(&mut self, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        if !self.under_way.is_empty()
            && let Some(engine) = fastest(self.engines, self.under_way.len())
        {
            self.take(engine);
        }
        for message in self.under_way.extract_if(.., |message| message.is_done()) {
            done(message.job, &self.algorithm.digest(&message.state));
        }
    }

    /// Takes as many blocks of the first messages as the shortest of them has behind one another, or a piece.
    fn take(&mut self, engine: Engine) {
        let count = engine.lanes.min(self.under_way.len());
        let messages = &mut self.under_way[..count];
        let bytes = messages.iter().map(|message| message.rest().len()).fold(PIECE, usize::min);
        // Lanes without a message do what the first one does.
        let mut states = [messages[0].state; LANES];
        let mut data = [&messages[0].rest()[..bytes]; LANES];
        for (lane, message) in messages.iter().enumerate() {
            (states[lane], data[lane]) = (message.state, &message.rest()[..bytes]);
        }
        (engine.run)(&mut states[..engine.lanes], &data[..engine.lanes]);
        for (message, state) in messages.iter_mut().zip(states) {
            (message.state, message.taken) = (state, message.taken + bytes);
        }
    }
}

/// The engine that takes most blocks by time, of so many messages.
pub(super) fn fastest(engines: &[Paced], messages: usize) -> Option<Engine> {
    let speed = |paced: &Paced| messages.min(paced.engine.lanes) as f64 / paced.seconds;
    let fastest = engines.iter().max_by(|one, other| speed(one).total_cmp(&speed(other)));
    fastest.map(|paced| paced.engine)
}

impl<'data> Hasher<'data> for Manager<'data> {
    fn submit(&mut self, job: Job<'data>, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        let whole = job.data.len() / self.algorithm.block_bytes() * self.algorithm.block_bytes();
        let (end, end_bytes) = self.algorithm.pad(&job.data[whole..], job.data.len());
        let state = self.algorithm.initial();
        self.under_way.push(Message { job, state, taken: 0, whole, end, end_bytes });
        while self.under_way.len() == self.lanes {
            self.advance(done);
        }
    }

    fn flush(&mut self, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        self.advance(done);
    }
}
