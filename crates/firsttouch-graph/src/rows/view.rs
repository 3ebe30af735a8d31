//! Where the arrays of compressed sparse rows are: what a loop keeps in registers, since the compiler cannot know that nobody
//! moves them.

use super::arc::{Node, OutArc};
use super::graph::Graph;
use super::prefetch::prefetch;
use std::ops::Range;

/// Where the arrays of rows are, which are of types that the compiler knows.
pub(crate) trait View: Copy + Sync {
    /// The first of the arcs that leave a node, if any does.
    ///
    /// # Panics
    /// If there is no such node.
    fn begin(self, node: Node) -> usize;
    /// Which arcs leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    fn row(self, node: Node) -> Range<usize>;
    /// These arcs; `None` if there are not so many.
    fn stretch(self, arcs: Range<usize>) -> Option<impl Stretch>;
    /// Asks for the cache lines that [`View::row`] will read.
    fn prefetch_row(self, node: Node);
    /// Asks for the cache lines of an arc, which need not be there.
    fn prefetch_arc(self, arc: usize);

    /// The arcs that leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline(always)]
    fn out(self, node: Node) -> impl Iterator<Item = OutArc> {
        let arcs = self.stretch(self.row(node)).expect("rows end where the arcs do");
        arcs.each().map(|arc| OutArc { head: arc.head(), weight: arc.weight() })
    }
}

/// Arcs that lie side by side.
pub(crate) trait Stretch: Copy {
    /// Each of them.
    fn each(self) -> impl Iterator<Item = impl Arc>;
    /// The node that the one at this place leads to; `None` if there are not so many.
    fn head(self, place: usize) -> Option<Node>;
}

/// An arc where it lies. Its parts are read when they are asked for: a loop over several would run out of registers for them.
pub(crate) trait Arc: Copy {
    /// The node it leads to.
    fn head(self) -> Node;
    /// Its length.
    fn weight(self) -> u32;
}

impl Arc for &OutArc {
    #[inline(always)]
    fn head(self) -> Node {
        self.head
    }

    #[inline(always)]
    fn weight(self) -> u32 {
        self.weight
    }
}

/// The arrays of a graph of our own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnRows<'a> {
    offsets: &'a [u64],
    arcs: &'a [OutArc],
}

impl<'a> OwnRows<'a> {
    pub(crate) fn of(graph: &'a Graph) -> OwnRows<'a> {
        OwnRows { offsets: graph.offsets(), arcs: graph.all_arcs() }
    }
}

impl View for OwnRows<'_> {
    #[inline(always)]
    fn begin(self, node: Node) -> usize {
        self.offsets[node as usize] as usize
    }

    #[inline(always)]
    fn row(self, node: Node) -> Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    #[inline(always)]
    fn stretch(self, arcs: Range<usize>) -> Option<impl Stretch> {
        self.arcs.get(arcs)
    }

    #[inline(always)]
    fn prefetch_row(self, node: Node) {
        prefetch(self.offsets, node as usize);
    }

    #[inline(always)]
    fn prefetch_arc(self, arc: usize) {
        prefetch(self.arcs, arc);
    }
}

impl Stretch for &[OutArc] {
    #[inline(always)]
    fn each(self) -> impl Iterator<Item = impl Arc> {
        self.iter()
    }

    #[inline(always)]
    fn head(self, place: usize) -> Option<Node> {
        self.get(place).map(|arc| arc.head)
    }
}
