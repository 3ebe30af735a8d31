//! What a graph is, in a few numbers.

use crate::graph::{Graph, Node};
use crate::read::{Format, Loaded};
use serde::Serialize;
use std::fmt;

/// A graph in a few numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    /// The word of the format it was read from, or will be written in.
    pub format: &'static str,
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

impl Description {
    /// Of a graph; every arc is looked at once.
    #[must_use]
    pub fn of(loaded: &Loaded) -> Description {
        let graph = &loaded.graph;
        let degrees = || graph.offsets().windows(2).map(|row| row[1] - row[0]);
        Description {
            format: loaded.format.word(),
            nodes: graph.nodes() as u64,
            arcs: graph.arcs() as u64,
            bytes: graph.bytes() as u64,
            min_weight: graph.all_arcs().iter().map(|arc| arc.weight).min().unwrap_or(0),
            max_weight: graph.max_weight(),
            distance_bound: graph.distance_bound(),
            distance_bits: if graph.fits_32_bits() { 32 } else { 64 },
            max_degree: degrees().max().unwrap_or(0),
            nodes_without_arcs: degrees().filter(|degree| *degree == 0).count() as u64,
            loops: loops(graph),
            first_id: loaded.ids.first(),
            has_coordinates: loaded.coordinates.is_some(),
            is_reordered: loaded.ids.order().is_some(),
            notes: loaded.notes.clone(),
        }
    }
}

fn loops(graph: &Graph) -> u64 {
    let of = |node: Node| graph.out(node).iter().filter(|arc| arc.head == node).count() as u64;
    (0..graph.nodes() as Node).map(of).sum()
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format =
            Format::parse(self.format).map_or_else(|| self.format.to_owned(), |format| format.to_string());
        writeln!(f, "format      {format}")?;
        writeln!(f, "nodes       {}, of which {} have no arcs", self.nodes, self.nodes_without_arcs)?;
        let loops = if self.loops == 1 { "1 loop".to_owned() } else { format!("{} loops", self.loops) };
        writeln!(f, "arcs        {}, at most {} of one node, {loops}", self.arcs, self.max_degree)?;
        writeln!(f, "weights     {} to {}", self.min_weight, self.max_weight)?;
        writeln!(f, "distances   at most {}: {} bits", self.distance_bound, self.distance_bits)?;
        let numbers = self.first_id.map_or("with gaps".to_owned(), |first| format!("from {first} on"));
        let order = if self.is_reordered { ", in another order inside" } else { "" };
        let coordinates = if self.has_coordinates { ", with coordinates" } else { "" };
        writeln!(f, "numbers     {numbers}{order}{coordinates}")?;
        writeln!(f, "memory      {}", firsttouch_placement::format_bytes(self.bytes))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "note        {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Ids;

    #[test]
    fn a_graph_is_described_by_its_numbers() {
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (0, 0, 9), (1, 0, 2)]).unwrap();
        let ids = Ids::from_first(1, 3);
        let loaded =
            Loaded { graph, ids, coordinates: None, format: Format::Dimacs, notes: vec!["so".into()] };
        let text = Description::of(&loaded).to_string();
        assert_eq!(
            text,
            "format      DIMACS\n\
             nodes       3, of which 1 have no arcs\n\
             arcs        3, at most 2 of one node, 1 loop\n\
             weights     2 to 9\n\
             distances   at most 11: 32 bits\n\
             numbers     from 1 on\n\
             memory      56 B\n\
             note        so\n"
        );
    }
}
