//! What may have put chunks on small pages that are to be on huge ones, and how many bytes of them are, for receipts; and that those which
//! are known to be split are made anew for the next block.

use super::Arena;
use crate::backing::Backing;
use crate::pages::Page;
use crate::tables::Cause;
use core::ops::Range;

/// How far a change of a mapping reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Protection, locks, policies, contents: what lies wholly inside keeps its huge pages, or loses them as wholes.
    Ends,
    /// Advice may forbid huge pages in all of it.
    All,
}

/// Bytes on small pages, by what may have made them small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caused {
    pub(crate) changed: usize,
    pub(crate) discarded: usize,
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

    /// The program discards what is in `[address, end)`, or has it paged out.
    pub(crate) fn note_split(&mut self, address: usize, end: usize) {
        if let Some((from, until)) = self.pages_in(address, end) {
            self.note(from, until, Cause::Discard, Reach::Ends);
        }
    }

    /// Something is done to a range of pages that splits huge ones of which it has a part.
    pub(super) fn note(&mut self, from: Page, until: Page, cause: Cause, reach: Reach) {
        let whole = self.whole_chunks(from, until).filter(|_| reach == Reach::Ends);
        let (first, after) = whole.unwrap_or((until, until));
        for (from, until) in [(from, first), (after, until)] {
            if from < until {
                self.each_chunk(from, until, |arena, chunk| arena.tables.add_cause(chunk, cause));
            }
        }
    }

    /// What is mapped there is new, and nothing has split it yet.
    pub(super) fn forget_causes(&mut self, start: Page, pages: u32) {
        let Some((from, until)) = self.whole_chunks(start, start + pages) else { return };
        for cause in Cause::ALL {
            self.each_chunk(from, until, |arena, chunk| arena.tables.forget_cause(chunk, cause));
        }
    }

    /// The kernel has moved pages, split or not.
    pub(super) fn move_causes(&mut self, from: Page, to: Page, pages: u32) {
        let chunk_pages = self.chunk_pages();
        self.each_chunk(from, from + pages, |arena, chunk| {
            let first = (chunk * chunk_pages).max(from);
            for cause in arena.tables.causes(chunk) {
                arena.tables.add_cause((to + (first - from)) / chunk_pages, cause);
            }
        });
    }

    /// Makes the chunks of `[from, until)`, which are free, anew that are known to be split, so that the next block has huge pages there.
    ///
    /// To create and clear a huge page costs more than to write to pages that are there, once; small ones cost every later owner at each
    /// random read. It is not done by `MADV_DONTNEED`: before Linux 6.14 the kernel keeps the table of a chunk's small
    /// pages, and what is touched after that is on small ones again.
    pub(crate) fn renew_split(&mut self, from: Page, until: Page) {
        // Without a reservation free chunks are not held.
        let is_due = self.reserved && self.backing == Backing::Transparent && !self.is_small();
        let Some((from, until)) = self.whole_chunks(from, until).filter(|_| is_due) else { return };
        let chunk = self.chunk_pages();
        let (mut at, end) = (from / chunk, until / chunk);
        while let Some(first) = self.tables.next_split(at..end, true) {
            at = self.tables.next_split(first..end, false).unwrap_or(end);
            let (start, pages) = (first * chunk, (at - first) * chunk);
            self.hold_no_more(start, pages);
            if !self.make_anew(start, pages) {
                self.unmap_chunks(start, start + pages);
            }
        }
    }

    /// Adds bytes of whole pages to what may have put them on small ones.
    pub(crate) fn add_causes(&self, range: Range<usize>, caused: &mut Caused) {
        let mut at = range.start;
        while at < range.end {
            let next = self.address(self.chunk_after(self.page(at))).min(range.end);
            match self.tables.causes(self.page(at) / self.chunk_pages()).next() {
                Some(Cause::Change) => caused.changed += next - at,
                Some(Cause::Discard) => caused.discarded += next - at,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Grain;
    use crate::extents::Block;
    use crate::pages::{BASE, GIGANTIC, HUGE};
    use crate::shares::Shares;
    use firsttouch_linux::sys;

    const CHUNK: Page = (HUGE / BASE) as Page;

    /// A block that is wholly written.
    fn block(arena: &mut Arena, pages: u32, alignment: u32) -> Page {
        let start = arena.take(pages, alignment, 0, 0).unwrap().start;
        arena.set_live(start, pages, Block { id: 1, ..Block::RETIRED });
        for page in start..start + pages {
            // SAFETY: mapped by the arena; the test alone knows of it.
            unsafe { *(arena.address(page) as *mut u8) = 1 };
        }
        start
    }

    #[test]
    fn chunks_that_are_known_to_be_split_are_made_anew_when_they_are_free_and_no_others() {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let room =
            unsafe { sys::map_anonymous(0, 2 * GIGANTIC, libc::PROT_NONE, libc::MAP_NORESERVE) }.unwrap();
        let base = room.next_multiple_of(GIGANTIC);
        let mut arena = Arena::new(Backing::Transparent, base, GIGANTIC, true, Shares::NONE).unwrap();
        let whole = block(&mut arena, CHUNK, CHUNK);
        let halves = [CHUNK, 1].map(|alignment| block(&mut arena, CHUNK / 2, alignment));
        let discarded = block(&mut arena, 2 * CHUNK, CHUNK);
        assert_eq!(halves[1], halves[0] + CHUNK / 2);
        // What lies between blocks goes back, and the program discards the end of one.
        arena.give_back(halves[1], CHUNK / 2);
        arena.trim_idle(u64::MAX, 0, Grain::Pages);
        let end = arena.address(discarded + 2 * CHUNK);
        arena.note_split(end - BASE, end);
        for (start, pages, held) in
            [(whole, CHUNK, CHUNK), (halves[0], CHUNK / 2, CHUNK), (discarded, 2 * CHUNK, 2 * CHUNK)]
        {
            let (from, until) = arena.give_back(start, pages);
            arena.renew_split(from, until);
            assert_eq!(arena.recycled_pages, u64::from(held));
        }
        let there = [whole, halves[0], discarded, discarded + CHUNK];
        let touched = there.map(|chunk| arena.touched_pages(chunk));
        assert_eq!(touched, [Some(CHUNK), Some(0), Some(CHUNK), Some(0)]);
        assert!(there.iter().all(|chunk| arena.tables.causes(chunk / CHUNK).next().is_none()));
    }
}
