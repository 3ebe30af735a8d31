//! What the test programs print, read back: `pages 0:512 1:512`.

use firsttouch_lab::{Collected, Ending};
use std::collections::BTreeMap;

/// Pages, or blocks, by node.
pub(crate) type Counts = BTreeMap<u32, u64>;

/// The counts behind a word at the start of a line.
pub(crate) fn counts(one: &Collected, word: &str) -> Counts {
    succeeded(one);
    let line = one.stdout.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("no line {word}: {one:?}"));
    line.split_whitespace()
        .map(|pair| {
            let (node, count) = pair.split_once(':').unwrap();
            (node.parse().unwrap(), count.parse().unwrap())
        })
        .collect()
}

/// All on one node.
pub(crate) fn only(node: u32, count: u64) -> Counts {
    Counts::from([(node, count)])
}

pub(crate) fn succeeded(one: &Collected) {
    assert_eq!(one.finished.ending, Ending::Exited(0), "{one:?}");
}

/// Shares as asked, but for the pages of the process that are dealt from the same hand (page tables, the stack).
pub(crate) fn assert_shares(counts: &Counts, weights: &[(u32, u64)]) {
    let (total, sum) = (counts.values().sum::<u64>(), weights.iter().map(|(_, weight)| weight).sum::<u64>());
    let slack = total / 50 + sum;
    for (node, weight) in weights {
        let (got, fair) = (counts.get(node).copied().unwrap_or(0), total * weight / sum);
        assert!(got.abs_diff(fair) <= slack, "node {node}: {got} instead of {fair} of {counts:?}");
    }
    let others: Vec<_> = counts.keys().filter(|node| weights.iter().all(|(one, _)| one != *node)).collect();
    assert!(others.is_empty(), "pages on {others:?}: {counts:?}");
}
