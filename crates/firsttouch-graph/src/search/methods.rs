//! The methods of searching, as one type for a thread and one for a team.

use super::buckets::Buckets;
use super::delta::{Delta, Step};
use super::distance::{Distance, TooFar};
use super::engine::Method;
use super::goal::Pending;
use super::heap::Heap;
use super::labels::Labels;
use super::partitions::Partitions;
use super::width::Tuner;
use crate::rows::{Node, Rows};
use firsttouch_threads::Team;

/// How one thread searches.
#[derive(Debug)]
pub(super) enum Queue<D> {
    Heap(Heap<D>),
    Buckets(Box<Buckets<D>>),
}

impl<D: Distance> Queue<D> {
    pub(super) fn new(rows: Rows<'_>, tuner: Option<&Tuner>) -> Queue<D> {
        match tuner {
            Some(tuner) => Queue::Buckets(Box::new(Buckets::new(tuner.shift(), rows))),
            None => Queue::Heap(Heap::new()),
        }
    }

    /// Makes buckets anew, if they have another width.
    pub(super) fn widen(&mut self, rows: Rows<'_>, shift: u32) {
        if let Queue::Buckets(buckets) = self
            && buckets.shift() != shift
        {
            **buckets = Buckets::new(shift, rows);
        }
    }
}

impl<D: Distance> Method<D, ()> for Queue<D> {
    fn search(
        &mut self,
        (): &mut (),
        rows: Rows<'_>,
        source: Node,
        pending: Pending<'_>,
        labels: &mut Labels<D>,
    ) -> Result<(), TooFar> {
        match self {
            Queue::Heap(heap) => heap.search(rows, source, pending, labels),
            Queue::Buckets(buckets) => buckets.search(rows, source, pending, labels),
        }
    }
}

/// How the members share the work, with the logarithm of the width of buckets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variant {
    Delta(u32, Step),
    Partitions(u32),
}

/// How a team searches.
#[derive(Debug)]
pub(super) enum Shared<D: Distance> {
    Delta(Box<Delta<D>>),
    Partitions(Box<Partitions<D>>),
}

impl<D: Distance> Shared<D> {
    pub(super) fn new(variant: Variant, rows: Rows<'_>, members: usize) -> Shared<D> {
        match variant {
            Variant::Delta(shift, step) => Shared::Delta(Box::new(Delta::new(shift, step, rows, members))),
            Variant::Partitions(shift) => Shared::Partitions(Box::new(Partitions::new(shift, rows, members))),
        }
    }
}

impl<D: Distance> Method<D, Team> for Shared<D> {
    fn search(
        &mut self,
        team: &mut Team,
        rows: Rows<'_>,
        source: Node,
        pending: Pending<'_>,
        labels: &mut Labels<D>,
    ) -> Result<(), TooFar> {
        match self {
            Shared::Delta(delta) => delta.search(team, rows, source, pending, labels),
            Shared::Partitions(partitions) => partitions.search(team, rows, source, pending, labels),
        }
    }
}
