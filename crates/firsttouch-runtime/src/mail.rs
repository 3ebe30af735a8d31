//! Messages between tasks, from the end of one step to the end of the next.
//!
//! Every worker has an outbox that only it writes. Between two steps all outboxes are closed and become readable to all;
//! a receiver's worker picks out what is for its tasks. Bytes are copied once, by the sender.

use bytemuck::Pod;

/// Where a message is, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letter {
    from: u32,
    to: u32,
    tag: u32,
    /// Which of those its sender sent in the step.
    turn: u32,
    /// Its first word in the outbox.
    at: usize,
    bytes: usize,
}

/// What the tasks of one worker sent in a step.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// The contents, each beginning at a word, so that numbers lie where they may be read.
    words: Vec<u64>,
    /// By the worker of the receiver.
    letters: Vec<Vec<Letter>>,
}

impl Outbox {
    pub(crate) fn new(workers: usize) -> Outbox {
        Outbox { words: Vec::new(), letters: vec![Vec::new(); workers] }
    }

    /// Forgets everything, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.letters.iter_mut().for_each(Vec::clear);
    }

    fn put(&mut self, worker: u32, from: u32, to: u32, tag: u32, turn: u32, bytes: &[u8]) {
        let at = self.words.len();
        self.words.resize(at + bytes.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.words[at..])[..bytes.len()].copy_from_slice(bytes);
        self.letters[worker as usize].push(Letter { from, to, tag, turn, at, bytes: bytes.len() });
    }

    fn contents(&self, letter: &Letter) -> &[u8] {
        &bytemuck::cast_slice(&self.words[letter.at..])[..letter.bytes]
    }

    /// Hands what is on its way to the workers where its receivers are now.
    pub(crate) fn readdress(&mut self, workers: &[u32]) {
        for old in 0..self.letters.len() {
            let (stays, goes) = std::mem::take(&mut self.letters[old])
                .into_iter()
                .partition(|letter| workers[letter.to as usize] as usize == old);
            self.letters[old] = stays;
            let goes: Vec<Letter> = goes;
            for letter in goes {
                self.letters[workers[letter.to as usize] as usize].push(letter);
            }
        }
    }
}

/// What is for the tasks of one worker in a step.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// By receiver, then by sender and turn: the order that everything computed depends on. With the outbox it lies in.
    letters: Vec<(Letter, u32)>,
}

impl Inbox {
    /// Picks out what is for one worker.
    pub(crate) fn gather(&mut self, sent: &[Outbox], worker: usize) {
        self.letters.clear();
        for (outbox, index) in sent.iter().zip(0..) {
            self.letters.extend(outbox.letters[worker].iter().map(|letter| (*letter, index)));
        }
        self.letters.sort_unstable_by_key(|(letter, _)| (letter.to, letter.from, letter.turn));
    }

    /// What is for one task.
    pub(crate) fn of(&self, task: u32) -> Mail<'_> {
        let first = self.letters.partition_point(|(letter, _)| letter.to < task);
        let length = self.letters[first..].partition_point(|(letter, _)| letter.to == task);
        Mail { letters: &self.letters[first..first + length] }
    }

    pub(crate) fn messages(&self) -> usize {
        self.letters.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.letters.iter().map(|(letter, _)| letter.bytes as u64).sum()
    }
}

/// The messages for one task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mail<'a> {
    letters: &'a [(Letter, u32)],
}

impl<'a> Mail<'a> {
    pub(crate) fn open(self, sent: &'a [Outbox]) -> impl ExactSizeIterator<Item = Received<'a>> {
        self.letters.iter().map(|(letter, outbox)| Received {
            from: letter.from,
            tag: letter.tag,
            contents: sent[*outbox as usize].contents(letter),
        })
    }
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// The sender.
    pub from: u32,
    /// What the sender said it is.
    pub tag: u32,
    contents: &'a [u8],
}

impl<'a> Received<'a> {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.contents
    }

    /// Its elements.
    ///
    /// # Panics
    /// If its bytes are not a whole number of them, or the elements must lie at multiples of more than 8 bytes.
    #[must_use]
    pub fn elements<T: Pod>(&self) -> &'a [T] {
        bytemuck::cast_slice(self.contents)
    }
}

/// What a task sent another since the last balancing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    pub(crate) to: u32,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// What a task sent, by receiver.
#[derive(Debug, Default)]
pub(crate) struct Partners {
    list: Vec<Partner>,
    /// Where the receiver of the next message is looked for first: tasks mostly send in the same order in every step.
    guess: usize,
}

impl Partners {
    fn count(&mut self, to: u32, bytes: usize) {
        if self.list.get(self.guess).is_none_or(|partner| partner.to != to) {
            let known = self.list.iter().position(|partner| partner.to == to);
            self.guess = known.unwrap_or(self.list.len());
        }
        if self.guess == self.list.len() {
            self.list.push(Partner { to, messages: 0, bytes: 0 });
        }
        let partner = &mut self.list[self.guess];
        partner.messages += 1;
        partner.bytes += bytes as u64;
        self.guess += 1;
    }

    pub(crate) fn list(&self) -> &[Partner] {
        &self.list
    }

    /// Counts from nothing again.
    pub(crate) fn forget(&mut self) {
        self.list.clear();
        self.guess = 0;
    }
}

/// Where a task's messages go while it is at work.
#[derive(Debug)]
pub(crate) struct Sender<'a> {
    pub(crate) task: u32,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) partners: &'a mut Partners,
    /// The worker of each task.
    pub(crate) workers: &'a [u32],
    turn: u32,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(
        task: u32,
        outbox: &'a mut Outbox,
        partners: &'a mut Partners,
        workers: &'a [u32],
    ) -> Sender<'a> {
        partners.guess = 0;
        Sender { task, outbox, partners, workers, turn: 0 }
    }

    pub(crate) fn send(&mut self, to: u32, tag: u32, bytes: &[u8]) {
        let Some(worker) = self.workers.get(to as usize) else {
            panic!("task {} sends to task {to}, but there are only {}", self.task, self.workers.len());
        };
        self.outbox.put(*worker, self.task, to, tag, self.turn, bytes);
        self.partners.count(to, bytes.len());
        self.turn += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_follow_their_receivers_and_keep_their_order() {
        let (mut one, mut two) = (Outbox::new(2), Outbox::new(2));
        let (mut of_one, mut of_two) = (Partners::default(), Partners::default());
        // Tasks 0 and 1 are on worker 0, task 2 on worker 1.
        let workers = [0, 0, 1];
        let mut sender = Sender::new(2, &mut two, &mut of_two, &workers);
        sender.send(1, 7, &[1, 2, 3]);
        sender.send(1, 8, &[]);
        let mut sender = Sender::new(0, &mut one, &mut of_one, &workers);
        sender.send(1, 9, &[4; 9]);
        sender.send(2, 9, &[5]);
        let mut sent = [one, two];
        let found = |sent: &[Outbox], worker, task| {
            let mut inbox = Inbox::default();
            inbox.gather(sent, worker);
            let mail = inbox.of(task).open(sent);
            mail.map(|m| (m.from, m.tag, m.bytes().to_vec())).collect::<Vec<_>>()
        };
        let of_task_1 = vec![(0, 9, vec![4; 9]), (2, 7, vec![1, 2, 3]), (2, 8, vec![])];
        assert_eq!(found(&sent, 0, 1), of_task_1);
        assert_eq!(found(&sent, 1, 2), [(0, 9, vec![5])]);
        sent.iter_mut().for_each(|outbox| outbox.readdress(&[0, 1, 0]));
        assert_eq!(found(&sent, 0, 1), []);
        assert_eq!(found(&sent, 1, 1), of_task_1);
        assert_eq!(found(&sent, 0, 2), [(0, 9, vec![5])]);
        assert_eq!((of_two.list[0].messages, of_two.list[0].bytes, of_one.list.len()), (2, 3, 2));
    }
}
