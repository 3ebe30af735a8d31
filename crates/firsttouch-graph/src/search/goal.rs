//! What a search is to find, and when it has.

use super::distance::Distance;
use crate::rows::Node;

/// What a search is to find. `None` is everything, `Some(limit)` what is within a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal<'a> {
    /// Nodes farther than this are left out.
    pub limit: Option<u64>,
    /// The search ends when the distances of these nodes are known; others are found as far as that comes for free.
    pub targets: Option<&'a [Node]>,
}

impl From<Option<u64>> for Goal<'_> {
    fn from(limit: Option<u64>) -> Self {
        Goal { limit, targets: None }
    }
}

/// Targets whose distances are not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<'a> {
    targets: Option<&'a [Node]>,
}

impl<'a> Pending<'a> {
    pub(super) fn new(goal: &Goal<'a>) -> Pending<'a> {
        Pending { targets: goal.targets }
    }

    /// Whether all targets have distances below this one, which are final when the search has come so far. Looks at one
    /// target until it has, so that all calls together cost little more than one look at each.
    #[inline(always)]
    pub(super) fn are_settled<D: Distance>(&mut self, below: u64, distance: impl Fn(Node) -> D) -> bool {
        let Some(targets) = &mut self.targets else { return false };
        while let Some((target, rest)) = targets.split_last() {
            if distance(*target).wide() >= below {
                return false;
            }
            *targets = rest;
        }
        true
    }
}
