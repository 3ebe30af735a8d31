//! A search by a whole team, made once and run for many sources.

use super::delta::{Delta, Step};
use super::distance::{Distance, TooFar};
use super::goal::{Goal, Pending};
use super::labels::Labels;
use super::regions::Regions;
use super::tree::Tree;
use super::width::guess;
use crate::array::Place;
use crate::copies::GraphReceipt;
use crate::graph::{Graph, Node};
use crate::rows::Rows;
use firsttouch_threads::Team;

/// Shortest paths from one source after the other, by all threads of a team together.
///
/// ```
/// use firsttouch_graph::{Graph, TeamSearch};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 2, 5), (0, 2, 20)])?;
/// let mut team = Team::new(&[vec![0], vec![0]])?; // two threads, here on one CPU
/// let mut search = TeamSearch::new(&graph, &team, None);
/// assert_eq!(search.run(&mut team, 0, None).distances().of(2), Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TeamSearch<'g, G = Graph> {
    graph: &'g G,
    way: Way,
    engine: Engine,
    place: Place,
}

/// Buckets of regions are wider than those of one thread, as a power of two: they hold a part of the nodes only, and the fewer
/// they are, the less threads wait for each other.
const WIDER: u32 = 2;

/// How the members share the work, with the logarithm of the width of buckets.
#[derive(Clone, Copy, Debug)]
enum Way {
    Delta(u32, Step),
    Regions(u32),
}

/// Distances are of 32 bits until a search comes so far that they might not fit.
#[derive(Debug)]
enum Engine {
    Narrow(Parts<u32>),
    Wide(Parts<u64>),
}

#[derive(Debug)]
struct Parts<D: Distance> {
    labels: Labels<D>,
    shared: Shared<D>,
}

#[derive(Debug)]
enum Shared<D: Distance> {
    Delta(Box<Delta<D>>),
    Regions(Box<Regions<D>>),
}

impl<'g, G: Rows> TeamSearch<'g, G> {
    /// By delta-stepping, for this team, or one with as many members. `delta`, rounded down to a power of two, is the
    /// stretch of distances that is worked on at a time; without it, the stretch follows the search.
    #[must_use]
    pub fn new(graph: &'g G, team: &Team, delta: Option<u64>) -> TeamSearch<'g, G> {
        let way = match delta {
            Some(delta) => Way::Delta(delta.max(1).ilog2(), Step::OneBucket),
            None => Way::Delta(guess(graph), Step::Adapts),
        };
        TeamSearch::by(way, graph, team)
    }

    /// By regions, for this team, or one with as many members: each member has nodes of its own, some of every part of the
    /// numbers. For graphs in which most arcs lead to nodes with numbers close by ([`crate::GraphShape::strays`]). Buckets are
    /// `width` wide, rounded down to a power of two, or as wide as seems right.
    #[must_use]
    pub fn by_regions(graph: &'g G, team: &Team, width: Option<u64>) -> TeamSearch<'g, G> {
        let shift = width.map_or_else(|| guess(graph) + WIDER, |width| width.max(1).ilog2());
        TeamSearch::by(Way::Regions(shift), graph, team)
    }

    fn by(way: Way, graph: &'g G, team: &Team) -> TeamSearch<'g, G> {
        let place = Place::HEAP;
        TeamSearch { graph, way, engine: Engine::Narrow(Parts::new(way, graph, team.size(), place)), place }
    }

    /// With distances on these pages, touched first by the thread that calls; on the heap where they cannot be had, which
    /// the receipt tells.
    #[must_use]
    pub fn on(mut self, place: Place) -> TeamSearch<'g, G> {
        self.place = place;
        if let Engine::Narrow(parts) = &mut self.engine {
            parts.labels = Labels::new(self.graph.nodes(), place);
        }
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

    /// Finds the shortest paths from `source`: to all nodes (`None`), to those at a distance of at most `Some(limit)`, or
    /// as far as a [`Goal`] says.
    ///
    /// # Panics
    ///
    /// If there is no such node, or target, or the team has another size.
    pub fn run<'t>(&mut self, team: &mut Team, source: Node, goal: impl Into<Goal<'t>>) -> Tree<'_, G> {
        let goal = goal.into();
        if let Engine::Narrow(parts) = &mut self.engine
            && parts.run(team, self.graph, source, &goal) == Err(TooFar)
        {
            self.engine = Engine::Wide(Parts::new(self.way, self.graph, team.size(), self.place));
        }
        if let Engine::Wide(parts) = &mut self.engine {
            parts
                .run(team, self.graph, source, &goal)
                .expect("2^32 arcs of 32 bits are no longer than 64 bits");
        }
        match &self.engine {
            Engine::Narrow(parts) => Tree::narrow(self.graph, source, &parts.labels),
            Engine::Wide(parts) => Tree::wide(self.graph, source, &parts.labels),
        }
    }
}

impl<D: Distance> Parts<D> {
    fn new(way: Way, graph: &impl Rows, members: usize, place: Place) -> Parts<D> {
        let shared = match way {
            Way::Delta(shift, step) => Shared::Delta(Box::new(Delta::new(shift, step, graph, members))),
            Way::Regions(shift) => Shared::Regions(Box::new(Regions::new(shift, graph, members))),
        };
        Parts { labels: Labels::new(graph.nodes(), place), shared }
    }

    fn run(
        &mut self,
        team: &mut Team,
        graph: &impl Rows,
        source: Node,
        goal: &Goal<'_>,
    ) -> Result<(), TooFar> {
        self.labels.begin(source, goal);
        let pending = Pending::new(goal);
        match &mut self.shared {
            Shared::Delta(delta) => delta.search(team, graph, source, pending, &mut self.labels),
            Shared::Regions(regions) => regions.search(team, graph, source, pending, &mut self.labels),
        }
    }
}
