//! A search by a whole team, made once and run for many sources.

use super::delta::Step;
use super::engine::Engine;
use super::goal::Goal;
use super::methods::{Shared, Variant};
use super::tree::Tree;
use super::width::guess;
use crate::rows::{Node, Place, Rows};
use firsttouch_documents::GraphReceipt;
use firsttouch_threads::Team;

/// Shortest paths from one source after the other, by all threads of a team together.
///
/// ```
/// use firsttouch_graph::{Graph, ParallelSearch};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 2, 5), (0, 2, 20)])?;
/// let mut team = Team::new(&[vec![0], vec![0]])?; // two threads, here on one CPU
/// let mut search = ParallelSearch::new(&graph, &team, None);
/// assert_eq!(search.run(&mut team, 0, None).distances().of(2), Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ParallelSearch<'g> {
    rows: Rows<'g>,
    variant: Variant,
    engine: Engine<Shared<u32>, Shared<u64>>,
}

/// Buckets of partitions are wider than those of one thread, as a power of two: they hold a part of the nodes only, and the fewer
/// they are, the less threads wait for each other.
const WIDER: u32 = 2;

impl<'g> ParallelSearch<'g> {
    /// By delta-stepping, for this team, or one with as many members. `delta`, rounded down to a power of two, is the
    /// stretch of distances that is worked on at a time; without it, the stretch follows the search.
    #[must_use]
    pub fn new(rows: impl Into<Rows<'g>>, team: &Team, delta: Option<u64>) -> ParallelSearch<'g> {
        let rows = rows.into();
        let variant = match delta {
            Some(delta) => Variant::Delta(delta.max(1).ilog2(), Step::OneBucket),
            None => Variant::Delta(guess(rows), Step::Adapts),
        };
        ParallelSearch::by(variant, rows, team)
    }

    /// Owner-partitioned delta-stepping, for this team, or one with as many members: each member has nodes of its own, some of every part of the
    /// numbers. For graphs in which most arcs lead to nodes with numbers close by ([`crate::GraphShape::cross_partition`]). Buckets are
    /// `width` wide, rounded down to a power of two, or as wide as seems right.
    #[must_use]
    pub fn owner_partitioned(
        rows: impl Into<Rows<'g>>,
        team: &Team,
        width: Option<u64>,
    ) -> ParallelSearch<'g> {
        let rows = rows.into();
        let shift = width.map_or_else(|| guess(rows) + WIDER, |width| width.max(1).ilog2());
        ParallelSearch::by(Variant::Partitions(shift), rows, team)
    }

    fn by(variant: Variant, rows: Rows<'g>, team: &Team) -> ParallelSearch<'g> {
        let engine = Engine::new(rows.nodes(), Shared::new(variant, rows, team.size()));
        ParallelSearch { rows, variant, engine }
    }

    /// With distances on these pages, touched first by the thread that calls; on the heap where they cannot be had, which
    /// the receipt tells.
    #[must_use]
    pub fn on(self, place: Place) -> ParallelSearch<'g> {
        ParallelSearch { engine: self.engine.on(self.rows.nodes(), place), ..self }
    }

    /// What the memory of the distances has obtained.
    #[must_use]
    pub fn receipt(&self) -> GraphReceipt {
        self.engine.receipt()
    }

    /// Finds the shortest paths from `source`: to all nodes (`None`), to those at a distance of at most `Some(limit)`, or
    /// as far as a [`Goal`] says.
    ///
    /// # Panics
    ///
    /// If there is no such node, or target, or the team has another size.
    pub fn run<'t>(&mut self, team: &mut Team, source: Node, goal: impl Into<Goal<'t>>) -> Tree<'_> {
        self.find(team, source, goal.into())
    }

    /// Not generic, so that it is compiled here and not by everybody who searches.
    fn find(&mut self, team: &mut Team, source: Node, goal: Goal<'_>) -> Tree<'_> {
        let (rows, variant, members) = (self.rows, self.variant, team.size());
        self.engine.run(team, rows, source, &goal, || Shared::new(variant, rows, members));
        let (distances, reached) = self.engine.found();
        Tree::of_distances(rows, source, distances, reached)
    }
}
