//! The mappings under an arena: made in chunks when first needed, laid out over nodes, looked at before they serve again, and
//! made anew where the program has changed them.

use super::Arena;
use crate::backing::Backing;
use crate::extents::{Block, Extents};
use crate::pages::{BASE, GIGANTIC, HUGE, Page};
use crate::reason::Reason;
use crate::remap;
use firsttouch_linux::numa::{self, Mode, NodeBits};
use firsttouch_linux::sys;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// What the kernel does not map at once is mapped by so many pages.
const PIECE_PAGES: u32 = (GIGANTIC / BASE) as u32;

impl Arena {
    /// Makes sure that free pages, which were taken just now, are mapped as they should be. On an error they are free
    /// again, or retired.
    pub(super) fn make_ready(&mut self, start: Page, pages: u32, moved: u32) -> Result<(), Reason> {
        let is_fit = self.make_fit(start, pages, moved).inspect_err(|_| {
            self.put_back(start, pages);
        })?;
        if !is_fit {
            self.retire(start, pages);
            return Err(Reason::MappingChanged);
        }
        Ok(())
    }

    /// The same of pages whose fate is the caller's; false if they were changed and cannot be made anew.
    pub(super) fn make_fit(&mut self, start: Page, pages: u32, moved: u32) -> Result<bool, Reason> {
        let was_mapped = self.map(start, pages, moved)?;
        Ok(!was_mapped || self.is_as_it_was(start, pages) || self.make_anew(start, pages))
    }

    /// Whether free pages are mapped as they were when they were freed, by the kernel's own account: a program may change
    /// the mappings of its memory by calls that nobody sees (its own system calls, and ones that we do not know), and
    /// glibc would have unmapped it. Whatever is changed becomes a mapping of its own.
    ///
    /// Not asked of pages of a pool, which the kernel never joins.
    pub(super) fn is_as_it_was(&self, start: Page, pages: u32) -> bool {
        if self.backing.is_reserved_pool() {
            return true;
        }
        let end = start + pages;
        let mut from = start;
        while from < end {
            let until = self.next_cut(from + 1, end);
            // With the page before, unless a mapping of ours begins here: what was changed may be exactly these pages.
            let joined = from > 0 && self.next_cut(from, from + 1) > from && self.is_mapped_page(from - 1);
            let first = if joined { from - 1 } else { from };
            if !remap::is_one_mapping(self.address(first), (until - first) as usize * BASE) {
                return false;
            }
            from = until;
        }
        true
    }

    /// The first page at or after `from` and before `end` with which a mapping of ours may begin; else `end`.
    fn next_cut(&self, from: Page, end: Page) -> Page {
        let grain = match self.backing {
            Backing::Multi => SPLIT_PAGES,
            _ if !self.shares.are_none() => self.chunk_pages(),
            _ => u32::MAX,
        };
        let by_layout = from.checked_next_multiple_of(grain).unwrap_or(end);
        self.tables.next_cut(from, end).unwrap_or(end).min(by_layout).min(end)
    }

    /// The advice for memory that is mapped anew.
    pub(crate) fn advice(&self) -> i32 {
        if self.backing == Backing::Base || self.small { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE }
    }

    pub(super) fn is_mapped_page(&self, page: Page) -> bool {
        self.tables.is_mapped(page / self.chunk_pages())
    }

    /// Notes where mappings of ours begin that the kernel does not join with their neighbours, after some pages were mapped.
    pub(super) fn note_cuts(&mut self, start: Page, pages: u32) {
        for at in [start, start + pages] {
            let is_inside =
                at > 0 && at < self.tables.pages() && self.is_mapped_page(at - 1) && self.is_mapped_page(at);
            let is_cut = is_inside && !remap::is_one_mapping(self.address(at - 1), 2 * BASE);
            if at < self.tables.pages() {
                self.tables.set_cut(at, is_cut);
            }
        }
    }

    /// Makes pages that the program has changed (protection, advice, locks) what they were when they were handed out; false
    /// if the kernel refuses.
    pub(crate) fn renew(&mut self, start: Page, pages: u32) -> bool {
        if !self.backing.is_reserved_pool() {
            return self.make_anew(start, pages);
        }
        // Only whole pages of the pool can have been changed, and whoever changed them had all of them: those go back to the
        // pool. At the edges are parts of pages that others have, too.
        let chunk = self.chunk_pages();
        let end = start + pages;
        if let Some((from, until)) = self.whole_chunks(start, end) {
            self.unmap_chunks(from, until);
        }
        for edge in [start / chunk, (end - 1) / chunk] {
            if self.tables.is_mapped(edge) {
                let address = self.base + edge as usize * self.backing.chunk_bytes();
                // SAFETY: gives access to memory of ours, as it was.
                if unsafe { sys::protect(address, self.backing.chunk_bytes(), READ_WRITE) }.is_err() {
                    return false;
                }
            }
        }
        true
    }

    /// Unmaps a run that serves nobody any more, as glibc unmaps a block that is freed.
    pub(crate) fn retire(&mut self, start: Page, pages: u32) {
        self.set_live(start, pages, Block::RETIRED);
        if !self.backing.is_reserved_pool() {
            // SAFETY: pages of ours whose contents nobody needs any more.
            let _ = unsafe { sys::unmap(self.address(start), pages as usize * BASE) };
        } else if let Some((from, until)) = self.whole_chunks(start, start + pages) {
            self.unmap_chunks(from, until);
        }
    }

    /// Unmaps the whole chunks of `[from, until)`, which hold nothing that anybody needs.
    pub(super) fn unmap_chunks(&mut self, from: Page, until: Page) {
        let chunk = self.chunk_pages();
        for index in from / chunk..until / chunk {
            if self.tables.is_mapped(index) {
                self.unmap_chunk(index);
            }
        }
        self.set_fresh(from, until - from);
    }

    /// Puts new memory, mapped as at first, in the place of whatever is there; false if the kernel refuses.
    pub(crate) fn make_anew(&mut self, start: Page, pages: u32) -> bool {
        let (address, bytes) = (self.address(start), pages as usize * BASE);
        // SAFETY: pages of ours whose contents nobody needs any more.
        if unsafe { sys::map_anonymous(address, bytes, READ_WRITE, libc::MAP_FIXED) }.is_err() {
            return false;
        }
        // SAFETY: mapped just now; the advice changes no contents.
        let _ = unsafe { sys::advise(address, bytes, self.advice()) };
        self.lay_out(address, start, pages);
        self.set_fresh(start, pages);
        self.note_cuts(start, pages);
        true
    }

    /// Makes sure that the chunks under a run are mapped; answers whether one of them was mapped before. The kernel refuses what is
    /// more than the machine has, each mapping by itself (`vm.overcommit_memory` 0): of a block that grows, the first `moved` pages
    /// are none that the program wants now, so that they are mapped piece by piece where it refuses. Not where that is taken from the
    /// program for good.
    pub(super) fn map(&mut self, start: Page, pages: u32, moved: u32) -> Result<bool, Reason> {
        let chunk = self.chunk_pages();
        let (mut index, end) = (start / chunk, (start + pages).div_ceil(chunk));
        let end_of_moved = (start + moved) / chunk;
        let mut was_mapped = false;
        while index < end {
            if self.tables.is_mapped(index) {
                was_mapped = true;
                index += 1;
                continue;
            }
            let mut until = index + 1;
            while until < end && !self.tables.is_mapped(until) {
                until += 1;
            }
            if let Err(reason) = self.map_chunks(index, until) {
                let piece = (index + PIECE_PAGES.div_ceil(chunk)).min(end_of_moved);
                let is_free = self.reserved && !self.backing.is_reserved_pool();
                if !is_free || piece <= index || piece >= until {
                    return Err(reason);
                }
                until = piece;
                self.map_chunks(index, until)?;
            }
            (index..until).for_each(|chunk| self.tables.set_mapped(chunk, true));
            if !self.backing.is_reserved_pool() {
                self.note_cuts(index * chunk, (until - index) * chunk);
            }
            index = until;
        }
        Ok(was_mapped)
    }

    pub(super) fn map_chunks(&mut self, first: u32, until: u32) -> Result<(), Reason> {
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
        // SAFETY: the range was mapped just now; the advice changes no contents.
        let _ = unsafe { sys::advise(address, bytes, self.advice()) };
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
    pub(super) fn map_from_pool(&self, address: usize, bytes: usize) -> Result<(), Reason> {
        let (wish, fixed) = if self.reserved { (0, 0) } else { (address, libc::MAP_FIXED_NOREPLACE) };
        // SAFETY: a new mapping where nothing is.
        let at = unsafe { sys::map_anonymous(wish, bytes, READ_WRITE, self.backing.pool_flags() | fixed) }
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
    pub(super) fn lay_out(&self, address: usize, start: Page, pages: u32) {
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
    pub(super) fn reserve_again(&self, address: usize, bytes: usize) {
        if self.reserved {
            reserve(address, bytes);
        }
    }

    pub(super) fn unmap_chunk(&mut self, chunk: u32) {
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

    /// Gives up the mapped chunks that hold nothing: for the child of a fork, which would have to copy them, and for what the
    /// kernel has no room for.
    pub(crate) fn unmap_free_chunks(&mut self) {
        let mut at = 0;
        loop {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + length;
            let Some((from, until)) = self.whole_chunks(start, at).filter(|_| block.is_none()) else {
                continue;
            };
            let (_, _, mut bits) = self.parts();
            let dirty = bits.count(from, until - from);
            self.unmap_chunks(from, until);
            self.recycled_pages -= u64::from(dirty);
        }
    }

    /// Every chunk of a reserved pool that is mapped, by address; for the child of a fork.
    pub(crate) fn mapped_chunks(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let bytes = self.backing.chunk_bytes();
        (0..self.used_to / self.chunk_pages())
            .filter(|chunk| self.tables.is_mapped(*chunk))
            .map(move |chunk| (chunk, self.base + chunk as usize * bytes))
    }
}

/// Reserves address space that nobody has; false if somebody has.
pub(super) fn reserve(address: usize, bytes: usize) -> bool {
    let flags = libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
    // SAFETY: takes only what is free.
    let reserved = unsafe { sys::map_anonymous(address, bytes, libc::PROT_NONE, flags) };
    reserved == Ok(address)
}

/// Mappings are few in number, so only so many chunks are split.
pub(crate) const MOST_SPLIT_CHUNKS: u32 = 8192;

/// Every so many pages a mapping begins where pages are to be smaller than 2 MiB.
const SPLIT_PAGES: u32 = (HUGE / 2 / BASE) as u32;

/// Keeps the kernel from giving 2 MiB pages where smaller ones were asked for: it takes the largest size that is
/// enabled and fits into the mapping, so every second mebibyte is made a mapping of its own, by an advice
/// (`MADV_RANDOM`) that means nothing for anonymous memory. Nobody else may use the memory yet.
pub(crate) fn keep_below_2m(address: usize, chunks: usize) {
    for chunk in 0..chunks {
        // SAFETY: the chunk was mapped just now by the caller; the advice changes no contents.
        let _ = unsafe { sys::advise(address + chunk * HUGE, HUGE / 2, libc::MADV_RANDOM) };
    }
}
