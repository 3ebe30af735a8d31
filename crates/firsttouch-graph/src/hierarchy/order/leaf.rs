//! The order of a part that is too small to be cut: always the node with the fewest neighbours next.

use super::part::Part;

/// Parts of at most so many nodes are ordered by their degrees, in one machine word.
pub(super) const LEAF_NODES: usize = 64;

/// Neighbours outside of the part that are told apart; of more, some count as one.
const OUTSIDE: u32 = u128::BITS;

/// The part's nodes in the order of contraction. `core` names them in the core, `around_in_core` tells who their neighbours
/// there are: those outside count as well, for they will be joined, too.
pub(super) fn order<'core>(
    part: &Part,
    core: &[u32],
    around_in_core: impl Fn(u32) -> &'core [u32],
) -> Vec<u32> {
    assert!(part.nodes() <= LEAF_NODES, "a set of them is one word");
    let mut outside_names: Vec<u32> = Vec::new();
    let mut sorted = core.to_vec();
    sorted.sort_unstable();
    let mut nodes: Vec<Neighbours> = (0..part.nodes() as u32)
        .map(|node| {
            let inside = part.around(node).iter().fold(0, |set, head| set | 1 << head);
            let mut outside = 0_u128;
            for head in around_in_core(core[node as usize]) {
                if sorted.binary_search(head).is_err() {
                    let known = outside_names.iter().position(|name| name == head);
                    let place = known.unwrap_or_else(|| {
                        outside_names.push(*head);
                        outside_names.len() - 1
                    });
                    outside |= 1 << (place as u32 % OUTSIDE);
                }
            }
            Neighbours { inside, outside }
        })
        .collect();
    let mut left: u64 = if part.nodes() == LEAF_NODES { u64::MAX } else { (1 << part.nodes()) - 1 };
    let mut order = Vec::with_capacity(part.nodes());
    while let Some(next) = members(left).min_by_key(|node| nodes[*node as usize].count()) {
        let gone = nodes[next as usize];
        left &= !(1 << next);
        for node in members(gone.inside) {
            let neighbours = &mut nodes[node as usize];
            neighbours.inside = (neighbours.inside | gone.inside) & !(1 << node) & !(1 << next);
            neighbours.outside |= gone.outside;
        }
        order.push(next);
    }
    order
}

#[derive(Clone, Copy, Debug)]
struct Neighbours {
    inside: u64,
    outside: u128,
}

impl Neighbours {
    fn count(self) -> u32 {
        self.inside.count_ones() + self.outside.count_ones()
    }
}

fn members(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (first < u64::BITS).then_some(first)
    })
}
