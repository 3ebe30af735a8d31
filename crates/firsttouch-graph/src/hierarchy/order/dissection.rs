//! Nested dissection: cut in halves, order the halves, put the cut last.

use super::leaf::LEAF_NODES;
use super::part::{Part, connected};
use super::{axes, cut, leaf};
use crate::Node;
use crate::hierarchy::HierarchyError;
use firsttouch_threads::at_once;
use std::sync::atomic::{AtomicU64, Ordering};

/// The share of a part at each end of a direction that is on its side for sure.
const END_SHARE: f64 = 0.27;

/// How many arcs the order may cost.
#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    spent: AtomicU64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Budget {
        Budget { limit, spent: AtomicU64::new(0) }
    }

    /// The largest cut that can be paid: its nodes will all be joined with each other.
    fn largest_cut(&self) -> usize {
        ((2 * self.limit) as f64).sqrt() as usize + 1
    }

    fn spend(&self, cut: usize) -> Result<(), HierarchyError> {
        let arcs = (cut as u64).saturating_mul(cut as u64) / 2;
        let spent = self.spent.fetch_add(arcs, Ordering::Relaxed) + arcs;
        if spent > self.limit { Err(self.refusal()) } else { Ok(()) }
    }

    fn refusal(&self) -> HierarchyError {
        HierarchyError::TooManyArcs { limit: self.limit }
    }
}

/// What is left when the nodes with few neighbours are gone.
#[derive(Debug)]
pub(super) struct Core {
    names: Vec<Node>,
    part: Part,
}

impl Core {
    pub(super) fn new(names: Vec<Node>, offsets: Vec<usize>, heads: Vec<u32>) -> Core {
        Core { names, part: Part { offsets, heads } }
    }

    pub(super) fn nodes(&self) -> usize {
        self.names.len()
    }

    /// Of the `around` nodes next to one, the share that is their border: reached, but not passed.
    pub(super) fn border_share(&self, start: u32, around: usize) -> f64 {
        let mut reached = std::collections::HashSet::from([start]);
        let mut queue = vec![start];
        let mut next = 0;
        while let Some(&node) = queue.get(next)
            && queue.len() < around
        {
            next += 1;
            queue.extend(self.part.around(node).iter().filter(|head| reached.insert(**head)));
        }
        (queue.len() - next) as f64 / queue.len() as f64
    }

    /// The nodes, by their names, in the order in which they are to be contracted.
    pub(super) fn dissect(&self, threads: usize, budget: &Budget) -> Result<Vec<Node>, HierarchyError> {
        let everything: Vec<u32> = (0..self.nodes() as u32).collect();
        let whole = Part { offsets: self.part.offsets.clone(), heads: self.part.heads.clone() };
        let mut order = Vec::with_capacity(self.nodes());
        self.order_part(&whole, &everything, threads, budget, &mut order)?;
        Ok(order)
    }

    /// `core[n]` is the number in the core of the part's node n.
    fn order_part(
        &self,
        part: &Part,
        core: &[u32],
        threads: usize,
        budget: &Budget,
        order: &mut Vec<Node>,
    ) -> Result<(), HierarchyError> {
        if part.nodes() <= LEAF_NODES {
            let leaf = leaf::order(part, core, |node| self.part.around(node));
            order.extend(leaf.into_iter().map(|node| self.names[core[node as usize] as usize]));
            return Ok(());
        }
        let mut number = vec![u32::MAX; part.nodes()];
        let pieces = connected(part);
        if pieces.len() > 1 {
            for piece in pieces {
                let (smaller, names) = (part.restricted(&piece, &mut number), named(&piece, core));
                self.order_part(&smaller, &names, threads, budget, order)?;
            }
            return Ok(());
        }
        let Some(halves) = best_cut(part, budget) else { return Err(budget.refusal()) };
        budget.spend(halves.cut.len())?;
        let left = (part.restricted(&halves.left, &mut number), named(&halves.left, core));
        let right = (part.restricted(&halves.right, &mut number), named(&halves.right, core));
        drop(number);
        if threads > 1 {
            let halves = [(&left, threads.div_ceil(2)), (&right, threads / 2)];
            let ordered = at_once(halves.map(|((part, core), threads)| {
                move || {
                    let mut order = Vec::with_capacity(core.len());
                    self.order_part(part, core, threads, budget, &mut order).map(|()| order)
                }
            }));
            for half in ordered {
                order.append(&mut half?);
            }
        } else {
            self.order_part(&left.0, &left.1, 1, budget, order)?;
            self.order_part(&right.0, &right.1, 1, budget, order)?;
        }
        order.extend(halves.cut.iter().map(|node| self.names[core[*node as usize] as usize]));
        Ok(())
    }
}

fn named(nodes: &[u32], core: &[u32]) -> Vec<u32> {
    nodes.iter().map(|node| core[*node as usize]).collect()
}

/// The best of the cuts in four directions: the fewest nodes for what the smaller half has.
fn best_cut(part: &Part, budget: &Budget) -> Option<cut::Halves> {
    let nodes = part.nodes();
    let end = ((nodes as f64 * END_SHARE) as usize).max(1);
    let mut best: Option<(f64, cut::Halves)> = None;
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    for key in axes::of(part) {
        let by = |node: &u32| (key[*node as usize], *node);
        order.select_nth_unstable_by_key(end - 1, by);
        order[end..].select_nth_unstable_by_key(nodes - 2 * end, by);
        // A cut as good as the best has at most so many nodes, were its halves equal.
        let most =
            best.as_ref().map_or(budget.largest_cut(), |(cost, _)| (cost * nodes as f64 / 2.0) as usize);
        let Some(halves) = cut::between(part, &order[..end], &order[nodes - end..], most) else { continue };
        let cost = halves.cut.len() as f64 / halves.left.len().min(halves.right.len()).max(1) as f64;
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, halves));
        }
    }
    best.map(|(_, halves)| halves)
}
