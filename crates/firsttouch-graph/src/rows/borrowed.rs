//! Compressed sparse rows in arrays that somebody else keeps, searched where they are.
//!
//! Heads and weights lie apart there, so that an arc costs two cache lines, but nothing is copied.
//!
//! Invariant: borrowed rows were looked at once ([`ValidatedCsr::check`]): rows follow each other, heads are there, weights are
//! weights. If somebody changes them nevertheless, distances are wrong or a search panics, and no other memory is touched:
//! every index is compared with the length of what it is an index of.

use super::arc::Node;
use super::error::GraphError;
use super::prefetch::prefetch;
use super::validated::ValidatedCsr;
use super::view::{Arc, Rows, Stretch, View};
use std::fmt;
use std::ops::Range;

/// A type that others keep weights in.
pub trait Weight: Copy + Send + Sync + 'static {
    /// The weight; `None` if it is no whole number from 0 to 2^32 - 1.
    fn length(self) -> Option<u32>;
    /// The weight of one that was looked at.
    fn valid_length(self) -> u32;
}

/// No weights: every arc has weight 1.
impl Weight for () {
    fn length(self) -> Option<u32> {
        Some(1)
    }

    #[inline(always)]
    fn valid_length(self) -> u32 {
        1
    }
}

macro_rules! weights {
    ($($integer:ty),*; $($fraction:ty),*) => {
        $(
            impl Weight for $integer {
                #[inline(always)]
                fn length(self) -> Option<u32> {
                    self.try_into().ok()
                }

                #[inline(always)]
                fn valid_length(self) -> u32 {
                    self as u32
                }
            }
        )*
        $(
            impl Weight for $fraction {
                #[inline(always)]
                fn length(self) -> Option<u32> {
                    let is_in_range = self >= 0.0 && f64::from(self) <= f64::from(u32::MAX);
                    (is_in_range && self.fract() == 0.0).then_some(self as u32)
                }

                #[inline(always)]
                fn valid_length(self) -> u32 {
                    self as u32
                }
            }
        )*
    };
}

weights!(i32, u32, i64, u64; f32, f64);

/// Compressed sparse rows in arrays of somebody else's, of numbers of 32 or 64 bits.
///
/// ```
/// use firsttouch_graph::{BorrowedCsr, Search, Width};
///
/// let (offsets, heads, weights) = ([0_u32, 2, 3, 3], [1_u32, 2, 2], [5.0, 20.0, 5.0]);
/// let rows = BorrowedCsr::new(&offsets, &heads, &weights)?;
/// let mut search = Search::with_buckets(&rows, Width::Guessed);
/// assert_eq!(search.run(0, None).distances().of(2), Some(10));
/// # Ok::<(), firsttouch_graph::GraphError>(())
/// ```
#[derive(Clone, Copy)]
pub struct BorrowedCsr<'a, I, W> {
    offsets: &'a [I],
    heads: &'a [I],
    weights: &'a [W],
    max_weight: u32,
}

impl<'a, I, W> BorrowedCsr<'a, I, W> {
    /// These arrays, with a weight for each head; `&[(); N]`, or a leaked vector of `()`, which takes no memory, are weights of 1.
    ///
    /// # Errors
    /// As [`ValidatedCsr::check`]; another number of weights than of heads.
    pub fn new(
        offsets: &'a [I],
        heads: &'a [I],
        weights: &'a [W],
    ) -> Result<BorrowedCsr<'a, I, W>, GraphError>
    where
        I: Copy + TryInto<i64> + TryInto<u32>,
        W: Weight,
    {
        let unequal = GraphError::UnequalLengths { heads: heads.len(), weights: weights.len() };
        if heads.len() != weights.len() {
            return Err(unequal);
        }
        let validated = ValidatedCsr::check(offsets, heads, |arc| weights[arc].length())?;
        BorrowedCsr::known(validated, offsets, heads, weights).ok_or(unequal)
    }

    /// Arrays that were validated before; `None` if they have another length now.
    #[must_use]
    pub fn known(
        validated: ValidatedCsr,
        offsets: &'a [I],
        heads: &'a [I],
        weights: &'a [W],
    ) -> Option<BorrowedCsr<'a, I, W>> {
        let lengths = (offsets.len().saturating_sub(1), heads.len(), weights.len());
        let max_weight = validated.extent().max_weight;
        (lengths == (validated.nodes(), validated.arcs(), validated.arcs())).then_some(BorrowedCsr {
            offsets,
            heads,
            weights,
            max_weight,
        })
    }
}

impl<I, W> fmt::Debug for BorrowedCsr<'_, I, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BorrowedCsr").field("arcs", &self.heads.len()).finish_non_exhaustive()
    }
}

impl<'b, I: Copy + Into<u64> + Sync, W: Weight> Rows for BorrowedCsr<'b, I, W> {
    type View<'a>
        = BorrowedCsr<'b, I, W>
    where
        Self: 'a;

    fn nodes(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn arcs(&self) -> usize {
        self.heads.len()
    }

    fn max_weight(&self) -> u32 {
        self.max_weight
    }

    #[inline(always)]
    fn view(&self) -> BorrowedCsr<'b, I, W> {
        *self
    }
}

impl<'a, I: Copy + Into<u64>, W: Weight> View for BorrowedCsr<'a, I, W> {
    type Out = BorrowedArcs<'a, I, W>;

    #[inline(always)]
    fn begin(self, node: Node) -> usize {
        self.offsets[node as usize].into() as usize
    }

    #[inline(always)]
    fn row(self, node: Node) -> Range<usize> {
        self.begin(node)..self.offsets[node as usize + 1].into() as usize
    }

    #[inline(always)]
    fn stretch(self, arcs: Range<usize>) -> Option<BorrowedArcs<'a, I, W>> {
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

/// Arcs in arrays of somebody else's.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedArcs<'a, I, W> {
    heads: &'a [I],
    weights: &'a [W],
}

/// An arc in arrays of somebody else's.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedArc<'a, I, W> {
    head: &'a I,
    weight: &'a W,
}

impl<I: Copy + Into<u64>, W: Weight> Arc for BorrowedArc<'_, I, W> {
    #[inline(always)]
    fn head(self) -> Node {
        (*self.head).into() as Node
    }

    #[inline(always)]
    fn weight(self) -> u32 {
        self.weight.valid_length()
    }
}

impl<'a, I: Copy + Into<u64>, W: Weight> Stretch for BorrowedArcs<'a, I, W> {
    type Arc = BorrowedArc<'a, I, W>;

    #[inline(always)]
    fn each(self) -> impl Iterator<Item = BorrowedArc<'a, I, W>> {
        self.heads.iter().zip(self.weights).map(|(head, weight)| BorrowedArc { head, weight })
    }

    #[inline(always)]
    fn head(self, place: usize) -> Option<Node> {
        self.heads.get(place).map(|head| (*head).into() as Node)
    }

    fn count(self) -> usize {
        self.heads.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::graph::Graph;
    use crate::search::{Search, Width};

    #[test]
    fn lent_arcs_are_those_of_a_graph() {
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (0, 2, 6), (2, 0, 7)]).unwrap();
        let (offsets, heads) = ([0_u32, 2, 2, 3], [1_u32, 2, 0]);
        let borrowed = BorrowedCsr::new(&offsets, &heads, &[5.0, 6.0, 7.0]).unwrap();
        assert_eq!((Rows::nodes(&borrowed), Rows::arcs(&borrowed), Rows::max_weight(&borrowed)), (3, 3, 7));
        for node in 0..3 {
            let arcs = Rows::out(&borrowed, node).each().map(|arc| (arc.head(), arc.weight()));
            assert!(arcs.eq(graph.out(node).iter().map(|arc| (arc.head, arc.weight))), "{node}");
            assert_eq!(Rows::out(&borrowed, node).count(), graph.out(node).len());
            assert_eq!(Rows::out(&borrowed, node).head(0), graph.out(node).first().map(|arc| arc.head));
        }
        assert!(borrowed.view().stretch(1..4).is_none());
        let without = BorrowedCsr::new(&[0_u64, 2, 2, 3], &[1, 2, 0], &[(); 3]).unwrap();
        assert!(Rows::out(&without, 0).each().all(|arc| arc.weight() == 1));
    }

    #[test]
    fn arrays_that_are_no_rows_are_refused() {
        let rows = |offsets: &[u32], heads: &[u32], weights: &[i64]| {
            BorrowedCsr::new(offsets, heads, weights).map(drop)
        };
        assert_eq!(rows(&[0, 1, 1], &[1], &[5]), Ok(()));
        assert_eq!(rows(&[0, 1, 1], &[1], &[]), Err(GraphError::UnequalLengths { heads: 1, weights: 0 }));
        assert_eq!(
            rows(&[0, 1, 1], &[2], &[5]),
            Err(GraphError::NoSuchNode { arc: 0, tail: 0, head: 2, nodes: 2 })
        );
        for weight in [-1, 1 << 32] {
            let wanted = GraphError::BadWeight { arc: 0, tail: 0, head: 1 };
            assert_eq!(rows(&[0, 1, 1], &[1], &[weight]), Err(wanted));
        }
        let bad_row = |node, begins, ends| Err(GraphError::BadRow { node, begins, ends, arcs: 1 });
        assert_eq!(rows(&[0, 2, 1], &[1], &[5]), bad_row(0, 0, 2));
        assert_eq!(rows(&[0, 1, 0], &[1], &[5]), bad_row(1, 1, 0));
        assert_eq!(rows(&[0], &[1], &[5]), bad_row(0, 0, 0));
    }

    #[test]
    fn arrays_of_another_length_are_not_those_that_were_sound() {
        let validated = ValidatedCsr::check(&[0_i32, 1, 1], &[1_i32], |_| Some(7)).unwrap();
        assert!(validated.fits_32_bits() && (validated.nodes(), validated.arcs()) == (2, 1));
        assert!(BorrowedCsr::known(validated, &[0_u32, 1, 1], &[1], &[7_u32]).is_some());
        assert!(BorrowedCsr::known(validated, &[0_u32, 1, 1], &[], &[7_u32]).is_none());
        assert!(BorrowedCsr::known(validated, &[0_u32, 1], &[1], &[7_u32]).is_none());
    }

    #[test]
    fn a_search_through_arrays_that_were_changed_fails() {
        let validated = ValidatedCsr::check(&[0_i32, 1, 1], &[1_i32], |_| Some(7)).unwrap();
        for (offsets, heads) in [([0_u32, 1, 1], [9_u32]), ([0, 9, 9], [1]), ([1, 0, 0], [1])] {
            let borrowed = BorrowedCsr::known(validated, &offsets, &heads, &[7_u32]).unwrap();
            let search = || Search::with_buckets(&borrowed, Width::Fixed(1)).run(0, None).summary();
            assert!(std::panic::catch_unwind(search).is_err(), "{offsets:?} {heads:?}");
        }
    }

    #[test]
    fn fractions_and_what_32_bits_do_not_hold_are_no_weights() {
        assert_eq!([0.0_f64, 4_294_967_295.0].map(Weight::length), [Some(0), Some(u32::MAX)]);
        assert_eq!([-1.0, 0.5, 4_294_967_296.0, f64::NAN, f64::INFINITY].map(Weight::length), [None; 5]);
        assert_eq!([3.0_f32, 4_294_967_296.0].map(Weight::length), [Some(3), None]);
    }
}
