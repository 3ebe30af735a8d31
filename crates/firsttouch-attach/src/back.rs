//! Pages back to where a journal says that they were: those that lie where they were moved to, and may lie there again.

use crate::areas::Area;
use crate::destination::PAGE_BYTES;
use crate::migrate::{Mover, Ticket, next, read, tell};
use crate::runs::{NodeRuns, NodeRunsError};
use crate::survey::is_short_walk;
use crate::window::{Page, tells_huge};
use crate::work::{Halt, Work};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::process::Status;
use firsttouch_linux::smaps::read_numa_maps_first;
use firsttouch_placement::format_bytes;
use firsttouch_sorted::{SortedMap, SortedSet};

/// What a step of the journal did to the pages of a range.
#[derive(Debug)]
pub(crate) struct Moved {
    start: u64,
    before: Vec<Option<u32>>,
    /// `None` where the journal is older than this: every page that lies elsewhere than before counts as moved.
    to: Option<Vec<Option<u32>>>,
}

impl Moved {
    pub(crate) fn parse(start: u64, nodes: &str, to: Option<&str>) -> Result<Moved, NodeRunsError> {
        let pages = |text: &str| text.parse().map(|runs: NodeRuns| runs.pages().collect());
        Ok(Moved { start, before: pages(nodes)?, to: to.map(pages).transpose()? })
    }

    /// Where a page that lies on `now` was before; of a huge one, where most of its parts were, or else it stays.
    fn before(&self, page: Page, now: u32, counts: impl Fn(usize) -> bool) -> u32 {
        let first = ((page.address - self.start) / PAGE_BYTES) as usize;
        let mut parts: SortedMap<u32, usize> = SortedMap::default();
        for place in first..first + (page.bytes / PAGE_BYTES) as usize {
            let before = self.before.get(place).copied().flatten().filter(|_| counts(place));
            *parts.entry(before.unwrap_or(now)).or_insert(0) += 1;
        }
        parts.iter().max_by_key(|(node, parts)| (*parts, *node == now)).map_or(now, |(node, _)| *node)
    }

    /// Whether a part of a page was sent to another node than it was on.
    fn was_sent(&self, page: Page) -> bool {
        let first = ((page.address - self.start) / PAGE_BYTES) as usize;
        (first..first + (page.bytes / PAGE_BYTES) as usize).any(|place| {
            let before = self.before.get(place).copied().flatten();
            let to = self.to.as_ref().map(|to| to.get(place).copied().flatten());
            before.is_some() && to.is_none_or(|to| to.is_some() && to != before)
        })
    }

    /// Whether what lies at this place on `now` was moved there.
    fn is_moved(&self, place: usize, now: u32) -> bool {
        self.to.as_ref().is_none_or(|to| to.get(place).copied().flatten() == Some(now))
    }
}

/// What the pages of a process go back by.
#[derive(Debug)]
pub(crate) struct Back<'a> {
    mover: Mover,
    areas: &'a [Area],
    tells_huge: bool,
    /// The mappings by their first address, with the nodes that the program's policy names for them.
    policies: Vec<(u64, Option<Vec<u32>>)>,
    /// The nodes of the cpuset; `None` if the kernel does not tell.
    allowed: Option<Vec<u32>>,
    barred: SortedSet<u32>,
    left_bytes: u64,
    /// Bytes that the kernel does not show, which it moves as little.
    hidden_bytes: u64,
}

impl Back<'_> {
    /// `areas` are the mappings as they are.
    pub(crate) fn new<'a>(work: &Work<'_>, areas: &'a [Area]) -> Back<'a> {
        let (root, member) = (work.target.root(), work.target.member());
        let regions = match is_short_walk(work.target, work.stall_limit) {
            Ok(true) => read_numa_maps_first(root, member, work.target.precedence()).unwrap_or_default(),
            // It would hold the program up: that pages lie where they were moved to has to do.
            _ => Vec::new(),
        };
        Back {
            mover: Mover::new(work.stall_limit),
            areas,
            tells_huge: tells_huge(work.target),
            policies: regions.iter().map(|region| (region.start, region.policy_nodes())).collect(),
            allowed: Status::read(root, member).ok().and_then(|status| status.allowed_nodes),
            barred: SortedSet::default(),
            left_bytes: 0,
            hidden_bytes: 0,
        }
    }

    /// Takes a step back; false if some pages could go another time.
    pub(crate) fn put(&mut self, work: &mut Work<'_>, moved: &Moved) -> Result<bool, Halt> {
        let end = moved.start.saturating_add(moved.before.len() as u64 * PAGE_BYTES);
        let mut all_back = true;
        let mut at = moved.start;
        while let Some((from, until)) = next(work, at, end)? {
            at = until;
            work.may_go_on()?;
            let small = |area: &Area| area.start <= from && until <= area.end && area.huge_bytes == 0;
            let may_be_huge = !self.tells_huge && !self.areas.iter().any(small);
            let mut tickets = Vec::new();
            for (page, now) in read(work, from, until, may_be_huge)?.pages {
                if now == -libc::ENOENT && moved.was_sent(page) {
                    self.hidden_bytes += page.bytes;
                    all_back = false;
                }
                let Ok(now) = u32::try_from(now) else { continue };
                let node = moved.before(page, now, |place| moved.is_moved(place, now));
                if node != now && self.allowed.as_ref().is_some_and(|allowed| !allowed.contains(&node)) {
                    self.barred.insert(node);
                    all_back = false;
                } else if node != now && self.is_wanted(page.address, node) {
                    tickets.push(Ticket { page, node });
                } else if moved.before(page, now, |_| true) != now {
                    self.left_bytes += page.bytes;
                }
            }
            if !tickets.is_empty() {
                let shared_before = work.stayed.shared;
                let left_bytes = self.mover.carry_out(work, tickets, may_be_huge)?;
                // What is shared since a fork goes back when the child has ended.
                all_back &= left_bytes == 0 && work.stayed.shared == shared_before;
            }
        }
        Ok(all_back)
    }

    /// Whether the program's policy has nothing against a node for an address: it may have mapped other memory there since.
    fn is_wanted(&self, address: u64, node: u32) -> bool {
        let after = self.policies.partition_point(|(start, _)| *start <= address);
        let nodes = after.checked_sub(1).and_then(|place| self.policies[place].1.as_ref());
        nodes.is_none_or(|nodes| nodes.contains(&node))
    }

    /// Says what was left where it is.
    pub(crate) fn tell(self, work: &mut Work<'_>) {
        work.stayed.hidden += self.hidden_bytes;
        tell(work);
        for (bytes, why) in [
            (work.stayed.shared, "are another process's as well, as after a fork"),
            (self.hidden_bytes, "are watched by the kernel to balance nodes, or nobody may touch them"),
        ] {
            if bytes > 0 {
                work.notes
                    .push(format!("{} {why}, and stay for now: undo again after that", format_bytes(bytes)));
            }
        }
        if self.left_bytes > 0 {
            work.notes.push(format!(
                "{} lie elsewhere than they were moved to, or are the program's own choice of nodes since, and are left so",
                format_bytes(self.left_bytes)
            ));
        }
        if !self.barred.is_empty() {
            let nodes: Vec<u32> = self.barred.iter().copied().collect();
            work.notes.push(format!(
                "pages cannot go back to node {} while the cpuset leaves that out: undo again after that",
                format_list(&nodes)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::smaps::PMD_BYTES;

    fn origin(nodes: &str, to: Option<&str>, bytes: u64, now: u32) -> u32 {
        let moved = Moved::parse(PMD_BYTES, nodes, to).unwrap();
        moved.before(Page { address: PMD_BYTES, bytes }, now, |place| moved.is_moved(place, now))
    }

    #[test]
    fn a_page_goes_back_from_where_it_was_moved_to() {
        assert_eq!(origin("0", Some("1"), PAGE_BYTES, 1), 0);
        // Moved on by somebody else; never moved; not there then.
        assert_eq!(origin("0", Some("1"), PAGE_BYTES, 2), 2);
        assert_eq!(origin("0", Some("-"), PAGE_BYTES, 1), 1);
        assert_eq!(origin("-", Some("1"), PAGE_BYTES, 1), 1);
        // Of a journal that does not tell where it was moved to.
        assert_eq!((origin("0", None, PAGE_BYTES, 2), origin("-", None, PAGE_BYTES, 2)), (0, 2));
    }

    #[test]
    fn a_page_that_nobody_sees_counts_where_it_was_sent_elsewhere() {
        let sent = |nodes: &str, to: Option<&str>, bytes: u64| {
            Moved::parse(PMD_BYTES, nodes, to).unwrap().was_sent(Page { address: PMD_BYTES, bytes })
        };
        assert!(sent("0", Some("1"), PAGE_BYTES) && sent("0", None, PAGE_BYTES));
        assert!(!sent("0", Some("-"), PAGE_BYTES) && !sent("-", Some("1"), PAGE_BYTES));
        assert!(!sent("-", None, PAGE_BYTES) && !sent("1,0", Some("-,1"), PAGE_BYTES));
        assert!(sent("1,0*511", Some("-,1*511"), PMD_BYTES));
    }

    #[test]
    fn a_huge_page_goes_where_most_of_it_was() {
        assert_eq!(origin("0*512", Some("1*512"), PMD_BYTES, 1), 0);
        assert_eq!(origin("0,1*511", Some("1,-*511"), PMD_BYTES, 1), 1);
        assert_eq!(origin("0*300,1*212", Some("1*300,-*212"), PMD_BYTES, 1), 0);
        assert_eq!(origin("0*256,1*256", Some("1*256,-*256"), PMD_BYTES, 1), 1);
        assert_eq!(origin("0,1*511", None, PMD_BYTES, 0), 1);
    }
}
