//! What the order makes of a graph: the arcs that contracting its nodes adds, and the tree they hang on.
//!
//! The nodes above a node, those it has arcs to, all lie on one way to a root of the tree (the elimination tree). So a node
//! above is named by its depth alone, two bytes, and whoever walks down from the root has what he needs of it on a stack.
//!
//! Nodes are numbered here by position: roots first, every node before those below it, and all that is below it directly
//! behind it.

use super::error::HierarchyError;
use super::limits::{Limits, MOST_HEIGHT};
use crate::{Graph, Node};

/// The hierarchy without its lengths.
#[derive(Debug)]
pub(super) struct Tree {
    /// The node at each position.
    pub(super) nodes: Vec<Node>,
    /// The position of each node.
    pub(super) positions: Vec<u32>,
    /// How many nodes lie above each position.
    pub(super) depths: Vec<u16>,
    /// The position each hangs on; `NONE` for roots.
    pub(super) parents: Vec<u32>,
    /// How many positions belong to it and to what is below it.
    pub(super) sizes: Vec<u32>,
    /// Where the arcs of each position begin; one more than there are positions.
    pub(super) first: Vec<u32>,
    /// The depths of the nodes that arcs lead up to, rising for each position.
    pub(super) slots: Vec<u16>,
    /// The arc of the hierarchy that each arc of the graph is part of, twice, and one more if it leads down; `NONE` for
    /// loops.
    pub(super) places: Vec<u32>,
    /// The most nodes above each other.
    pub(super) height: usize,
}

/// No position, or no arc of the hierarchy.
pub(super) const NONE: u32 = u32::MAX;

impl Tree {
    pub(super) fn new(graph: &Graph, order: &[Node], limits: &Limits) -> Result<Tree, HierarchyError> {
        let nodes = graph.nodes();
        let ranks = ranks(order, nodes)?;
        let (first_above, above) = contract(graph, order, &ranks, limits.arcs(nodes))?;
        // The lowest node above is the parent.
        let parent = |rank: usize| above[first_above[rank]..first_above[rank + 1]].first().copied();
        let mut sizes_by_rank = vec![1_u32; nodes];
        for rank in 0..nodes {
            if let Some(parent) = parent(rank) {
                sizes_by_rank[parent as usize] += sizes_by_rank[rank];
            }
        }
        // Parents come first when ranks fall: each child takes the next free piece behind its parent.
        let mut position_of_rank = vec![0_u32; nodes];
        let mut free_behind = vec![0_u32; nodes];
        let mut free_root = 0;
        let mut depth_of_rank = vec![0_usize; nodes];
        let mut height = 0;
        for rank in (0..nodes).rev() {
            let place = match parent(rank) {
                Some(parent) => {
                    depth_of_rank[rank] = depth_of_rank[parent as usize] + 1;
                    &mut free_behind[parent as usize]
                }
                None => &mut free_root,
            };
            let position = *place;
            *place += sizes_by_rank[rank];
            position_of_rank[rank] = position;
            free_behind[rank] = position + 1;
            height = height.max(depth_of_rank[rank] + 1);
        }
        if height > MOST_HEIGHT {
            return Err(HierarchyError::TooHigh { height });
        }
        let mut rank_at = vec![0_u32; nodes];
        for rank in 0..nodes {
            rank_at[position_of_rank[rank] as usize] = rank as u32;
        }
        let mut tree = Tree {
            nodes: rank_at.iter().map(|rank| order[*rank as usize]).collect(),
            positions: ranks.iter().map(|rank| position_of_rank[*rank as usize]).collect(),
            depths: rank_at.iter().map(|rank| depth_of_rank[*rank as usize] as u16).collect(),
            parents: rank_at
                .iter()
                .map(|rank| parent(*rank as usize).map_or(NONE, |parent| position_of_rank[parent as usize]))
                .collect(),
            sizes: rank_at.iter().map(|rank| sizes_by_rank[*rank as usize]).collect(),
            first: Vec::with_capacity(nodes + 1),
            slots: Vec::with_capacity(above.len()),
            places: Vec::new(),
            height,
        };
        tree.first.push(0);
        for rank in rank_at {
            let heads = &above[first_above[rank as usize]..first_above[rank as usize + 1]];
            // The higher the rank, the nearer the root.
            tree.slots.extend(heads.iter().rev().map(|head| depth_of_rank[*head as usize] as u16));
            tree.first.push(tree.slots.len() as u32);
        }
        tree.places = tree.places_of(graph);
        Ok(tree)
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The arcs of a position.
    pub(super) fn arcs(&self, position: usize) -> std::ops::Range<usize> {
        self.first[position] as usize..self.first[position + 1] as usize
    }

    /// The positions above one and, last, itself: the entry at each depth.
    pub(super) fn stack_of(&self, position: u32, stack: &mut Vec<u32>) {
        stack.clear();
        let mut at = position;
        while at != NONE {
            stack.push(at);
            at = self.parents[at as usize];
        }
        stack.reverse();
    }

    fn places_of(&self, graph: &Graph) -> Vec<u32> {
        let mut places = Vec::with_capacity(graph.arcs());
        for tail in 0..graph.nodes() as Node {
            let from = self.positions[tail as usize];
            for arc in graph.out(tail) {
                let to = self.positions[arc.head as usize];
                places.push(match from.cmp(&to) {
                    std::cmp::Ordering::Equal => NONE,
                    std::cmp::Ordering::Greater => 2 * self.arc_between(from, to),
                    std::cmp::Ordering::Less => 2 * self.arc_between(to, from) + 1,
                });
            }
        }
        places
    }

    fn arc_between(&self, low: u32, high: u32) -> u32 {
        let arcs = self.arcs(low as usize);
        let depth = self.depths[high as usize];
        (arcs.start + self.slots[arcs].partition_point(|slot| *slot < depth)) as u32
    }
}

fn ranks(order: &[Node], nodes: usize) -> Result<Vec<u32>, HierarchyError> {
    let wrong = || HierarchyError::NoOrder { given: order.len(), nodes };
    if order.len() != nodes {
        return Err(wrong());
    }
    let mut ranks = vec![NONE; nodes];
    for (rank, node) in order.iter().enumerate() {
        match ranks.get_mut(*node as usize) {
            Some(place) if *place == NONE => *place = rank as u32,
            _ => return Err(wrong()),
        }
    }
    Ok(ranks)
}

/// The ranks above each rank, rising, as compressed rows: its higher neighbours, and those of whom it is the parent.
fn contract(
    graph: &Graph,
    order: &[Node],
    ranks: &[u32],
    limit: u64,
) -> Result<(Vec<usize>, Vec<u32>), HierarchyError> {
    let nodes = order.len();
    let (first_given, given) = higher_neighbours(graph, ranks);
    let mut first = Vec::with_capacity(nodes + 1);
    let mut above: Vec<u32> = Vec::with_capacity(2 * given.len());
    // The ranks whose parent a rank is, as a chain.
    let mut child = vec![NONE; nodes];
    let mut sibling = vec![NONE; nodes];
    let mut seen = vec![NONE; nodes];
    first.push(0);
    for rank in 0..nodes as u32 {
        let begin = above.len();
        seen[rank as usize] = rank;
        for &head in &given[first_given[rank as usize]..first_given[rank as usize + 1]] {
            if std::mem::replace(&mut seen[head as usize], rank) != rank {
                above.push(head);
            }
        }
        let mut below = child[rank as usize];
        while below != NONE {
            for at in first[below as usize]..first[below as usize + 1] {
                let head = above[at];
                if std::mem::replace(&mut seen[head as usize], rank) != rank {
                    above.push(head);
                }
            }
            below = sibling[below as usize];
        }
        above[begin..].sort_unstable();
        if above.len() as u64 > limit {
            return Err(HierarchyError::TooManyArcs { limit });
        }
        first.push(above.len());
        if let Some(&parent) = above.get(begin) {
            sibling[rank as usize] = child[parent as usize];
            child[parent as usize] = rank;
        }
    }
    Ok((first, above))
}

/// For each rank the higher ranks it has an arc to or from, some more than once.
fn higher_neighbours(graph: &Graph, ranks: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let nodes = ranks.len();
    let mut first = vec![0_usize; nodes + 1];
    let each = |put: &mut dyn FnMut(u32, u32)| {
        for tail in 0..nodes as Node {
            for arc in graph.out(tail) {
                let (one, other) = (ranks[tail as usize], ranks[arc.head as usize]);
                if one != other {
                    put(one.min(other), one.max(other));
                }
            }
        }
    };
    each(&mut |low, _| first[low as usize + 1] += 1);
    for rank in 0..nodes {
        first[rank + 1] += first[rank];
    }
    let mut next = first.clone();
    let mut heads = vec![0_u32; first[nodes]];
    each(&mut |low, high| {
        heads[next[low as usize]] = high;
        next[low as usize] += 1;
    });
    (first, heads)
}
