//! Why arcs or arrays make no graph.

use super::arc::Node;
use firsttouch_memory::RegionError;

/// Why arcs make no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// More nodes than 32 bits count, with one number kept for "none".
    #[error("{nodes} nodes are too many: a graph has at most {} of them", u32::MAX)]
    TooManyNodes {
        /// How many were asked for.
        nodes: u64,
    },
    /// An arc leaves or reaches a node that is not there.
    #[error("arc {arc} (counted from 0) joins {tail} and {head}, but there are only {nodes} nodes")]
    NoSuchNode {
        /// Which arc, in the order given.
        arc: usize,
        /// Its tail.
        tail: Node,
        /// Its head.
        head: Node,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Rows that are no rows.
    #[error("the row of node {node} begins at {begins} and ends at {ends}, in {arcs} arcs")]
    BadRow {
        /// The node.
        node: usize,
        /// Where its arcs begin.
        begins: i64,
        /// Where they end.
        ends: i64,
        /// How many arcs there are.
        arcs: usize,
    },
    /// As many weights as heads there must be.
    #[error("there are {heads} heads, but {weights} weights")]
    UnequalLengths {
        /// Heads given.
        heads: usize,
        /// Weights given.
        weights: usize,
    },
    /// A weight that no arc can have.
    #[error(
        "the weight of arc {arc} (counted from 0), from {tail} to {head}, is no whole number from 0 to 4294967295"
    )]
    BadWeight {
        /// Which arc, in the order given.
        arc: usize,
        /// Its tail.
        tail: Node,
        /// Its head.
        head: Node,
    },
    /// There is no memory for it.
    #[error("there is no memory for the graph: {0}")]
    Memory(RegionError),
}

impl GraphError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            GraphError::TooManyNodes { .. } | GraphError::NoSuchNode { .. } => {
                "a graph has at most 4294967295 nodes, numbered from 0 without gaps"
            }
            GraphError::BadRow { .. } => {
                "the row of a node ends where that of the next begins: the first begins at 0, the last ends with the arcs"
            }
            GraphError::UnequalLengths { .. } => "one weight for each head",
            GraphError::BadWeight { .. } => {
                "multiply all weights by the same power of ten and round them, so that they are whole numbers below 2^32"
            }
            GraphError::Memory(error) => error.hint(),
        }
    }
}
