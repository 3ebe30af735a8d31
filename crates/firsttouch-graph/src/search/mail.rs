//! Mail from one thread to another: a ring of entries with one writer and one reader.

use super::distance::Distance;
use super::queue::Entry;
use crate::rows::Node;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Entries that may be under way.
const ROOM: usize = 1024;

/// The ring. Entries are counted without end; entry number i is at i modulo its size.
#[derive(Debug)]
pub(super) struct Mailbox<D: Distance> {
    written: Count,
    read: Count,
    nodes: Box<[AtomicU32]>,
    distances: Box<[D::Shared]>,
}

/// A number with a cache line for itself, and its neighbour, which processors fetch with it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicUsize);

impl<D: Distance> Mailbox<D> {
    pub(super) fn new() -> Mailbox<D> {
        Mailbox {
            written: Count::default(),
            read: Count::default(),
            nodes: (0..ROOM).map(|_| AtomicU32::new(0)).collect(),
            distances: (0..ROOM).map(|_| D::cell()).collect(),
        }
    }

    /// Forgets what was not read.
    pub(super) fn clear(&mut self) {
        *self.read.0.get_mut() = *self.written.0.get_mut();
    }

    /// Sends the first entries, as many as there is room for, and answers how many. Called by one thread.
    pub(super) fn put(&self, entries: &[Entry<D>]) -> usize {
        let written = self.written.0.load(Ordering::Relaxed);
        let room = ROOM - written.wrapping_sub(self.read.0.load(Ordering::Acquire));
        let sent = room.min(entries.len());
        for (at, entry) in entries[..sent].iter().enumerate() {
            let place = written.wrapping_add(at) % ROOM;
            self.nodes[place].store(entry.node, Ordering::Relaxed);
            D::write(&self.distances[place], entry.distance);
        }
        self.written.0.store(written.wrapping_add(sent), Ordering::Release);
        sent
    }

    /// Shows all that is there to `each`, and answers how many. Called by one thread.
    pub(super) fn take(&self, mut each: impl FnMut(Entry<D>)) -> u64 {
        let read = self.read.0.load(Ordering::Relaxed);
        let there = self.written.0.load(Ordering::Acquire).wrapping_sub(read);
        for at in 0..there {
            let place = read.wrapping_add(at) % ROOM;
            let node: Node = self.nodes[place].load(Ordering::Relaxed);
            each(Entry { distance: D::read(&self.distances[place]), node });
        }
        if there > 0 {
            self.read.0.store(read.wrapping_add(there), Ordering::Release);
        }
        there as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn everything_arrives_once_and_in_order_through_a_ring_that_is_too_small() {
        let mail = Mailbox::<u64>::new();
        let sent: Vec<Entry<u64>> =
            (0..100_000).map(|node: u32| Entry { distance: u64::from(node) << 20, node }).collect();
        let mut received = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut rest = &sent[..];
                while !rest.is_empty() {
                    rest = &rest[mail.put(&rest[..rest.len().min(700)])..];
                    thread::yield_now();
                }
            });
            while received.len() < sent.len() {
                mail.take(|entry| received.push(entry));
                thread::yield_now();
            }
        });
        assert_eq!(received, sent);
    }

    #[test]
    fn no_more_goes_in_than_there_is_room_for() {
        let mut mail = Mailbox::<u32>::new();
        let entries = vec![Entry { distance: 1, node: 2 }; ROOM];
        assert_eq!(mail.put(&entries[1..]), ROOM - 1);
        assert_eq!(mail.put(&entries), 1);
        assert_eq!(mail.put(&entries), 0);
        mail.clear();
        assert_eq!(mail.take(|_| ()), 0);
        assert_eq!(mail.put(&entries), ROOM);
    }
}
