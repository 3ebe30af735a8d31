//! One range of address space whose pages are all of one kind: mapped in chunks when first needed, recycled, given back.

mod causes;
mod cede;
mod chunks;
mod elsewhere;
mod hold;
mod limits;
mod probes;
mod relocate;

pub(crate) use causes::{Caused, Reach};
pub(crate) use chunks::{MOST_SPLIT_CHUNKS, keep_below_2m};
pub(crate) use elsewhere::Wanted;

use crate::backing::Backing;
use crate::dirty::Dirty;
use crate::extents::{Block, Entry, Extents, Runs};
use crate::pages::{BASE, Page};
use crate::reason::Reason;
use crate::shares::Shares;
use crate::tables::{Cause, Tables};
use firsttouch_linux::sys;

/// Freed memory is offered to the kernel in pieces of at least this many pages (16 MiB): an offer interrupts every
/// processor that runs the program, which would be felt with each small block.
const OFFER_PAGES: u32 = (16 << 20) / BASE as u32;

/// No page is from here to there.
const NOWHERE: (Page, Page) = (Page::MAX, 0);

/// At most so many dirty runs of an allocation are told apart; the rest is cleared in one.
pub(crate) const DIRTY_RUNS: usize = 8;

/// Pages taken from an arena.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) start: Page,
    /// Runs that may not be zero, as start and length in pages; length 0 ends the list.
    pub(crate) dirty: [(Page, u32); DIRTY_RUNS],
    /// Pages that were recycled rather than new.
    pub(crate) recycled: u32,
}

/// What of free runs goes back to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Whole chunks: no huge page is split.
    Chunks,
    /// What lies in chunks that blocks share, too.
    Pages,
}

/// Who goes through so many free runs takes microseconds for it.
const MANY_RUNS: u32 = 64;

/// An arena grows by at least so many pages (64 MiB).
const GROW_PAGES: u32 = (64 << 20) / BASE as u32;

/// The arena.
#[derive(Debug)]
pub(crate) struct Arena {
    pub(crate) backing: Backing,
    pub(crate) base: usize,
    /// How chunks are laid out over nodes.
    pub(crate) shares: Shares,
    /// Which recycled pages may serve whoever takes some now.
    pub(crate) wanted: Wanted,
    /// The range is reserved address space of ours; otherwise every chunk is mapped only while in use.
    reserved: bool,
    /// Memory of transparent huge pages that is not touched yet stays on small ones.
    small: bool,
    /// It did once: some of what was touched then is on small pages still.
    was_small: bool,
    extents: Extents,
    tables: Tables,
    /// No page at or above this one was ever taken (a multiple of a chunk).
    used_to: Page,
    /// Pages freed in small pieces since the last offer, and where they lie: from the first to the end.
    unoffered_pages: u32,
    unoffered: (Page, Page),
    /// Freed runs since the kernel was last asked what is there of one, which was in vain.
    unasked: u32,
    /// Dirty pages in free runs: what recycling holds.
    pub(crate) recycled_pages: u64,
    /// Runs that were retired because a limit counts what is free between blocks.
    retired_runs: u32,
}

impl Arena {
    /// An arena that may grow to `bytes` of address space at `base`; both multiples of 1 GiB.
    pub(crate) fn new(
        backing: Backing,
        base: usize,
        bytes: usize,
        reserved: bool,
        shares: Shares,
    ) -> Option<Arena> {
        let chunk_pages = (backing.chunk_bytes() / BASE) as u32;
        let most_pages = u32::try_from(bytes / BASE).ok()?;
        let tables = if reserved {
            Tables::reserve(most_pages, chunk_pages)?
        } else {
            Tables::new(most_pages, chunk_pages)
        };
        Some(Arena {
            backing,
            base,
            shares,
            wanted: Wanted::All,
            reserved,
            small: false,
            was_small: false,
            extents: Extents::new(),
            tables,
            used_to: 0,
            unoffered_pages: 0,
            unoffered: NOWHERE,
            unasked: 0,
            recycled_pages: 0,
            retired_runs: 0,
        })
    }

    fn parts(&mut self) -> (&mut Extents, Runs<'_>, Dirty<'_>) {
        let (table, dirty) = self.tables.parts();
        (&mut self.extents, table, dirty)
    }

    /// The run that a page lies in.
    pub(crate) fn run_at(&self, page: Page) -> Option<(Page, u32, Option<Block>)> {
        Extents::run_at(self.table(), self.tables.starts(), page)
    }

    pub(crate) fn table(&self) -> &[Entry] {
        self.tables.entries()
    }

    /// Makes room for `pages` more at the end; false if there is none.
    fn grow(&mut self, pages: u32) -> bool {
        let before = self.tables.pages();
        let chunk = self.chunk_pages();
        let rounded =
            |more: u32| before.checked_add(more).and_then(|sum| sum.checked_next_multiple_of(chunk));
        let grown = rounded(pages.max(GROW_PAGES).max(before / 4))
            .is_some_and(|pages| self.tables.open(pages))
            || rounded(pages).is_some_and(|pages| self.tables.open(pages));
        if grown {
            let after = self.tables.pages();
            let (extents, mut table, _) = self.parts();
            extents.give_back(&mut table, before, after - before);
            if before == 0 && self.reserved {
                self.begin();
            }
        }
        grown
    }

    /// Maps the first chunk, which no block gets: so that each has a page of ours before it, by which
    /// [`Arena::is_as_it_was`] tells a mapping of the program's from ours. It is never touched.
    fn begin(&mut self) {
        if self.backing.is_reserved_pool() {
            return;
        }
        let chunk = self.chunk_pages();
        let (extents, mut table, _) = self.parts();
        if let Some(first) = extents.take(&mut table, chunk, 1, 0) {
            self.set_live(first, chunk, Block::RETIRED);
            // Where it cannot be mapped, the first block cannot either.
            let _ = self.map(first, chunk, 0);
        }
    }

    /// Whether a run is the chunk that [`Arena::begin`] maps.
    fn is_guard(&self, start: Page, length: u32) -> bool {
        self.reserved && start == 0 && length == self.chunk_pages()
    }

    /// Whether an address lies in memory of this arena: between chunks of an unreserved one, and where runs were retired, mappings of
    /// others may lie.
    pub(crate) fn covers(&self, address: usize) -> bool {
        if !(self.base..self.end()).contains(&address) || !self.is_mapped_page(self.page(address)) {
            return false;
        }
        let run = self.run_at(self.page(address));
        !run.is_some_and(|(_, _, block)| block.is_some_and(|block| block.is_retired()))
    }

    pub(crate) fn end(&self) -> usize {
        self.base + self.tables.pages() as usize * BASE
    }

    /// No page at or above this one was ever taken (a multiple of a chunk).
    pub(crate) fn used_to(&self) -> Page {
        self.used_to
    }

    /// The page at an address of this arena.
    pub(crate) fn page(&self, address: usize) -> Page {
        ((address - self.base) / BASE) as Page
    }

    pub(crate) fn address(&self, page: Page) -> usize {
        self.base + page as usize * BASE
    }

    /// Where the chunk behind that of a page begins.
    pub(crate) fn chunk_after(&self, page: Page) -> Page {
        let chunk = self.chunk_pages();
        (page / chunk + 1).saturating_mul(chunk)
    }

    fn chunk_pages(&self) -> u32 {
        (self.backing.chunk_bytes() / BASE) as u32
    }

    /// Takes mapped pages so that the first one's address plus `phase` is a multiple of `alignment` (both in pages); the
    /// reason if there are none. The first `moved` of them are for what the program has already, elsewhere.
    pub(crate) fn take(
        &mut self,
        pages: u32,
        alignment: u32,
        phase: u32,
        moved: u32,
    ) -> Result<Taken, Reason> {
        // The base is a multiple of 1 GiB only, and an alignment may be more.
        let phase = phase + (self.base / BASE % alignment as usize) as u32;
        let start = self.find_free(pages, alignment, phase).ok_or(Reason::AddressSpaceLimit)?;
        self.make_ready(start, pages, moved)?;
        self.leave_elsewhere(start, pages);
        Ok(self.use_pages(start, pages))
    }

    /// Takes free pages as they are, mapped or not.
    fn find_free(&mut self, pages: u32, alignment: u32, phase: u32) -> Option<Page> {
        let take = |arena: &mut Arena| {
            let (extents, mut table, _) = arena.parts();
            extents.take(&mut table, pages, alignment, phase)
        };
        let mut start = take(self);
        // A good fit is looked for among runs up to an eighth larger.
        let room = pages.saturating_add(alignment - 1);
        if start.is_none() && self.grow(room.saturating_add(room / 8 + 1)) {
            start = take(self);
        }
        self.hold_no_more(start?, pages);
        start
    }

    /// Pages are no longer among the free ones.
    fn hold_no_more(&mut self, start: Page, pages: u32) {
        let (_, _, mut bits) = self.parts();
        self.recycled_pages -= u64::from(bits.count(start, pages));
    }

    /// Puts pages among the free ones, and answers the free run that they are now part of.
    fn put_back(&mut self, start: Page, pages: u32) -> (Page, u32) {
        let (extents, mut table, mut bits) = self.parts();
        let run = extents.give_back(&mut table, start, pages);
        let dirty = bits.count(start, pages);
        self.recycled_pages += u64::from(dirty);
        run
    }

    /// Takes pages right behind a run, if they are free and can be mapped.
    pub(crate) fn extend(&mut self, after: Page, extra: u32) -> Option<Taken> {
        let (extents, mut table, _) = self.parts();
        if !extents.extend(&mut table, after, extra) {
            let is_last = Extents::is_last(&table, after);
            if !is_last || !self.grow(extra) {
                return None;
            }
            let (extents, mut table, _) = self.parts();
            if !extents.extend(&mut table, after, extra) {
                return None;
            }
        }
        self.hold_no_more(after, extra);
        self.make_ready(after, extra, 0).ok()?;
        self.leave_elsewhere(after, extra);
        Some(self.use_pages(after, extra))
    }

    fn use_pages(&mut self, start: Page, pages: u32) -> Taken {
        let (_, _, mut bits) = self.parts();
        let recycled = bits.count(start, pages);
        let mut runs = [(0, 0); DIRTY_RUNS];
        let (mut at, end) = (start, start + pages);
        for (index, run) in runs.iter_mut().enumerate() {
            let Some((first, length)) = bits.first_run(at, end - at) else { break };
            *run = (first, if index + 1 == DIRTY_RUNS { end - first } else { length });
            at = first + run.1;
        }
        bits.set(start, pages, true);
        self.used_to = self.used_to.max((start + pages).next_multiple_of(self.chunk_pages()));
        Taken { start, dirty: runs, recycled }
    }

    /// The pages that `[address, end)` has a part of, as first and end; `None` if it lies elsewhere.
    fn pages_in(&self, address: usize, end: usize) -> Option<(Page, Page)> {
        let (address, end) = (address.max(self.base), end.min(self.end()));
        (address < end).then(|| (self.page(address), self.page(end.next_multiple_of(BASE))))
    }

    /// The live block that `[address, end)` lies in.
    pub(crate) fn block_over(&self, address: usize, end: usize) -> Option<Block> {
        let (from, until) = self.pages_in(address, end)?;
        let (start, pages, block) = self.run_at(from)?;
        let is_inside = self.base <= address && end <= self.end() && until <= start + pages;
        block.filter(|block| is_inside && !block.is_retired())
    }

    /// Notes that the program changed the mapping of `[address, end)`.
    pub(crate) fn set_altered(&mut self, address: usize, end: usize, reach: Reach) {
        let Some((from, until)) = self.pages_in(address, end) else { return };
        self.note(from, until, Cause::Change, reach);
        let Some((mut at, _, _)) = self.run_at(from) else { return };
        while at < until {
            let Some((start, pages, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + pages;
            if let Some(block) = block.filter(|block| !block.is_retired()) {
                self.set_live(start, pages, Block { altered: true, ..block });
            }
        }
    }

    pub(crate) fn set_live(&mut self, start: Page, pages: u32, block: Block) {
        let (extents, mut table, _) = self.parts();
        extents.set_live(&mut table, start, pages, block);
    }

    /// Gives pages back to the arena and answers what is free now of the chunks that they have a part of, as first and end.
    pub(crate) fn give_back(&mut self, start: Page, pages: u32) -> (Page, Page) {
        let run = self.put_back(start, pages);
        let chunk = self.chunk_pages();
        let from = run.0.max(start / chunk * chunk);
        (from, (run.0 + run.1).min((start + pages).next_multiple_of(chunk)))
    }

    /// Offers what is held of freed pages to the kernel, all but a bounded rest, with what else is free of their chunks.
    pub(crate) fn offer_held(&mut self, (start, pages): (Page, u32), (from, until): (Page, Page)) {
        let (_, _, mut bits) = self.parts();
        let held = bits.count(start, pages);
        if held == 0 || self.backing.is_reserved_pool() {
            return;
        }
        if held >= OFFER_PAGES {
            self.offer(from, until);
        } else {
            self.unoffered_pages += held;
            self.unoffered = (self.unoffered.0.min(from), self.unoffered.1.max(until));
            if self.unoffered_pages >= OFFER_PAGES {
                self.offer_small_pieces();
            }
        }
    }

    fn offer_small_pieces(&mut self) {
        let (from, until) = core::mem::replace(&mut self.unoffered, NOWHERE);
        self.unoffered_pages = 0;
        let Some((mut at, _, _)) = self.run_at(from) else { return };
        while at < until {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + length;
            if block.is_none() {
                self.offer(start.max(from), at.min(until));
            }
        }
    }

    /// Offers the whole chunks of `[from, until)`, which are free, to the kernel: it takes them only when it is short
    /// of memory, and until then they serve again at no cost.
    fn offer(&self, from: Page, until: Page) {
        if let Some((from, until)) = self.whole_chunks(from, until) {
            // SAFETY: the chunks lie in a free run of ours; what they hold is not needed any more.
            unsafe { self.advise(from, until, libc::MADV_FREE) };
        }
    }

    /// Advises the kernel of the pages of `[from, until)` that are mapped: between chunks of an arena that is not reserved,
    /// mappings of others may lie. Answers whether the kernel has taken all of it.
    ///
    /// # Safety
    /// As for the advice.
    unsafe fn advise(&self, from: Page, until: Page, advice: i32) -> bool {
        let end_of_chunk = |page: Page| self.chunk_after(page).min(until);
        let (mut at, mut is_taken) = (from, true);
        while at < until {
            let is_mapped = self.is_mapped_page(at);
            let mut next = end_of_chunk(at);
            while next < until && self.is_mapped_page(next) == is_mapped {
                next = end_of_chunk(next);
            }
            if is_mapped {
                // SAFETY: the caller's duty.
                let answer = unsafe { sys::advise(self.address(at), (next - at) as usize * BASE, advice) };
                is_taken &= answer.is_ok();
            }
            at = next;
        }
        is_taken
    }

    /// Returns the whole chunks of `[from, until)`, which are free, to the kernel at once.
    pub(crate) fn trim(&mut self, from: Page, until: Page) {
        let Some((from, until)) = self.whole_chunks(from, until.min(self.used_to)) else { return };
        let (_, _, mut bits) = self.parts();
        let dirty = bits.count(from, until - from);
        // Without a reservation what is mapped is taken from the program, even where nothing is resident.
        if dirty == 0 && self.reserved {
            return;
        }
        let bytes = (until - from) as usize * BASE;
        let stays_mapped = self.reserved && !self.backing.is_reserved_pool();
        // SAFETY: the chunks lie in a free run of ours.
        let emptied =
            stays_mapped && unsafe { sys::advise(self.address(from), bytes, libc::MADV_DONTNEED) }.is_ok();
        // The kernel keeps what the program has locked (mlock), and without us free would have unlocked it.
        if !emptied {
            self.unmap_chunks(from, until);
        }
        self.set_fresh(from, until - from);
        self.recycled_pages -= u64::from(dirty);
    }

    /// Returns all that a free run holds to the kernel, in chunks that blocks share as well: their huge pages are split. What is
    /// locked, or of a pool, stays.
    fn trim_pages(&mut self, from: Page, until: Page) {
        let until = until.min(self.used_to);
        if self.backing.is_reserved_pool() || from >= until {
            return;
        }
        let (_, _, mut bits) = self.parts();
        let dirty = bits.count(from, until - from);
        // SAFETY: the pages lie in a free run of ours.
        if dirty > 0 && unsafe { self.advise(from, until, libc::MADV_DONTNEED) } {
            self.set_fresh(from, until - from);
            self.note(from, until, Cause::Discard, Reach::Ends);
            self.recycled_pages -= u64::from(dirty);
        }
    }

    /// Returns up to `pages` recycled pages to the kernel, of the largest free runs first; where many were gone through to find them,
    /// `more` as well, so that the next ones need not go through them again.
    pub(crate) fn trim_idle(&mut self, pages: u64, more: u64, grain: Grain) {
        let (mut goal, mut seen, mut run) = (self.recycled_pages.saturating_sub(pages), 0, None);
        while self.recycled_pages > goal {
            let Some((start, length)) = self.extents.next_smaller(self.table(), run) else { return };
            match grain {
                Grain::Chunks if length < self.chunk_pages() => return,
                Grain::Chunks => self.trim(start, start + length),
                Grain::Pages => self.trim_pages(start, start + length),
            }
            run = Some(start);
            seen += 1;
            if seen == MANY_RUNS {
                goal = goal.saturating_sub(more);
            }
        }
    }

    /// Nothing is known any more of what free pages hold.
    pub(crate) fn set_free_dirty(&mut self) {
        let mut at = 0;
        loop {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + length;
            let end = at.min(self.used_to);
            if block.is_none() && start < end {
                let (_, _, mut bits) = self.parts();
                let clean = end - start - bits.count(start, end - start);
                bits.set(start, end - start, true);
                self.recycled_pages += u64::from(clean);
            }
        }
    }

    /// The kernel has moved pages from one place to another: what is mapped at the first now is new.
    pub(crate) fn set_moved(&mut self, from: Page, to: Page, pages: u32) {
        self.move_causes(from, to, pages);
        self.set_fresh(from, pages);
        self.note_cuts(to, pages);
    }

    /// What is mapped there now is new.
    fn set_fresh(&mut self, start: Page, pages: u32) {
        let (_, _, mut bits) = self.parts();
        bits.set(start, pages, false);
        self.forget_causes(start, pages);
    }

    /// All chunks as whole chunks inside `[from, until)`, if there is one.
    fn whole_chunks(&self, from: Page, until: Page) -> Option<(Page, Page)> {
        let chunk = self.chunk_pages();
        let (from, until) = (from.checked_next_multiple_of(chunk)?, until / chunk * chunk);
        (from < until).then_some((from, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{GIGANTIC, HUGE};

    const CHUNK: u32 = (HUGE / BASE) as u32;

    fn arena() -> Arena {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let room =
            unsafe { sys::map_anonymous(0, 2 * GIGANTIC, libc::PROT_NONE, libc::MAP_NORESERVE) }.unwrap();
        let base = room.next_multiple_of(GIGANTIC);
        Arena::new(Backing::Base, base, GIGANTIC, true, Shares::NONE).unwrap()
    }

    fn block(arena: &mut Arena, pages: u32, id: u32) -> Page {
        let start = arena.take(pages, CHUNK, 0, 0).unwrap().start;
        arena.set_live(start, pages, Block { id, ..Block::RETIRED });
        start
    }

    fn byte_at(arena: &Arena, page: Page) -> &'static mut u8 {
        // SAFETY: mapped by the arena; the test alone knows of it.
        unsafe { &mut *(arena.address(page) as *mut u8) }
    }

    #[test]
    fn what_is_given_back_is_not_gone_through_again_with_its_neighbours() {
        let mut arena = arena();
        let starts = [1, 2, 3].map(|id| block(&mut arena, CHUNK, id));
        for start in [starts[0], starts[2], starts[1]] {
            *byte_at(&arena, start) = 1;
            let (from, until) = arena.give_back(start, CHUNK);
            arena.trim(from, until);
            assert_eq!((arena.recycled_pages, *byte_at(&arena, start)), (0, 0));
            // The mark of the first two would go with the third.
            *byte_at(&arena, start) = 2;
        }
        assert_eq!(starts.map(|start| *byte_at(&arena, start)), [2, 2, 2]);
    }

    #[test]
    fn what_lies_between_blocks_goes_back_by_itself_and_they_stay() {
        let mut arena = arena();
        let starts: [Page; 9] = core::array::from_fn(|id| {
            let start = arena.take(CHUNK / 2, 1, 0, 0).unwrap().start;
            arena.set_live(start, CHUNK / 2, Block { id: id as u32 + 1, ..Block::RETIRED });
            *byte_at(&arena, start) = 1;
            start
        });
        // Two together that are no whole chunk, and one alone.
        for freed in [1, 3, 4] {
            arena.give_back(starts[freed], CHUNK / 2);
        }
        arena.trim_idle(u64::MAX, 0, Grain::Chunks);
        assert_eq!(arena.recycled_pages, u64::from(3 * CHUNK / 2));
        arena.trim_idle(1, 0, Grain::Pages);
        assert_eq!(arena.recycled_pages, u64::from(CHUNK / 2), "the larger first, and no more");
        arena.trim_idle(u64::MAX, 0, Grain::Pages);
        assert_eq!(arena.recycled_pages, 0);
        assert_eq!(starts.map(|start| *byte_at(&arena, start)), [1, 0, 1, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn who_goes_through_many_runs_returns_more() {
        const PAGES: u32 = 8;
        let mut arena = arena();
        let starts: [Page; 200] = core::array::from_fn(|_| {
            let start = arena.take(PAGES, 1, 0, 0).unwrap().start;
            arena.set_live(start, PAGES, Block { id: 1, ..Block::RETIRED });
            start
        });
        for start in starts.iter().step_by(2) {
            arena.give_back(*start, PAGES);
        }
        for (pages, left) in [(8, 99), (61 * 8, 38), (8, 27)] {
            arena.trim_idle(pages, 10 * 8, Grain::Pages);
            assert_eq!(arena.recycled_pages, left * u64::from(PAGES));
        }
    }

    #[test]
    fn what_is_made_anew_is_held_no_more() {
        let mut arena = arena();
        for id in 1..=3 {
            let start = block(&mut arena, 4 * CHUNK, id);
            arena.give_back(start, 4 * CHUNK);
            assert_eq!(arena.recycled_pages, u64::from(4 * CHUNK));
            // By a call that nobody sees.
            // SAFETY: memory of the arena, which is free.
            unsafe { sys::protect(arena.address(start + CHUNK), HUGE, libc::PROT_READ) }.unwrap();
            let start = block(&mut arena, 4 * CHUNK, id);
            assert_eq!(arena.recycled_pages, 0);
            *byte_at(&arena, start + CHUNK) = 1;
            arena.give_back(start, 4 * CHUNK);
            arena.trim_idle(u64::MAX, 0, Grain::Chunks);
            assert_eq!(arena.recycled_pages, 0);
        }
    }
}
