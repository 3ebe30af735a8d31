//! Where arrays of others are, with heads and weights apart, of each type that others keep them in.

use super::arc::Node;
use super::prefetch::prefetch;
use super::view::{Arc, Stretch, View};
use std::ops::Range;

/// Arrays of somebody else's, with heads and weights apart, that were found to be rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BorrowedRows<'a, I, W> {
    offsets: &'a [I],
    heads: &'a [I],
    weights: &'a [W],
}

impl<'a, I, W> BorrowedRows<'a, I, W> {
    /// Of arrays with at least as many weights as heads.
    pub(crate) fn of(offsets: &'a [I], heads: &'a [I], weights: &'a [W]) -> BorrowedRows<'a, I, W> {
        BorrowedRows { offsets, heads, weights: &weights[..heads.len()] }
    }
}

impl<I: Copy + Into<u64> + Sync, W: Weight> View for BorrowedRows<'_, I, W> {
    #[inline(always)]
    fn begin(self, node: Node) -> usize {
        self.offsets[node as usize].into() as usize
    }

    #[inline(always)]
    fn row(self, node: Node) -> Range<usize> {
        self.begin(node)..self.offsets[node as usize + 1].into() as usize
    }

    #[inline(always)]
    fn stretch(self, arcs: Range<usize>) -> Option<impl Stretch> {
        Some(BorrowedArcs { heads: self.heads.get(arcs.clone())?, weights: self.weights.get(arcs)? })
    }

    #[inline(always)]
    fn prefetch_row(self, node: Node) {
        prefetch(self.offsets, node as usize);
    }

    #[inline(always)]
    fn prefetch_arc(self, arc: usize) {
        prefetch(self.heads, arc);
        if size_of::<W>() > 0 {
            prefetch(self.weights, arc);
        }
    }
}

/// Arcs of somebody else's.
#[derive(Clone, Copy, Debug)]
struct BorrowedArcs<'a, I, W> {
    heads: &'a [I],
    weights: &'a [W],
}

impl<I: Copy + Into<u64>, W: Weight> Stretch for BorrowedArcs<'_, I, W> {
    #[inline(always)]
    fn each(self) -> impl Iterator<Item = impl Arc> {
        self.heads.iter().zip(self.weights)
    }

    #[inline(always)]
    fn head(self, place: usize) -> Option<Node> {
        self.heads.get(place).map(|head| (*head).into() as Node)
    }
}

impl<I: Copy + Into<u64>, W: Weight> Arc for (&I, &W) {
    #[inline(always)]
    fn head(self) -> Node {
        (*self.0).into() as Node
    }

    #[inline(always)]
    fn weight(self) -> u32 {
        self.1.length()
    }
}

/// A type that others keep weights in.
pub(crate) trait Weight: Copy + Sync {
    /// The weight of one that was looked at.
    fn length(self) -> u32;
}

/// No weights: every arc has weight 1.
impl Weight for () {
    #[inline(always)]
    fn length(self) -> u32 {
        1
    }
}

macro_rules! weights {
    ($($type:ty),*) => {
        $(impl Weight for $type {
            #[inline(always)]
            fn length(self) -> u32 {
                self as u32
            }
        })*
    };
}

weights!(u32, u64, f32, f64);
