//! A search from each of many sources: what long runs use where there is no hierarchy.

use crate::file::FileError;
use crate::fingerprint::Fingerprint;
use crate::hierarchy::{Accumulator, Found};
use crate::histogram::Histogram;
use crate::rows::{Graphs, Node, Place};
use crate::search::{Distances, Goal, Search, Tree, Width, search_each};
use firsttouch_documents::GraphReceipt;
use firsttouch_threads::Team;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The queue that searches use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Buckets of such a width.
    Buckets(Width),
    /// A heap: the reference.
    Heap,
}

/// Searches by the threads of a team, each with its own sources.
#[derive(Debug)]
pub struct Searches<'a> {
    team: &'a mut Team,
    graphs: Graphs<'a>,
    queue: Queue,
    goal: Goal<'a>,
    /// The targets, each once.
    distinct: Option<Vec<Node>>,
    place: Place,
    receipts: Vec<GraphReceipt>,
}

impl<'a> Searches<'a> {
    /// By this team; each of its groups on its own copy of the graph, if there are copies.
    #[must_use]
    pub fn new(graphs: Graphs<'a>, team: &'a mut Team, queue: Queue) -> Searches<'a> {
        let (goal, place) = (Goal::default(), Place::HEAP);
        Searches { team, graphs, queue, goal, distinct: None, place, receipts: Vec::new() }
    }

    /// Only as far as this.
    ///
    /// # Panics
    ///
    /// If a target is not there.
    #[must_use]
    pub fn towards(mut self, goal: Goal<'a>) -> Searches<'a> {
        let nodes = self.nodes();
        self.distinct = goal.targets.map(|targets| {
            assert!(
                targets.iter().all(|target| (*target as usize) < nodes),
                "targets are nodes of the graph"
            );
            let mut distinct = targets.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            distinct
        });
        self.goal = goal;
        self
    }

    /// With each thread's distances on these pages, touched first by itself.
    #[must_use]
    pub fn on(mut self, place: Place) -> Searches<'a> {
        self.place = place;
        self
    }

    /// What the memory of the distances has obtained, for each thread that has searched in the last run.
    #[must_use]
    pub fn receipts(&self) -> &[GraphReceipt] {
        &self.receipts
    }

    pub(super) fn threads(&self) -> usize {
        self.team.size()
    }

    pub(super) fn nodes(&self) -> usize {
        self.graphs.of(0).nodes()
    }

    pub(super) fn columns(&self) -> usize {
        self.goal.targets.map_or(self.nodes(), <[Node]>::len)
    }

    pub(super) fn fits_32_bits(&self) -> bool {
        self.graphs.of(0).fits_32_bits()
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.graphs.of(0))
    }

    pub(super) fn limit(&self) -> Option<u64> {
        self.goal.limit
    }

    pub(super) fn targets(&self) -> Option<&[Node]> {
        self.goal.targets
    }

    /// Searches from all sources that the accumulator does not know, until an error or until `stop` says so.
    pub(super) fn accumulate(
        &mut self,
        sources: &[Node],
        stop: &(dyn Fn() -> bool + Sync),
        accumulator: &dyn Accumulator,
    ) -> Result<(), FileError> {
        let indices: Vec<usize> = (0..sources.len()).filter(|index| !accumulator.knows(*index)).collect();
        let left: Vec<Node> = indices.iter().map(|index| sources[*index]).collect();
        let (failed, error) = (AtomicBool::new(false), Mutex::new(None));
        let (graphs, queue, goal, place) = (self.graphs, self.queue, self.goal, self.place);
        let receipts = Mutex::new(Vec::new());
        let Searches { team, distinct, .. } = self;
        let each = |at: usize, tree: &Tree<'_>, took: Duration| {
            let reported = tell(accumulator, indices[at], tree, &goal, distinct.as_deref(), took);
            if let Err(failure) = reported {
                error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                failed.store(true, Ordering::Relaxed);
            }
        };
        search_each(
            team,
            &left,
            goal,
            || stop() || failed.load(Ordering::Relaxed),
            |member| {
                let graph = graphs.of(member.group());
                let search = match queue {
                    Queue::Buckets(width) => Search::with_buckets(graph, width),
                    Queue::Heap => Search::with_heap(graph),
                };
                let search = search.on(place);
                receipts.lock().unwrap_or_else(PoisonError::into_inner).push(search.receipt());
                search
            },
            each,
        );
        self.receipts = receipts.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Gives an accumulator what it wants of a tree.
fn tell(
    accumulator: &dyn Accumulator,
    index: usize,
    tree: &Tree<'_>,
    goal: &Goal<'_>,
    distinct: Option<&[Node]>,
    took: Duration,
) -> Result<(), FileError> {
    let summary = distinct.map_or_else(|| tree.summary(), |distinct| tree.summary_of(distinct));
    let histogram = accumulator.wants_histogram().then(|| {
        let mut histogram = Histogram::default();
        let all = 0..tree.distances().len() as Node;
        let mut count =
            |node: Node| tree.distances().of(node).into_iter().for_each(|distance| histogram.add(distance));
        match distinct.or(tree.within_limit()) {
            Some(nodes) => nodes.iter().for_each(|node| count(*node)),
            None => all.for_each(count),
        }
        histogram
    });
    if accumulator.wants_rows() {
        match (goal.targets, tree.distances()) {
            (None, all) => accumulator.row(index, all, took)?,
            (Some(targets), Distances::Narrow(all)) => {
                accumulator.row(index, Distances::Narrow(&picked(all, targets)), took)?;
            }
            (Some(targets), Distances::Wide(all)) => {
                accumulator.row(index, Distances::Wide(&picked(all, targets)), took)?;
            }
        }
    }
    accumulator.done(&Found { summaries: &[(index, summary)], histogram: histogram.as_ref() })
}

fn picked<T: Copy>(all: &[T], targets: &[Node]) -> Vec<T> {
    targets.iter().map(|target| all[*target as usize]).collect()
}
