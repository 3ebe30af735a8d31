//! Dijkstra's algorithm with buckets in place of a heap: a bucket of nodes at a time.

use super::distance::{Distance, TooFar, fits};
use super::goal::Pending;
use super::labels::Labels;
use super::owners::Owners;
use super::queue::{BucketQueue, Entry};
use super::relax::{ALONE, Field, Notes, relax};
use crate::rows::{Node, Rows};

/// A queue that is used for one search after the other.
#[derive(Debug)]
pub(super) struct Buckets<D> {
    shift: u32,
    queue: BucketQueue<D>,
    /// Nodes that are out of the queue and wait for their turn.
    batch: Vec<Entry<D>>,
    notes: Notes<D>,
}

impl<D: Distance> Buckets<D> {
    pub(super) fn new(shift: u32, rows: Rows<'_>) -> Buckets<D> {
        let queue = BucketQueue::new(shift, rows.max_weight(), 1);
        Buckets { shift, queue, batch: Vec::new(), notes: Notes::new() }
    }

    /// The logarithm of the width of the buckets.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Finds the distances of all nodes within the limit of `labels`, which hold the source, until none is pending.
    pub(super) fn search(
        &mut self,
        rows: Rows<'_>,
        source: Node,
        mut pending: Pending<'_>,
        labels: &mut Labels<D>,
    ) -> Result<(), TooFar> {
        self.queue.clear();
        self.queue.enter(D::default(), source);
        let limited = labels.limited;
        let field = Field::of(rows, labels, Owners::NOBODY);
        let relax = relax::<D, ALONE>(&field, limited);
        let mut number = 0;
        let mut outcome = Ok(());
        let mut end = None;
        while let Some(next) = self.queue.first_from(number) {
            number = next;
            if pending.are_settled(number << self.shift, |node| D::read(&field.distances[node as usize])) {
                end = Some(number << self.shift);
                break;
            }
            outcome = fits::<D>((number + 1) << self.shift, rows.max_weight());
            if outcome.is_err() {
                break;
            }
            self.queue
                .advance(number, |entry| D::read(&field.distances[entry.node as usize]) >= entry.distance);
            self.batch.clear();
            // What is entered into this bucket meanwhile comes out with the next turn.
            self.queue.take(number, &mut self.batch);
            relax(&self.batch, &mut self.queue, &mut self.notes);
        }
        drop(relax);
        labels.reached.append(&mut self.notes.reached);
        if let Some(end) = end {
            labels.cut(end);
        }
        outcome
    }
}
