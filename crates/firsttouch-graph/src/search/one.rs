//! A search by one thread, made once and run for many sources.

use super::engine::Engine;
use super::goal::Goal;
use super::methods::Queue;
use super::tree::Tree;
use super::width::{Tuner, guess};
use crate::rows::{Node, Place, Rows};
use firsttouch_documents::GraphReceipt;
use std::time::{Duration, Instant};

/// How wide the buckets of a search are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// As wide as proves fastest: the first searches try several.
    #[default]
    Measured,
    /// As wide as seems right from the weights and degrees: for a single search.
    Guessed,
    /// So wide, rounded down to a power of two.
    Fixed(u64),
}

/// Shortest paths from one source after the other, by one thread. Arrays and queue are made once.
///
/// ```
/// use firsttouch_graph::{Graph, Search, Width};
///
/// let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 5), (0, 2, 20)])?;
/// let mut search = Search::with_buckets(&graph, Width::Measured);
/// let tree = search.run(0, None);
/// assert_eq!(tree.distances().of(2), Some(10));
/// assert_eq!(tree.distances().of(3), None);
/// assert_eq!(tree.parents()[2], 1);
/// // Only what is near: this costs no pass over all nodes.
/// assert_eq!(search.run(0, Some(7)).within_limit(), Some(&[0, 1][..]));
/// # Ok::<(), firsttouch_graph::GraphError>(())
/// ```
#[derive(Debug)]
pub struct Search<'g> {
    rows: Rows<'g>,
    /// `None`: a heap in place of buckets.
    tuner: Option<Tuner>,
    engine: Engine<Queue<u32>, Queue<u64>>,
    /// What the last run took, if it can be compared with others.
    last: Option<Duration>,
    most_reached: u64,
}

impl<'g> Search<'g> {
    /// A search with a bucket queue.
    #[must_use]
    pub fn with_buckets(rows: impl Into<Rows<'g>>, width: Width) -> Search<'g> {
        let rows = rows.into();
        let tuner = match width {
            Width::Measured => Tuner::from(guess(rows)),
            Width::Guessed => Tuner::fixed(guess(rows)),
            Width::Fixed(width) => Tuner::fixed(width.max(1).ilog2()),
        };
        Search::new(rows, Some(tuner))
    }

    /// A search with a heap of four children to a parent: the reference.
    #[must_use]
    pub fn with_heap(rows: impl Into<Rows<'g>>) -> Search<'g> {
        Search::new(rows.into(), None)
    }

    fn new(rows: Rows<'g>, tuner: Option<Tuner>) -> Search<'g> {
        let engine = Engine::new(rows.nodes(), Queue::new(rows, tuner.as_ref()));
        Search { rows, tuner, engine, last: None, most_reached: 0 }
    }

    /// With distances on these pages, touched first by the thread that calls; on the heap where they cannot be had, which
    /// the receipt tells.
    #[must_use]
    pub fn on(self, place: Place) -> Search<'g> {
        Search { engine: self.engine.on(self.rows.nodes(), place), ..self }
    }

    /// What the memory of the distances has obtained.
    #[must_use]
    pub fn receipt(&self) -> GraphReceipt {
        self.engine.receipt()
    }

    /// The width of the buckets that the next run will use; `None` with a heap.
    #[must_use]
    pub fn width(&self) -> Option<u64> {
        self.tuner.as_ref().map(|tuner| 1 << tuner.shift())
    }

    /// Finds the shortest paths from `source`: to all nodes (`None`), to those at a distance of at most `Some(limit)`, or
    /// as far as a [`Goal`] says.
    ///
    /// # Panics
    ///
    /// If there is no such node, or target.
    pub fn run<'t>(&mut self, source: Node, goal: impl Into<Goal<'t>>) -> Tree<'_> {
        self.find(source, goal.into())
    }

    /// Not generic, so that it is compiled here and not by everybody who searches.
    fn find(&mut self, source: Node, goal: Goal<'_>) -> Tree<'_> {
        self.learn();
        let began = Instant::now();
        let (rows, tuner) = (self.rows, self.tuner.as_ref());
        self.engine.run(&mut (), rows, source, &goal, || Queue::new(rows, tuner));
        // Searches with a limit or targets are too short and too different to learn from.
        self.last = (goal == Goal::default()).then(|| began.elapsed());
        let (distances, reached) = self.engine.found();
        Tree::of_distances(rows, source, distances, reached)
    }

    /// Judges the width by the last run, whose distances are still there.
    fn learn(&mut self) {
        let Some((tuner, took)) =
            self.tuner.as_mut().zip(self.last.take()).filter(|(tuner, _)| !tuner.has_found())
        else {
            return;
        };
        let reached = self.engine.count_reached();
        self.most_reached = self.most_reached.max(reached);
        // A source in some corner tells nothing of the whole graph.
        if reached < self.most_reached / 2 {
            return;
        }
        tuner.note(took.as_secs_f64() / reached as f64);
        let shift = tuner.shift();
        let (narrow, wide) = self.engine.method();
        if let Some(queue) = narrow {
            queue.widen(self.rows, shift);
        }
        if let Some(queue) = wide {
            queue.widen(self.rows, shift);
        }
    }
}
