//! Contracting nodes one by one: what they joined is joined without them.

use super::dissection::Core;
use crate::{Graph, Node};

/// A graph without directions, loops and parallels, in the middle of being contracted.
#[derive(Debug)]
pub(super) struct Elimination {
    neighbours: Vec<Vec<Node>>,
    gone: Vec<bool>,
    order: Vec<Node>,
}

impl Elimination {
    pub(super) fn new(graph: &Graph) -> Elimination {
        let nodes = graph.nodes();
        let mut degrees = vec![0_usize; nodes];
        for tail in 0..nodes as Node {
            for arc in graph.out(tail) {
                degrees[tail as usize] += 1;
                degrees[arc.head as usize] += 1;
            }
        }
        let mut neighbours: Vec<Vec<Node>> = degrees.into_iter().map(Vec::with_capacity).collect();
        for tail in 0..nodes as Node {
            for arc in graph.out(tail) {
                if arc.head != tail {
                    neighbours[tail as usize].push(arc.head);
                    neighbours[arc.head as usize].push(tail);
                }
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        Elimination { neighbours, gone: vec![false; nodes], order: Vec::with_capacity(nodes) }
    }

    /// Contracts all nodes that have, or come to have, at most `most` neighbours. In one round no two of them touch.
    pub(super) fn rounds(&mut self, most: usize) {
        let nodes = self.neighbours.len();
        let mut touched = vec![0_u32; nodes];
        let mut waits = vec![false; nodes];
        let mut next: Vec<Node> = (0..nodes as Node).filter(|node| self.degree(*node) <= most).collect();
        for node in &next {
            waits[*node as usize] = true;
        }
        let mut round = 0;
        while !next.is_empty() {
            round += 1;
            let mut candidates = std::mem::take(&mut next);
            candidates.sort_by_key(|node| self.degree(*node));
            for node in candidates {
                if touched[node as usize] == round {
                    next.push(node);
                    continue;
                }
                waits[node as usize] = false;
                // A neighbour's contraction may have given it more.
                if self.degree(node) > most {
                    continue;
                }
                for neighbour in self.contract(node) {
                    touched[neighbour as usize] = round;
                    if !waits[neighbour as usize] && self.degree(neighbour) <= most {
                        waits[neighbour as usize] = true;
                        next.push(neighbour);
                    }
                }
            }
        }
    }

    fn degree(&self, node: Node) -> usize {
        self.neighbours[node as usize].len()
    }

    /// Takes a node away and joins its neighbours; answers them.
    fn contract(&mut self, node: Node) -> Vec<Node> {
        let around = std::mem::take(&mut self.neighbours[node as usize]);
        for &one in &around {
            let list = &mut self.neighbours[one as usize];
            list.retain(|other| *other != node);
            for &other in &around {
                if other != one && !list.contains(&other) {
                    list.push(other);
                }
            }
        }
        self.gone[node as usize] = true;
        self.order.push(node);
        around
    }

    /// What was contracted, in order, and the rest as a graph.
    pub(super) fn into_core(self) -> (Vec<Node>, Core) {
        let names: Vec<Node> =
            (0..self.gone.len() as Node).filter(|node| !self.gone[*node as usize]).collect();
        let mut number = vec![Node::MAX; self.gone.len()];
        for (core, name) in names.iter().enumerate() {
            number[*name as usize] = core as Node;
        }
        let mut offsets = Vec::with_capacity(names.len() + 1);
        let mut heads = Vec::new();
        offsets.push(0);
        for name in &names {
            heads.extend(self.neighbours[*name as usize].iter().map(|head| number[*head as usize]));
            offsets.push(heads.len());
        }
        (self.order, Core::new(names, offsets, heads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(nodes: u32) -> Graph {
        let arcs: Vec<_> = (1..nodes).map(|node| (node - 1, node, 1)).collect();
        Graph::from_arcs(nodes as usize, &arcs).unwrap()
    }

    #[test]
    fn a_tree_is_contracted_whole_and_leaves_no_core() {
        let mut elimination = Elimination::new(&path(100));
        elimination.rounds(2);
        let (mut order, core) = elimination.into_core();
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert_eq!(core.nodes(), 0);
    }

    #[test]
    fn neighbours_of_a_contracted_node_are_joined_once() {
        // A star of four: its centre has too many neighbours, its tips none but the centre.
        let mut elimination = Elimination::new(
            &Graph::from_arcs(5, &[(0, 1, 1), (0, 2, 1), (3, 0, 1), (4, 0, 1), (1, 2, 5), (0, 0, 9)])
                .unwrap(),
        );
        let around = elimination.contract(0);
        assert_eq!(around, [1, 2, 3, 4]);
        for node in 1..5 {
            assert_eq!(elimination.degree(node), 3);
        }
    }
}
