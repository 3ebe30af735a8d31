//! A search by one thread, made once and run for many sources.

use super::buckets::Buckets;
use super::distance::{Distance, TooFar};
use super::goal::{Goal, Pending};
use super::heap::Heap;
use super::labels::Labels;
use super::tree::Tree;
use super::width::{Tuner, guess};
use crate::array::Place;
use crate::copies::GraphReceipt;
use crate::graph::{Graph, Node};
use crate::rows::Rows;
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
pub struct Search<'g, G = Graph> {
    graph: &'g G,
    /// `None`: a heap in place of buckets.
    tuner: Option<Tuner>,
    engine: Engine,
    place: Place,
    /// What the last run took, if it can be compared with others.
    last: Option<Duration>,
    most_reached: u64,
}

/// Distances are of 32 bits until a search comes so far that they might not fit.
#[derive(Debug)]
enum Engine {
    Narrow(Parts<u32>),
    Wide(Parts<u64>),
}

#[derive(Debug)]
struct Parts<D> {
    labels: Labels<D>,
    queue: Queue<D>,
}

#[derive(Debug)]
enum Queue<D> {
    Heap(Heap<D>),
    Buckets(Box<Buckets<D>>),
}

impl<'g, G: Rows> Search<'g, G> {
    /// A search with a bucket queue.
    #[must_use]
    pub fn with_buckets(graph: &'g G, width: Width) -> Search<'g, G> {
        let tuner = match width {
            Width::Measured => Tuner::from(guess(graph)),
            Width::Guessed => Tuner::fixed(guess(graph)),
            Width::Fixed(width) => Tuner::fixed(width.max(1).ilog2()),
        };
        Search::new(graph, Some(tuner))
    }

    /// A search with a heap of four children to a parent: the reference.
    #[must_use]
    pub fn with_heap(graph: &'g G) -> Search<'g, G> {
        Search::new(graph, None)
    }

    fn new(graph: &'g G, tuner: Option<Tuner>) -> Search<'g, G> {
        let place = Place::HEAP;
        let engine = Engine::Narrow(Parts::new(graph, tuner.as_ref(), place));
        Search { graph, tuner, engine, place, last: None, most_reached: 0 }
    }

    /// With distances on these pages, touched first by the thread that calls; on the heap where they cannot be had, which
    /// the receipt tells.
    #[must_use]
    pub fn on(mut self, place: Place) -> Search<'g, G> {
        self.place = place;
        self.engine = Engine::Narrow(Parts::new(self.graph, self.tuner.as_ref(), place));
        self
    }

    /// What the memory of the distances has obtained.
    #[must_use]
    pub fn receipt(&self) -> GraphReceipt {
        match &self.engine {
            Engine::Narrow(parts) => parts.labels.receipt(self.place),
            Engine::Wide(parts) => parts.labels.receipt(self.place),
        }
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
    pub fn run<'t>(&mut self, source: Node, goal: impl Into<Goal<'t>>) -> Tree<'_, G> {
        let goal = goal.into();
        self.learn();
        let began = Instant::now();
        if let Engine::Narrow(parts) = &mut self.engine
            && parts.run(self.graph, source, &goal) == Err(TooFar)
        {
            self.engine = Engine::Wide(Parts::new(self.graph, self.tuner.as_ref(), self.place));
        }
        if let Engine::Wide(parts) = &mut self.engine {
            parts.run(self.graph, source, &goal).expect("2^32 arcs of 32 bits are no longer than 64 bits");
        }
        // Searches with a limit or targets are too short and too different to learn from.
        self.last = (goal == Goal::default()).then(|| began.elapsed());
        match &self.engine {
            Engine::Narrow(parts) => Tree::narrow(self.graph, source, &parts.labels),
            Engine::Wide(parts) => Tree::wide(self.graph, source, &parts.labels),
        }
    }

    /// Judges the width by the last run, whose distances are still there.
    fn learn(&mut self) {
        let Some((tuner, took)) =
            self.tuner.as_mut().zip(self.last.take()).filter(|(tuner, _)| !tuner.has_found())
        else {
            return;
        };
        let reached = match &self.engine {
            Engine::Narrow(parts) => parts.labels.count_reached(),
            Engine::Wide(parts) => parts.labels.count_reached(),
        };
        self.most_reached = self.most_reached.max(reached);
        // A source in some corner tells nothing of the whole graph.
        if reached < self.most_reached / 2 {
            return;
        }
        tuner.note(took.as_secs_f64() / reached as f64);
        let shift = tuner.shift();
        match &mut self.engine {
            Engine::Narrow(parts) => parts.widen(self.graph, shift),
            Engine::Wide(parts) => parts.widen(self.graph, shift),
        }
    }
}

impl<D: Distance> Parts<D> {
    fn new(graph: &impl Rows, tuner: Option<&Tuner>, place: Place) -> Parts<D> {
        let queue = match tuner {
            Some(tuner) => Queue::Buckets(Box::new(Buckets::new(tuner.shift(), graph))),
            None => Queue::Heap(Heap::new()),
        };
        Parts { labels: Labels::new(graph.nodes(), place), queue }
    }

    fn run(&mut self, graph: &impl Rows, source: Node, goal: &Goal<'_>) -> Result<(), TooFar> {
        self.labels.begin(source, goal);
        let pending = Pending::new(goal);
        match &mut self.queue {
            Queue::Heap(heap) => heap.search(graph, source, pending, &mut self.labels),
            Queue::Buckets(buckets) => buckets.search(graph, source, pending, &mut self.labels),
        }
    }

    fn widen(&mut self, graph: &impl Rows, shift: u32) {
        if let Queue::Buckets(buckets) = &mut self.queue
            && buckets.shift() != shift
        {
            **buckets = Buckets::new(shift, graph);
        }
    }
}
