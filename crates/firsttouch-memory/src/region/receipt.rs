//! What a region has obtained, read back from the kernel.

use super::Region;
use super::name::Naming;
use super::policy::NodePolicy;
use crate::coverage::{self, ByNode, Coverage};
use crate::evidence::{Evidence, Reasons};
use crate::pages::{BASE, HUGE, Pages};
use crate::reason::Reason;
use crate::snapshot::forbidden;
use core::ops::Range;

/// What a region, or a part of it, was to be and what it is.
#[derive(Clone, Copy, Debug)]
pub struct RegionReceipt {
    /// Bytes that were looked at.
    pub bytes: usize,
    /// The kind of pages asked for.
    pub asked: Pages,
    /// The kind that is behind it: what was asked for, or what it fell back to.
    pub pages: Pages,
    /// Pages that exist, huge and small; `None` where the kernel does not tell (of parts of a region before Linux 6.7).
    pub coverage: Option<Coverage>,
    /// Where pages were to come from.
    pub policy: NodePolicy,
    /// Whether the name shows.
    pub naming: Naming,
    pub(super) nodes: Option<ByNode>,
    pub(super) pages_reasons: Reasons,
    pub(super) policy_reason: Option<Reason>,
}

impl RegionReceipt {
    /// Bytes without a page, because nobody wrote them yet; `None` if the kernel does not tell.
    pub fn untouched_bytes(&self) -> Option<usize> {
        self.coverage.map(|seen| self.bytes.saturating_sub(seen.huge + seen.small))
    }

    /// Bytes on each node that has some; `None` if the kernel does not tell.
    pub fn bytes_by_node(&self) -> Option<impl Iterator<Item = (u32, usize)> + use<>> {
        let nodes = self.nodes?;
        Some(nodes.iter().map(|(node, bytes)| (u32::from(node), bytes)).filter(|(_, bytes)| *bytes > 0))
    }

    /// Bytes on nodes where they were not to be; `None` if the kernel does not tell.
    pub fn bytes_elsewhere(&self) -> Option<usize> {
        let by_node = self.bytes_by_node()?;
        Some(by_node.filter(|(node, _)| !self.policy.allows(*node)).map(|(_, bytes)| bytes).sum())
    }

    /// Why pages are smaller than asked for, and how many bytes that concerns: each reason once, nothing if they are not.
    pub fn shortfalls_of_pages(&self) -> impl Iterator<Item = (Reason, usize)> + use<> {
        self.pages_reasons.iter()
    }

    /// Why something is not as asked, and how many bytes that concerns: each reason once, nothing if all is well.
    pub fn shortfalls(&self) -> impl Iterator<Item = (Reason, usize)> + use<> {
        let policy = self.policy_reason.map(|reason| (reason, self.bytes));
        let elsewhere = self.bytes_elsewhere().filter(|bytes| *bytes > 0 && self.policy_reason.is_none());
        self.shortfalls_of_pages()
            .chain(policy)
            .chain(elsewhere.map(|bytes| (Reason::PolicyOverridden, bytes)))
    }
}

impl Region {
    /// What all of it has obtained by now.
    pub fn receipt(&self) -> RegionReceipt {
        let coverage = self.coverage();
        self.receipt_with(self.bytes, coverage, coverage::nodes(self.address, self.address + self.bytes))
    }

    /// What the pages of a range of its bytes have obtained by now; what lies beyond the region is left out.
    pub fn receipt_of(&self, range: Range<usize>) -> RegionReceipt {
        let end = range.end.min(self.bytes);
        let start = range.start.min(end) / BASE * BASE;
        let (from, to) = (self.address + start, self.address + end.next_multiple_of(BASE).min(self.bytes));
        let coverage = Coverage::of(from, to);
        // A huge page is on one node.
        let step = if coverage.is_some_and(|seen| seen.small == 0) { HUGE } else { BASE };
        self.receipt_with(to - from, coverage, ByNode::look(from, to, step))
    }

    fn receipt_with(&self, bytes: usize, coverage: Option<Coverage>, nodes: Option<ByNode>) -> RegionReceipt {
        let pages = self.pages();
        let is_forbidden = || forbidden(pages);
        let pages_reasons = why_small(bytes, pages, coverage, self.fallback, is_forbidden, self.evidence);
        RegionReceipt {
            bytes,
            asked: self.asked.pages,
            pages,
            coverage,
            policy: self.asked.policy,
            naming: self.naming,
            nodes,
            pages_reasons,
            policy_reason: self.unplaced,
        }
    }
}

/// Why pages of so many bytes are smaller than asked for: because another kind stands in for it, which is so for all of them, or by what
/// is known of those that are there.
pub(super) fn why_small(
    bytes: usize,
    pages: Pages,
    coverage: Option<Coverage>,
    fallback: Option<Reason>,
    is_forbidden: impl FnOnce() -> Option<Reason>,
    evidence: Evidence,
) -> Reasons {
    let mut reasons = Reasons::default();
    let is_multi = matches!(pages, Pages::Multi(_));
    let small = coverage.filter(|_| is_multi || pages == Pages::Transparent).map(|seen| seen.small);
    if let Some(reason) = fallback {
        // A pool of smaller pages stood in for all of it.
        reasons.add(reason, small.unwrap_or(bytes));
    } else if let Some(small) = small.filter(|small| *small > 0) {
        match is_forbidden() {
            Some(reason) => reasons.add(reason, small),
            // The kernel does not show whether they are there.
            None if is_multi => {}
            None => evidence.explain(small, pages, |reason, bytes| reasons.add(reason, bytes)),
        }
    }
    reasons
}
