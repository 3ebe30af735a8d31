//! What an arena gives up for a program whose address space or data is limited.

use super::Arena;
use crate::extents::{Extents, Page};
use crate::pages::BASE;
use firsttouch_linux::sys;

/// So many free pages at least are worth a mapping's end and another's beginning.
const LEAST_RETIRED_PAGES: u32 = (64 << 10) / BASE as u32;

/// Mappings are few in number (`vm.max_map_count`), and each retired run makes one more of them.
const MOST_RETIRED_RUNS: u32 = 8192;

impl Arena {
    /// Gives up all address space that holds no block: from now on it is taken when a block comes, and nothing is held. For a
    /// program that limits its address space.
    pub(crate) fn ration(&mut self) {
        self.tables.cut();
        self.trim_idle(u64::MAX);
        let bytes = self.backing.chunk_bytes();
        for chunk in 0..self.tables.pages() / self.chunk_pages() {
            if !self.tables.is_mapped(chunk) {
                // SAFETY: the chunk is reserved for us and holds nothing.
                let _ = unsafe { sys::unmap(self.base + chunk as usize * bytes, bytes) };
            }
        }
        self.reserved = false;
        // What trimming only emptied is mapped still: unmapped now.
        let mut at = 0;
        loop {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { break };
            if block.is_none()
                && let Some((from, until)) = self.whole_chunks(start, start + length)
            {
                self.unmap_chunks(from, until);
            }
            at = start + length;
        }
        // The first chunk is there for looks at others only.
        if Extents::live_at(self.table(), 0).is_some_and(|(_, block)| block.is_retired()) {
            self.unmap_chunks(0, self.chunk_pages());
        }
    }

    /// Retires what is free in chunks that blocks share: it counts against the limit, and serves nobody who needs more than any one of
    /// these places has. Glibc, which maps such blocks one by one, has no such places. For the moment at which there is no room: what is
    /// retired stays so.
    pub(crate) fn retire_between(&mut self) {
        if self.backing.is_reserved_pool() {
            return;
        }
        self.unmap_free_chunks();
        let mut at = 0;
        loop {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + length;
            if block.is_none() {
                self.retire_ends(start, length);
            }
        }
    }

    /// Retires the ends of a free run that lie in chunks which others share.
    fn retire_ends(&mut self, start: Page, length: u32) {
        let (chunk, end) = (self.chunk_pages(), start + length);
        let head = start.checked_next_multiple_of(chunk).map_or(end, |head| head.min(end));
        let tail = (end / chunk * chunk).max(head);
        let (extents, table, _) = self.parts();
        if !extents.extend(table, start, length) {
            return;
        }
        // From the front: what is given back joins only what is behind it.
        for (from, until) in [(start, head), (head, tail), (tail, end)] {
            let pages = until - from;
            let is_shared = (from, until) != (head, tail);
            if is_shared
                && pages >= LEAST_RETIRED_PAGES
                && self.is_mapped_page(from)
                && self.retired_runs < MOST_RETIRED_RUNS
            {
                let (_, _, mut bits) = self.parts();
                self.recycled_pages -= u64::from(bits.count(from, pages));
                self.retired_runs += 1;
                self.set_fresh(from, pages);
                self.retire(from, pages);
                self.note_cuts(from, pages);
            } else if pages > 0 {
                let (extents, table, _) = self.parts();
                extents.give_back(table, from, pages);
            }
        }
    }
}
