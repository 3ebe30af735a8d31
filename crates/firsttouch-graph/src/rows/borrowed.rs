//! Compressed sparse rows in arrays that somebody else keeps, searched where they are.
//!
//! Heads and weights lie apart there, so that an arc costs two cache lines, but nothing is copied.
//!
//! Invariant: borrowed rows were looked at once ([`ValidatedCsr::check`]): rows follow each other, heads are there, weights are
//! weights. If somebody changes them nevertheless, distances are wrong or a search panics, and no other memory is touched:
//! every index is compared with the length of what it is an index of.

use super::csr::CsrArrays;
use super::error::GraphError;
use super::validated::ValidatedCsr;
use std::fmt;

/// Compressed sparse rows in arrays of somebody else's, of numbers of 32 or 64 bits.
///
/// ```
/// use firsttouch_graph::{BorrowedCsr, CsrArrays, Search, Width};
///
/// let (offsets, heads, weights) = ([0_u32, 2, 3, 3], [1_u32, 2, 2], [5.0, 20.0, 5.0]);
/// let (index, weights) = ((&offsets[..], &heads[..]).into(), weights[..].into());
/// let rows = BorrowedCsr::new(CsrArrays { index, weights })?;
/// let mut search = Search::with_buckets(rows, Width::Guessed);
/// assert_eq!(search.run(0, None).distances().of(2), Some(10));
/// # Ok::<(), firsttouch_graph::GraphError>(())
/// ```
#[derive(Clone, Copy)]
pub struct BorrowedCsr<'a> {
    arrays: CsrArrays<'a>,
    validated: ValidatedCsr,
}

impl<'a> BorrowedCsr<'a> {
    /// These arrays.
    ///
    /// # Errors
    /// As [`ValidatedCsr::check`].
    pub fn new(arrays: CsrArrays<'a>) -> Result<BorrowedCsr<'a>, GraphError> {
        Ok(BorrowedCsr { arrays, validated: ValidatedCsr::check(arrays)? })
    }

    /// Arrays that were validated before; `None` if they have another length now.
    #[must_use]
    pub fn known(validated: ValidatedCsr, arrays: CsrArrays<'a>) -> Option<BorrowedCsr<'a>> {
        let CsrArrays { index, weights } = arrays;
        let lengths = (index.nodes(), index.arcs(), weights.count().unwrap_or(index.arcs()));
        (lengths == (validated.nodes(), validated.arcs(), validated.arcs()))
            .then_some(BorrowedCsr { arrays, validated })
    }

    /// The arrays, of the lengths that are known.
    pub(crate) fn arrays(&self) -> CsrArrays<'a> {
        self.arrays
    }

    /// What is known of them.
    pub(super) fn validated(&self) -> ValidatedCsr {
        self.validated
    }
}

impl fmt::Debug for BorrowedCsr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BorrowedCsr").field("arcs", &self.validated.arcs()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Graph, OutArc, Rows, Weights};
    use crate::search::{Search, Width};

    /// Offsets and heads of 32 bits, with weights of any type.
    fn arrays<'a>(offsets: &'a [u32], heads: &'a [u32], weights: impl Into<Weights<'a>>) -> CsrArrays<'a> {
        CsrArrays { index: (offsets, heads).into(), weights: weights.into() }
    }

    #[test]
    fn lent_arcs_are_those_of_a_graph() {
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (0, 2, 6), (2, 0, 7)]).unwrap();
        let (offsets, heads) = ([0_i64, 2, 2, 3], [1_i64, 2, 0]);
        let narrow = |weights| arrays(&[0, 2, 2, 3], &[1, 2, 0], weights);
        let wide = |weights| CsrArrays { index: (&offsets[..], &heads[..]).into(), weights };
        let of: [Weights<'_>; 6] = [
            [5_i32, 6, 7][..].into(),
            [5_u32, 6, 7][..].into(),
            [5_i64, 6, 7][..].into(),
            [5_u64, 6, 7][..].into(),
            [5.0_f32, 6.0, 7.0][..].into(),
            [5.0_f64, 6.0, 7.0][..].into(),
        ];
        for arrays in of.into_iter().flat_map(|weights| [narrow(weights), wide(weights)]) {
            let rows = Rows::from(BorrowedCsr::new(arrays).unwrap());
            assert_eq!((rows.nodes(), rows.arcs(), rows.max_weight()), (3, 3, 7));
            for node in 0..3 {
                let mut arcs = Vec::new();
                rows.each_out(node, |arc| arcs.push(arc));
                assert_eq!((&arcs[..], rows.degree(node)), (graph.out(node), arcs.len()), "{arrays:?}");
            }
        }
        let without = Rows::from(BorrowedCsr::new(wide(Weights::One)).unwrap());
        assert_eq!(without.max_weight(), 1);
        without.each_out(2, |arc| assert_eq!(arc, OutArc { head: 0, weight: 1 }));
    }

    #[test]
    fn arrays_of_another_length_are_not_those_that_were_sound() {
        let rows = CsrArrays { index: (&[0_i64, 1, 1][..], &[1_i64][..]).into(), weights: [7.0][..].into() };
        let validated = ValidatedCsr::check(rows).unwrap();
        assert!(BorrowedCsr::known(validated, rows).is_some());
        for other in [
            arrays(&[0, 1, 1], &[], &[7_u32][..]),
            arrays(&[0, 1], &[1], &[7_u32][..]),
            arrays(&[0, 1, 1], &[1], &[0_u32; 0][..]),
        ] {
            assert!(BorrowedCsr::known(validated, other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_search_through_arrays_that_were_changed_fails() {
        let validated = ValidatedCsr::check(arrays(&[0, 1, 1], &[1], &[7_u32][..])).unwrap();
        for (offsets, heads) in [([0, 1, 1], [9]), ([0, 9, 9], [1]), ([1, 0, 0], [1])] {
            let borrowed = BorrowedCsr::known(validated, arrays(&offsets, &heads, &[7_u32][..])).unwrap();
            let search = || Search::with_buckets(borrowed, Width::Fixed(1)).run(0, None).summary();
            assert!(std::panic::catch_unwind(search).is_err(), "{offsets:?} {heads:?}");
        }
    }
}
