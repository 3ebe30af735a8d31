//! What searching a graph takes of memory, told from its size: before anything is read or made.

use crate::binary;
use crate::generate::Recipe;
use crate::read::{Format, ReadError, size_of_text};
use firsttouch_placement::format_bytes;
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// How large a graph is, as its file or its recipe says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// That of the graph in a file, by its header; nothing else is read. Its format, if it is not what it looks like, may
    /// be named.
    ///
    /// # Errors
    /// A file that cannot be read, or is no graph, or of a format that has no header, or packed.
    pub fn of_file(path: &Path, format: Option<Format>) -> Result<Size, ReadError> {
        let file = File::open(path)?;
        match binary::size(&file)? {
            Some(size) => Ok(size),
            None => size_of_text(file, path, format),
        }
    }

    /// That of a graph that is to be made. Of Kronecker graphs some arcs are left out later.
    #[must_use]
    pub fn of_recipe(recipe: &Recipe) -> Size {
        match recipe {
            Recipe::Streets { width, height } => {
                let nodes = u64::from(*width) * u64::from(*height);
                // Two to the right and two down of every crossing, if there were no gaps.
                Size { nodes, arcs: 4 * nodes }
            }
            Recipe::Random { nodes, arcs, .. } => Size { nodes: u64::from(*nodes), arcs: *arcs },
            Recipe::Kronecker { scale, degree, .. } => {
                Size { nodes: 1 << scale, arcs: u64::from(*degree) << (scale + 1) }
            }
        }
    }

    /// Bytes of the graph in memory, and nearly as many in a file of our own.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.arcs.saturating_mul(ARC).saturating_add(self.nodes.saturating_mul(ROW))
    }

    /// What so many `searches` at the same time need, over so many `copies` of the graph. A search by all threads
    /// together is one.
    #[must_use]
    pub fn need(self, searches: u64, copies: u64) -> Need {
        let (graph_bytes, search_bytes) = (self.bytes(), self.nodes.saturating_mul(DISTANCE + QUEUED));
        let bytes = graph_bytes.saturating_mul(copies).saturating_add(search_bytes.saturating_mul(searches));
        Need { graph: self, graph_bytes, copies, search_bytes, searches, bytes }
    }
}

/// Memory that searching takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// How large the graph is.
    pub graph: Size,
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

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |count: u64| if count == 1 { String::new() } else { format!(" x {count}") };
        writeln!(f, "graph       {} nodes, {} arcs", self.graph.nodes, self.graph.arcs)?;
        writeln!(f, "its memory  {}{}", format_bytes(self.graph_bytes), times(self.copies))?;
        writeln!(
            f,
            "a search    {}{}, twice as much where distances leave 32 bits",
            format_bytes(self.search_bytes),
            times(self.searches)
        )?;
        writeln!(f, "together    {}", format_bytes(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Place;
    use crate::{Loaded, ReadOptions, generate, read, save};
    use firsttouch_threads::Team;

    fn random(nodes: u32, arcs: u64) -> Recipe {
        Recipe::Random { nodes, arcs, weights: 1..=9 }
    }

    #[test]
    fn what_a_header_tells_is_what_is_there() {
        let mut team = Team::of_this_process(1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let made: Loaded = generate(&random(1000, 3000), 1, Place::HEAP, &mut team).unwrap();
        let wanted = Size { nodes: 1000, arcs: 3000 };
        for (name, format) in [("g.ftg", Format::Binary), ("g.gr", Format::Dimacs)] {
            let path = folder.path().join(name);
            save(&made, &path, format, &mut team).unwrap();
            assert_eq!(Size::of_file(&path, None).unwrap(), wanted, "{name}");
            let graph = read(&path, &ReadOptions::default(), &mut team).unwrap().graph;
            // There is one more row than nodes.
            assert_eq!(wanted.bytes() + ROW, graph.bytes() as u64, "{name}");
        }
        let (list, metis) = (folder.path().join("g.wel"), folder.path().join("g.graph"));
        save(&made, &list, Format::WeightedEdgeList, &mut team).unwrap();
        assert!(matches!(Size::of_file(&list, None), Err(ReadError::NoHeader)));
        std::fs::write(&metis, "% three nodes in a row\n3 2\n2\n1 3\n2\n").unwrap();
        assert_eq!(Size::of_file(&metis, None).unwrap(), Size { nodes: 3, arcs: 4 });
        let matrix = folder.path().join("g.mtx");
        let text = "%%MatrixMarket matrix coordinate pattern symmetric\n% the same\n3 3 2\n2 1\n3 2\n";
        std::fs::write(&matrix, text).unwrap();
        assert_eq!(Size::of_file(&matrix, None).unwrap(), Size { nodes: 3, arcs: 4 });
        let packed = folder.path().join("g.gr.gz");
        save(&made, &packed, Format::Dimacs, &mut team).unwrap();
        assert!(matches!(Size::of_file(&packed, None), Err(ReadError::Other { .. })));
    }

    #[test]
    fn no_recipe_makes_more_than_it_tells() {
        let mut team = Team::of_this_process(1).unwrap();
        let recipes = [
            random(500, 700),
            Recipe::Streets { width: 40, height: 30 },
            Recipe::Kronecker { scale: 8, degree: 4, weights: 1..=5 },
        ];
        for recipe in recipes {
            let told = Size::of_recipe(&recipe);
            let graph = generate(&recipe, 1, Place::HEAP, &mut team).unwrap().graph;
            assert_eq!(told.nodes, graph.nodes() as u64, "{recipe:?}");
            assert!((told.arcs / 2..=told.arcs).contains(&(graph.arcs() as u64)), "{recipe:?}");
        }
    }

    #[test]
    fn the_documents_large_graph_needs_what_it_needs() {
        let large = Size { nodes: 1 << 30, arcs: 1 << 31 };
        let need = large.need(1, 1);
        assert_eq!((need.graph_bytes, need.bytes), (24 << 30, 32 << 30));
        assert_eq!(large.need(2, 3).bytes, 3 * need.graph_bytes + 2 * need.search_bytes);
        assert_eq!(
            need.to_string(),
            "graph       1073741824 nodes, 2147483648 arcs\n\
             its memory  24 GiB\n\
             a search    8 GiB, twice as much where distances leave 32 bits\n\
             together    32 GiB\n"
        );
    }
}
