//! What a graph is, what its memory obtained, and what searching it takes.

use firsttouch_placement::{Obtained, Shortfall};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A graph that was read, converted or made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphReport {
    /// The graph.
    pub graph: Description,
    /// Time of reading, reordering left out, in seconds; `None` for graphs that were made.
    pub parse_s: Option<f64>,
    /// Time of making, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate_s: Option<f64>,
    /// Bytes of the file that was read, as it lies on the disk.
    pub file_bytes: Option<u64>,
    /// Threads that read or made it.
    pub threads: usize,
    /// The seed it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The file it was written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    /// What its memory obtained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<GraphReceipt>,
}

/// A graph in a few numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Description {
    /// The word of the format it was read from, or will be written in.
    pub format: String,
    /// Nodes.
    pub nodes: u64,
    /// Arcs.
    pub arcs: u64,
    /// Bytes in memory: 8 per arc and per node.
    pub bytes: u64,
    /// Least weight; 0 without arcs.
    pub min_weight: u32,
    /// Largest weight; 0 without arcs.
    pub max_weight: u32,
    /// No distance is larger.
    pub distance_bound: u64,
    /// Bits that every distance fits into: 32 or 64.
    pub distance_bits: u32,
    /// The most arcs that leave one node.
    pub max_degree: u64,
    /// Nodes that no arc leaves.
    pub nodes_without_arcs: u64,
    /// Arcs from a node to itself.
    pub loops: u64,
    /// Number of the first node in the file; `None` where numbers have gaps.
    pub first_id: Option<u64>,
    /// Whether the nodes have coordinates.
    pub has_coordinates: bool,
    /// Whether the nodes lie in another order than in the file.
    pub is_reordered: bool,
    /// What was taken as it is, and might have been meant otherwise.
    pub notes: Vec<String>,
}

/// How large a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphFigures {
    /// Nodes.
    pub nodes: usize,
    /// Arcs.
    pub arcs: usize,
    /// Bytes of one copy.
    pub bytes: usize,
}

/// How large a graph is, as its file or its recipe says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphSize {
    /// Nodes.
    pub nodes: u64,
    /// Arcs, at most.
    pub arcs: u64,
}

/// Memory that searching takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MemoryEstimate {
    /// How large the graph is.
    pub graph: GraphSize,
    /// Bytes of one copy of it.
    pub graph_bytes: u64,
    /// Copies of it.
    pub copies: u64,
    /// Bytes of a search: its distances, and its queue when it is fullest, of a random graph. Twice as many where distances
    /// do not fit into 32 bits.
    pub search_bytes: u64,
    /// Searches at the same time.
    pub searches: u64,
    /// All together.
    pub bytes: u64,
}

/// Memory that a search would take, and what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MemoryEstimateReport {
    /// What it would take.
    pub need: MemoryEstimate,
    /// What can be had without swapping; `None` if the kernel does not tell.
    pub available_bytes: Option<u64>,
}

/// Figures of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HierarchyShape {
    /// Nodes.
    pub nodes: usize,
    /// Pairs of nodes that are joined for some weights.
    pub arcs: usize,
    /// Of these, those that shortest ways up need with the present weights.
    pub arcs_up: usize,
    /// The same for ways down: what a sweep relaxes.
    pub arcs_down: usize,
    /// The most nodes above each other.
    pub height: usize,
    /// Whether distances need 64 bits.
    pub wide: bool,
}

/// Asked against obtained, for the memory of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphReceipt {
    /// What was asked.
    pub asked: GraphAsked,
    /// How many copies there are.
    pub copies: usize,
    /// What was obtained; `None` for a graph whose memory was not placed.
    pub obtained: Option<Obtained>,
    /// Reasons for everything that did not get what was asked.
    pub shortfalls: Vec<Shortfall>,
    /// Remarks that are no shortfalls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What was asked for the memory of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphAsked {
    /// The kind of pages, as on the command line.
    pub pages: String,
    /// The node of each copy; `None` where it was left open.
    pub nodes: Vec<Option<u32>>,
}

impl GraphReceipt {
    /// Takes in what other memory of the same search has obtained; it was asked to lie on the same pages.
    pub fn add(&mut self, other: &GraphReceipt) {
        if let Some(more) = &other.obtained {
            let all = self.obtained.get_or_insert_default();
            let had_any = all.placed_blocks > 0;
            all.placed_blocks += more.placed_blocks;
            all.placed_bytes += more.placed_bytes;
            all.peak_bytes += more.peak_bytes;
            for (page_bytes, bytes) in &more.bytes_by_page_size {
                *all.bytes_by_page_size.entry(*page_bytes).or_default() += bytes;
            }
            all.bytes_by_node = match (all.bytes_by_node.take(), &more.bytes_by_node) {
                (None, Some(more)) if !had_any => Some(more.clone()),
                (Some(mut all), Some(more)) => {
                    more.iter().for_each(|(node, bytes)| *all.entry(*node).or_default() += bytes);
                    Some(all)
                }
                _ => None,
            };
        }
        other.shortfalls.iter().for_each(|more| self.fall_short(more.clone()));
        self.notes.extend(
            other.notes.iter().filter(|note| !self.notes.contains(note)).cloned().collect::<Vec<_>>(),
        );
    }

    /// Adds bytes that did not get what was asked: each reason stands once, with all its bytes.
    pub fn fall_short(&mut self, more: Shortfall) {
        match self.shortfalls.iter_mut().find(|known| known.reason == more.reason) {
            Some(known) => known.bytes += more.bytes,
            None => self.shortfalls.push(more),
        }
    }
}
