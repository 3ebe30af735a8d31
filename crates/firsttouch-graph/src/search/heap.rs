//! Dijkstra's algorithm with a heap of four children to a parent: the reference that the others are compared with.
//!
//! Four children because a heap is bound by its depth, and four entries of eight bytes share half a cache line. A node
//! that is improved is entered again; its old entries are passed over when they come up (E. W. Dijkstra, A note on two
//! problems in connexion with graphs, 1959; D. B. Johnson, Priority queues with update, 1975).

use super::distance::{Distance, TooFar, fits};
use super::goal::Pending;
use super::labels::Labels;
use super::queue::Entry;
use crate::rows::{Node, OutArc, Rows};

/// Entries with the least on top.
#[derive(Debug, Default)]
pub(super) struct Heap<D> {
    entries: Vec<Entry<D>>,
}

const CHILDREN: usize = 4;

impl<D: Distance> Heap<D> {
    pub(super) fn new() -> Heap<D> {
        Heap { entries: Vec::new() }
    }

    /// Finds the distances of all nodes within the limit of `labels`, which hold the source, until none is pending.
    pub(super) fn search(
        &mut self,
        rows: Rows<'_>,
        source: Node,
        mut pending: Pending<'_>,
        labels: &mut Labels<D>,
    ) -> Result<(), TooFar> {
        self.entries.clear();
        self.push(Entry { distance: D::default(), node: source });
        while let Some(Entry { distance, node }) = self.pop() {
            if labels.of(node) != distance {
                continue;
            }
            if pending.are_settled(distance.wide(), |node| labels.of(node)) {
                labels.cut(distance.wide());
                break;
            }
            fits::<D>(distance.wide(), rows.max_weight())?;
            rows.each_out(node, |OutArc { head, weight }| {
                let distance = distance.plus(weight);
                if labels.lower(head, distance) {
                    self.push(Entry { distance, node: head });
                }
            });
        }
        Ok(())
    }

    fn push(&mut self, entry: Entry<D>) {
        let mut at = self.entries.len();
        self.entries.push(entry);
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.entries[parent].distance <= entry.distance {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    fn pop(&mut self) -> Option<Entry<D>> {
        let last = self.entries.pop()?;
        let Some(&top) = self.entries.first() else { return Some(last) };
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            let children = first..self.entries.len().min(first + CHILDREN);
            let Some(least) = children.min_by_key(|&child| self.entries[child].distance) else { break };
            if last.distance <= self.entries[least].distance {
                break;
            }
            self.entries[at] = self.entries[least];
            at = least;
        }
        self.entries[at] = last;
        Some(top)
    }
}
