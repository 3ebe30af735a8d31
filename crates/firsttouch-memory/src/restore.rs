//! Huge pages that a write has split after a fork, put together again some time later.
//!
//! Only those whose pages are all there, and nobody else's: of what a child still has in common with the process the kernel would make a
//! copy, and the memory of both would be there twice; and what the program has given up (`MADV_DONTNEED`) it would create again. What a
//! child has is looked at again later, each time after twice as long.

use crate::lines::apart_from;
use crate::pages::{BASE, HUGE};
use firsttouch_linux::sys::{self, Descriptor, open_to_read};

/// After a fork, blocks are left alone for this long: most children exec or exit within it.
const DELAY_NS: u64 = 100_000_000;
/// So long nobody else begins: who does does not come back where the heap turns it away, and another goes on.
const TURN_NS: u64 = 1_000_000_000;
/// One call of the kernel's for so many bytes at most: it takes the longer the more it has to copy.
const AT_ONCE: usize = 16 * HUGE;
/// The kernel's entries for 2 MiB, which it walks through together however few are asked for: a page of them.
const ENTRIES_BYTES: usize = HUGE / BASE * size_of::<u64>();
/// Of an entry (pagemap in the kernel's documents): the page is there, and no other process has it.
const IS_THERE: u64 = 1 << 63;
const IS_OWN: u64 = 1 << 56;

/// How far what forks have split is put together again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restore {
    /// Not before this time; `None` if there is nothing to do.
    due_ns: Option<u64>,
    delay_ns: u64,
    /// What lies below this address has been seen to.
    pub(crate) from: usize,
    /// All of that is on huge pages.
    is_whole: bool,
    /// Some of it was another process's as well.
    is_shared: bool,
    /// A thread is at it until this time at the latest.
    taken_until_ns: u64,
}

/// What became of some ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// They have been seen to up to here.
    to: usize,
    is_whole: bool,
    is_shared: bool,
}

/// Whose pages 2 MiB have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// All that there can be, and nobody else's.
    Own,
    /// Another process has some of them.
    Shared,
    /// Some are not there.
    Gaps,
}

impl Restore {
    /// Nothing is split.
    pub(crate) const NOTHING: Restore = Restore {
        due_ns: None,
        delay_ns: DELAY_NS,
        from: 0,
        is_whole: true,
        is_shared: false,
        taken_until_ns: 0,
    };

    /// The process has forked: from now on, what is written splits pages.
    pub(crate) fn after_fork(now_ns: u64) -> Restore {
        Restore { due_ns: Some(now_ns + DELAY_NS), ..Restore::NOTHING }
    }

    /// Whether it is time to begin, or to go on, and nobody does.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.taken_until_ns && self.due_ns.is_some_and(|due_ns| now_ns >= due_ns)
    }

    /// Begins, or goes on, if it is time; one thread at a time.
    pub(crate) fn begin(&mut self, now_ns: u64) -> Option<Restore> {
        self.is_due(now_ns).then(|| {
            self.taken_until_ns = now_ns + TURN_NS;
            *self
        })
    }

    /// Whether no fork has come between.
    pub(crate) fn is_same(&self, other: &Restore) -> bool {
        self.due_ns == other.due_ns
    }

    /// What has become of the next ranges, which are the last if `is_end`; `None` where the kernel does not tell whose pages they have: then
    /// all stays as it is. Answers whether all is on huge pages now.
    pub(crate) fn note(&mut self, seen: Option<Seen>, is_end: bool, now_ns: u64) -> bool {
        let Some(seen) = seen else {
            *self = Restore::NOTHING;
            return false;
        };
        self.taken_until_ns = 0;
        self.from = seen.to;
        self.is_whole &= seen.is_whole;
        self.is_shared |= seen.is_shared;
        if !is_end {
            return false;
        }
        let Restore { is_whole, is_shared, delay_ns, .. } = *self;
        *self = Restore::NOTHING;
        if is_shared {
            self.delay_ns = delay_ns.saturating_mul(2);
            self.due_ns = Some(now_ns.saturating_add(self.delay_ns));
        }
        is_whole
    }
}

impl Seen {
    /// Whether all of these ranges, which are whole 2 MiB, have been seen to.
    pub(crate) fn is_all_of(&self, ranges: &[(usize, usize)]) -> bool {
        ranges.last().is_none_or(|(_, end)| self.to >= *end)
    }
}

/// Puts together what there is in ranges of whole 2 MiB, in order of address, until it is that late; `None` where the kernel does not tell
/// whose pages they have. Where there are `others`, other threads, files are not opened beside theirs.
///
/// Contents do not change; where memory is freed meanwhile nothing changes that matters, because the addresses stay ours.
pub(crate) fn put_together(
    ranges: &[(usize, usize)],
    from: usize,
    end_ns: u64,
    others: bool,
) -> Option<Seen> {
    let mut seen = Seen { to: from, is_whole: true, is_shared: false };
    if ranges.is_empty() {
        return Some(seen);
    }
    apart_from(others, || {
        let mut account = Account::open()?;
        for (start, end) in ranges {
            seen.to = *start;
            while seen.to < *end {
                seen.next(&mut account, *end)?;
                // Only now: on a busy machine it may be that late before anything has been done.
                if sys::now_ns() > end_ns {
                    return Some(seen);
                }
            }
        }
        Some(seen)
    })
}

impl Seen {
    /// Goes on by some 2 MiB in a range that ends there.
    fn next(&mut self, account: &mut Account, end: usize) -> Option<()> {
        let (start, most) = (self.to, end.min(self.to + AT_ONCE));
        let mut whose = account.whose(self.to)?;
        while whose == Whose::Own {
            self.to += HUGE;
            if self.to >= most {
                break;
            }
            whose = account.whose(self.to)?;
        }
        if self.to > start {
            // SAFETY: collapsing changes no contents. Blocks that are huge already cost a look.
            self.is_whole &= unsafe { sys::advise(start, self.to - start, sys::MADV_COLLAPSE) }.is_ok();
        }
        if whose != Whose::Own {
            self.to += HUGE;
            self.is_whole = false;
            self.is_shared |= whose == Whose::Shared;
        }
        Some(())
    }
}

/// The kernel's account of pages, read into memory that is mapped for it: who asks may have little stack.
struct Account {
    pagemap: Descriptor,
    entries: usize,
}

impl Account {
    fn open() -> Option<Account> {
        let pagemap = open_to_read(c"/proc/thread-self/pagemap").ok()?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let entries = unsafe { sys::map_anonymous(0, ENTRIES_BYTES, access, 0) }.ok()?;
        Some(Account { pagemap, entries })
    }

    /// Whose pages the 2 MiB at an address have.
    fn whose(&mut self, address: usize) -> Option<Whose> {
        // SAFETY: the mapping, which nobody else knows; new memory is zeroes.
        let bytes = unsafe { core::slice::from_raw_parts_mut(self.entries as *mut u8, ENTRIES_BYTES) };
        if self.pagemap.read_at((address / BASE * size_of::<u64>()) as u64, bytes) != Ok(ENTRIES_BYTES) {
            return None;
        }
        let entries = bytes.as_chunks::<8>().0.iter().map(|entry| u64::from_ne_bytes(*entry));
        let (any, all) = entries.fold((0, u64::MAX), |(any, all), entry| (any | !entry, all & entry));
        Some(match (any & IS_THERE, all & IS_OWN) {
            (0, 0) => Whose::Shared,
            (0, _) => Whose::Own,
            _ => Whose::Gaps,
        })
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // SAFETY: the mapping, which nobody uses any more.
        let _ = unsafe { sys::unmap(self.entries, ENTRIES_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_has_is_looked_at_again_after_ever_longer() {
        let (mut restore, seen) =
            (Restore::after_fork(1000), Seen { to: 7, is_whole: true, is_shared: false });
        assert!(!restore.is_due(DELAY_NS) && restore.is_due(1000 + DELAY_NS));
        assert!(restore.begin(DELAY_NS).is_none() && restore.begin(1000 + DELAY_NS).is_some());
        assert!(restore.begin(1000 + DELAY_NS).is_none());
        // Who was turned away says nothing.
        assert!(restore.begin(1000 + DELAY_NS + TURN_NS).is_some());
        let mut now_ns = 1000 + DELAY_NS;
        for round in 1..5 {
            assert!(!restore.note(Some(Seen { is_whole: false, is_shared: true, ..seen }), false, now_ns));
            assert_eq!(restore.from, 7);
            assert!(!restore.note(Some(seen), true, now_ns));
            now_ns += DELAY_NS << round;
            assert!(restore.from == 0 && !restore.is_due(now_ns - 1) && restore.is_due(now_ns));
        }
        assert!(restore.note(Some(seen), true, now_ns) && restore == Restore::NOTHING);
        restore = Restore::after_fork(0);
        assert!(!restore.note(None, false, now_ns) && restore == Restore::NOTHING);
    }
}
