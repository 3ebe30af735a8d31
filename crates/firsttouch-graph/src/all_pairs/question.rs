//! What a long run asks: enough to tell whether another one asks the same.

use crate::fingerprint::Fingerprint;
use crate::{Graph, Node};

/// What a run asks, as a number that tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question(pub(super) Fingerprint);

impl Question {
    /// The distances from these sources to all nodes of a graph or to some, as far as a limit. It takes a look at every arc.
    #[must_use]
    pub fn of(graph: &Graph, limit: Option<u64>, targets: Option<&[Node]>, sources: &[Node]) -> Question {
        Question(asked(Fingerprint::of(graph), limit, targets, sources))
    }
}

pub(super) fn asked(
    graph: Fingerprint,
    limit: Option<u64>,
    targets: Option<&[Node]>,
    sources: &[Node],
) -> Fingerprint {
    let numbers = |nodes: &[Node]| nodes.iter().map(|node| u64::from(*node)).collect::<Vec<_>>();
    graph
        .with(limit.unwrap_or(u64::MAX))
        .with_all(targets.map(numbers).unwrap_or_default())
        .with(sources.len() as u64)
        .with_all(numbers(sources))
}
