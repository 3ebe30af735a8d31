//! What can go wrong with a long run.

use crate::Node;
use crate::file::FileError;
use crate::ranks::MessageError;

/// Why a long run failed.
#[derive(Debug, thiserror::Error)]
pub enum AllPairsError {
    /// A source is not there.
    #[error("there is no node {node}: the graph has {nodes}")]
    NoSuchNode {
        /// Which.
        node: Node,
        /// How many there are.
        nodes: usize,
    },
    /// A file of the run.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another rank was not heard of.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl AllPairsError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            AllPairsError::NoSuchNode { .. } => "nodes are counted from 0 here",
            AllPairsError::File(error) => error.hint(),
            AllPairsError::Message(error) => error.hint(),
        }
    }
}

/// The error of the first source that is not there.
pub(super) fn missing(sources: &[Node], nodes: usize) -> AllPairsError {
    let node = sources.iter().copied().find(|source| *source as usize >= nodes).unwrap_or_default();
    AllPairsError::NoSuchNode { node, nodes }
}
