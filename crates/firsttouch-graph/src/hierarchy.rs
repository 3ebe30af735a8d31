//! One-to-all sweeps over a contraction hierarchy (PHAST): for graphs that small cuts fall apart under, as roads do.
//!
//! A [`Hierarchy`] is made once for a graph ([`Hierarchy::build`]): nested dissection finds an order, contracting the nodes
//! in that order adds arcs, and [`Hierarchy::customize`] computes their lengths, for the graph's weights or for others. Then
//! [`Sweeps`] answers from any sources to all nodes, or to some, 32 sources at once.
//!
//! A search from a source that only rises comes by few nodes. From there, one sweep downwards, in an order that is the same
//! for all sources, reaches all nodes (Delling, Goldberg, Nowatzyk and Werneck, *PHAST: Hardware-accelerated shortest path
//! trees*, 2011). Here the order walks the elimination tree of a customizable hierarchy, so that distances of the nodes
//! above lie on a stack in the first caches, and the n x 32 distances of a sweep are never in memory all at once.
//!
//! Where no small cuts exist, contracting would join everything with everything. [`Hierarchy::build`] notices early and
//! refuses ([`HierarchyError::NoSmallCuts`], [`HierarchyError::TooManyArcs`]).

mod consumers;
mod customize;
mod error;
mod index;
#[expect(unsafe_code, reason = "vector instructions")]
mod lanes;
mod length;
mod order;
mod program;
mod summary;
mod sweep;
mod sweeps;
mod tree;

pub(crate) use consumers::{Found, Keeper};
pub use consumers::{Reduction, Seen, Table};
pub use error::HierarchyError;
pub use lanes::Instructions;
pub use sweeps::{SOURCES_AT_ONCE, Sweeps};

use crate::fingerprint::Fingerprint;
use crate::{Graph, Node};
use customize::Both;
use serde::Serialize;
use std::num::NonZero;
use tree::Tree;

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
    fn arcs(&self, nodes: usize) -> u64 {
        (nodes as u64 * u64::from(self.arcs_per_node)).max(u64::from(self.arcs_at_least)).min((1 << 31) - 1)
    }
}

/// How a hierarchy is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads that build it.
    pub threads: NonZero<usize>,
    /// When to give up.
    pub limits: Limits,
}

impl Default for Options {
    /// As many threads as CPUs may be used.
    fn default() -> Options {
        Options {
            threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            limits: Limits::default(),
        }
    }
}

/// A graph with arcs added, over which shortest ways first only rise and then only fall.
#[derive(Debug)]
pub struct Hierarchy {
    tree: Tree,
    lengths: Lengths,
    threads: usize,
    fits_32_bits: bool,
    arcs_fingerprint: Fingerprint,
    /// Of the arcs and their weights.
    fingerprint: Fingerprint,
}

/// Lengths of the hierarchy's arcs, up and down, as wide as they must be.
#[derive(Debug)]
enum Lengths {
    Narrow(Vec<Both<u32>>),
    Wide(Vec<Both<u64>>),
}

impl Hierarchy {
    /// The hierarchy of a graph, with the graph's weights.
    ///
    /// # Errors
    ///
    /// If the graph is not of the kind that hierarchies suit, or has paths too long to count.
    pub fn build(graph: &Graph, options: &Options) -> Result<Hierarchy, HierarchyError> {
        let order = order::find(graph, options.threads.get(), &options.limits)?;
        Hierarchy::with_order(graph, &order, options)
    }

    /// The hierarchy in which nodes are contracted in a known order ([`Hierarchy::order`] of this graph, or of one with
    /// the same arcs).
    ///
    /// # Errors
    ///
    /// If the order does not name every node once, and as [`Hierarchy::build`].
    pub fn with_order(graph: &Graph, order: &[Node], options: &Options) -> Result<Hierarchy, HierarchyError> {
        let tree = Tree::new(graph, order, &options.limits)?;
        let threads = options.threads.get();
        let weights: Vec<u32> = graph.all_arcs().iter().map(|arc| arc.weight).collect();
        let lengths = Lengths::new(&tree, &weights, threads)?;
        let arcs_fingerprint = Fingerprint::of_arcs(graph);
        let fingerprint = arcs_fingerprint.with_all(weights.iter().map(|weight| u64::from(*weight)));
        let fits_32_bits = graph.fits_32_bits();
        Ok(Hierarchy { tree, lengths, threads, fits_32_bits, arcs_fingerprint, fingerprint })
    }

    /// New weights for the graph's arcs, in the order of [`Graph::all_arcs`]. The order of
    /// contraction is kept, so this takes a small part of the time that [`Hierarchy::build`] needs.
    ///
    /// # Errors
    ///
    /// If there are more or fewer weights than arcs, or paths have become too long to count; then the old weights stay.
    pub fn customize(&mut self, weights: &[u32]) -> Result<(), HierarchyError> {
        let arcs = self.tree.places.len();
        if weights.len() != arcs {
            return Err(HierarchyError::OtherWeights { asked: weights.len(), arcs });
        }
        self.lengths = Lengths::new(&self.tree, weights, self.threads)?;
        // The bound of the new weights is not known here, but narrow lengths are such.
        self.fits_32_bits = matches!(self.lengths, Lengths::Narrow(_));
        self.fingerprint = self.arcs_fingerprint.with_all(weights.iter().map(|weight| u64::from(*weight)));
        Ok(())
    }

    /// The nodes in an order of contraction that makes this hierarchy.
    #[must_use]
    pub fn order(&self) -> Vec<Node> {
        self.tree.nodes.iter().rev().copied().collect()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.tree.len()
    }

    /// Whether 32 bits suffice for every distance, as the graph says of its weights.
    pub(crate) fn fits_32_bits(&self) -> bool {
        self.fits_32_bits
    }

    /// What it consists of.
    #[must_use]
    pub fn shape(&self) -> Shape {
        fn needed<T: length::Length>(lengths: &[Both<T>]) -> [usize; 2] {
            [0, 1].map(|way| lengths.iter().filter(|length| length[way] < T::NONE).count())
        }
        let [arcs_up, arcs_down] = match &self.lengths {
            Lengths::Narrow(lengths) => needed(lengths),
            Lengths::Wide(lengths) => needed(lengths),
        };
        Shape {
            nodes: self.tree.len(),
            arcs: self.tree.slots.len(),
            arcs_up,
            arcs_down,
            height: self.tree.height,
            wide: matches!(self.lengths, Lengths::Wide(_)),
        }
    }
}

/// Figures of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Nodes.
    pub nodes: usize,
    /// Pairs of nodes that are joined for some weights.
    pub arcs: usize,
    /// Of these, those that shortest ways up need with the present weights.
    pub arcs_up: usize,
    /// The same for ways down: what a sweep relaxes.
    pub arcs_down: usize,
    /// The most nodes above each other.
    pub height: usize,
    /// Whether distances need 64 bits.
    pub wide: bool,
}

impl Lengths {
    fn new(tree: &Tree, weights: &[u32], threads: usize) -> Result<Lengths, HierarchyError> {
        if let Some(narrow) = customize::lengths::<u32>(tree, weights, threads) {
            return Ok(Lengths::Narrow(narrow));
        }
        customize::lengths::<u64>(tree, weights, threads).map(Lengths::Wide).ok_or(HierarchyError::TooLong)
    }
}
