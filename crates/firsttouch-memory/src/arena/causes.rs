//! What may have put chunks on small pages that are to be on huge ones, and how many bytes of them are: for receipts.

use super::Arena;
use crate::pages::Page;
use crate::tables::Cause;
use core::ops::Range;

/// How far a change of a mapping reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Protection, locks, policies: what lies wholly inside keeps its huge pages.
    Ends,
    /// Advice may forbid huge pages in all of it.
    All,
}

/// Bytes on small pages, by what may have made them small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caused {
    pub(crate) changed: usize,
    pub(crate) forked: usize,
}

impl Arena {
    /// The process forks: whoever writes next splits the huge page.
    pub(crate) fn note_fork(&mut self) {
        self.each_chunk(0, self.used_to, |arena, chunk| arena.tables.add_cause(chunk, Cause::Fork));
    }

    /// What forks had split is put together again.
    pub(crate) fn forget_fork(&mut self) {
        self.each_chunk(0, self.used_to, |arena, chunk| arena.tables.forget_cause(chunk, Cause::Fork));
    }

    /// The program changes the mapping of pages.
    pub(super) fn note_change(&mut self, from: Page, until: Page, reach: Reach) {
        let whole = self.whole_chunks(from, until).filter(|_| reach == Reach::Ends);
        let (first, after) = whole.unwrap_or((until, until));
        for (from, until) in [(from, first), (after, until)] {
            if from < until {
                self.each_chunk(from, until, |arena, chunk| arena.tables.add_cause(chunk, Cause::Change));
            }
        }
    }

    /// What is mapped there is new, and nothing has split it yet.
    pub(super) fn forget_causes(&mut self, start: Page, pages: u32) {
        let Some((from, until)) = self.whole_chunks(start, start + pages) else { return };
        for cause in [Cause::Change, Cause::Fork] {
            self.each_chunk(from, until, |arena, chunk| arena.tables.forget_cause(chunk, cause));
        }
    }

    /// The kernel has moved pages, split or not.
    pub(super) fn move_causes(&mut self, from: Page, to: Page, pages: u32) {
        let chunk_pages = self.chunk_pages();
        self.each_chunk(from, from + pages, |arena, chunk| {
            let first = (chunk * chunk_pages).max(from);
            if let Some(cause) = arena.tables.cause(chunk) {
                arena.tables.add_cause((to + (first - from)) / chunk_pages, cause);
            }
        });
    }

    /// Adds bytes of whole pages to what may have put them on small ones.
    pub(crate) fn add_causes(&self, range: Range<usize>, caused: &mut Caused) {
        let mut at = range.start;
        while at < range.end {
            let next = self.address(self.chunk_after(self.page(at))).min(range.end);
            match self.tables.cause(self.page(at) / self.chunk_pages()) {
                Some(Cause::Change) => caused.changed += next - at,
                Some(Cause::Fork) => caused.forked += next - at,
                None => {}
            }
            at = next;
        }
    }

    fn each_chunk(&mut self, from: Page, until: Page, mut act: impl FnMut(&mut Arena, u32)) {
        let chunk = self.chunk_pages();
        (from / chunk..until.div_ceil(chunk)).for_each(|index| act(self, index));
    }
}
