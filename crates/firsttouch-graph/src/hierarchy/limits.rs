//! How a hierarchy is built, and how much it may cost.

use std::num::NonZero;

/// Customization keeps the lengths between all nodes above each other: so high, it takes a GiB for each thread.
pub(super) const MOST_HEIGHT: usize = 1 << 14;

/// How much a hierarchy may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Arcs of the hierarchy for each node of the graph. Roads need about 5, square grids of a million nodes 40.
    pub arcs_per_node: u32,
    /// So many arcs are not too many, however few nodes there are.
    pub arcs_at_least: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { arcs_per_node: 96, arcs_at_least: 1 << 21 }
    }
}

impl Limits {
    /// The most arcs; below 2^31, for an arc and its direction have one number.
    pub(super) fn arcs(&self, nodes: usize) -> u64 {
        (nodes as u64 * u64::from(self.arcs_per_node)).max(u64::from(self.arcs_at_least)).min((1 << 31) - 1)
    }
}

/// How a hierarchy is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HierarchyOptions {
    /// Threads that build it.
    pub threads: NonZero<usize>,
    /// When to give up.
    pub limits: Limits,
}

impl Default for HierarchyOptions {
    /// As many threads as CPUs may be used.
    fn default() -> HierarchyOptions {
        HierarchyOptions {
            threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            limits: Limits::default(),
        }
    }
}
