//! Telling graphs and questions apart by 64 bits.

use crate::Graph;

/// Takes in numbers, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) const NEW: Fingerprint = Fingerprint(0x6a09_e667_f3bc_c908);

    pub(crate) fn with(self, number: u64) -> Fingerprint {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Fingerprint((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31))
    }

    pub(crate) fn with_all(self, numbers: impl IntoIterator<Item = u64>) -> Fingerprint {
        numbers.into_iter().fold(self, Fingerprint::with)
    }

    /// Of the arcs of a graph, in their order, without their weights.
    pub(crate) fn of_arcs(graph: &Graph) -> Fingerprint {
        Fingerprint::NEW
            .with(graph.nodes() as u64)
            .with_all(graph.offsets().iter().copied())
            .with_all(graph.all_arcs().iter().map(|arc| u64::from(arc.head)))
    }

    /// Of the arcs of a graph and their weights.
    pub(crate) fn of(graph: &Graph) -> Fingerprint {
        Fingerprint::of_arcs(graph).with_all(graph.all_arcs().iter().map(|arc| u64::from(arc.weight)))
    }

    /// As it is kept, to be gone on from.
    pub(crate) fn stored(self) -> u64 {
        self.0
    }

    /// The one that was kept.
    pub(crate) fn of_stored(number: u64) -> Fingerprint {
        Fingerprint(number)
    }

    pub(crate) fn value(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
