//! The tables of an arena, in mappings of their own beside the memory.
//!
//! They are reserved for the largest size the arena may have, and opened as far as it has grown: a program that locks
//! its memory (mlockall) would otherwise have all of them resident, and strict accounting would charge for them. Where
//! address space is limited nothing is reserved: the tables grow with the arena, and move for it.

use crate::dirty::{self, Dirty};
use crate::extents::{Entry, Runs};
use crate::pages::BASE;
use core::ops::Range;
use firsttouch_linux::sys;

/// One table: reserved address space with an open front, or no more than what is open.
#[derive(Debug)]
struct Table {
    at: usize,
    reserved_bytes: usize,
    open_bytes: usize,
}

impl Table {
    /// Where there are no entries and no words, they are at an address that both may have.
    const NONE: Table = Table { at: BASE, reserved_bytes: 0, open_bytes: 0 };

    fn reserve(bytes: usize) -> Option<Table> {
        let reserved_bytes = bytes.next_multiple_of(BASE);
        // SAFETY: a new mapping without access, at an address of the kernel's choice.
        let at =
            unsafe { sys::map_anonymous(0, reserved_bytes, libc::PROT_NONE, libc::MAP_NORESERVE) }.ok()?;
        // gcore(1) reads all that is not kept out of core files, whether there is something or not.
        // SAFETY: the new mapping; no contents change.
        let _ = unsafe { sys::advise(at, reserved_bytes, libc::MADV_DONTDUMP) };
        Some(Table { at, reserved_bytes, open_bytes: 0 })
    }

    fn open(&mut self, bytes: usize) -> bool {
        const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = bytes.next_multiple_of(BASE);
        if bytes <= self.open_bytes {
            return true;
        }
        // New pages are zero, whoever makes them.
        let opened = if bytes <= self.reserved_bytes {
            let (from, length) = (self.at + self.open_bytes, bytes - self.open_bytes);
            // SAFETY: a part of our own mapping that nobody uses yet.
            unsafe { sys::protect(from, length, READ_WRITE) }.map(|_| self.at)
        } else if self.open_bytes > 0 {
            // SAFETY: our own mapping, of which nobody keeps an address.
            unsafe { sys::grow_mapping(self.at, self.open_bytes, bytes) }
        } else {
            // SAFETY: a new mapping, at an address of the kernel's choice.
            unsafe { sys::map_anonymous(0, bytes, READ_WRITE, 0) }
        };
        if let Ok(at) = opened {
            *self = Table { at, reserved_bytes: self.reserved_bytes.max(bytes), open_bytes: bytes };
        }
        opened.is_ok()
    }

    /// Gives up all of it.
    fn close(&mut self) {
        if self.reserved_bytes > 0 {
            // SAFETY: our own mapping, of which nobody keeps an address.
            let _ = unsafe { sys::unmap(self.at, self.reserved_bytes) };
        }
        *self = Table::NONE;
    }

    /// Unmaps what is not open.
    fn unmap_closed(&self) {
        if self.reserved_bytes > self.open_bytes {
            // SAFETY: a part of our own mapping that nobody uses.
            let _ = unsafe { sys::unmap(self.at + self.open_bytes, self.reserved_bytes - self.open_bytes) };
        }
    }

    /// Gives up what is not open.
    fn cut(&mut self) {
        self.unmap_closed();
        self.reserved_bytes = self.open_bytes;
    }
}

/// A chunk is mapped.
const MAPPED: u8 = 1;

/// What may have put a chunk on small pages since it was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cause {
    /// The process forked: what is written after that is copied page by page.
    Fork = 2,
    /// The program changed the mapping of a part of it, or gave advice of it.
    Change = 4,
    /// The program discarded a part of it or had it paged out, or the heap gave one back.
    Discard = 8,
}

impl Cause {
    /// What is certain comes first, and the program's own doing before ours.
    pub(crate) const ALL: [Cause; 3] = [Cause::Change, Cause::Discard, Cause::Fork];
    /// By these the kernel has split the huge page, if there was one.
    const SPLIT: u8 = Cause::Change as u8 | Cause::Discard as u8;
}

/// An entry for each page, a bit for each page with which a run begins, one for each page that may not be zero, one for each with which a
/// mapping begins that the kernel does not join with the one before, and a byte for each chunk: whether it is mapped, and what may have put it on small pages.
#[derive(Debug)]
pub(crate) struct Tables {
    entries: Table,
    starts: Table,
    dirty: Table,
    cuts: Table,
    chunks: Table,
    pages: u32,
    most_pages: u32,
    chunk_pages: u32,
}

impl Tables {
    /// The tables of at most `most_pages` pages in chunks of `chunk_pages`; none is open yet, and nothing is reserved.
    pub(crate) fn new(most_pages: u32, chunk_pages: u32) -> Tables {
        let [entries, starts, dirty, cuts, chunks] = [Table::NONE; 5];
        Tables { entries, starts, dirty, cuts, chunks, pages: 0, most_pages, chunk_pages }
    }

    /// The same, with the address space for all of them.
    pub(crate) fn reserve(most_pages: u32, chunk_pages: u32) -> Option<Tables> {
        let pages = most_pages as usize;
        Some(Tables {
            entries: Table::reserve(pages * size_of::<Entry>())?,
            starts: Table::reserve(dirty::words(pages) * 8)?,
            dirty: Table::reserve(dirty::words(pages) * 8)?,
            cuts: Table::reserve(dirty::words(pages) * 8)?,
            chunks: Table::reserve(pages.div_ceil(chunk_pages as usize))?,
            ..Tables::new(most_pages, chunk_pages)
        })
    }

    /// Pages that the tables can describe at most.
    pub(crate) fn most_pages(&self) -> u32 {
        self.most_pages
    }

    /// From now on they describe no more than so many.
    pub(crate) fn limit(&mut self, pages: u32) {
        self.most_pages = self.most_pages.min(pages);
    }

    /// Pages that the open tables describe.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Opens the tables for at least `pages` pages; false if there cannot be so many.
    pub(crate) fn open(&mut self, pages: u32) -> bool {
        if pages > self.most_pages {
            return false;
        }
        let count = pages as usize;
        let opened = self.entries.open(count * size_of::<Entry>())
            && self.starts.open(dirty::words(count) * 8)
            && self.dirty.open(dirty::words(count) * 8)
            && self.cuts.open(dirty::words(count) * 8)
            && self.chunks.open(count.div_ceil(self.chunk_pages as usize));
        if opened {
            self.pages = pages;
        }
        opened
    }

    /// Gives up the address space of what is not open, for a copy in which nobody opens any.
    pub(crate) fn unmap_closed(&self) {
        for table in [&self.entries, &self.starts, &self.dirty, &self.cuts, &self.chunks] {
            table.unmap_closed();
        }
    }

    /// Gives up the address space of what is not open.
    pub(crate) fn cut(&mut self) {
        self.entries.cut();
        self.starts.cut();
        self.dirty.cut();
        self.cuts.cut();
        self.chunks.cut();
    }

    /// Gives up all tables: they describe nothing, and nothing is reserved for them.
    pub(crate) fn close(&mut self) {
        self.pages = 0;
        for table in [&mut self.entries, &mut self.starts, &mut self.dirty, &mut self.cuts, &mut self.chunks]
        {
            table.close();
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        // SAFETY: so many entries are open, zero-filled at first, which is a valid `Entry`.
        unsafe { core::slice::from_raw_parts(self.entries.at as *const Entry, self.pages as usize) }
    }

    /// The bits of pages with which a run begins.
    pub(crate) fn starts(&self) -> &[u64] {
        self.words(&self.starts)
    }

    /// The table of runs, and the bits of pages that may not be zero.
    pub(crate) fn parts(&mut self) -> (Runs<'_>, Dirty<'_>) {
        let (pages, words) = (self.pages as usize, dirty::words(self.pages as usize));
        // SAFETY: as in `entries`; the tables are borrowed mutably.
        let entries = unsafe { core::slice::from_raw_parts_mut(self.entries.at as *mut Entry, pages) };
        // SAFETY: likewise for the words of bits; all are different mappings.
        let bits = |table: &Table| unsafe { core::slice::from_raw_parts_mut(table.at as *mut u64, words) };
        (Runs { entries, starts: Dirty(bits(&self.starts)) }, Dirty(bits(&self.dirty)))
    }

    fn words(&self, bits: &Table) -> &[u64] {
        // SAFETY: as in `entries`, for a bit for each page.
        unsafe { core::slice::from_raw_parts(bits.at as *const u64, dirty::words(self.pages as usize)) }
    }

    /// The first page at or after `from` and before `end` with which a mapping begins that is not joined with the one before.
    pub(crate) fn next_cut(&self, from: u32, end: u32) -> Option<u32> {
        dirty::next(self.words(&self.cuts), from as usize, end as usize, true).map(|page| page as u32)
    }

    /// Notes whether a mapping begins with a page.
    pub(crate) fn set_cut(&mut self, page: u32, is_cut: bool) {
        // SAFETY: the table holds a bit for every open page, and the tables are borrowed mutably.
        let word = unsafe { &mut *(self.cuts.at as *mut u64).add(page as usize / 64) };
        *word = *word & !(1 << (page % 64)) | u64::from(is_cut) << (page % 64);
    }

    /// Whether a chunk is mapped.
    pub(crate) fn is_mapped(&self, chunk: u32) -> bool {
        self.of_chunk(chunk) & MAPPED != 0
    }

    /// Notes whether a chunk is mapped; nothing has put it on small pages then.
    pub(crate) fn set_mapped(&mut self, chunk: u32, mapped: bool) {
        *self.of_chunk_mut(chunk) = if mapped { MAPPED } else { 0 };
    }

    /// What may have put a chunk on small pages, in the order of [`Cause::ALL`].
    pub(crate) fn causes(&self, chunk: u32) -> impl Iterator<Item = Cause> + use<> {
        let flags = self.of_chunk(chunk);
        Cause::ALL.into_iter().filter(move |cause| flags & *cause as u8 != 0)
    }

    /// The first chunk of a range that is known to be split, or is known not to be.
    pub(crate) fn next_split(&self, chunks: Range<u32>, is_split: bool) -> Option<u32> {
        chunks.into_iter().find(|chunk| (self.of_chunk(*chunk) & Cause::SPLIT != 0) == is_split)
    }

    /// Notes a cause of a chunk, if it is mapped.
    pub(crate) fn add_cause(&mut self, chunk: u32, cause: Cause) {
        let flags = self.of_chunk_mut(chunk);
        *flags |= if *flags & MAPPED == 0 { 0 } else { cause as u8 };
    }

    /// Forgets a cause of a chunk.
    pub(crate) fn forget_cause(&mut self, chunk: u32, cause: Cause) {
        *self.of_chunk_mut(chunk) &= !(cause as u8);
    }

    fn of_chunk(&self, chunk: u32) -> u8 {
        // SAFETY: the table holds a byte for every chunk of the open pages.
        unsafe { *(self.chunks.at as *const u8).add(chunk as usize) }
    }

    fn of_chunk_mut(&mut self, chunk: u32) -> &mut u8 {
        // SAFETY: as in `of_chunk`, and the tables are borrowed mutably.
        unsafe { &mut *(self.chunks.at as *mut u8).add(chunk as usize) }
    }
}
