//! What a graph is, in a few numbers.

use crate::formats::Loaded;
use crate::rows::{Graph, Node};
use firsttouch_documents::Description;

impl From<&Loaded> for Description {
    /// Every arc is looked at once.
    fn from(loaded: &Loaded) -> Description {
        let graph = &loaded.graph;
        let degrees = || graph.offsets().windows(2).map(|row| row[1] - row[0]);
        Description {
            format: loaded.format.word().to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Format;
    use crate::rows::Ids;

    #[test]
    fn a_graph_is_described_by_its_numbers() {
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (0, 0, 9), (1, 0, 2)]).unwrap();
        let ids = Ids::from_first(1, 3);
        let loaded =
            Loaded { graph, ids, coordinates: None, format: Format::Dimacs, notes: vec!["so".into()] };
        let description = Description::from(&loaded);
        assert_eq!(
            (description.format.as_str(), description.nodes, description.nodes_without_arcs),
            ("gr", 3, 1)
        );
        assert_eq!((description.arcs, description.max_degree, description.loops), (3, 2, 1));
        assert_eq!((description.min_weight, description.max_weight), (2, 9));
        assert_eq!((description.distance_bound, description.distance_bits), (11, 32));
        assert_eq!((description.first_id, description.bytes), (Some(1), 56));
        assert_eq!(description.notes, ["so"]);
    }
}
