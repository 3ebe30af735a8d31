//! What a search has found.

use super::distances::Distances;
use super::parents::parents;
use crate::rows::{Node, Rows};
use firsttouch_documents::Summary;

/// The shortest paths from one source: a view of the search's own arrays, until its next run.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    rows: Rows<'a>,
    source: Node,
    distances: Distances<'a>,
    reached: Option<&'a [Node]>,
}

impl<'a> Tree<'a> {
    /// Distances of all nodes from `source`, as a tree. `reached` are the nodes that have one, where it is known.
    ///
    /// # Panics
    ///
    /// If there are more or fewer distances than nodes.
    #[must_use]
    pub fn of_distances(
        rows: impl Into<Rows<'a>>,
        source: Node,
        distances: Distances<'a>,
        reached: Option<&'a [Node]>,
    ) -> Tree<'a> {
        let rows = rows.into();
        assert_eq!(distances.len(), rows.nodes(), "a distance for each node");
        Tree { rows, source, distances, reached }
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
        let Tree { rows, source, distances, .. } = *self;
        match distances {
            Distances::Narrow(all) => parents(rows, source, all, &self.reached()),
            Distances::Wide(all) => parents(rows, source, all, &self.reached()),
        }
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
