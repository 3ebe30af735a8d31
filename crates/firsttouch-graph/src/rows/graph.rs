//! A directed graph with weights, as compressed sparse rows.

use super::arc::{Extent, Node, OutArc};
use super::array::{Array, Owner, Place};
use super::csr::CsrArrays;
use super::error::GraphError;
use super::validated::ValidatedCsr;
use firsttouch_memory::RegionError;

/// A directed graph with weights from 0 to 2^32 - 1. Loops and parallel arcs are kept. It never changes; a clone shares
/// its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the arcs of each node begin; one more than there are nodes.
    offsets: Array<u64>,
    arcs: Array<OutArc>,
    extent: Extent,
}

impl Graph {
    /// The graph of `nodes` nodes with these arcs `(tail, head, weight)`. Arcs of one tail keep the order they have here.
    ///
    /// # Errors
    ///
    /// Too many nodes, or an arc of a node that is not there.
    pub fn from_arcs(nodes: usize, arcs: &[(Node, Node, u32)]) -> Result<Graph, GraphError> {
        if nodes > u32::MAX as usize {
            return Err(GraphError::TooManyNodes { nodes: nodes as u64 });
        }
        let mut offsets = vec![0_u64; nodes + 1];
        for (arc, &(tail, head, _)) in arcs.iter().enumerate() {
            if tail as usize >= nodes || head as usize >= nodes {
                return Err(GraphError::NoSuchNode { arc, tail, head, nodes });
            }
            offsets[tail as usize + 1] += 1;
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut placed = vec![0_u64; arcs.len()];
        for &(tail, head, weight) in arcs {
            let place = &mut next[tail as usize];
            placed[*place as usize] = bytemuck::cast(OutArc { head, weight });
            *place += 1;
        }
        Ok(Graph::of_words(offsets, placed))
    }

    /// The graph of compressed sparse rows as other programs keep them, in memory of that place.
    ///
    /// The arrays are copied: here head and weight lie side by side, so that reading an arc costs one cache line, not two.
    ///
    /// # Errors
    ///
    /// As [`ValidatedCsr::check`]; no memory.
    pub fn from_rows(arrays: CsrArrays<'_>, place: Place) -> Result<Graph, GraphError> {
        let validated = ValidatedCsr::check(arrays)?;
        let (CsrArrays { index, weights }, nodes, length) = (arrays, validated.nodes(), validated.arcs());
        let mut starts = Owner::zeroed(nodes + 1, place).map_err(GraphError::Memory)?;
        let mut arcs = Owner::zeroed(length, place).map_err(GraphError::Memory)?;
        for (node, start) in starts.words_mut(nodes + 1).iter_mut().enumerate().take(index.offsets()) {
            *start = index.offset(node);
        }
        for (arc, word) in arcs.words_mut(length).iter_mut().enumerate() {
            let weight = weights.length(arc).unwrap_or_default();
            *word = bytemuck::cast(OutArc { head: index.head(arc), weight });
        }
        let (starts, arcs) = (Array::first_of(starts, nodes + 1), Array::first_of(arcs, length));
        Ok(Graph::of_arrays(starts, arcs, validated.extent()))
    }

    pub(crate) fn of_words(offsets: Vec<u64>, arcs: Vec<u64>) -> Graph {
        let (nodes, length) = (offsets.len(), arcs.len());
        let offsets = Array::first_of(Owner::Heap(offsets), nodes);
        let arcs: Array<OutArc> = Array::first_of(Owner::Heap(arcs), length);
        let extent = Extent::of_rows(&offsets, &arcs);
        Graph { offsets, arcs, extent }
    }

    /// Of arrays that are known to be rows, with heads that are there.
    pub(crate) fn of_arrays(offsets: Array<u64>, arcs: Array<OutArc>, extent: Extent) -> Graph {
        debug_assert_eq!(offsets.last().copied(), Some(arcs.len() as u64));
        Graph { offsets, arcs, extent }
    }

    /// How many nodes it has.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many arcs it has.
    #[must_use]
    pub fn arcs(&self) -> usize {
        self.arcs.len()
    }

    /// The arcs that leave a node.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    pub fn out(&self, node: Node) -> &[OutArc] {
        let node = node as usize;
        &self.arcs[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Where the arcs of each node begin in [`Graph::all_arcs`]; one more than there are nodes. Never falling; the last is
    /// the number of arcs.
    #[must_use]
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// All arcs, those of one node side by side. Every head is a node of the graph.
    #[must_use]
    pub fn all_arcs(&self) -> &[OutArc] {
        &self.arcs
    }

    /// The bytes its arrays have.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self.offsets()) + size_of_val(self.all_arcs())
    }

    /// The largest weight; 0 where there is no arc.
    #[must_use]
    pub fn max_weight(&self) -> u32 {
        self.extent.max_weight
    }

    /// No distance is larger. A shortest path leaves no node twice, so it is at most the sum of the largest weight that
    /// leaves each node: often far below (n - 1) times the largest weight of all, which bounds it as well.
    #[must_use]
    pub fn distance_bound(&self) -> u64 {
        self.extent.bound(self.nodes())
    }

    /// Whether every distance fits into 32 bits, with [`UNREACHED`](super::UNREACHED) left over.
    #[must_use]
    pub fn fits_32_bits(&self) -> bool {
        self.extent.fits_32_bits(self.nodes())
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// The place of its arrays: the same for both.
    pub(crate) fn owners(&self) -> [&Owner; 2] {
        [self.offsets.owner(), self.arcs.owner()]
    }

    /// The same graph in other memory.
    pub(crate) fn copied_to(&self, place: Place) -> Result<Graph, RegionError> {
        let mut offsets = Owner::zeroed(self.offsets.len(), place)?;
        offsets.words_mut(self.offsets.len()).copy_from_slice(&self.offsets);
        let mut arcs = Owner::zeroed(self.arcs.len(), place)?;
        arcs.words_mut(self.arcs.len()).copy_from_slice(bytemuck::cast_slice(&self.arcs));
        Ok(Graph {
            offsets: Array::first_of(offsets, self.offsets.len()),
            arcs: Array::first_of(arcs, self.arcs.len()),
            extent: self.extent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Weights;

    #[test]
    fn arcs_lie_behind_their_tails_in_the_order_given() {
        let graph = Graph::from_arcs(3, &[(2, 0, 7), (0, 1, 1), (2, 2, 0), (0, 1, 9)]).unwrap();
        assert_eq!(graph.nodes(), 3);
        assert_eq!(graph.arcs(), 4);
        assert_eq!(graph.out(0), [OutArc { head: 1, weight: 1 }, OutArc { head: 1, weight: 9 }]);
        assert_eq!(graph.out(1), []);
        assert_eq!(graph.out(2), [OutArc { head: 0, weight: 7 }, OutArc { head: 2, weight: 0 }]);
        assert_eq!(graph.offsets(), [0, 2, 2, 4]);
        assert_eq!(graph.all_arcs().len(), 4);
    }

    #[test]
    fn an_arc_of_a_node_that_is_not_there_is_refused() {
        let error = Graph::from_arcs(2, &[(0, 1, 1), (0, 2, 1)]).unwrap_err();
        assert_eq!(error, GraphError::NoSuchNode { arc: 1, tail: 0, head: 2, nodes: 2 });
    }

    #[test]
    fn rows_of_others_are_taken_over_and_checked() {
        let wanted = Graph::from_arcs(3, &[(0, 1, 5), (0, 2, 6), (2, 0, 7)]).unwrap();
        let index = (&[0_i32, 2, 2, 3][..], &[1_i32, 2, 0][..]).into();
        let rows = |weights| CsrArrays { index, weights };
        for place in [Place::HEAP, Place::default()] {
            let graph = Graph::from_rows(rows([5.0, 6.0, 7.0][..].into()), place).unwrap();
            assert_eq!((&graph, graph.distance_bound()), (&wanted, 13));
            assert_eq!(
                Graph::from_rows(rows(Weights::One), place),
                wanted.unweighted(place).map_err(GraphError::Memory)
            );
        }
        let error = Graph::from_rows(rows([5.0, 6.5, 7.0][..].into()), Place::HEAP).unwrap_err();
        assert_eq!(error, GraphError::BadWeight { arc: 1, tail: 0, head: 2 });
        let nothing: &[u32] = &[];
        let empty = CsrArrays { index: (nothing, nothing).into(), weights: Weights::One };
        assert_eq!(Graph::from_rows(empty, Place::HEAP).unwrap().nodes(), 0);
    }

    #[test]
    fn no_distance_is_larger_than_its_bound() {
        let most = u32::MAX;
        let path = Graph::from_arcs(3, &[(0, 1, most), (1, 2, most), (1, 2, 3)]).unwrap();
        assert_eq!((path.max_weight(), path.distance_bound()), (most, 2 * u64::from(most)));
        assert!(!path.fits_32_bits());
        // One heavy arc does not make all paths long.
        let mut arcs: Vec<(Node, Node, u32)> = (0..999).map(|tail| (tail, tail + 1, 10)).collect();
        arcs.push((0, 500, 1 << 30));
        let graph = Graph::from_arcs(1000, &arcs).unwrap();
        assert_eq!(graph.distance_bound(), (1 << 30) + 998 * 10);
        assert!(graph.fits_32_bits());
        assert_eq!(Graph::from_arcs(0, &[]).unwrap().distance_bound(), 0);
        // The bound of a graph with one node is 0, whatever its loops.
        assert_eq!(Graph::from_arcs(1, &[(0, 0, 7)]).unwrap().distance_bound(), 0);
    }
}
