//! How graphs are read.

use super::format::Format;
use crate::rows::Place;

/// How to read a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; `None` finds out.
    pub format: Option<Format>,
    /// Where the graph is to lie.
    pub place: Place,
    /// Take every line of an edge list, a DIMACS or a general Matrix Market file as an arc there and one back.
    pub undirected: bool,
    /// Bytes that the nodes of a header may take (8 each), and the text of a packed file, where that is more than the length
    /// of the file allows: a node for each byte of text beyond a million, and 64 bytes of text for each packed byte beyond 16 MiB.
    pub most_memory_bytes: Option<u64>,
}
