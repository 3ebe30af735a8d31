//! The distances of one search, as far as they are known.

use super::distance::Distance;
use super::goal::Goal;
use crate::rows::{Cells, Node, Place, receipt_of};
use firsttouch_documents::GraphReceipt;

/// Tentative distances of all nodes; in a search with a limit or targets also the list of those that have one, so that neither the
/// result nor the next search costs a pass over all nodes.
#[derive(Debug)]
pub(super) struct Labels<D> {
    pub(super) distances: Cells<D>,
    /// The nodes with a distance, in the order in which they got their first one; empty in a search to all nodes.
    pub(super) reached: Vec<Node>,
    /// No distance beyond this one is of interest.
    pub(super) limit: D,
    pub(super) limited: bool,
}

impl<D: Distance> Labels<D> {
    /// Those of `nodes` nodes, none of them reached, on such pages.
    pub(super) fn new(nodes: usize, place: Place) -> Labels<D> {
        Labels {
            distances: Cells::of(D::UNREACHED, nodes, place),
            reached: Vec::new(),
            limit: D::at_most(u64::MAX),
            limited: true,
        }
    }

    /// Forgets the last search and begins another.
    pub(super) fn begin(&mut self, source: Node, goal: &Goal<'_>) {
        if self.limited {
            for node in self.reached.drain(..) {
                self.distances[node as usize] = D::UNREACHED;
            }
        } else {
            self.distances.fill(D::UNREACHED);
        }
        self.limited = goal.limit.is_some() || goal.targets.is_some();
        self.limit = D::at_most(goal.limit.unwrap_or(u64::MAX));
        self.distances[source as usize] = D::default();
        if self.limited {
            self.reached.push(source);
        }
    }

    /// The nodes with a distance, if there is a limit or there are targets.
    pub(super) fn within_limit(&self) -> Option<&[Node]> {
        self.limited.then_some(&*self.reached)
    }

    /// Forgets the distances from `end` on: a search that ended there does not know whether they are the shortest.
    pub(super) fn cut(&mut self, end: u64) {
        let Labels { distances, reached, .. } = self;
        reached.retain(|node| {
            let distance = &mut distances[*node as usize];
            let is_known = distance.wide() < end;
            if !is_known {
                *distance = D::UNREACHED;
            }
            is_known
        });
    }

    /// What their memory has obtained.
    pub(super) fn receipt(&self, place: Place) -> GraphReceipt {
        receipt_of([(self.distances.owner(), place.node)], 1, place.pages, &[place.node])
    }

    /// How many nodes have a distance.
    pub(super) fn count_reached(&self) -> u64 {
        self.distances.iter().filter(|distance| **distance != D::UNREACHED).count() as u64
    }

    pub(super) fn of(&self, node: Node) -> D {
        self.distances[node as usize]
    }

    /// Notes a path to `node`; true if it is the shortest so far, and within the limit.
    #[inline(always)]
    pub(super) fn lower(&mut self, node: Node, distance: D) -> bool {
        let held = self.distances[node as usize];
        if distance >= held || distance > self.limit {
            return false;
        }
        if self.limited && held == D::UNREACHED {
            self.reached.push(node);
        }
        self.distances[node as usize] = distance;
        true
    }
}
