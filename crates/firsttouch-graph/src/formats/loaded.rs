//! A graph with what its file says beside it.

use super::format::Format;
use crate::rows::{Graph, Ids, Order, Place};
use firsttouch_memory::RegionError;

/// What is noted of files that have no weights.
pub(super) const NO_WEIGHTS: &str = "the file has no weights: every arc has weight 1";

/// A graph that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// Which node is which of the file.
    pub ids: Ids,
    /// Where the nodes are on a map, if the file says so.
    pub coordinates: Option<Vec<[i32; 2]>>,
    /// The format it was read from.
    pub format: Format,
    /// What was taken as it is, and might have been meant otherwise.
    pub notes: Vec<String>,
}

impl Loaded {
    /// The same with the nodes in another order, in memory of that place; results stay in the file's numbers.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn reordered(self, order: &Order, place: Place) -> Result<Loaded, RegionError> {
        let moved = |coordinates: Vec<[i32; 2]>| {
            order.nodes().iter().map(|node| coordinates[*node as usize]).collect()
        };
        Ok(Loaded {
            graph: self.graph.reordered(order, place)?,
            ids: self.ids.reordered(order),
            coordinates: self.coordinates.map(moved),
            ..self
        })
    }
}
