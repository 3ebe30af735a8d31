//! Orders of nodes: which lie next to each other in memory.
//!
//! A search reads the arcs of nodes that are near each other in the graph; where they are near each other in memory, too,
//! it reads fewer cache lines and pages. Files whose nodes are in no order cost two to four times as much to search.
//! Depth first is nearly free and good everywhere; the others are for graphs with many nodes and few cores in mind
//! (cells), or for files that bring coordinates.

use super::arc::{Node, OutArc};
use super::array::{Array, Owner, Place};
use super::graph::Graph;
use firsttouch_memory::RegionError;

/// Nodes in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// For each place the node that was brought there.
    before: Vec<Node>,
    /// For each node its place.
    after: Vec<Node>,
}

/// Ways to bring nodes into an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reordering {
    /// As a search meets them that follows the last node it met.
    DepthFirst,
    /// As a search meets them that follows the first node it met.
    BreadthFirst,
    /// Cells of about this many nodes, each grown from one node, cell after cell.
    Cells(usize),
    /// Along a Hilbert curve through their coordinates.
    Coordinates,
}

/// Nodes of a cell, where nobody says how many: their arcs and distances fit into the second-level cache of a core.
const CELL_NODES: usize = 1 << 14;

impl Reordering {
    /// Reads the word used on the command line: `dfs`, `bfs`, `cells`, `cells=NODES`, `hilbert`; `None` for anything else.
    #[must_use]
    pub fn parse(word: &str) -> Option<Reordering> {
        match word {
            "dfs" => Some(Reordering::DepthFirst),
            "bfs" => Some(Reordering::BreadthFirst),
            "cells" => Some(Reordering::Cells(CELL_NODES)),
            "hilbert" => Some(Reordering::Coordinates),
            _ => {
                let nodes = word.strip_prefix("cells=")?.parse().ok()?;
                (nodes > 0).then_some(Reordering::Cells(nodes))
            }
        }
    }
}

impl Order {
    /// The order with node `before[place]` at each place; `None` if they are not every node once.
    #[must_use]
    pub fn new(before: Vec<Node>) -> Option<Order> {
        let mut after = vec![Node::MAX; before.len()];
        for (place, node) in before.iter().enumerate() {
            let entry = after.get_mut(*node as usize)?;
            if *entry != Node::MAX {
                return None;
            }
            *entry = place as Node;
        }
        Some(Order { before, after })
    }

    /// The node that is now at this place, as it was counted before.
    #[must_use]
    pub fn before(&self, place: Node) -> Node {
        self.before[place as usize]
    }

    /// Where a node is now.
    #[must_use]
    pub fn after(&self, node: Node) -> Node {
        self.after[node as usize]
    }

    /// For each place the node that was brought there.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.before
    }

    /// This order, and then that one of what it makes.
    #[must_use]
    pub fn then(&self, next: &Order) -> Order {
        let before: Vec<Node> = next.before.iter().map(|place| self.before(*place)).collect();
        let after = self.after.iter().map(|place| next.after(*place)).collect();
        Order { before, after }
    }

    /// By a search that goes deep first, from node 0, and then from every node it has not met.
    #[must_use]
    pub fn depth_first(graph: &Graph) -> Order {
        let mut met = vec![false; graph.nodes()];
        let mut before = Vec::with_capacity(graph.nodes());
        let mut waiting = Vec::new();
        for start in 0..graph.nodes() as Node {
            waiting.push(start);
            while let Some(node) = waiting.pop() {
                if std::mem::replace(&mut met[node as usize], true) {
                    continue;
                }
                before.push(node);
                let heads = graph.out(node).iter().map(|arc| arc.head);
                waiting.extend(heads.rev().filter(|head| !met[*head as usize]));
            }
        }
        Order::of_all(before)
    }

    /// By a search that goes broad first, from node 0, and then from every node it has not met.
    #[must_use]
    pub fn breadth_first(graph: &Graph) -> Order {
        Order::cells(graph, usize::MAX)
    }

    /// Cells of at most `size` nodes: each is what a broad search meets first from a node beside an earlier cell.
    #[must_use]
    pub fn cells(graph: &Graph, size: usize) -> Order {
        let mut met = vec![false; graph.nodes()];
        let mut before: Vec<Node> = Vec::with_capacity(graph.nodes());
        // Nodes beside finished cells, the oldest first, and where to look when they are used up.
        let mut beside = std::collections::VecDeque::new();
        let mut unmet = 0..graph.nodes() as Node;
        let mut cell = std::collections::VecDeque::new();
        loop {
            let is_unmet = |node: &Node| !met[*node as usize];
            let next = std::iter::from_fn(|| beside.pop_front()).find(is_unmet);
            let Some(start) = next.or_else(|| unmet.by_ref().find(is_unmet)) else {
                return Order::of_all(before);
            };
            met[start as usize] = true;
            cell.push_back(start);
            let mut room = size.max(1) - 1;
            while let Some(node) = cell.pop_front() {
                before.push(node);
                for arc in graph.out(node) {
                    if met[arc.head as usize] {
                        continue;
                    }
                    if room == 0 {
                        beside.push_back(arc.head);
                    } else {
                        room -= 1;
                        met[arc.head as usize] = true;
                        cell.push_back(arc.head);
                    }
                }
            }
        }
    }

    /// Along a Hilbert curve through these coordinates, of which every node has a pair: places that are near each other on
    /// the curve are near each other on the map.
    #[must_use]
    pub fn coordinates(coordinates: &[[i32; 2]]) -> Order {
        // Shifted into the positive, with the order kept.
        let positive = |value: i32| (value as u32) ^ (1 << 31);
        let key = |[x, y]: [i32; 2]| along_hilbert(positive(x), positive(y));
        let mut keyed: Vec<(u64, Node)> = (0..).zip(coordinates).map(|(node, at)| (key(*at), node)).collect();
        keyed.sort_unstable();
        Order::of_all(keyed.into_iter().map(|(_, node)| node).collect())
    }

    fn of_all(before: Vec<Node>) -> Order {
        Order::new(before).expect("every node is there once")
    }
}

/// The distance along the Hilbert curve of order 32 to a point.
fn along_hilbert(mut x: u32, mut y: u32) -> u64 {
    let mut distance = 0;
    for level in (0..32).rev() {
        let (right, upper) = (x >> level & 1, y >> level & 1);
        distance = distance << 2 | u64::from((3 * right) ^ upper);
        // Turn the quarter so that the curve inside it begins where the last one ended.
        if upper == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    distance
}

impl Graph {
    /// The same graph with its nodes in another order, in memory of that place: node `v` becomes `order.after(v)`. Rows keep
    /// the order of their arcs.
    ///
    /// # Errors
    /// Memory that cannot be had.
    ///
    /// # Panics
    /// If the order is one of another number of nodes.
    pub fn reordered(&self, order: &Order, place: Place) -> Result<Graph, RegionError> {
        assert_eq!(order.nodes().len(), self.nodes(), "an order of other nodes");
        let mut offsets = Owner::zeroed(self.nodes() + 1, place)?;
        let mut arcs = Owner::zeroed(self.arcs(), place)?;
        let (begins, room) = (offsets.words_mut(self.nodes() + 1), arcs.words_mut(self.arcs()));
        let mut end = 0;
        for (node, begin) in order.nodes().iter().zip(&mut begins[1..]) {
            for arc in self.out(*node) {
                room[end] = bytemuck::cast(OutArc { head: order.after(arc.head), weight: arc.weight });
                end += 1;
            }
            *begin = end as u64;
        }
        let offsets = Array::first_of(offsets, self.nodes() + 1);
        Ok(Graph::of_arrays(offsets, Array::first_of(arcs, self.arcs()), self.extent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of streets, numbered row by row.
    fn square(side: u32) -> Graph {
        let mut arcs = Vec::new();
        for y in 0..side {
            for x in 0..side {
                let node = y * side + x;
                if x + 1 < side {
                    arcs.extend([(node, node + 1, 1), (node + 1, node, 1)]);
                }
                if y + 1 < side {
                    arcs.extend([(node, node + side, 1), (node + side, node, 1)]);
                }
            }
        }
        Graph::from_arcs((side * side) as usize, &arcs).unwrap()
    }

    #[test]
    fn an_order_has_every_node_once() {
        assert_eq!(Order::new(vec![0, 0]), None);
        assert_eq!(Order::new(vec![0, 2]), None);
        let order = Order::new(vec![2, 0, 1]).unwrap();
        for node in 0..3 {
            assert_eq!(order.before(order.after(node)), node);
        }
    }

    #[test]
    fn searches_meet_nodes_in_their_order() {
        let graph = Graph::from_arcs(6, &[(0, 1, 1), (0, 2, 1), (1, 3, 1), (5, 4, 1)]).unwrap();
        assert_eq!(Order::depth_first(&graph).nodes(), [0, 1, 3, 2, 4, 5]);
        assert_eq!(Order::breadth_first(&graph).nodes(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn cells_are_connected_and_as_large_as_asked() {
        let graph = square(20);
        let order = Order::cells(&graph, 50);
        let first = &order.nodes()[..50];
        for node in &first[1..] {
            assert!(graph.out(*node).iter().any(|arc| first.contains(&arc.head)), "{node} stands alone");
        }
        // Every node of the first cell is within ten streets of the corner: it is round, not long.
        assert!(first.iter().all(|node| node % 20 + node / 20 <= 10), "{first:?}");
    }

    #[test]
    fn neighbours_on_the_curve_are_neighbours_on_the_map() {
        let coordinates: Vec<[i32; 2]> = (0..16).flat_map(|x| (0..16).map(move |y| [x, y])).collect();
        let order = Order::coordinates(&coordinates);
        for pair in order.nodes().windows(2) {
            let ([ax, ay], [bx, by]) = (coordinates[pair[0] as usize], coordinates[pair[1] as usize]);
            assert_eq!((ax - bx).abs() + (ay - by).abs(), 1, "{ax},{ay} and {bx},{by}");
        }
    }

    #[test]
    fn orders_have_words() {
        assert_eq!(Reordering::parse("cells=7"), Some(Reordering::Cells(7)));
        assert_eq!(Reordering::parse("dfs"), Some(Reordering::DepthFirst));
        for wrong in ["", "cells=0", "cells=x", "dfs=3"] {
            assert_eq!(Reordering::parse(wrong), None);
        }
    }

    #[test]
    fn a_graph_in_another_order_is_the_same_graph() {
        let graph = square(7);
        for order in [
            Order::depth_first(&graph),
            Order::breadth_first(&graph),
            Order::cells(&graph, 5),
            Order::cells(&graph, 0),
        ] {
            let other = graph.reordered(&order, Place::HEAP).unwrap();
            for node in 0..49 {
                let mut heads: Vec<Node> =
                    other.out(order.after(node)).iter().map(|arc| order.before(arc.head)).collect();
                let mut wanted: Vec<Node> = graph.out(node).iter().map(|arc| arc.head).collect();
                heads.sort_unstable();
                wanted.sort_unstable();
                assert_eq!(heads, wanted);
            }
        }
    }
}
