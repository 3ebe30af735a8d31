//! Where each page is to lie. Pure.

use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_placement::ResolvedMemory;

/// The nodes that pages are moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One of these: a page that lies on one stays.
    Set(Vec<u32>),
    /// In turn over these, so many pages on each: a page has one place by its address.
    Weighted(Vec<(u32, u32)>),
}

/// The size of base pages.
pub(crate) const PAGE_BYTES: u64 = 4096;

impl Destination {
    /// Where the pages of a process that already runs go under a policy; `None` where it names no nodes.
    pub fn of_memory(memory: &ResolvedMemory) -> Option<Destination> {
        match memory {
            ResolvedMemory::Inherit | ResolvedMemory::Local => None,
            ResolvedMemory::Bind(nodes) | ResolvedMemory::Prefer(nodes) => {
                Some(Destination::Set(nodes.clone()))
            }
            ResolvedMemory::Interleave(nodes) => {
                Some(Destination::Weighted(nodes.iter().map(|node| (*node, 1)).collect()))
            }
            ResolvedMemory::Weighted { weights, .. } => Some(Destination::Weighted(weights.clone())),
        }
    }

    /// The node for a page, `huge` or not, that lies on `now`.
    pub fn of(&self, address: u64, huge: bool, now: u32) -> u32 {
        let number = address / if huge { PMD_BYTES } else { PAGE_BYTES };
        match self {
            Destination::Set(nodes) if nodes.contains(&now) => now,
            Destination::Set(nodes) => {
                nodes.get((number % nodes.len().max(1) as u64) as usize).copied().unwrap_or(now)
            }
            Destination::Weighted(turns) => {
                let round: u64 = turns.iter().map(|(_, weight)| u64::from(*weight)).sum();
                let mut place = number % round.max(1);
                for (node, weight) in turns {
                    match place.checked_sub(u64::from(*weight)) {
                        None => return *node,
                        Some(rest) => place = rest,
                    }
                }
                now
            }
        }
    }

    /// Every node that pages may be moved to.
    pub fn nodes(&self) -> Vec<u32> {
        match self {
            Destination::Set(nodes) => nodes.clone(),
            Destination::Weighted(turns) => turns.iter().map(|(node, _)| *node).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stay_where_they_may_and_take_turns_otherwise() {
        let one = Destination::Set(vec![1]);
        assert_eq!((one.of(0x1000, false, 0), one.of(0x1000, false, 1)), (1, 1));
        let two = Destination::Set(vec![1, 2]);
        assert_eq!([two.of(0x2000, false, 0), two.of(0x3000, false, 0), two.of(0x3000, false, 1)], [1, 2, 1]);
        let turns = Destination::Weighted(vec![(0, 2), (3, 1)]);
        let placed: Vec<u32> = (0..6).map(|page| turns.of(page * PAGE_BYTES, false, 9)).collect();
        assert_eq!(placed, [0, 0, 3, 0, 0, 3]);
        assert_eq!(turns.of(2 * PMD_BYTES, true, 0), 3);
        assert_eq!(turns.nodes(), [0, 3]);
    }
}
