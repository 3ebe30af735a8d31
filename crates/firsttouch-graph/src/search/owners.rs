//! Which thread of a team owns which nodes: partitions of consecutive numbers, which the threads own in turn.
//!
//! The loop over arcs asks for the owner of every head, and so this is one shift and one look into a small table.

use crate::rows::Node;

/// Partitions of a thread: so many that wherever the front of a search is, all threads have about the same part of it.
const PARTITIONS_EACH: usize = 8;
/// Nodes of a partition at most, as a power of two: their arcs and distances fit into a second-level cache.
const MOST_NODES: u32 = 14;
/// Partitions that are told apart; where there are more, their numbers begin again.
const PARTITIONS: usize = 4096;

/// Which member owns which nodes.
#[derive(Debug)]
pub(super) struct Owners {
    /// Partitions have 2^`shift` nodes.
    shift: u32,
    of_partition: [u16; PARTITIONS],
}

impl Owners {
    /// One owns all.
    pub(super) const NOBODY: &Owners = &Owners { shift: 0, of_partition: [0; PARTITIONS] };

    pub(super) fn new(nodes: usize, members: usize) -> Owners {
        let nodes_each = nodes / (members * PARTITIONS_EACH).max(1);
        let shift = nodes_each.max(1).ilog2().min(MOST_NODES);
        Owners { shift, of_partition: std::array::from_fn(|partition| (partition % members) as u16) }
    }

    #[inline(always)]
    pub(super) fn of(&self, node: Node) -> u16 {
        self.of_partition[(node >> self.shift) as usize % PARTITIONS]
    }
}
