//! A search in as few bits as it gets by with: distances are of 32 until it comes so far that they might not fit, then of 64.

use super::distance::{Distance, TooFar};
use super::distances::Distances;
use super::goal::{Goal, Pending};
use super::labels::Labels;
use crate::rows::{Node, Place, Rows};
use firsttouch_documents::GraphReceipt;

/// A way to search, with what it keeps from one search to the next. `T` is who searches: a team, or nothing for the thread that calls.
pub(super) trait Method<D: Distance, T> {
    /// Finds the distances of all nodes within the limit of `labels`, which hold the source, until none is pending.
    fn search(
        &mut self,
        team: &mut T,
        rows: Rows<'_>,
        source: Node,
        pending: Pending<'_>,
        labels: &mut Labels<D>,
    ) -> Result<(), TooFar>;
}

/// A method with its distances; `N` and `W` are the same method for distances of 32 and 64 bits.
#[derive(Debug)]
pub(super) struct Engine<N, W> {
    place: Place,
    parts: Parts<N, W>,
}

#[derive(Debug)]
enum Parts<N, W> {
    Narrow(Labels<u32>, N),
    Wide(Labels<u64>, W),
}

impl<N, W> Engine<N, W> {
    /// With distances of so many nodes on the heap.
    pub(super) fn new(nodes: usize, method: N) -> Engine<N, W> {
        Engine { place: Place::HEAP, parts: Parts::Narrow(Labels::new(nodes, Place::HEAP), method) }
    }

    /// With distances on these pages, touched first by the thread that calls; on the heap where they cannot be had.
    pub(super) fn on(mut self, nodes: usize, place: Place) -> Engine<N, W> {
        self.place = place;
        match &mut self.parts {
            Parts::Narrow(labels, _) => *labels = Labels::new(nodes, place),
            Parts::Wide(labels, _) => *labels = Labels::new(nodes, place),
        }
        self
    }

    /// What the memory of the distances has obtained.
    pub(super) fn receipt(&self) -> GraphReceipt {
        match &self.parts {
            Parts::Narrow(labels, _) => labels.receipt(self.place),
            Parts::Wide(labels, _) => labels.receipt(self.place),
        }
    }

    /// How many nodes the last search has reached.
    pub(super) fn count_reached(&self) -> u64 {
        match &self.parts {
            Parts::Narrow(labels, _) => labels.count_reached(),
            Parts::Wide(labels, _) => labels.count_reached(),
        }
    }

    /// The method, of the width that it has now: one of the two.
    pub(super) fn method(&mut self) -> (Option<&mut N>, Option<&mut W>) {
        match &mut self.parts {
            Parts::Narrow(_, method) => (Some(method), None),
            Parts::Wide(_, method) => (None, Some(method)),
        }
    }

    /// Finds the shortest paths from `source`; `widen` makes the method anew when 32 bits might not suffice.
    ///
    /// # Panics
    ///
    /// If there is no such node, or target.
    pub(super) fn run<T>(
        &mut self,
        team: &mut T,
        rows: Rows<'_>,
        source: Node,
        goal: &Goal<'_>,
        widen: impl FnOnce() -> W,
    ) where
        N: Method<u32, T>,
        W: Method<u64, T>,
    {
        if let Parts::Narrow(labels, method) = &mut self.parts
            && search(method, team, rows, source, goal, labels) == Err(TooFar)
        {
            self.parts = Parts::Wide(Labels::new(rows.nodes(), self.place), widen());
        }
        if let Parts::Wide(labels, method) = &mut self.parts {
            let found = search(method, team, rows, source, goal, labels);
            found.expect("2^32 arcs of 32 bits are no longer than 64 bits");
        }
    }

    /// The distances that the last search has found, and, if it had a limit or targets, the nodes that have one.
    pub(super) fn found(&self) -> (Distances<'_>, Option<&[Node]>) {
        match &self.parts {
            Parts::Narrow(labels, _) => (Distances::Narrow(&labels.distances), labels.within_limit()),
            Parts::Wide(labels, _) => (Distances::Wide(&labels.distances), labels.within_limit()),
        }
    }
}

fn search<D: Distance, T>(
    method: &mut impl Method<D, T>,
    team: &mut T,
    rows: Rows<'_>,
    source: Node,
    goal: &Goal<'_>,
    labels: &mut Labels<D>,
) -> Result<(), TooFar> {
    labels.begin(source, goal);
    method.search(team, rows, source, Pending::new(goal), labels)
}
