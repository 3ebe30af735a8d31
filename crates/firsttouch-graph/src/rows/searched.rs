//! Rows to search in, wherever they lie and of whatever types.
//!
//! Searches are compiled once for all of them. Only what reads the arcs of many nodes in a loop is compiled for each kind of
//! arrays ([`for_views`]).

use super::arc::{Node, OutArc};
#[cfg(feature = "borrowed")]
use super::borrowed::BorrowedCsr;
use super::graph::Graph;
use super::view::View;

/// Compressed sparse rows to be searched: those of a [`Graph`], or arrays that somebody else keeps.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Of our own.
    Own(&'a Graph),
    /// Somebody else's; with the feature `borrowed`.
    #[cfg(feature = "borrowed")]
    Borrowed(BorrowedCsr<'a>),
}

/// Calls with the arrays where they lie, a [`View`](super::View).
macro_rules! for_views {
    ($rows:expr, $view:ident => $call:expr) => {{
        use $crate::rows::{OwnRows, Rows};
        #[cfg(feature = "borrowed")]
        use $crate::rows::{BorrowedRows, Index, Weights};
        match $rows {
            Rows::Own(graph) => {
                let $view = OwnRows::of(graph);
                $call
            }
            #[cfg(feature = "borrowed")]
            Rows::Borrowed(borrowed) => match borrowed.arrays().index {
                Index::Narrow { offsets, heads } => for_views!(borrowed, offsets, heads, $view => $call),
                Index::Wide { offsets, heads } => for_views!(borrowed, offsets, heads, $view => $call),
            },
        }
    }};
    ($borrowed:ident, $offsets:ident, $heads:ident, $view:ident => $call:expr) => {
        match $borrowed.arrays().weights {
            Weights::One => for_views!(of $offsets, $heads, &[(); usize::MAX], $view => $call),
            // Signed integers were found not to be negative.
            Weights::I32(all) => {
                for_views!(of $offsets, $heads, bytemuck::cast_slice::<_, u32>(all), $view => $call)
            }
            Weights::I64(all) => {
                for_views!(of $offsets, $heads, bytemuck::cast_slice::<_, u64>(all), $view => $call)
            }
            Weights::U32(all) => for_views!(of $offsets, $heads, all, $view => $call),
            Weights::U64(all) => for_views!(of $offsets, $heads, all, $view => $call),
            Weights::F32(all) => for_views!(of $offsets, $heads, all, $view => $call),
            Weights::F64(all) => for_views!(of $offsets, $heads, all, $view => $call),
        }
    };
    (of $offsets:ident, $heads:ident, $weights:expr, $view:ident => $call:expr) => {{
        let $view = BorrowedRows::of($offsets, $heads, $weights);
        $call
    }};
}
pub(crate) use for_views;

impl<'a> From<&'a Graph> for Rows<'a> {
    fn from(graph: &'a Graph) -> Rows<'a> {
        Rows::Own(graph)
    }
}

#[cfg(feature = "borrowed")]
impl<'a> From<BorrowedCsr<'a>> for Rows<'a> {
    fn from(borrowed: BorrowedCsr<'a>) -> Rows<'a> {
        Rows::Borrowed(borrowed)
    }
}

impl Rows<'_> {
    /// How many nodes there are.
    #[must_use]
    pub fn nodes(self) -> usize {
        match self {
            Rows::Own(graph) => graph.nodes(),
            #[cfg(feature = "borrowed")]
            Rows::Borrowed(borrowed) => borrowed.validated().nodes(),
        }
    }

    /// How many arcs there are.
    #[must_use]
    pub fn arcs(self) -> usize {
        match self {
            Rows::Own(graph) => graph.arcs(),
            #[cfg(feature = "borrowed")]
            Rows::Borrowed(borrowed) => borrowed.validated().arcs(),
        }
    }

    /// The largest weight; 0 where there is no arc.
    #[must_use]
    pub fn max_weight(self) -> u32 {
        match self {
            Rows::Own(graph) => graph.max_weight(),
            #[cfg(feature = "borrowed")]
            Rows::Borrowed(borrowed) => borrowed.validated().extent().max_weight,
        }
    }

    /// How many arcs leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn degree(self, node: Node) -> usize {
        for_views!(self, view => view.row(node).len())
    }

    /// Shows each arc that leaves a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    pub fn each_out(self, node: Node, each: impl FnMut(OutArc)) {
        for_views!(self, view => view.out(node).for_each(each));
    }
}
