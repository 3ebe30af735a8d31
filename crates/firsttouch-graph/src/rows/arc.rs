//! What rows consist of: nodes, arcs, and how long these can be.

use bytemuck::{Pod, Zeroable};

/// The number of a node inside a graph, from 0.
pub type Node = u32;

/// The distance of a node that no path leads to, where distances are of 32 bits.
pub const UNREACHED: u32 = u32::MAX;

/// An arc as it lies in memory, behind the tail it leaves: head and weight side by side, because whoever reads the one
/// needs the other, and a cache line then holds eight arcs whole. Aligned, so that one load brings both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct OutArc {
    /// The node it leads to.
    pub head: Node,
    /// Its length.
    pub weight: u32,
}

/// How long arcs and paths can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The largest weight.
    pub(crate) max_weight: u32,
    /// The sum of the largest weight of every row.
    pub(crate) distance_bound: u64,
}

impl Extent {
    /// No distance between so many nodes is larger.
    pub(super) fn bound(self, nodes: usize) -> u64 {
        let longest = (nodes as u64).saturating_sub(1) * u64::from(self.max_weight);
        self.distance_bound.min(longest)
    }

    /// Whether every distance between so many nodes fits into 32 bits, with [`UNREACHED`] left over.
    pub(crate) fn fits_32_bits(self, nodes: usize) -> bool {
        self.bound(nodes) < u64::from(UNREACHED)
    }

    /// Of one row.
    #[inline]
    pub(crate) fn of_row(row: &[OutArc]) -> Extent {
        let longest = row.iter().map(|arc| arc.weight).max().unwrap_or(0);
        Extent { max_weight: longest, distance_bound: u64::from(longest) }
    }

    /// Of all rows.
    pub(crate) fn of_rows(offsets: &[u64], arcs: &[OutArc]) -> Extent {
        let rows = offsets.windows(2).map(|row| &arcs[row[0] as usize..row[1] as usize]);
        rows.map(Extent::of_row).fold(Extent::default(), Extent::with)
    }

    /// Of both.
    pub(crate) fn with(self, other: Extent) -> Extent {
        Extent {
            max_weight: self.max_weight.max(other.max_weight),
            distance_bound: self.distance_bound + other.distance_bound,
        }
    }
}
