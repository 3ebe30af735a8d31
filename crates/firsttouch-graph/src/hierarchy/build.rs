//! The hierarchy of a graph: made once, and customized as often as weights change.

use super::customize::{self, Both};
use super::error::HierarchyError;
use super::length::Length;
use super::limits::HierarchyOptions;
use super::order;
use super::tree::Tree;
use crate::fingerprint::Fingerprint;
use crate::{Graph, Node};
use firsttouch_documents::HierarchyShape;

/// A graph with arcs added, over which shortest paths first only rise and then only fall.
#[derive(Debug)]
pub struct Hierarchy {
    pub(super) tree: Tree,
    pub(super) metric: Metric,
    threads: usize,
    fits_32_bits: bool,
    pub(super) arcs_fingerprint: Fingerprint,
    /// Of the arcs and their weights.
    pub(super) fingerprint: Fingerprint,
}

/// The metric: lengths of the hierarchy's arcs, up and down, as wide as they must be.
#[derive(Debug)]
pub(super) enum Metric {
    Narrow(Vec<Both<u32>>),
    Wide(Vec<Both<u64>>),
}

impl Hierarchy {
    /// The hierarchy of a graph, with the graph's weights.
    ///
    /// # Errors
    ///
    /// If the graph is not of the kind that hierarchies suit, or has paths too long to count.
    pub fn build(graph: &Graph, options: &HierarchyOptions) -> Result<Hierarchy, HierarchyError> {
        let order = order::find(graph, options.threads.get(), &options.limits)?;
        Hierarchy::with_order(graph, &order, options)
    }

    /// The hierarchy in which nodes are contracted in a known order ([`Hierarchy::order`] of this graph, or of one with
    /// the same arcs).
    ///
    /// # Errors
    ///
    /// If the order does not name every node once, and as [`Hierarchy::build`].
    pub fn with_order(
        graph: &Graph,
        order: &[Node],
        options: &HierarchyOptions,
    ) -> Result<Hierarchy, HierarchyError> {
        let tree = Tree::new(graph, order, &options.limits)?;
        let threads = options.threads.get();
        let weights: Vec<u32> = graph.all_arcs().iter().map(|arc| arc.weight).collect();
        let metric = Metric::new(&tree, &weights, threads)?;
        let arcs_fingerprint = Fingerprint::of_arcs(graph);
        let fingerprint = arcs_fingerprint.with_all(weights.iter().map(|weight| u64::from(*weight)));
        let fits_32_bits = graph.fits_32_bits();
        Ok(Hierarchy { tree, metric, threads, fits_32_bits, arcs_fingerprint, fingerprint })
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
        self.metric = Metric::new(&self.tree, weights, self.threads)?;
        // The bound of the new weights is not known here, but narrow lengths are such.
        self.fits_32_bits = matches!(self.metric, Metric::Narrow(_));
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
    pub fn shape(&self) -> HierarchyShape {
        fn needed<T: Length>(lengths: &[Both<T>]) -> [usize; 2] {
            [0, 1].map(|direction| lengths.iter().filter(|length| length[direction] < T::NONE).count())
        }
        let [arcs_up, arcs_down] = match &self.metric {
            Metric::Narrow(lengths) => needed(lengths),
            Metric::Wide(lengths) => needed(lengths),
        };
        HierarchyShape {
            nodes: self.tree.len(),
            arcs: self.tree.slots.len(),
            arcs_up,
            arcs_down,
            height: self.tree.height,
            wide: matches!(self.metric, Metric::Wide(_)),
        }
    }
}

impl Metric {
    fn new(tree: &Tree, weights: &[u32], threads: usize) -> Result<Metric, HierarchyError> {
        if let Some(narrow) = customize::lengths::<u32>(tree, weights, threads) {
            return Ok(Metric::Narrow(narrow));
        }
        customize::lengths::<u64>(tree, weights, threads).map(Metric::Wide).ok_or(HierarchyError::TooLong)
    }
}
