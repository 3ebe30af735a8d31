//! Chunks of an arena of transparent huge pages that are left on small ones (see `sparse`).

use super::Arena;
use crate::extents::Extents;
use crate::pages::{BASE, HUGE, Page};
use firsttouch_linux::sys;

impl Arena {
    /// Leaves a chunk that nobody has touched yet on small pages.
    pub(crate) fn begin_probe(&mut self, first: Page) {
        // SAFETY: memory of ours; the advice changes no contents.
        let _ = unsafe { sys::advise(self.address(first), HUGE, libc::MADV_NOHUGEPAGE) };
        self.note_probe(first);
    }

    /// The chunk is to be like all others, on a huge page if it is touched.
    pub(crate) fn end_probe(&mut self, first: Page) {
        if self.small || !self.is_unaltered(first, first + self.chunk_pages()) {
            return;
        }
        for advice in [libc::MADV_HUGEPAGE, sys::MADV_COLLAPSE] {
            // SAFETY: as above; a kernel before 6.1 leaves the second to its own thread.
            let _ = unsafe { sys::advise(self.address(first), HUGE, advice) };
        }
        self.note_probe(first);
    }

    /// The mapping of the chunk has changed.
    pub(crate) fn note_probe(&mut self, first: Page) {
        self.note_cuts(first, self.chunk_pages());
    }

    /// Pages of a chunk that are resident; `None` if not all of it is mapped, or is another's by now.
    pub(crate) fn touched_pages(&self, first: Page) -> Option<u32> {
        if first >= self.tables.pages() || !self.is_mapped_page(first) {
            return None;
        }
        let mut pages = [0_u8; HUGE / BASE];
        sys::resident_pages(self.address(first), &mut pages).ok()?;
        Some(pages.iter().map(|page| u32::from(page & 1)).sum())
    }

    /// Whether memory that is not touched yet stays on small pages.
    pub(crate) fn is_small(&self) -> bool {
        self.small
    }

    /// Whether it ever did.
    pub(crate) fn has_been_small(&self) -> bool {
        self.small || self.was_small
    }

    /// From now on, it does or does not, but for what the program itself has given advice of; answers whether it was otherwise.
    pub(crate) fn set_small(&mut self, small: bool) -> bool {
        if self.small == small {
            return false;
        }
        self.was_small |= self.small;
        self.small = small;
        let mut at = 0;
        while let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() {
            at = start + length;
            if !block.is_some_and(|block| block.altered || block.is_retired()) {
                // SAFETY: memory of ours; the advice changes no contents.
                unsafe { self.advise(start, at.min(self.used_to), self.advice()) };
            }
        }
        true
    }

    fn is_unaltered(&self, from: Page, until: Page) -> bool {
        Extents::runs(self.table())
            .take_while(|(start, _, _)| *start < until)
            .filter(|(start, length, _)| start + length > from)
            .all(|(_, _, block)| !block.is_some_and(|block| block.altered || block.is_retired()))
    }
}
