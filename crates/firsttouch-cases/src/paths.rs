//! Shortest paths, by the engine of `firsttouch-graph`: from some nodes, and from all.

mod apsp;
mod input;
mod sssp;

pub(crate) use apsp::Apsp;
pub(crate) use sssp::Sssp;

use crate::checksum::Checksum;
use firsttouch_graph::Summary;

/// Of the distances from all sources: how many there are, what they add up to, and the greatest.
fn checksum<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Checksum {
    let words = |one: &Summary| [one.reached, one.sum as u64, (one.sum >> 64) as u64, one.farthest];
    Checksum::of_words(summaries.into_iter().flat_map(words))
}

#[cfg(test)]
mod tests;
