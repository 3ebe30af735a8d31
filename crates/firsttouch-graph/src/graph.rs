//! A directed graph with weights, as compressed sparse rows.

/// The number of a node inside a graph, from 0.
pub type Node = u32;

/// The distance of a node that no path leads to, where distances are of 32 bits.
pub const UNREACHED: u32 = u32::MAX;

/// An arc as it lies in memory, behind the tail it leaves: head and weight side by side, because whoever reads the one
/// needs the other, and a cache line then holds eight arcs whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct OutArc {
    /// The node it leads to.
    pub head: Node,
    /// Its length.
    pub weight: u32,
}

/// Why arcs make no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// More nodes than 32 bits count, with one number kept for "none".
    #[error("{nodes} nodes are too many: a graph has at most {} of them", u32::MAX)]
    TooManyNodes {
        /// How many were asked for.
        nodes: u64,
    },
    /// An arc leaves or reaches a node that is not there.
    #[error("arc {arc} (counted from 0) joins {tail} and {head}, but there are only {nodes} nodes")]
    NoSuchNode {
        /// Which arc, in the order given.
        arc: usize,
        /// Its tail.
        tail: Node,
        /// Its head.
        head: Node,
        /// How many nodes there are.
        nodes: usize,
    },
}

/// A directed graph with weights from 0 to 2^32 - 1. Loops and parallel arcs are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the arcs of each node begin; one more than there are nodes.
    offsets: Vec<u64>,
    arcs: Vec<OutArc>,
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
        let mut placed = vec![OutArc { head: 0, weight: 0 }; arcs.len()];
        for &(tail, head, weight) in arcs {
            let place = &mut next[tail as usize];
            placed[*place as usize] = OutArc { head, weight };
            *place += 1;
        }
        Ok(Graph { offsets, arcs: placed })
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

    /// The same graph with every arc turned round.
    #[must_use]
    pub fn reverse(&self) -> Graph {
        let mut turned = Vec::with_capacity(self.arcs());
        for tail in 0..self.nodes() as Node {
            turned.extend(self.out(tail).iter().map(|arc| (arc.head, tail, arc.weight)));
        }
        Graph::from_arcs(self.nodes(), &turned).expect("the nodes are those of a graph")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_lie_behind_their_tails_in_the_order_given() {
        let graph = Graph::from_arcs(3, &[(2, 0, 7), (0, 1, 1), (2, 2, 0), (0, 1, 9)]).unwrap();
        assert_eq!(graph.nodes(), 3);
        assert_eq!(graph.arcs(), 4);
        assert_eq!(graph.out(0), [OutArc { head: 1, weight: 1 }, OutArc { head: 1, weight: 9 }]);
        assert_eq!(graph.out(1), []);
        assert_eq!(graph.out(2), [OutArc { head: 0, weight: 7 }, OutArc { head: 2, weight: 0 }]);
    }

    #[test]
    fn turned_round_twice_it_has_the_same_arcs() {
        let graph = Graph::from_arcs(4, &[(0, 3, 1), (1, 3, 2), (3, 0, 3), (3, 3, 4)]).unwrap();
        assert_eq!(graph.reverse().out(3).len(), 3);
        assert_eq!(graph.reverse().reverse(), graph);
    }

    #[test]
    fn an_arc_of_a_node_that_is_not_there_is_refused() {
        let error = Graph::from_arcs(2, &[(0, 1, 1), (0, 2, 1)]).unwrap_err();
        assert_eq!(error, GraphError::NoSuchNode { arc: 1, tail: 0, head: 2, nodes: 2 });
    }
}
