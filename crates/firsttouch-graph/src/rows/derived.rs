//! Graphs made of other graphs.

use super::arc::{Extent, Node, OutArc};
use super::array::{Array, Owner, Place};
use super::graph::Graph;
use firsttouch_memory::RegionError;

impl Graph {
    /// The same graph with every arc turned round.
    #[must_use]
    pub fn reverse(&self) -> Graph {
        let mut turned = Vec::with_capacity(self.arcs());
        for tail in 0..self.nodes() as Node {
            turned.extend(self.out(tail).iter().map(|arc| (arc.head, tail, arc.weight)));
        }
        Graph::from_arcs(self.nodes(), &turned).expect("the nodes are those of a graph")
    }

    /// Without loops, and of parallel arcs only the shortest: what shortest paths need, and what the GAP benchmark keeps of
    /// a generated graph. Rows are in order of their heads.
    #[must_use]
    pub fn simple(&self) -> Graph {
        let mut offsets = Vec::with_capacity(self.nodes() + 1);
        let mut arcs: Vec<u64> = Vec::new();
        offsets.push(0);
        let mut row: Vec<OutArc> = Vec::new();
        for tail in 0..self.nodes() as Node {
            row.clear();
            row.extend(self.out(tail).iter().filter(|arc| arc.head != tail));
            row.sort_unstable();
            row.dedup_by_key(|arc| arc.head);
            arcs.extend(row.iter().map(|arc| bytemuck::cast::<OutArc, u64>(*arc)));
            offsets.push(arcs.len() as u64);
        }
        Graph::of_words(offsets, arcs)
    }

    /// With every arc there and back, in memory of that place: for graphs whose arcs are ways in both directions. A loop
    /// stays one arc.
    ///
    /// # Errors
    ///
    /// Memory that cannot be had.
    pub fn both_ways(&self, place: Place) -> Result<Graph, RegionError> {
        let nodes = self.nodes();
        let mut offsets = Owner::zeroed(nodes + 1, place)?;
        let places = offsets.words_mut(nodes + 1);
        let tails = || 0..nodes as Node;
        for tail in tails() {
            for arc in self.out(tail) {
                places[tail as usize + 1] += 1;
                if arc.head != tail {
                    places[arc.head as usize + 1] += 1;
                }
            }
        }
        for node in 0..nodes {
            places[node + 1] += places[node];
        }
        let length = places[nodes] as usize;
        let mut arcs = Owner::zeroed(length, place)?;
        let room = arcs.words_mut(length);
        let mut put = |tail: Node, head: Node, weight: u32| {
            // Where the arcs of a node begin moves to where they end, which is where those of the next begin.
            let place = &mut places[tail as usize];
            room[*place as usize] = bytemuck::cast(OutArc { head, weight });
            *place += 1;
        };
        for tail in tails() {
            for arc in self.out(tail) {
                put(tail, arc.head, arc.weight);
                if arc.head != tail {
                    put(arc.head, tail, arc.weight);
                }
            }
        }
        places.copy_within(..nodes, 1);
        places[0] = 0;
        Ok(Graph::of_placed(offsets, arcs, nodes, length))
    }

    /// With every arc as long as every other: distances count arcs.
    ///
    /// # Errors
    ///
    /// Memory that cannot be had.
    pub fn unweighted(&self, place: Place) -> Result<Graph, RegionError> {
        let (nodes, length) = (self.nodes(), self.arcs());
        let mut offsets = Owner::zeroed(nodes + 1, place)?;
        offsets.words_mut(nodes + 1).copy_from_slice(self.offsets());
        let mut arcs = Owner::zeroed(length, place)?;
        for (word, arc) in arcs.words_mut(length).iter_mut().zip(self.all_arcs()) {
            *word = bytemuck::cast(OutArc { weight: 1, ..*arc });
        }
        Ok(Graph::of_placed(offsets, arcs, nodes, length))
    }

    /// With one node more, the last, from which arcs of weight 0 lead to these nodes. A search from there finds, for every
    /// node, the way from the nearest of them.
    ///
    /// # Errors
    ///
    /// Memory that cannot be had.
    ///
    /// # Panics
    ///
    /// If one of them is not there, or there is no number left for a node.
    pub fn with_hub(&self, heads: &[Node], place: Place) -> Result<Graph, RegionError> {
        assert!(self.nodes() < u32::MAX as usize, "no number is left for another node");
        assert!(heads.iter().all(|head| (*head as usize) < self.nodes()), "heads are nodes");
        let (nodes, length) = (self.nodes() + 1, self.arcs() + heads.len());
        let mut offsets = Owner::zeroed(nodes + 1, place)?;
        let places = offsets.words_mut(nodes + 1);
        places[..nodes].copy_from_slice(self.offsets());
        places[nodes] = length as u64;
        let mut arcs = Owner::zeroed(length, place)?;
        let (before, new) = arcs.words_mut(length).split_at_mut(self.arcs());
        before.copy_from_slice(bytemuck::cast_slice(self.all_arcs()));
        for (word, head) in new.iter_mut().zip(heads) {
            *word = bytemuck::cast(OutArc { head: *head, weight: 0 });
        }
        let (offsets, arcs) = (Array::first_of(offsets, nodes + 1), Array::first_of(arcs, length));
        Ok(Graph::of_arrays(offsets, arcs, self.extent()))
    }

    fn of_placed(offsets: Owner, arcs: Owner, nodes: usize, length: usize) -> Graph {
        let offsets = Array::first_of(offsets, nodes + 1);
        let arcs: Array<OutArc> = Array::first_of(arcs, length);
        let extent = Extent::of_rows(&offsets, &arcs);
        Graph::of_arrays(offsets, arcs, extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_round_twice_it_has_the_same_arcs() {
        let graph = Graph::from_arcs(4, &[(0, 3, 1), (1, 3, 2), (3, 0, 3), (3, 3, 4)]).unwrap();
        assert_eq!(graph.reverse().out(3).len(), 3);
        assert_eq!(graph.reverse().reverse(), graph);
    }

    #[test]
    fn the_simple_graph_keeps_the_shortest_of_parallel_arcs() {
        let graph = Graph::from_arcs(3, &[(0, 2, 4), (0, 1, 9), (0, 1, 3), (1, 1, 0), (2, 0, 5)]).unwrap();
        assert_eq!(graph.simple(), Graph::from_arcs(3, &[(0, 1, 3), (0, 2, 4), (2, 0, 5)]).unwrap());
    }

    #[test]
    fn both_ways_every_arc_can_be_taken_back() {
        let graph = Graph::from_arcs(4, &[(0, 1, 5), (2, 0, 7), (2, 2, 3), (0, 1, 6)]).unwrap();
        for place in [Place::HEAP, Place::default()] {
            let both = graph.both_ways(place).unwrap();
            let arcs = [(0, 1, 5), (0, 1, 6), (0, 2, 7), (1, 0, 5), (1, 0, 6), (2, 0, 7), (2, 2, 3)];
            let mut rows: Vec<_> = (0..4)
                .flat_map(|tail| both.out(tail).iter().map(move |arc| (tail, arc.head, arc.weight)))
                .collect();
            rows.sort_unstable();
            assert_eq!(rows, arcs);
            assert_eq!(both.distance_bound(), 7 + 6 + 7);
        }
        assert_eq!(Graph::from_arcs(0, &[]).unwrap().both_ways(Place::HEAP).unwrap().nodes(), 0);
    }

    #[test]
    fn from_the_hub_the_nearest_is_found() {
        let graph = Graph::from_arcs(4, &[(0, 2, 9), (1, 2, 4), (2, 3, 1)]).unwrap();
        let with_hub = graph.with_hub(&[0, 1], Place::HEAP).unwrap();
        assert_eq!((with_hub.nodes(), with_hub.arcs(), with_hub.out(2)), (5, 5, graph.out(2)));
        let mut search = crate::Search::with_heap(&with_hub);
        let tree = search.run(4, None);
        assert_eq!([0, 1, 2, 3].map(|node| tree.distances().of(node)), [0, 0, 4, 5].map(Some));
        assert_eq!(tree.parents()[..4], [4, 4, 1, 2]);
    }

    #[test]
    fn unweighted_distances_count_arcs() {
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 2, 0)]).unwrap();
        let arcs = Graph::from_arcs(3, &[(0, 1, 1), (1, 2, 1)]).unwrap();
        assert_eq!(graph.unweighted(Place::default()).unwrap(), arcs);
    }
}
