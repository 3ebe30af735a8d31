//! What searching a graph takes of memory, told from its size: before anything is read or made.

use firsttouch_documents::{GraphSize, MemoryEstimate};

/// How large a graph is, as its file or its recipe says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Nodes.
    pub nodes: u64,
    /// Arcs, at most.
    pub arcs: u64,
}

/// Bytes of an arc.
const ARC: u64 = 8;
/// Bytes that tell where the arcs of a node begin.
const ROW: u64 = 8;
/// Bytes of a node's distance, of 32 bits.
const DISTANCE: u64 = 4;
/// Bytes of a queue for each node: what random graphs need, whose searches have most nodes in their queues at the same time
/// (3.9 with 2^26 nodes and 2^27 arcs; roads need far less).
const QUEUED: u64 = 4;

impl Size {
    /// Bytes of the graph in memory, and nearly as many in a file of our own.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.arcs.saturating_mul(ARC).saturating_add(self.nodes.saturating_mul(ROW))
    }

    /// What so many `searches` at the same time need, over so many `copies` of the graph. A search by all threads
    /// together is one.
    #[must_use]
    pub fn memory_estimate(self, searches: u64, copies: u64) -> MemoryEstimate {
        let (graph_bytes, search_bytes) = (self.bytes(), self.nodes.saturating_mul(DISTANCE + QUEUED));
        let bytes = graph_bytes.saturating_mul(copies).saturating_add(search_bytes.saturating_mul(searches));
        let graph = GraphSize { nodes: self.nodes, arcs: self.arcs };
        MemoryEstimate { graph, graph_bytes, copies, search_bytes, searches, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_large_graph_needs_what_it_needs() {
        let large = Size { nodes: 1 << 30, arcs: 1 << 31 };
        let estimate = large.memory_estimate(1, 1);
        assert_eq!((estimate.graph_bytes, estimate.bytes), (24 << 30, 32 << 30));
        assert_eq!(large.memory_estimate(2, 3).bytes, 3 * estimate.graph_bytes + 2 * estimate.search_bytes);
    }
}
