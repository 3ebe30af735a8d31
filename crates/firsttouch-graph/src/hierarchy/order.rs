//! In which order the nodes of a graph are contracted.
//!
//! Nodes with few neighbours go first, in rounds of nodes that do not touch (so that a long road is halved and halved again
//! in place of being eaten from one end). What remains is a core of a few tenths of the nodes; it is cut in halves by small
//! sets of nodes, again and again ([`dissection`]), and those sets go last. Such an order keeps both what grows on the
//! way: the arcs between what is left, and the height of the tree.

mod axes;
mod cut;
mod dissection;
mod elimination;
mod leaf;
mod part;

use super::error::HierarchyError;
use super::limits::Limits;
use crate::{Graph, Node};
use dissection::{Budget, Core};
use elimination::Elimination;

/// Nodes with at most so many neighbours are contracted before the rest is cut. With 3, what is added (a triangle) is not
/// more than what goes (a star).
const FEW_NEIGHBOURS: usize = 3;
/// Below so many nodes nothing can grow too large.
const SMALL_CORE: usize = 1 << 13;

/// The nodes in the order in which they are contracted.
pub(super) fn find(graph: &Graph, threads: usize, limits: &Limits) -> Result<Vec<Node>, HierarchyError> {
    let mut elimination = Elimination::new(graph);
    elimination.rounds(FEW_NEIGHBOURS);
    let (mut order, core) = elimination.into_core();
    if core.nodes() > SMALL_CORE {
        core.expects_small_cuts()?;
    }
    let budget = Budget::new(limits.arcs(graph.nodes()));
    order.extend(core.dissect(threads, &budget)?);
    Ok(order)
}

impl Core {
    /// Refuses graphs in which a neighbourhood is mostly border: nothing small cuts those in halves. On roads the border of
    /// a few thousand nodes around one is some hundred; on random graphs it is larger than what it encloses.
    fn expects_small_cuts(&self) -> Result<(), HierarchyError> {
        const PROBES: usize = 15;
        const AROUND: usize = 2048;
        let mut shares: Vec<f64> = (0..PROBES)
            .map(|probe| self.border_share((probe * self.nodes() / PROBES) as Node, AROUND))
            .collect();
        shares.sort_unstable_by(f64::total_cmp);
        let border = shares[PROBES / 2];
        if border > 0.4 { Err(HierarchyError::NoSmallCuts { border }) } else { Ok(()) }
    }
}
