//! Why memory is on small pages where nothing forbids huge ones: a reason is told up to what the kernel has counted of it.

use crate::failures::{Failures, Of};
use crate::pages::{HUGE, Pages};
use crate::reason::Reason;

/// What there was to be known before the memory was there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    of: Of,
    before: Failures,
}

impl Evidence {
    /// What the kernel counts from now on.
    pub(crate) fn from_now(of: Of) -> Evidence {
        Evidence { of, before: Failures::read(of).unwrap_or_default() }
    }

    /// What it has counted of private memory since then; since the machine started, where nobody has looked.
    pub(crate) fn since(before: Option<Failures>) -> Evidence {
        Evidence { of: Of::Anonymous, before: before.unwrap_or_default() }
    }

    /// The same of shared memory, which others may have made long ago.
    pub(crate) const SHARED: Evidence = Evidence { of: Of::Files, before: Failures { memory: 0, group: 0 } };

    /// Tells of so many bytes on small pages what may have made them small, as far as that goes, and how many. What is left was split:
    /// the kernel had a huge page each time that it was asked for one.
    pub(crate) fn explain(self, bytes: usize, asked: Pages, short: impl FnMut(Reason, usize)) {
        // Of pages of other sizes nobody counts that before Linux 6.10.
        let now = Failures::read(self.of).filter(|_| !matches!(asked, Pages::Multi(_)));
        tell(bytes, now.map(|now| now.since(self.before)), short);
    }
}

fn tell(bytes: usize, since: Option<Failures>, mut short: impl FnMut(Reason, usize)) {
    let mut left = bytes;
    let mut up_to = |reason, bytes: usize| {
        let part = left.min(bytes);
        left -= part;
        if part > 0 {
            short(reason, part);
        }
    };
    if let Some(since) = since {
        up_to(Reason::CgroupLimit, since.group.saturating_mul(HUGE));
        up_to(Reason::NoContiguousMemory, since.memory.saturating_mul(HUGE));
        up_to(Reason::Split, usize::MAX);
    }
    up_to(Reason::NoContiguousMemory, usize::MAX);
}

/// Reasons with their bytes, as many as there can be of one piece of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reasons([Option<(Reason, usize)>; Reasons::MOST]);

impl Reasons {
    const MOST: usize = 6;

    pub(crate) fn add(&mut self, reason: Reason, bytes: usize) {
        let is_its = |slot: &&mut Option<(Reason, usize)>| slot.is_none_or(|(known, _)| known == reason);
        if let Some(slot) = self.0.iter_mut().find(is_its) {
            *slot = Some((reason, slot.map_or(0, |(_, sum)| sum) + bytes));
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (Reason, usize)> {
        self.0.into_iter().flatten()
    }

    /// The one of most bytes.
    pub(crate) fn main(self) -> Option<Reason> {
        self.iter().max_by_key(|(_, bytes)| *bytes).map(|(reason, _)| reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::BASE;

    #[test]
    fn each_reason_is_told_as_far_as_the_kernel_has_counted_it() {
        let told = |bytes, since| {
            let mut reasons = Reasons::default();
            tell(bytes, since, |reason, bytes| reasons.add(reason, bytes));
            (reasons.iter().collect::<std::vec::Vec<_>>(), reasons.main())
        };
        let since = Failures { memory: 2, group: 1 };
        let (all, main) = told(6 * HUGE, Some(since));
        let expected = [(Reason::CgroupLimit, 1), (Reason::NoContiguousMemory, 2), (Reason::Split, 3)];
        assert_eq!(all, expected.map(|(reason, pages)| (reason, pages * HUGE)));
        assert_eq!(main, Some(Reason::Split));
        let mut twice = Reasons::default();
        for bytes in [HUGE, BASE] {
            twice.add(Reason::Split, bytes);
        }
        assert_eq!(twice.iter().collect::<std::vec::Vec<_>>(), [(Reason::Split, HUGE + BASE)]);
        assert_eq!(told(HUGE / 2, Some(since)).0, [(Reason::CgroupLimit, HUGE / 2)]);
        assert_eq!(told(HUGE, None).0, [(Reason::NoContiguousMemory, HUGE)]);
        assert_eq!(told(0, Some(since)), (std::vec::Vec::new(), None));
    }
}
