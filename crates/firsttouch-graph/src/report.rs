//! What a search from many sources came to: the document of `sssp` and `apsp`.

use crate::copies::GraphReceipt;
use crate::graph::Graph;
use crate::search::Summary;
use serde::Serialize;

/// How large a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GraphFigures {
    /// Nodes.
    pub nodes: usize,
    /// Arcs.
    pub arcs: usize,
    /// Bytes of one copy.
    pub bytes: usize,
}

impl From<&Graph> for GraphFigures {
    fn from(graph: &Graph) -> GraphFigures {
        GraphFigures { nodes: graph.nodes(), arcs: graph.arcs(), bytes: graph.bytes() }
    }
}

/// The trees of all sources together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Pairs of a source and a node that a path leads to.
    pub reached: u64,
    /// The sum of all distances, modulo 2^64. It does not depend on the order of sources or nodes.
    pub checksum: u64,
    /// The longest distance.
    pub farthest: u64,
}

impl Totals {
    /// Adds the tree of one more source.
    pub fn add(&mut self, tree: Summary) {
        self.reached += tree.reached;
        self.checksum = self.checksum.wrapping_add(tree.sum);
        self.farthest = self.farthest.max(tree.farthest);
    }
}

/// A search from many sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchReport {
    /// [`firsttouch_placement::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The graph.
    pub graph: GraphFigures,
    /// The word of the algorithm.
    pub algorithm: String,
    /// Why this one.
    pub reason: String,
    /// Sources asked for.
    pub sources: usize,
    /// Sources searched from: fewer if the search was interrupted.
    pub searched: usize,
    /// Threads that searched.
    pub threads: usize,
    /// Time of reading or making the graph.
    pub parse_s: f64,
    /// Time of bringing it into order, of copying it to groups of cores, and of making a hierarchy.
    pub preprocessing_s: f64,
    /// Time of all searches, with what was done to their results.
    pub search_s: f64,
    /// Time of each search by itself, in the order of the sources.
    pub query_s: Vec<f64>,
    /// Arcs of the graph times sources, by the time of the searches.
    pub edges_per_s: f64,
    /// What was found.
    #[serde(flatten)]
    pub totals: Totals,
    /// What the graph's memory obtained.
    pub receipt: GraphReceipt,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
