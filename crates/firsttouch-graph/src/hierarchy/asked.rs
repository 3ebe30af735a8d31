//! What is asked of sweeps: the distances from which sources, to which nodes.

use super::build::Hierarchy;
use super::error::HierarchyError;
use super::row::LANES;
use crate::Node;

/// Which distances are told, in which order.
#[derive(Debug)]
pub(super) enum Columns {
    /// Of all nodes.
    Nodes,
    /// Of targets. For each node, the first of the targets it is, or `u32::MAX`; and for each target the first that is the
    /// same.
    Targets { targets: Vec<Node>, first: Vec<u32>, same_as: Vec<u32> },
}

impl Columns {
    pub(super) fn of(&self, node: Node) -> usize {
        match self {
            Columns::Nodes => node as usize,
            Columns::Targets { first, .. } => first[node as usize] as usize,
        }
    }

    /// Fills in the targets that are told more than once.
    pub(super) fn repeat<V: Copy>(&self, row: &mut [V]) {
        if let Columns::Targets { same_as, .. } = self {
            for (column, first) in same_as.iter().enumerate() {
                row[column] = row[*first as usize];
            }
        }
    }
}

/// Sources in the order in which they are swept, [`LANES`] at a time: those that are near each other in the tree together,
/// so that what is above them is searched once.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Position, and which of the sources.
    sources: Vec<(u32, u32)>,
}

impl Blocks {
    pub(super) fn new(hierarchy: &Hierarchy, sources: &[Node]) -> Result<Blocks, HierarchyError> {
        let tree = &hierarchy.tree;
        exist(sources, tree.len())?;
        let mut sources: Vec<(u32, u32)> = sources
            .iter()
            .enumerate()
            .map(|(index, source)| (tree.positions[*source as usize], index as u32))
            .collect();
        sources.sort_unstable();
        Ok(Blocks { sources })
    }

    pub(super) fn count(&self) -> usize {
        self.sources.len().div_ceil(LANES)
    }

    pub(super) fn of(&self, block: usize) -> &[(u32, u32)] {
        &self.sources[block * LANES..self.sources.len().min((block + 1) * LANES)]
    }

    /// Which of the sources each lane of a block is.
    pub(super) fn indices(&self, block: usize) -> impl Iterator<Item = usize> {
        self.of(block).iter().map(|(_, index)| *index as usize)
    }
}

/// Whether all of these nodes are there.
pub(super) fn exist(nodes: &[Node], all: usize) -> Result<(), HierarchyError> {
    match nodes.iter().find(|node| **node as usize >= all) {
        Some(node) => Err(HierarchyError::NoSuchNode { node: *node, nodes: all }),
        None => Ok(()),
    }
}
