//! Arrays that were looked at once, and found to be compressed sparse rows.

use super::arc::{Extent, Node};
use super::csr::CsrArrays;
use super::error::GraphError;

/// What is known of arrays that were found to be rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidatedCsr {
    nodes: usize,
    arcs: usize,
    extent: Extent,
}

impl ValidatedCsr {
    /// Looks whether arrays are compressed sparse rows.
    ///
    /// # Errors
    /// Another number of weights than of heads, rows that do not follow each other, heads that are not there, weights that are
    /// no whole numbers from 0 to 2^32 - 1.
    pub fn check(arrays: CsrArrays<'_>) -> Result<ValidatedCsr, GraphError> {
        let CsrArrays { index, weights } = arrays;
        let arcs = index.arcs();
        if let Some(weights) = weights.count().filter(|weights| *weights != arcs) {
            return Err(GraphError::UnequalLengths { heads: arcs, weights });
        }
        let offset = |node| index.offset(node) as i64;
        ValidatedCsr::check_each(
            index.nodes(),
            arcs,
            offset,
            |arc| index.head(arc),
            |arc| weights.length(arc),
        )
    }

    /// The same of so many nodes and arcs that lie in any way. `offset` is asked for one more than there are nodes, if there are any.
    pub(crate) fn check_each(
        nodes: usize,
        arcs: usize,
        offset: impl Fn(usize) -> i64,
        head: impl Fn(usize) -> Node,
        weight: impl Fn(usize) -> Option<u32>,
    ) -> Result<ValidatedCsr, GraphError> {
        if nodes > u32::MAX as usize {
            return Err(GraphError::TooManyNodes { nodes: nodes as u64 });
        }
        if nodes == 0 && arcs > 0 {
            return Err(GraphError::BadRow { node: 0, begins: 0, ends: 0, arcs });
        }
        let mut reached = 0;
        let mut extent = Extent::default();
        for node in 0..nodes {
            let (begins, ends) = (offset(node), offset(node + 1));
            let is_last = node + 1 == nodes;
            let is_valid = begins == reached
                && ends >= begins
                && ends as usize <= arcs
                && (!is_last || ends as usize == arcs);
            if !is_valid {
                return Err(GraphError::BadRow { node, begins, ends, arcs });
            }
            reached = ends;
            let (tail, mut longest) = (node as Node, 0);
            for arc in begins as usize..ends as usize {
                let head = head(arc);
                if head as usize >= nodes {
                    return Err(GraphError::NoSuchNode { arc, tail, head, nodes });
                }
                longest = longest.max(weight(arc).ok_or(GraphError::BadWeight { arc, tail, head })?);
            }
            extent = extent.with(Extent { max_weight: longest, distance_bound: u64::from(longest) });
        }
        Ok(ValidatedCsr { nodes, arcs, extent })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many arcs there are.
    #[must_use]
    pub fn arcs(&self) -> usize {
        self.arcs
    }

    /// As [`Graph::fits_32_bits`](super::Graph::fits_32_bits).
    #[must_use]
    pub fn fits_32_bits(&self) -> bool {
        self.extent.fits_32_bits(self.nodes)
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::csr::{Index, Weights};

    fn check<'a>(index: impl Into<Index<'a>>, weights: Weights<'a>) -> Result<ValidatedCsr, GraphError> {
        ValidatedCsr::check(CsrArrays { index: index.into(), weights })
    }

    #[test]
    fn arrays_that_are_no_rows_are_refused() {
        let bad_row = |node, begins, ends| Err(GraphError::BadRow { node, begins, ends, arcs: 1 });
        let of = |offsets: &[i64]| check((offsets, &[1_i64][..]), Weights::One);
        assert_eq!(
            of(&[0, 1, 1]).map(|rows| (rows.nodes(), rows.arcs(), rows.fits_32_bits())),
            Ok((2, 1, true))
        );
        assert_eq!(of(&[0, 2, 1]), bad_row(0, 0, 2));
        assert_eq!(of(&[1, 1, 1]), bad_row(0, 1, 1));
        assert_eq!(of(&[0, 1, 0]), bad_row(1, 1, 0));
        assert_eq!(of(&[0, -7, 1]), bad_row(0, 0, -7));
        assert_eq!(of(&[0, 0, 0]), bad_row(1, 0, 0));
        assert_eq!(of(&[0]), bad_row(0, 0, 0));
        assert!(check((&[0_i32, -7, 1][..], &[1_i32][..]), Weights::One).is_err());
        let no_node = |head| Err(GraphError::NoSuchNode { arc: 0, tail: 0, head, nodes: 2 });
        assert_eq!(check((&[0_u32, 1, 1][..], &[2_u32][..]), Weights::One), no_node(2));
        assert_eq!(check((&[0_i32, 1, 1][..], &[-1_i32][..]), Weights::One), no_node(Node::MAX));
        assert_eq!(check((&[0_u64, 1, 1][..], &[1_u64 << 32][..]), Weights::One), no_node(Node::MAX));
    }

    #[test]
    fn fractions_and_what_32_bits_do_not_hold_are_no_weights() {
        fn weighed<'a, T>(weight: &'a T) -> Result<u32, GraphError>
        where
            Weights<'a>: From<&'a [T]>,
        {
            let weights = std::slice::from_ref(weight).into();
            check((&[0_u32, 1, 1][..], &[1_u32][..]), weights).map(|rows| rows.extent().max_weight)
        }
        let refused = Err(GraphError::BadWeight { arc: 0, tail: 0, head: 1 });
        for weight in [-1.0, 0.5, 4_294_967_296.0, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(weighed(&weight), refused, "{weight}");
        }
        assert_eq!(
            [weighed(&-1_i32), weighed(&-1_i64), weighed(&(1_i64 << 32)), weighed(&u64::MAX)],
            [refused; 4]
        );
        assert_eq!([weighed(&0.5_f32), weighed(&4_294_967_296.0_f32)], [refused; 2]);
        assert_eq!([weighed(&-0.0), weighed(&4_294_967_295.0)], [Ok(0), Ok(u32::MAX)]);
        assert_eq!([weighed(&3.0_f32), weighed(&3_i32), weighed(&3_u64)], [Ok(3); 3]);
        assert_eq!(weighed(&u32::MAX), Ok(u32::MAX));
        let unequal = Err(GraphError::UnequalLengths { heads: 1, weights: 0 });
        assert_eq!(check((&[0_u32, 1, 1][..], &[1_u32][..]), [0_i32; 0][..].into()), unequal);
    }
}
