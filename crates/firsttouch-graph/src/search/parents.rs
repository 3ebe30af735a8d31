//! Who comes before whom on the shortest paths: found from the distances, after the search.
//!
//! One pass over the arcs costs less than noting a parent at every improvement, most of which are not the last; and its
//! answer is the same for all algorithms and widths, however many threads searched.

use super::distance::Distance;
use crate::rows::{Node, OutArc, Rows};

/// Stands for "no parent": the source has none, nor have nodes that no path leads to.
pub const NO_PARENT: Node = Node::MAX;

/// The parent of every node. `reached` are the nodes with a distance, in ascending order. Of the arcs with a weight that
/// give a node its distance the one with the least tail counts; where all such arcs weigh nothing, one that begins nearer to
/// the source by count of arcs.
pub(super) fn parents<D: Distance>(
    rows: Rows<'_>,
    source: Node,
    distances: &[D],
    reached: &[Node],
) -> Vec<Node> {
    let mut parents = vec![NO_PARENT; distances.len()];
    for &tail in reached {
        let from = distances[tail as usize].wide();
        rows.each_out(tail, |OutArc { head, weight }| {
            let parent = &mut parents[head as usize];
            let tight = from + u64::from(weight) == distances[head as usize].wide();
            if tight && weight > 0 && *parent == NO_PARENT && head != source {
                *parent = tail;
            }
        });
    }
    let has_place = |parents: &[Node], node: Node| node == source || parents[node as usize] != NO_PARENT;
    if reached.iter().all(|&node| has_place(&parents, node)) {
        return parents;
    }
    // Arcs that weigh nothing may go round in circles, so that only who has a place gives one to others.
    let mut placed: Vec<Node> = reached.iter().copied().filter(|&node| has_place(&parents, node)).collect();
    let mut at = 0;
    while let Some(&tail) = placed.get(at) {
        at += 1;
        rows.each_out(tail, |OutArc { head, weight }| {
            let tight = weight == 0 && distances[tail as usize] == distances[head as usize];
            if tight && !has_place(&parents, head) {
                parents[head as usize] = tail;
                placed.push(head);
            }
        });
    }
    parents
}
