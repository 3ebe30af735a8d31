//! How large a graph is, in figures for documents.

use crate::rows::Graph;
use firsttouch_documents::GraphFigures;

impl From<&Graph> for GraphFigures {
    fn from(graph: &Graph) -> GraphFigures {
        GraphFigures { nodes: graph.nodes(), arcs: graph.arcs(), bytes: graph.bytes() }
    }
}
