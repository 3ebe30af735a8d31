//! A search by a whole team, made once and run for many sources.

use super::delta::{Delta, Step};
use super::distance::{Distance, TooFar};
use super::goal::{Goal, Pending};
use super::labels::Labels;
use super::tree::Tree;
use super::width::guess;
use crate::array::Place;
use crate::copies::GraphReceipt;
use crate::graph::{Graph, Node};
use firsttouch_threads::Team;

/// Shortest paths from one source after the other, by all threads of a team together (delta-stepping).
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
pub struct TeamSearch<'g> {
    graph: &'g Graph,
    shift: u32,
    step: Step,
    engine: Engine,
    place: Place,
}

/// Distances are of 32 bits until a search comes so far that they might not fit.
#[derive(Debug)]
enum Engine {
    Narrow(Labels<u32>, Delta<u32>),
    Wide(Labels<u64>, Delta<u64>),
}

impl<'g> TeamSearch<'g> {
    /// For this team, or one with as many members. `delta`, rounded down to a power of two, is the stretch of distances that
    /// is worked on at a time; without it, the stretch follows the search.
    #[must_use]
    pub fn new(graph: &'g Graph, team: &Team, delta: Option<u64>) -> TeamSearch<'g> {
        let (shift, step) = match delta {
            Some(delta) => (delta.max(1).ilog2(), Step::OneBucket),
            None => (guess(graph), Step::Adapts),
        };
        let place = Place::HEAP;
        let labels = Labels::new(graph.nodes(), place);
        let engine = Engine::Narrow(labels, Delta::new(shift, step, graph, team.size()));
        TeamSearch { graph, shift, step, engine, place }
    }

    /// With distances on these pages, touched first by the thread that calls; on the heap where they cannot be had, which
    /// the receipt tells.
    #[must_use]
    pub fn on(mut self, place: Place) -> TeamSearch<'g> {
        self.place = place;
        if let Engine::Narrow(labels, _) = &mut self.engine {
            *labels = Labels::new(self.graph.nodes(), place);
        }
        self
    }

    /// What the memory of the distances has obtained.
    #[must_use]
    pub fn receipt(&self) -> GraphReceipt {
        match &self.engine {
            Engine::Narrow(labels, _) => labels.receipt(self.place),
            Engine::Wide(labels, _) => labels.receipt(self.place),
        }
    }

    /// Finds the shortest paths from `source`: to all nodes (`None`), to those at a distance of at most `Some(limit)`, or
    /// as far as a [`Goal`] says.
    ///
    /// # Panics
    ///
    /// If there is no such node, or target, or the team has another size.
    pub fn run<'t>(&mut self, team: &mut Team, source: Node, goal: impl Into<Goal<'t>>) -> Tree<'_> {
        let goal = goal.into();
        if let Engine::Narrow(labels, delta) = &mut self.engine
            && search(self.graph, labels, delta, team, source, &goal) == Err(TooFar)
        {
            let delta = Delta::new(self.shift, self.step, self.graph, team.size());
            self.engine = Engine::Wide(Labels::new(self.graph.nodes(), self.place), delta);
        }
        if let Engine::Wide(labels, delta) = &mut self.engine {
            search(self.graph, labels, delta, team, source, &goal)
                .expect("2^32 arcs of 32 bits are no longer than 64 bits");
        }
        match &self.engine {
            Engine::Narrow(labels, _) => Tree::narrow(self.graph, source, labels),
            Engine::Wide(labels, _) => Tree::wide(self.graph, source, labels),
        }
    }
}

fn search<D: Distance>(
    graph: &Graph,
    labels: &mut Labels<D>,
    delta: &mut Delta<D>,
    team: &mut Team,
    source: Node,
    goal: &Goal<'_>,
) -> Result<(), TooFar> {
    labels.begin(source, goal);
    delta.search(team, graph, source, Pending::new(goal), labels)
}
