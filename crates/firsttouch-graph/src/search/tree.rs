//! What a search has found.

use super::distance::Distance;
use super::labels::Labels;
use super::work::{Kind, Work};
use crate::rows::{Graph, Node, Rows, UNREACHED};
use firsttouch_documents::Summary;

/// Distances of all nodes, in as many bits as they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distances<'a> {
    /// Of 32 bits; [`UNREACHED`] where no path leads.
    Narrow(&'a [u32]),
    /// Of 64 bits; `u64::MAX` where no path leads.
    Wide(&'a [u64]),
}

impl Distances<'_> {
    /// That of a node; `None` if no path leads to it.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    pub fn of(self, node: Node) -> Option<u64> {
        match self {
            Distances::Narrow(all) => reached(all[node as usize]),
            Distances::Wide(all) => reached(all[node as usize]),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Distances::Narrow(all) => all.len(),
            Distances::Wide(all) => all.len(),
        }
    }

    /// The nodes that have one, in ascending order.
    fn reached(self) -> Vec<Node> {
        (0..self.len() as Node).filter(|node| self.of(*node).is_some()).collect()
    }

    fn summary(self) -> Summary {
        match self {
            // Sums of so many numbers of 32 bits do not leave 64.
            Distances::Narrow(distances) => {
                let mut sum = 0;
                let mut all = Summary::default();
                for distance in distances.iter().filter(|distance| **distance != UNREACHED) {
                    all.reached += 1;
                    all.farthest = all.farthest.max(u64::from(*distance));
                    sum += u64::from(*distance);
                }
                Summary { sum: sum.into(), ..all }
            }
            Distances::Wide(distances) => {
                distances.iter().copied().filter(|distance| *distance != u64::MAX).collect()
            }
        }
    }

    fn summary_of(self, nodes: &[Node]) -> Summary {
        nodes.iter().filter_map(|node| self.of(*node)).collect()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

fn reached<D: Distance>(distance: D) -> Option<u64> {
    (distance != D::UNREACHED).then(|| distance.wide())
}

/// The shortest paths from one source: a view of the search's own arrays, until its next run.
#[derive(Debug)]
pub struct Tree<'a, G = Graph> {
    graph: &'a G,
    source: Node,
    distances: Distances<'a>,
    reached: Option<&'a [Node]>,
}

impl<G> Clone for Tree<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for Tree<'_, G> {}

impl<'a, G: Rows> Tree<'a, G> {
    pub(super) fn narrow(graph: &'a G, source: Node, labels: &'a Labels<u32>) -> Tree<'a, G> {
        let reached = labels.limited.then_some(&*labels.reached);
        Tree { graph, source, distances: Distances::Narrow(&labels.distances), reached }
    }

    pub(super) fn wide(graph: &'a G, source: Node, labels: &'a Labels<u64>) -> Tree<'a, G> {
        let reached = labels.limited.then_some(&*labels.reached);
        Tree { graph, source, distances: Distances::Wide(&labels.distances), reached }
    }

    /// Distances that were found in another way, as a tree: those of all nodes from `source`. `reached` are the nodes that have one,
    /// where it is known.
    ///
    /// # Panics
    ///
    /// If there are more or fewer distances than nodes.
    #[must_use]
    pub fn of_distances(
        graph: &'a G,
        source: Node,
        distances: Distances<'a>,
        reached: Option<&'a [Node]>,
    ) -> Tree<'a, G> {
        assert_eq!(distances.len(), graph.nodes(), "a distance for each node");
        Tree { graph, source, distances, reached }
    }

    /// Where the paths begin.
    #[must_use]
    pub fn source(&self) -> Node {
        self.source
    }

    /// The distances of all nodes. In a search with a limit or targets, nodes beyond these have none.
    #[must_use]
    pub fn distances(&self) -> Distances<'a> {
        self.distances
    }

    /// The nodes that have a distance, if the search had a limit or targets, in no order: few of them take little time.
    #[must_use]
    pub fn within_limit(&self) -> Option<&'a [Node]> {
        self.reached
    }

    /// The nodes that have a distance, in ascending order.
    #[must_use]
    pub fn reached(&self) -> Vec<Node> {
        match self.reached {
            Some(reached) => {
                let mut reached = reached.to_vec();
                reached.sort_unstable();
                reached
            }
            None => self.distances.reached(),
        }
    }

    /// The node before each node on a shortest path, or [`NO_PARENT`](super::NO_PARENT). The same for every algorithm.
    #[must_use]
    pub fn parents(&self) -> Vec<Node> {
        let Tree { source, distances, .. } = *self;
        let (reached, mut found) = (self.reached(), Vec::new());
        let work = Kind::Parents { source, distances, reached: &reached, found: &mut found };
        self.graph.perform(Work(work));
        found
    }

    /// What the distances of all nodes come to.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.reached.map_or_else(|| self.distances.summary(), |reached| self.distances.summary_of(reached))
    }

    /// What the distances of some nodes come to.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    pub fn summary_of(&self, nodes: &[Node]) -> Summary {
        self.distances.summary_of(nodes)
    }
}
