//! What can go wrong with a hierarchy.

use super::limits::MOST_HEIGHT;
use crate::file::FileError;

/// Why there is no hierarchy, or no answer from one.
#[derive(Debug, thiserror::Error)]
pub enum HierarchyError {
    /// Neighbourhoods in the graph are mostly border, as on random and social graphs.
    #[error(
        "the graph has no small cuts: {:.0} % of a neighbourhood is its border, so contracting nodes would join nearly all of the others",
        border * 100.0
    )]
    NoSmallCuts {
        /// The share of the border; on roads about a tenth.
        border: f64,
    },
    /// The hierarchy would have too many arcs.
    #[error("a hierarchy of this graph needs more than {limit} arcs")]
    TooManyArcs {
        /// The most that were allowed.
        limit: u64,
    },
    /// Too many nodes lie above each other.
    #[error("a hierarchy of this graph is {height} nodes high; {} is the most", MOST_HEIGHT)]
    TooHigh {
        /// How many.
        height: usize,
    },
    /// Other arcs than those the hierarchy was built of.
    #[error("{asked} weights were given for the {arcs} arcs of the graph")]
    OtherWeights {
        /// How many weights.
        asked: usize,
        /// How many arcs.
        arcs: usize,
    },
    /// Paths may be longer than 63 bits count.
    #[error("paths of this graph may be longer than 2^62")]
    TooLong,
    /// The order does not name every node once.
    #[error("the order of {given} nodes is none of the graph's {nodes}")]
    NoOrder {
        /// How many nodes it names.
        given: usize,
        /// How many there are.
        nodes: usize,
    },
    /// The file of an index.
    #[error(transparent)]
    File(#[from] FileError),
    /// A source or target is not there.
    #[error("there is no node {node}: the graph has {nodes}")]
    NoSuchNode {
        /// Which.
        node: crate::Node,
        /// How many there are.
        nodes: usize,
    },
}

impl HierarchyError {
    /// Whether the graph is not of the kind that hierarchies suit: a search without one finds the same.
    #[must_use]
    pub fn is_of_the_graph(&self) -> bool {
        matches!(
            self,
            HierarchyError::NoSmallCuts { .. }
                | HierarchyError::TooManyArcs { .. }
                | HierarchyError::TooHigh { .. }
                | HierarchyError::TooLong
        )
    }

    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            HierarchyError::NoSmallCuts { .. }
            | HierarchyError::TooManyArcs { .. }
            | HierarchyError::TooHigh { .. } => "search without a hierarchy: --algorithm buckets, or auto",
            HierarchyError::OtherWeights { .. } => {
                "one weight for each arc, in the order of the graph's arcs"
            }
            HierarchyError::TooLong => "smaller weights: divide them all by a power of two",
            HierarchyError::NoOrder { .. } => "build the hierarchy again",
            HierarchyError::File(FileError::Content { .. }) => {
                "an index of this graph, in this order of its nodes, is made by --save-index FILE"
            }
            HierarchyError::File(error) => error.hint(),
            HierarchyError::NoSuchNode { .. } => "nodes are counted from 0 here",
        }
    }
}
