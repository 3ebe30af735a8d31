//! How far all nodes are.

use super::distance::Distance;
use crate::rows::{Node, UNREACHED};
use firsttouch_documents::Summary;

/// Distances of all nodes, in as many bits as they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distances<'a> {
    /// Of 32 bits; [`UNREACHED`] where no path leads.
    Narrow(&'a [u32]),
    /// Of 64 bits; `u64::MAX` where no path leads.
    Wide(&'a [u64]),
}

impl Distances<'_> {
    /// That of a node; `None` if no path leads to it.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    pub fn of(self, node: Node) -> Option<u64> {
        match self {
            Distances::Narrow(all) => reached(all[node as usize]),
            Distances::Wide(all) => reached(all[node as usize]),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Distances::Narrow(all) => all.len(),
            Distances::Wide(all) => all.len(),
        }
    }

    /// The nodes that have one, in ascending order.
    pub(super) fn reached(self) -> Vec<Node> {
        (0..self.len() as Node).filter(|node| self.of(*node).is_some()).collect()
    }

    pub(super) fn summary(self) -> Summary {
        match self {
            // Sums of so many numbers of 32 bits do not leave 64.
            Distances::Narrow(distances) => {
                let mut sum = 0;
                let mut all = Summary::default();
                for distance in distances.iter().filter(|distance| **distance != UNREACHED) {
                    all.reached += 1;
                    all.farthest = all.farthest.max(u64::from(*distance));
                    sum += u64::from(*distance);
                }
                Summary { sum: sum.into(), ..all }
            }
            Distances::Wide(distances) => {
                distances.iter().copied().filter(|distance| *distance != u64::MAX).collect()
            }
        }
    }

    pub(super) fn summary_of(self, nodes: &[Node]) -> Summary {
        nodes.iter().filter_map(|node| self.of(*node)).collect()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

fn reached<D: Distance>(distance: D) -> Option<u64> {
    (distance != D::UNREACHED).then(|| distance.wide())
}
