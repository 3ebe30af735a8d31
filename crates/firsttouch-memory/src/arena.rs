//! One range of address space whose pages are all of one kind: mapped in chunks when first needed, recycled, given back.

use crate::dirty::Dirty;
use crate::extents::{Block, Entry, Extents, Page};
use crate::pages::{BASE, GIGANTIC, HUGE, Pages};
use crate::reason::Reason;
use crate::shares::Shares;
use crate::tables::Tables;
use firsttouch_linux::numa::{self, Mode, NodeBits};
use firsttouch_linux::sys;

/// What backs an arena: the concrete kinds of [`Pages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Backing {
    Base = 0,
    Multi = 1,
    Transparent = 2,
    Huge2M = 3,
    Huge1G = 4,
}

impl Backing {
    pub(crate) const ALL: [Backing; 5] =
        [Backing::Base, Backing::Multi, Backing::Transparent, Backing::Huge2M, Backing::Huge1G];

    /// What to try in turn for a kind of pages: each falls back to the next smaller.
    pub(crate) fn chain(pages: Pages) -> &'static [Backing] {
        match pages {
            Pages::Plain => &[],
            Pages::Base => &[Backing::Base],
            Pages::Multi(_) => &[Backing::Multi],
            Pages::Transparent => &[Backing::Transparent],
            Pages::Huge2M | Pages::Auto => &[Backing::Huge2M, Backing::Transparent],
            Pages::Huge1G => &[Backing::Huge1G, Backing::Huge2M, Backing::Transparent],
        }
    }

    pub(crate) fn is_reserved_pool(self) -> bool {
        matches!(self, Backing::Huge2M | Backing::Huge1G)
    }

    /// Bytes that are mapped and given back together.
    pub(crate) fn chunk_bytes(self) -> usize {
        if self == Backing::Huge1G { GIGANTIC } else { HUGE }
    }
}

/// Freed memory is offered to the kernel in pieces of at least this many pages (16 MiB): an offer interrupts every
/// processor that runs the program, which would be felt with each small block.
const OFFER_PAGES: u32 = (16 << 20) / BASE as u32;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

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

/// An arena grows by at least so many pages (64 MiB).
const GROW_PAGES: u32 = (64 << 20) / BASE as u32;

/// The arena.
#[derive(Debug)]
pub(crate) struct Arena {
    pub(crate) backing: Backing,
    pub(crate) base: usize,
    /// How chunks are laid out over nodes.
    pub(crate) shares: Shares,
    /// The range is reserved address space of ours; otherwise every chunk is mapped only while in use.
    reserved: bool,
    extents: Extents,
    tables: Tables,
    /// No page at or above this one was ever taken (a multiple of a chunk).
    used_to: Page,
    /// Pages freed in small pieces since the last offer.
    unoffered_pages: u32,
    /// Dirty pages in free runs: what recycling holds.
    pub(crate) recycled_pages: u64,
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
        Some(Arena {
            backing,
            base,
            shares,
            reserved,
            extents: Extents::new(),
            tables: Tables::reserve(u32::try_from(bytes / BASE).ok()?, chunk_pages)?,
            used_to: 0,
            unoffered_pages: 0,
            recycled_pages: 0,
        })
    }

    fn parts(&mut self) -> (&mut Extents, &mut [Entry], Dirty<'_>) {
        let (entries, dirty) = self.tables.parts();
        (&mut self.extents, entries, dirty)
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
            let (extents, table, _) = self.parts();
            extents.give_back(table, before, after - before);
        }
        grown
    }

    /// Gives up all address space that holds no block, and stays as large as it is now: what is free serves again, but
    /// nothing is held. For a program that limits its address space.
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
                let chunk = self.chunk_pages();
                for index in from / chunk..until / chunk {
                    if self.tables.is_mapped(index) {
                        self.unmap_chunk(index);
                    }
                }
            }
            at = start + length;
        }
    }

    /// Whether an address lies in memory of this arena; in an unreserved one, other mappings may lie between.
    pub(crate) fn covers(&self, address: usize) -> bool {
        (self.base..self.end()).contains(&address)
            && self.tables.is_mapped(((address - self.base) / self.backing.chunk_bytes()) as u32)
    }

    pub(crate) fn end(&self) -> usize {
        self.base + self.tables.pages() as usize * BASE
    }

    /// The page at an address of this arena.
    pub(crate) fn page(&self, address: usize) -> Page {
        ((address - self.base) / BASE) as Page
    }

    pub(crate) fn address(&self, page: Page) -> usize {
        self.base + page as usize * BASE
    }

    fn chunk_pages(&self) -> u32 {
        (self.backing.chunk_bytes() / BASE) as u32
    }

    /// Takes mapped pages so that the first one's address plus `phase` is a multiple of `alignment` (both in pages); the
    /// reason if there are none.
    pub(crate) fn take(&mut self, pages: u32, alignment: u32, phase: u32) -> Result<Taken, Reason> {
        // The base is a multiple of 1 GiB only, and an alignment may be more.
        let phase = phase + (self.base / BASE % alignment as usize) as u32;
        let (extents, table, _) = self.parts();
        let mut start = extents.take(table, pages, alignment, phase);
        // A good fit is looked for among runs up to an eighth larger.
        let room = pages.saturating_add(alignment - 1);
        if start.is_none() && self.grow(room.saturating_add(room / 8 + 1)) {
            let (extents, table, _) = self.parts();
            start = extents.take(table, pages, alignment, phase);
        }
        let start = start.ok_or(Reason::AddressSpaceLimit)?;
        if let Err(reason) = self.map(start, pages) {
            let (extents, table, _) = self.parts();
            extents.give_back(table, start, pages);
            return Err(reason);
        }
        Ok(self.use_pages(start, pages))
    }

    /// Takes pages right behind a run, if they are free and can be mapped.
    pub(crate) fn extend(&mut self, after: Page, extra: u32) -> Option<Taken> {
        let (extents, table, _) = self.parts();
        if !extents.extend(table, after, extra) {
            let is_last = Extents::is_last(table, after);
            if !is_last || !self.grow(extra) {
                return None;
            }
            let (extents, table, _) = self.parts();
            if !extents.extend(table, after, extra) {
                return None;
            }
        }
        if self.map(after, extra).is_err() {
            let (extents, table, _) = self.parts();
            extents.give_back(table, after, extra);
            return None;
        }
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
        self.recycled_pages -= u64::from(recycled);
        Taken { start, dirty: runs, recycled }
    }

    pub(crate) fn set_live(&mut self, start: Page, pages: u32, block: Block) {
        let (extents, table, _) = self.parts();
        extents.set_live(table, start, pages, block);
    }

    /// Gives pages back to the arena and answers the free run they are now part of. Held memory is offered to the
    /// kernel, all but a bounded rest.
    pub(crate) fn give_back(&mut self, start: Page, pages: u32) -> (Page, u32) {
        let (extents, table, mut bits) = self.parts();
        let run = extents.give_back(table, start, pages);
        let dirty = bits.count(start, pages);
        self.recycled_pages += u64::from(dirty);
        if self.backing.is_reserved_pool() {
            return run;
        }
        let chunk = self.chunk_pages();
        if pages >= OFFER_PAGES {
            let around = (start / chunk * chunk, (start + pages).next_multiple_of(chunk));
            self.offer(run.0.max(around.0), (run.0 + run.1).min(around.1));
        } else {
            self.unoffered_pages += pages;
            if self.unoffered_pages >= OFFER_PAGES {
                self.unoffered_pages = 0;
                let mut at = 0;
                while let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() {
                    if block.is_none() {
                        self.offer(start, (start + length).min(self.used_to));
                    }
                    at = start + length;
                }
            }
        }
        run
    }

    /// Offers the whole chunks of `[from, until)`, which are free, to the kernel: it takes them only when it is short
    /// of memory, and until then they serve again at no cost.
    fn offer(&self, from: Page, until: Page) {
        if let Some((from, until)) = self.whole_chunks(from, until) {
            // SAFETY: the chunks lie in a free run of ours; what they hold is not needed any more.
            let _ =
                unsafe { sys::advise(self.address(from), (until - from) as usize * BASE, libc::MADV_FREE) };
        }
    }

    /// Returns the whole chunks of a free run to the kernel at once.
    pub(crate) fn trim(&mut self, start: Page, pages: u32) {
        let end = (start + pages).min(self.used_to);
        let Some((from, until)) = self.whole_chunks(start, end) else { return };
        let (_, _, mut bits) = self.parts();
        let dirty = bits.count(from, until - from);
        if dirty == 0 {
            return;
        }
        let bytes = (until - from) as usize * BASE;
        let stays_mapped = self.reserved && !self.backing.is_reserved_pool();
        // SAFETY: the chunks lie in a free run of ours.
        let emptied =
            stays_mapped && unsafe { sys::advise(self.address(from), bytes, libc::MADV_DONTNEED) }.is_ok();
        // The kernel keeps what the program has locked (mlock), and without us free would have unlocked it.
        if !emptied {
            let chunk = self.chunk_pages();
            for index in from / chunk..until / chunk {
                if self.tables.is_mapped(index) {
                    self.unmap_chunk(index);
                }
            }
        }
        let (_, _, mut bits) = self.parts();
        bits.set(from, until - from, false);
        self.recycled_pages -= u64::from(dirty);
    }

    /// Returns up to `pages` recycled pages to the kernel.
    pub(crate) fn trim_idle(&mut self, pages: u64) {
        let goal = self.recycled_pages.saturating_sub(pages);
        let mut at = 0;
        while self.recycled_pages > goal {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            if block.is_none() {
                self.trim(start, length);
            }
            at = start + length;
        }
    }

    /// Makes pages that the program has changed (protection, advice, locks) what they were when they were handed out.
    pub(crate) fn renew(&mut self, start: Page, pages: u32) {
        let (address, bytes) = (self.address(start), pages as usize * BASE);
        if self.backing.is_reserved_pool() {
            // Only whole pages of the pool can have been changed.
            let (first, end) = (
                address / self.backing.chunk_bytes(),
                (address + bytes).div_ceil(self.backing.chunk_bytes()),
            );
            let (from, length) =
                (first * self.backing.chunk_bytes(), (end - first) * self.backing.chunk_bytes());
            // SAFETY: gives access to memory of ours, as it was.
            let _ = unsafe { sys::protect(from, length, READ_WRITE) };
            return;
        }
        self.make_anew(start, pages);
    }

    /// Puts new memory, mapped as at first, in the place of whatever is there; false if the kernel refuses.
    pub(crate) fn make_anew(&mut self, start: Page, pages: u32) -> bool {
        let (address, bytes) = (self.address(start), pages as usize * BASE);
        // SAFETY: pages of ours whose contents nobody needs any more.
        if unsafe { sys::map_anonymous(address, bytes, READ_WRITE, libc::MAP_FIXED) }.is_err() {
            return false;
        }
        let advice = if self.backing == Backing::Base { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        // SAFETY: mapped just now; the advice changes no contents.
        let _ = unsafe { sys::advise(address, bytes, advice) };
        self.lay_out(address, start, pages);
        self.set_fresh(start, pages);
        true
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

    /// The pages were moved away by the kernel: what is mapped there now is new.
    pub(crate) fn set_fresh(&mut self, start: Page, pages: u32) {
        let (_, _, mut bits) = self.parts();
        bits.set(start, pages, false);
    }

    /// All chunks as whole chunks inside `[from, until)`, if there is one.
    fn whole_chunks(&self, from: Page, until: Page) -> Option<(Page, Page)> {
        let chunk = self.chunk_pages();
        let (from, until) = (from.checked_next_multiple_of(chunk)?, until / chunk * chunk);
        (from < until).then_some((from, until))
    }

    /// Makes sure that the chunks under a run are mapped.
    fn map(&mut self, start: Page, pages: u32) -> Result<(), Reason> {
        let chunk = self.chunk_pages();
        let (mut index, end) = (start / chunk, (start + pages).div_ceil(chunk));
        while index < end {
            if self.tables.is_mapped(index) {
                index += 1;
                continue;
            }
            let mut until = index + 1;
            while until < end && !self.tables.is_mapped(until) {
                until += 1;
            }
            self.map_chunks(index, until)?;
            (index..until).for_each(|chunk| self.tables.set_mapped(chunk, true));
            index = until;
        }
        Ok(())
    }

    fn map_chunks(&mut self, first: u32, until: u32) -> Result<(), Reason> {
        let chunk_bytes = self.backing.chunk_bytes();
        let address = self.base + first as usize * chunk_bytes;
        let bytes = (until - first) as usize * chunk_bytes;
        if self.backing.is_reserved_pool() {
            return self.map_from_pool(address, bytes);
        }
        let fixed = if self.reserved { libc::MAP_FIXED } else { libc::MAP_FIXED_NOREPLACE };
        // SAFETY: the range is reserved for this arena, or must be free for NOREPLACE to take it.
        match unsafe { sys::map_anonymous(address, bytes, READ_WRITE, fixed) } {
            Ok(at) if at == address => {}
            Ok(at) => {
                // A kernel before 4.17 takes NOREPLACE as a wish.
                // SAFETY: the mapping was made just now and is not used.
                let _ = unsafe { sys::unmap(at, bytes) };
                return Err(Reason::KernelTooOld);
            }
            Err(_) => {
                self.reserve_again(address, bytes);
                return Err(Reason::AddressSpaceLimit);
            }
        }
        let advice = if self.backing == Backing::Base { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        // SAFETY: the range was mapped just now; the advice changes no contents.
        let _ = unsafe { sys::advise(address, bytes, advice) };
        self.lay_out(address, first * self.chunk_pages(), (until - first) * self.chunk_pages());
        if self.backing == Backing::Multi {
            keep_below_2m(address, until.min(MOST_SPLIT_CHUNKS).saturating_sub(first) as usize);
        }
        Ok(())
    }

    /// Maps pages of a reserved pool, and creates them: a page that the pool promised can still be refused at first
    /// touch (control groups, memory policy), and then the program dies of SIGBUS. Here a refusal is an answer.
    ///
    /// They are made elsewhere and moved into the reserved range: a fixed mapping that the pool refuses has removed by
    /// then what it was to replace (seen on Linux 6.18), and the program's next mapping would land inside the span.
    fn map_from_pool(&self, address: usize, bytes: usize) -> Result<(), Reason> {
        let size = if self.backing == Backing::Huge1G { libc::MAP_HUGE_1GB } else { libc::MAP_HUGE_2MB };
        let (wish, fixed) = if self.reserved { (0, 0) } else { (address, libc::MAP_FIXED_NOREPLACE) };
        // SAFETY: a new mapping where nothing is.
        let at = unsafe { sys::map_anonymous(wish, bytes, READ_WRITE, libc::MAP_HUGETLB | size | fixed) }
            .map_err(|_| Reason::PoolEmpty)?;
        self.lay_out(at, ((address - self.base) / BASE) as u32, (bytes / BASE) as u32);
        // SAFETY: the range was mapped just now; creating its pages changes no contents.
        let populated = unsafe { sys::advise(at, bytes, libc::MADV_POPULATE_WRITE) };
        let reason = match populated {
            Ok(_) if at == address => return Ok(()),
            Ok(_) if self.reserved => {
                let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
                // SAFETY: moves the new mapping into a range that is reserved for this arena and not mapped.
                if unsafe { sys::call(libc::SYS_mremap, [at, bytes, bytes, flags, address, 0]) }.is_ok() {
                    return Ok(());
                }
                // Reserved pages can be moved since Linux 5.16.
                self.reserve_again(address, bytes);
                Reason::KernelTooOld
            }
            Ok(_) | Err(libc::EINVAL) => Reason::KernelTooOld,
            Err(libc::EFAULT) => Reason::CgroupLimit,
            Err(_) => Reason::PoolEmpty,
        };
        // SAFETY: the mapping was made just now and is not used.
        let _ = unsafe { sys::unmap(at, bytes) };
        Err(reason)
    }

    /// Lays pages from `start` on, which are mapped at `address` for now and hold nothing, out over the nodes. A node is
    /// preferred, not forced: when it is full, others serve, as with all interleaving. What the kernel refuses is left to
    /// the memory policy.
    fn lay_out(&self, address: usize, start: Page, pages: u32) {
        let (chunk, end) = (self.chunk_pages(), start + pages);
        let mut at = start;
        while at < end {
            let Some((node, until)) = self.shares.at(at / chunk) else { return };
            let next = until.saturating_mul(chunk).min(end);
            let Some(nodes) = NodeBits::of(&[node]) else { return };
            let from = address + (at - start) as usize * BASE;
            let _ = numa::set_policy_of(from, (next - at) as usize * BASE, Mode::Preferred, &nodes);
            at = next;
        }
    }

    /// Closes the hole in the span that a failed fixed mapping may have left, unless somebody was quicker.
    fn reserve_again(&self, address: usize, bytes: usize) {
        if self.reserved {
            let flags = libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
            // SAFETY: takes only what is free.
            let _ = unsafe { sys::map_anonymous(address, bytes, libc::PROT_NONE, flags) };
        }
    }

    fn unmap_chunk(&mut self, chunk: u32) {
        let bytes = self.backing.chunk_bytes();
        let address = self.base + chunk as usize * bytes;
        if self.reserved {
            let flags = libc::MAP_FIXED | libc::MAP_NORESERVE;
            // SAFETY: the chunk is ours and free; the range stays reserved.
            let _ = unsafe { sys::map_anonymous(address, bytes, libc::PROT_NONE, flags) };
        } else {
            // SAFETY: the chunk is ours and free.
            let _ = unsafe { sys::unmap(address, bytes) };
        }
        self.tables.set_mapped(chunk, false);
    }

    /// Every chunk of a reserved pool that is mapped, by address; for the child of a fork.
    pub(crate) fn mapped_chunks(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let bytes = self.backing.chunk_bytes();
        (0..self.used_to / self.chunk_pages())
            .filter(|chunk| self.tables.is_mapped(*chunk))
            .map(move |chunk| (chunk, self.base + chunk as usize * bytes))
    }
}

/// Mappings are few in number, so only so many chunks are split.
pub(crate) const MOST_SPLIT_CHUNKS: u32 = 8192;

/// Keeps the kernel from giving 2 MiB pages where smaller ones were asked for: it takes the largest size that is
/// enabled and fits into the mapping, so every second mebibyte is made a mapping of its own, by an advice
/// (`MADV_RANDOM`) that means nothing for anonymous memory. Nobody else may use the memory yet.
pub(crate) fn keep_below_2m(address: usize, chunks: usize) {
    for chunk in 0..chunks {
        // SAFETY: the chunk was mapped just now by the caller; the advice changes no contents.
        let _ = unsafe { sys::advise(address + chunk * HUGE, HUGE / 2, libc::MADV_RANDOM) };
    }
}
