//! How placed memory is laid out over nodes that are to get unequal parts of it.
//!
//! The kernel can do the same with weights that hold for the whole machine (Linux 6.9); these are a program's own. A node
//! gets as many chunks in a row as its weight, then it is the next node's turn, by the place of the chunk in its arena.

/// So many nodes may take part.
const MOST_NODES: usize = 32;
/// Neighbouring chunks on different nodes are different mappings, of which a process has 65,530 for everybody. So the
/// steps become longer the farther up in the arena they lie: twice as long after as many chunks (8 GiB), and so on.
const CHUNKS_PER_STEP: u32 = 4096;

/// Nodes with their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Node and weight; a weight of 0 ends the list.
    rows: [(u16, u8); MOST_NODES],
    total: u32,
}

impl Shares {
    /// No node is chosen here: the memory policy decides.
    pub const NONE: Shares = Shares { rows: [(0, 0); MOST_NODES], total: 0 };

    /// Whether no node is chosen.
    pub(crate) fn are_none(&self) -> bool {
        self.total == 0
    }

    /// Reads `NODE:WEIGHT,NODE:WEIGHT`; `None` for anything else, or too many nodes.
    ///
    /// ```
    /// use firsttouch_memory::Shares;
    /// assert!(Shares::parse("0:5,1:2,2:1").is_some());
    /// assert_eq!(Shares::parse("0:0"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Shares> {
        let mut shares = Shares::NONE;
        let mut rows = shares.rows.iter_mut();
        for word in text.split(',') {
            let (node, weight) = word.split_once(':')?;
            let weight = weight.parse::<u8>().ok().filter(|weight| *weight > 0)?;
            *rows.next()? = (node.parse().ok()?, weight);
            shares.total += u32::from(weight);
        }
        Some(shares)
    }

    /// Nodes and weights; `None` if there are none or too many, a weight is 0, or a number too large.
    pub fn of(weights: &[(u32, u32)]) -> Option<Shares> {
        let mut shares = Shares::NONE;
        let mut rows = shares.rows.iter_mut();
        for (node, weight) in weights {
            let byte = u8::try_from(*weight).ok().filter(|weight| *weight > 0)?;
            *rows.next()? = (u16::try_from(*node).ok()?, byte);
            shares.total += weight;
        }
        (shares.total > 0).then_some(shares)
    }

    /// Nodes and weights, in the order they take turns.
    pub fn nodes(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows
            .iter()
            .take_while(|(_, weight)| *weight > 0)
            .map(|(node, weight)| (u32::from(*node), u32::from(*weight)))
    }

    /// The node of a chunk, and the chunk where that ends; `None` where no node is chosen.
    pub(crate) fn at(&self, chunk: u32) -> Option<(u32, u32)> {
        if self.are_none() {
            return None;
        }
        let stretch = chunk / CHUNKS_PER_STEP;
        let length = (stretch + 1).next_power_of_two();
        let step = chunk / length;
        let mut turn = step % self.total;
        for (node, weight) in self.rows {
            let weight = u32::from(weight);
            if turn < weight {
                let end = (step + (weight - turn)).saturating_mul(length);
                return Some((u32::from(node), end.min((stretch + 1) * CHUNKS_PER_STEP)));
            }
            turn -= weight;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn chunks_fall_in_proportion() {
        let shares = Shares::parse("0:5,3:2,1:1").unwrap();
        let first: std::vec::Vec<u32> = (0..9).map(|chunk| shares.at(chunk).unwrap().0).collect();
        assert_eq!(first, [0, 0, 0, 0, 0, 3, 3, 1, 0]);
        assert_eq!((shares.at(0), shares.at(3), shares.at(6)), (Some((0, 5)), Some((0, 5)), Some((3, 7))));
        assert_eq!(Shares::NONE.at(0), None);
        assert_eq!(Shares::of(&[(0, 5), (3, 2), (1, 1)]), Some(shares));
        assert_eq!(shares.nodes().collect::<std::vec::Vec<_>>(), [(0, 5), (3, 2), (1, 1)]);
        assert!(
            Shares::of(&[]).is_none()
                && Shares::of(&[(0, 0)]).is_none()
                && Shares::of(&[(70_000, 1)]).is_none()
        );
    }

    #[test]
    fn the_ends_agree_with_the_chunks_and_mappings_stay_few() {
        let shares = Shares::parse("0:3,1:2,2:1").unwrap();
        let (mut chunk, mut mappings) = (0, 0);
        let mut bytes: BTreeMap<u32, u32> = BTreeMap::new();
        // A tebibyte.
        while chunk < 512 << 10 {
            let (node, end) = shares.at(chunk).unwrap();
            assert!(end > chunk);
            assert!((chunk..end.min(chunk + 50)).all(|chunk| shares.at(chunk).unwrap().0 == node));
            *bytes.entry(node).or_default() += end - chunk;
            (chunk, mappings) = (end, mappings + 1);
        }
        assert!(mappings < 30_000, "{mappings}");
        for (node, share) in [(0, 3.0), (1, 2.0), (2, 1.0)] {
            let part = f64::from(bytes[&node]) / f64::from(chunk) * 6.0;
            assert!((part - share).abs() < 0.1, "node {node}: {part}");
        }
    }

    #[test]
    fn what_does_not_read_is_refused() {
        for text in ["", "0", "0:", "0:x", "0:256", "70000:1", "0:1,"] {
            assert_eq!(Shares::parse(text), None, "{text:?}");
        }
    }
}
