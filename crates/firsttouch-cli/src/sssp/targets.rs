//! `--targets`: the nodes that distances are wanted to, and what an answer comes to with them.

use super::rows::Answer;
use firsttouch_graph::{Node, Summary};

/// The nodes of `--targets`, as they were named, and each once.
pub(super) struct Targets<'a> {
    pub(super) named: &'a [Node],
    pub(super) distinct: Vec<Node>,
    /// Where each stands first among those named.
    columns: Vec<Node>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(named: &'a [Node]) -> Targets<'a> {
        let mut places: Vec<(Node, Node)> = named.iter().copied().zip(0..).collect();
        places.sort_unstable();
        places.dedup_by_key(|(target, _)| *target);
        let (distinct, columns) = places.into_iter().unzip();
        Targets { named, distinct, columns }
    }
}

/// What an answer comes to: of targets, if there are some.
pub(super) fn summary(answer: &Answer<'_>, targets: Option<&Targets<'_>>) -> Summary {
    match (answer, targets) {
        (Answer::Tree(tree), Some(targets)) => tree.summary_of(&targets.distinct),
        (Answer::Tree(tree), None) => tree.summary(),
        (Answer::Targets { distances, .. }, Some(targets)) => {
            targets.columns.iter().filter_map(|column| distances.of(*column)).collect()
        }
        (Answer::Targets { .. }, None) => Summary::default(),
    }
}
