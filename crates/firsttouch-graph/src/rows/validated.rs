//! Arrays that were looked at once, and found to be compressed sparse rows.

use super::arc::{Extent, Node};
use super::error::GraphError;

/// What is known of arrays that were found to be rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidatedCsr {
    nodes: usize,
    arcs: usize,
    extent: Extent,
}

impl ValidatedCsr {
    /// Looks whether arrays are compressed sparse rows: `offsets` has one entry more than there are nodes, the arcs of node `v`
    /// are those from `offsets[v]` up to `offsets[v + 1]`. `weight` tells that of each arc, by its place among the heads, or
    /// `None` where it is no weight.
    ///
    /// # Errors
    /// Rows that do not follow each other, heads that are not there, weights that are none.
    pub fn check<O, H>(
        offsets: &[O],
        heads: &[H],
        weight: impl Fn(usize) -> Option<u32>,
    ) -> Result<ValidatedCsr, GraphError>
    where
        O: Copy + TryInto<i64>,
        H: Copy + TryInto<u32>,
    {
        let head = |arc: usize| heads[arc].try_into().unwrap_or(Node::MAX);
        ValidatedCsr::check_each(offsets, heads.len(), head, weight)
    }

    /// The same of so many arcs that lie in another way.
    pub(crate) fn check_each<O: Copy + TryInto<i64>>(
        offsets: &[O],
        arcs: usize,
        head: impl Fn(usize) -> Node,
        weight: impl Fn(usize) -> Option<u32>,
    ) -> Result<ValidatedCsr, GraphError> {
        let nodes = offsets.len().saturating_sub(1);
        if nodes > u32::MAX as usize {
            return Err(GraphError::TooManyNodes { nodes: nodes as u64 });
        }
        if nodes == 0 && arcs > 0 {
            return Err(GraphError::BadRow { node: 0, begins: 0, ends: 0, arcs });
        }
        let number = |offset: O| offset.try_into().unwrap_or(-1);
        let mut reached = 0;
        let mut extent = Extent::default();
        for (node, row) in offsets.windows(2).enumerate() {
            let (begins, ends) = (number(row[0]), number(row[1]));
            let is_last = node + 1 == nodes;
            let is_valid = begins == reached
                && ends >= begins
                && ends as usize <= arcs
                && (!is_last || ends as usize == arcs);
            if !is_valid {
                return Err(GraphError::BadRow { node, begins, ends, arcs });
            }
            reached = ends;
            let (tail, mut longest) = (node as Node, 0);
            for arc in begins as usize..ends as usize {
                let head = head(arc);
                if head as usize >= nodes {
                    return Err(GraphError::NoSuchNode { arc, tail, head, nodes });
                }
                longest = longest.max(weight(arc).ok_or(GraphError::BadWeight { arc, tail, head })?);
            }
            extent = extent.with(Extent { max_weight: longest, distance_bound: u64::from(longest) });
        }
        Ok(ValidatedCsr { nodes, arcs, extent })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many arcs there are.
    #[must_use]
    pub fn arcs(&self) -> usize {
        self.arcs
    }

    /// As [`Graph::fits_32_bits`](super::Graph::fits_32_bits).
    #[must_use]
    pub fn fits_32_bits(&self) -> bool {
        self.extent.fits_32_bits(self.nodes)
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }
}
