//! Places of an arena at which the program maps something of its own (`MAP_FIXED`): without us nothing would be there.

use super::Arena;
use crate::extents::{Block, Extents};
use crate::pages::{BASE, Page};
use firsttouch_linux::sys;

impl Arena {
    /// Leaves what is free of `[address, end)` to the program: no block comes there any more, and nothing that is there is
    /// unmapped. `is_ahead` if the program has not mapped it yet.
    pub(crate) fn cede(&mut self, address: usize, end: usize, is_ahead: bool) {
        self.end_before(address, end);
        let Some((from, until)) = self.pages_in(address, end) else { return };
        // What is not mapped is mapped chunk by chunk, and pages of a pool are no smaller.
        let is_whole = |page: Page| !self.backing.is_reserved_pool() && self.is_mapped_page(page);
        let chunk = self.chunk_pages();
        let from = if is_whole(from) { from } else { from / chunk * chunk };
        let until = if is_whole(until - 1) { until } else { until.next_multiple_of(chunk) };
        let Some((mut at, _, _)) = self.run_at(from) else { return };
        while at < until {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + length;
            if block.is_none() {
                self.cede_free(start, start.max(from), at.min(until), is_ahead);
            } else if self.is_guard(start, length) {
                self.tables.set_mapped(0, false);
            }
        }
    }

    /// Cedes `[from, until)` of the free run that begins at `start`.
    fn cede_free(&mut self, start: Page, from: Page, until: Page, is_ahead: bool) {
        let (extents, mut table, _) = self.parts();
        if !extents.extend(&mut table, start, until - start) {
            return;
        }
        if start < from {
            extents.give_back(&mut table, start, from - start);
        }
        self.hold_no_more(from, until - from);
        if is_ahead
            && self.backing.is_reserved_pool()
            && let Some((first, end)) = self.whole_chunks(from, until)
        {
            // The kernel would put nothing in place of a part of a page.
            self.unmap_chunks(first, end);
        }
        self.set_fresh(from, until - from);
        self.set_live(from, until - from, Block::RETIRED);
        if until < self.tables.pages() {
            self.tables.set_cut(until, true);
        }
    }

    /// Lets the arena grow no further than to `[address, end)`, where that lies beyond what its tables describe. What is
    /// reserved behind is given up, so that nobody needs to know what is whose there.
    fn end_before(&mut self, address: usize, end: usize) {
        let (address, before) = (address.max(self.end()), self.most_end());
        if address >= end.min(before) {
            return;
        }
        self.tables.limit(self.page(address) / self.chunk_pages() * self.chunk_pages());
        for (from, until) in [(self.most_end(), address), (end, before)] {
            if self.reserved && from < until {
                // SAFETY: reserved for this arena, which has put nothing there and will not.
                let _ = unsafe { sys::unmap(from, until - from) };
            }
        }
    }

    /// Where the arena ends when it has grown as far as it can.
    pub(crate) fn most_end(&self) -> usize {
        self.base + self.tables.most_pages() as usize * BASE
    }
}
