//! Compressed sparse rows to be searched, wherever they lie: those of a [`Graph`], or arrays that somebody else keeps.
//!
//! Searches are compiled for each kind of rows by itself ([`Rows`]).

use super::arc::{Node, OutArc};
use super::graph::Graph;
use super::prefetch::prefetch;
use std::fmt;
use std::ops::Range;

/// Compressed sparse rows that can be searched.
pub trait Rows: fmt::Debug + Sync {
    /// The same, as a value.
    type View<'a>: View
    where
        Self: 'a;

    /// How many nodes there are.
    fn nodes(&self) -> usize;
    /// How many arcs there are.
    fn arcs(&self) -> usize;
    /// The largest weight; 0 where there is no arc.
    fn max_weight(&self) -> u32;
    /// Where the arrays are: what a loop keeps in registers, since the compiler cannot know that nobody moves them.
    fn view(&self) -> Self::View<'_>;

    /// The arcs that leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline(always)]
    fn out(&self, node: Node) -> <Self::View<'_> as View>::Out {
        self.view().out(node)
    }
}

/// Where the arrays of rows are.
pub trait View: Copy {
    /// Arcs side by side.
    type Out: Stretch;

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
    fn stretch(self, arcs: Range<usize>) -> Option<Self::Out>;
    /// Asks for the cache lines that [`View::row`] will read.
    fn prefetch_row(self, node: Node);
    /// Asks for the cache lines of an arc, which need not be there.
    fn prefetch_arc(self, arc: usize);

    /// The arcs that leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline(always)]
    fn out(self, node: Node) -> Self::Out {
        self.stretch(self.row(node)).expect("rows end where the arcs do")
    }
}

/// Arcs that lie side by side.
pub trait Stretch: Copy {
    /// One of them.
    type Arc: Arc;

    /// Each of them.
    fn each(self) -> impl Iterator<Item = Self::Arc>;
    /// The node that the one at this place leads to; `None` if there are not so many.
    fn head(self, place: usize) -> Option<Node>;
    /// How many there are.
    fn count(self) -> usize;
}

/// An arc where it lies. Its parts are read when they are asked for: a loop over several would run out of registers for them.
pub trait Arc: Copy {
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

impl Rows for Graph {
    type View<'a> = OwnRows<'a>;

    fn nodes(&self) -> usize {
        Graph::nodes(self)
    }

    fn arcs(&self) -> usize {
        Graph::arcs(self)
    }

    fn max_weight(&self) -> u32 {
        Graph::max_weight(self)
    }

    #[inline(always)]
    fn view(&self) -> OwnRows<'_> {
        OwnRows { offsets: self.offsets(), arcs: self.all_arcs() }
    }
}

/// The arrays of a [`Graph`].
#[derive(Clone, Copy, Debug)]
pub struct OwnRows<'a> {
    offsets: &'a [u64],
    arcs: &'a [OutArc],
}

impl<'a> View for OwnRows<'a> {
    type Out = &'a [OutArc];

    #[inline(always)]
    fn begin(self, node: Node) -> usize {
        self.offsets[node as usize] as usize
    }

    #[inline(always)]
    fn row(self, node: Node) -> Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    #[inline(always)]
    fn stretch(self, arcs: Range<usize>) -> Option<&'a [OutArc]> {
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

impl<'a> Stretch for &'a [OutArc] {
    type Arc = &'a OutArc;

    #[inline(always)]
    fn each(self) -> impl Iterator<Item = &'a OutArc> {
        self.iter()
    }

    #[inline(always)]
    fn head(self, place: usize) -> Option<Node> {
        self.get(place).map(|arc| arc.head)
    }

    fn count(self) -> usize {
        self.len()
    }
}
