//! Which runs of pages of an arena are free and which hold a block.
//!
//! Two-level segregated fit (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator for real-time
//! systems", 2004) over pages instead of bytes: constant-time allocation and freeing, neighbours that are free are
//! always merged, low addresses are preferred by taking the front of a run. The bookkeeping lies in a table beside
//! the memory, one entry a page, so that the pages themselves are never touched. Of the table only the entries of the
//! first and last page of a run are ever written, and a bit for each page that begins one.
//!
//! Pure logic: no system call, no address.

use crate::Reason;
use crate::dirty::{self, Dirty};
use crate::pages::Page;
use core::ops::{Deref, DerefMut};

const NONE: u32 = u32::MAX;
const SECOND_LEVEL_BITS: u32 = 3;
const SECOND_LEVEL: usize = 1 << SECOND_LEVEL_BITS;
const FIRST_LEVEL: usize = 32;

/// How many runs of the exact-size list are looked at before growing into a larger list.
const EXACT_LIST_LOOKS: usize = 16;

/// What an entry of the table says of its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    /// Nothing: inside a run, or never used.
    #[default]
    Inside = 0,
    /// First page of a free run.
    Free,
    /// First page of a block.
    Live,
    /// Last page of a free run of more than one page.
    FreeTail,
}

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Running number, from 1; 0 for pages that serve nobody any more.
    pub(crate) id: u32,
    /// Bytes the program asked for; 0 for pages that a block is moving out of.
    pub(crate) bytes: usize,
    /// Offset of the program's pointer from the start of the run, at most one page.
    pub(crate) offset: u16,
    /// Why it lies in this arena and not where it was asked for.
    pub(crate) fallback: Option<Reason>,
    /// The program changed the mapping (protection, advice): not to be recycled as it is.
    pub(crate) altered: bool,
}

impl Block {
    /// In place of pages that cannot be made fit to serve again.
    pub(crate) const RETIRED: Block = Block { id: 0, bytes: 0, offset: 0, fallback: None, altered: false };

    /// Whether the pages serve nobody any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.id == 0
    }

    /// What the block leaves behind while its contents go elsewhere: to be freed, and no block of the program's.
    pub(crate) fn moved_out(self) -> Block {
        Block { bytes: 0, ..self }
    }

    /// Whether it is a block of the program's, and not pages that were retired or that a block is moving out of.
    pub(crate) fn is_in_use(&self) -> bool {
        self.bytes > 0
    }
}

/// One entry of the table. All zeroes is a valid entry, so the table may be fresh memory from the kernel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Entry {
    pages: u32,
    tag: Tag,
    /// 1 + the discriminant of the reason, 0 for none.
    fallback: u8,
    offset: u16,
    /// Free: next in the list. Live: the block's id.
    next_or_id: u32,
    /// Free: previous in the list. Live: 1 if the program changed the mapping.
    previous_or_altered: u32,
    bytes: u64,
}

/// The entries of an arena's pages, and a bit for each that says whether a run begins with it.
#[derive(Debug)]
pub(crate) struct Runs<'a> {
    pub(crate) entries: &'a mut [Entry],
    pub(crate) starts: Dirty<'a>,
}

impl Deref for Runs<'_> {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        self.entries
    }
}

impl DerefMut for Runs<'_> {
    fn deref_mut(&mut self) -> &mut [Entry] {
        self.entries
    }
}

/// The free and live runs of one arena over a table of entries.
#[derive(Debug)]
pub(crate) struct Extents {
    first_level: u32,
    second_level: [u8; FIRST_LEVEL],
    heads: [[u32; SECOND_LEVEL]; FIRST_LEVEL],
}

/// The list a run of that many pages belongs to.
fn list_of(pages: u32) -> (usize, usize) {
    if pages < SECOND_LEVEL as u32 {
        return (0, pages as usize);
    }
    let log = pages.ilog2();
    let second = (pages >> (log - SECOND_LEVEL_BITS)) as usize & (SECOND_LEVEL - 1);
    ((log - SECOND_LEVEL_BITS + 1) as usize, second)
}

/// The first list whose every run has at least that many pages.
fn list_that_fits(pages: u32) -> (usize, usize) {
    if pages < SECOND_LEVEL as u32 {
        return list_of(pages);
    }
    let step = (1_u32 << (pages.ilog2() - SECOND_LEVEL_BITS)) - 1;
    list_of(pages.saturating_add(step))
}

impl Extents {
    pub(crate) const fn new() -> Self {
        Extents { first_level: 0, second_level: [0; FIRST_LEVEL], heads: [[NONE; SECOND_LEVEL]; FIRST_LEVEL] }
    }

    /// Takes `pages` from the free runs so that `(start + phase) % alignment == 0`, alignment and phase in pages.
    pub(crate) fn take(
        &mut self,
        table: &mut Runs<'_>,
        pages: u32,
        alignment: u32,
        phase: u32,
    ) -> Option<Page> {
        let alignment = alignment.max(1);
        let wanted = pages.checked_add(alignment - 1)?;
        let run = self.find(table, pages, wanted, alignment, phase)?;
        let length = table[run as usize].pages;
        let skip = skip_to(run, alignment, phase);
        self.remove(table, run);
        if skip > 0 {
            self.insert(table, run, skip);
        }
        let rest = length - skip - pages;
        if rest > 0 {
            self.insert(table, run + skip + pages, rest);
        }
        Some(run + skip)
    }

    /// Marks a run that was taken as a live block.
    pub(crate) fn set_live(&mut self, table: &mut Runs<'_>, start: Page, pages: u32, block: Block) {
        if pages > 1 {
            table[(start + pages - 1) as usize] = Entry::default();
        }
        table.starts.set(start, 1, true);
        table[start as usize] = Entry {
            pages,
            tag: Tag::Live,
            fallback: block.fallback.map_or(0, |reason| reason as u8 + 1),
            offset: block.offset,
            next_or_id: block.id,
            previous_or_altered: u32::from(block.altered),
            bytes: block.bytes as u64,
        };
    }

    /// The live block that starts at a page, with its length in pages.
    pub(crate) fn live_at(table: &[Entry], start: Page) -> Option<(u32, Block)> {
        let entry = table.get(start as usize).filter(|entry| entry.tag == Tag::Live)?;
        let fallback = Reason::ALL.into_iter().nth((entry.fallback as usize).wrapping_sub(1));
        let altered = entry.previous_or_altered == 1;
        let block = Block {
            id: entry.next_or_id,
            bytes: entry.bytes as usize,
            offset: entry.offset,
            fallback,
            altered,
        };
        Some((entry.pages, block))
    }

    /// Gives back pages that were taken (or the tail of a block): merges with free neighbours and answers the whole
    /// free run that they are now part of.
    pub(crate) fn give_back(&mut self, table: &mut Runs<'_>, start: Page, pages: u32) -> (Page, u32) {
        let (mut start, mut pages) = (start, pages);
        table.starts.set(start, 1, false);
        table[start as usize] = Entry::default();
        let after = start + pages;
        if let Some(next) = table.get(after as usize)
            && next.tag == Tag::Free
        {
            let length = next.pages;
            self.remove(table, after);
            pages += length;
        }
        if let Some(before) = (start as usize).checked_sub(1).map(|index| table[index]) {
            let length = match before.tag {
                Tag::FreeTail => before.pages,
                Tag::Free => 1,
                Tag::Inside | Tag::Live => 0,
            };
            if length > 0 {
                start -= length;
                self.remove(table, start);
                pages += length;
            }
        }
        self.insert(table, start, pages);
        (start, pages)
    }

    /// Takes `extra` pages right behind a run, if they are free.
    pub(crate) fn extend(&mut self, table: &mut Runs<'_>, after: Page, extra: u32) -> bool {
        let Some(next) = table.get(after as usize).filter(|entry| entry.tag == Tag::Free) else {
            return false;
        };
        let length = next.pages;
        if length < extra {
            return false;
        }
        self.remove(table, after);
        if length > extra {
            self.insert(table, after + extra, length - extra);
        }
        true
    }

    /// Whether nothing but a free run lies between a page and the end of the table.
    pub(crate) fn is_last(table: &[Entry], after: Page) -> bool {
        let free =
            table.get(after as usize).map_or(0, |entry| if entry.tag == Tag::Free { entry.pages } else { 0 });
        (after + free) as usize == table.len()
    }

    /// Every run in order of address: start, pages, and the block if it is live.
    pub(crate) fn runs(table: &[Entry]) -> impl Iterator<Item = (Page, u32, Option<Block>)> + '_ {
        Extents::runs_from(table, 0)
    }

    /// The runs from a page on, which must start one.
    pub(crate) fn runs_from(
        table: &[Entry],
        from: Page,
    ) -> impl Iterator<Item = (Page, u32, Option<Block>)> + '_ {
        let mut at = from;
        core::iter::from_fn(move || {
            let entry = table.get(at as usize)?;
            let start = at;
            // A page that starts no run would mean a damaged table; stop rather than loop.
            let pages = if matches!(entry.tag, Tag::Free | Tag::Live) { entry.pages } else { return None };
            at += pages;
            Some((start, pages, Extents::live_at(table, start).map(|(_, block)| block)))
        })
    }

    /// The run that a page lies in; `starts` has the bits of pages that begin one.
    pub(crate) fn run_at(table: &[Entry], starts: &[u64], page: Page) -> Option<(Page, u32, Option<Block>)> {
        let start = dirty::last(starts, page as usize)? as Page;
        Extents::runs_from(table, start).next().filter(|(start, pages, _)| page - start < *pages)
    }

    /// The free run after `run` in the order of sizes, as far as the lists tell these apart, with its pages; the largest after none.
    pub(crate) fn next_smaller(&self, table: &[Entry], run: Option<Page>) -> Option<(Page, u32)> {
        let (next, lists) = run.map_or((NONE, FIRST_LEVEL * SECOND_LEVEL), |run| {
            let Entry { pages, next_or_id: next, .. } = table[run as usize];
            let (first, second) = list_of(pages);
            (next, first * SECOND_LEVEL + second)
        });
        let heads = || (0..lists).rev().map(|list| self.heads[list / SECOND_LEVEL][list % SECOND_LEVEL]);
        let found = Some(next).filter(|next| *next != NONE).or_else(|| heads().find(|head| *head != NONE))?;
        Some((found, table[found as usize].pages))
    }

    fn find(&self, table: &[Entry], pages: u32, wanted: u32, alignment: u32, phase: u32) -> Option<Page> {
        let fits = |run: Page| {
            let room = table[run as usize].pages;
            skip_to(run, alignment, phase).checked_add(pages).is_some_and(|needed| room >= needed)
        };
        // The run's own list may hold one that fits exactly: recycled blocks of equal sizes live there.
        let (first, second) = list_of(pages);
        let mut run = self.heads[first][second];
        for _ in 0..EXACT_LIST_LOOKS {
            if run == NONE {
                break;
            }
            if fits(run) {
                return Some(run);
            }
            run = table[run as usize].next_or_id;
        }
        let (mut first, second) = list_that_fits(wanted);
        let mut lists = self.second_level.get(first)? & (u8::MAX << second);
        if lists == 0 {
            let above = self.first_level & u32::MAX.checked_shl(first as u32 + 1).unwrap_or(0);
            if above == 0 {
                return None;
            }
            first = above.trailing_zeros() as usize;
            lists = self.second_level[first];
        }
        Some(self.heads[first][lists.trailing_zeros() as usize])
    }

    fn insert(&mut self, table: &mut Runs<'_>, start: Page, pages: u32) {
        let (first, second) = list_of(pages);
        let head = self.heads[first][second];
        if head != NONE {
            table[head as usize].previous_or_altered = start;
        }
        if pages > 1 {
            table[(start + pages - 1) as usize] = Entry { pages, tag: Tag::FreeTail, ..Entry::default() };
        }
        table.starts.set(start, 1, true);
        table[start as usize] =
            Entry { pages, tag: Tag::Free, next_or_id: head, previous_or_altered: NONE, ..Entry::default() };
        self.heads[first][second] = start;
        self.first_level |= 1 << first;
        self.second_level[first] |= 1 << second;
    }

    fn remove(&mut self, table: &mut Runs<'_>, start: Page) {
        let Entry { pages, next_or_id: next, previous_or_altered: previous, .. } = table[start as usize];
        let (first, second) = list_of(pages);
        if next != NONE {
            table[next as usize].previous_or_altered = previous;
        }
        if previous != NONE {
            table[previous as usize].next_or_id = next;
        } else {
            self.heads[first][second] = next;
            if next == NONE {
                self.second_level[first] &= !(1 << second);
                if self.second_level[first] == 0 {
                    self.first_level &= !(1 << first);
                }
            }
        }
        table.starts.set(start, 1, false);
        table[(start + pages - 1) as usize] = Entry::default();
        table[start as usize] = Entry::default();
    }
}

/// Pages to leave out at the front of a run for the alignment.
fn skip_to(run: Page, alignment: u32, phase: u32) -> u32 {
    let over = (run.wrapping_add(phase)) % alignment;
    if over == 0 { 0 } else { alignment - over }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::iter::successors;
    use std::collections::{BTreeMap, BTreeSet};
    use std::vec;
    use std::vec::Vec;

    /// A table of so many pages, none of which is in a run.
    fn table(pages: usize) -> (Vec<Entry>, Vec<u64>) {
        (vec![Entry::default(); pages], vec![0; dirty::words(pages)])
    }

    fn block(id: u32) -> Block {
        Block { id, bytes: 1, offset: 16, fallback: None, altered: id % 2 == 1 }
    }

    /// The runs tile the table, no two free runs touch, the live ones are those of the model, and the lists have the free ones, those
    /// of larger lists first.
    fn check(extents: &Extents, table: &Runs<'_>, live: &BTreeMap<Page, (u32, u32)>) {
        let mut at = 0;
        let mut was_free = false;
        let mut seen = 0;
        let mut free = Vec::new();
        let first = extents.next_smaller(table, None);
        let listed = successors(first, |(run, _)| extents.next_smaller(table, Some(*run)));
        let listed: Vec<(Page, u32)> = listed.collect();
        assert!(listed.is_sorted_by(|before, after| list_of(before.1) >= list_of(after.1)));
        for (start, pages, block) in Extents::runs(table) {
            assert_eq!(start, at);
            match block {
                Some(block) => {
                    assert_eq!(live.get(&start), Some(&(pages, block.id)));
                    seen += 1;
                }
                None => {
                    assert!(!was_free, "free neighbours at {start} are not merged");
                    free.push((start, pages));
                }
            }
            for page in [start, start + pages / 2, start + pages - 1] {
                assert_eq!(Extents::run_at(table, table.starts.0, page), Some((start, pages, block)));
            }
            was_free = block.is_none();
            at += pages;
        }
        assert_eq!(at as usize, table.len());
        assert_eq!(Extents::run_at(table, table.starts.0, at), None);
        assert_eq!(seen, live.len());
        let sorted: BTreeSet<(Page, u32)> = listed.iter().copied().collect();
        assert_eq!((sorted, listed.len()), (free.iter().copied().collect(), free.len()));
    }

    #[test]
    fn a_freed_run_is_found_again_and_neighbours_merge() {
        let (mut entries, mut starts) = table(1000);
        let mut table = Runs { entries: &mut entries, starts: Dirty(&mut starts) };
        let mut extents = Extents::new();
        let pages = table.len() as u32;
        extents.give_back(&mut table, 0, pages);
        let first = extents.take(&mut table, 100, 1, 0).unwrap();
        extents.set_live(&mut table, first, 100, block(1));
        let second = extents.take(&mut table, 100, 1, 0).unwrap();
        extents.set_live(&mut table, second, 100, block(2));
        assert_eq!((first, second), (0, 100));
        assert_eq!(extents.give_back(&mut table, first, 100), (0, 100));
        assert_eq!(extents.take(&mut table, 100, 1, 0), Some(0), "the exact run is preferred");
        assert_eq!(extents.give_back(&mut table, 0, 100), (0, 100));
        assert_eq!(extents.give_back(&mut table, 100, 100), (0, 1000));
        assert_eq!(extents.take(&mut table, 1001, 1, 0), None);
        assert_eq!(extents.take(&mut table, 1000, 1, 0), Some(0));
    }

    #[test]
    fn a_run_is_found_from_its_pages_and_not_from_the_first() {
        let (mut entries, mut starts) = table(10_000);
        let mut table = Runs { entries: &mut entries, starts: Dirty(&mut starts) };
        let mut extents = Extents::new();
        let pages = table.len() as u32;
        extents.give_back(&mut table, 0, pages);
        for (id, start) in (1..).zip([0, 1000, 2000]) {
            assert_eq!(extents.take(&mut table, 1000, 1, 0), Some(start));
            extents.set_live(&mut table, start, 1000, block(id));
        }
        // Whoever came by here would go no further.
        table[1000] = Entry::default();
        assert_eq!(Extents::run_at(&table, table.starts.0, 9999), Some((3000, 7000, None)));
        assert_eq!(Extents::run_at(&table, table.starts.0, 2700), Some((2000, 1000, Some(block(3)))));
        assert_eq!(Extents::run_at(&table, table.starts.0, 3000), Some((3000, 7000, None)));
    }

    #[test]
    fn a_reason_survives_the_table() {
        let (mut entries, mut starts) = table(8);
        let mut table = Runs { entries: &mut entries, starts: Dirty(&mut starts) };
        let mut extents = Extents::new();
        let pages = table.len() as u32;
        extents.give_back(&mut table, 0, pages);
        let start = extents.take(&mut table, 3, 1, 0).unwrap();
        for fallback in Reason::ALL.map(Some).into_iter().chain([None]) {
            let block = Block { fallback, ..block(7) };
            extents.set_live(&mut table, start, 3, block);
            assert_eq!(Extents::live_at(&table, start), Some((3, block)));
        }
    }

    #[test]
    fn random_traffic_keeps_the_table_whole() {
        // A linear congruential generator (Knuth's MMIX constants): the same traffic at every run.
        let mut state = 42_u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) as u32) % below
        };
        let (mut entries, mut starts) = table(20_000);
        let mut table = Runs { entries: &mut entries, starts: Dirty(&mut starts) };
        let mut extents = Extents::new();
        let pages = table.len() as u32;
        extents.give_back(&mut table, 0, pages);
        let mut live: BTreeMap<Page, (u32, u32)> = BTreeMap::new();
        for step in 0..4_000 {
            let keys: Vec<Page> = live.keys().copied().collect();
            match random(8) {
                0..=3 => {
                    let pages = 1 + random(if step % 7 == 0 { 3000 } else { 90 });
                    let alignment = 1 << random(10);
                    let phase = random(alignment);
                    if let Some(start) = extents.take(&mut table, pages, alignment, phase) {
                        assert_eq!((start + phase) % alignment, 0);
                        extents.set_live(&mut table, start, pages, block(step));
                        live.insert(start, (pages, step));
                    }
                }
                4..=6 if !keys.is_empty() => {
                    let start = keys[random(keys.len() as u32) as usize];
                    let (pages, _) = live.remove(&start).unwrap();
                    extents.give_back(&mut table, start, pages);
                }
                _ if !keys.is_empty() => {
                    let start = keys[random(keys.len() as u32) as usize];
                    let (pages, id) = live[&start];
                    let extra = 1 + random(50);
                    if extents.extend(&mut table, start + pages, extra) {
                        extents.set_live(&mut table, start, pages + extra, block(id));
                        live.insert(start, (pages + extra, id));
                    }
                }
                _ => {}
            }
            if step % 16 == 0 {
                check(&extents, &table, &live);
            }
        }
        for (start, (pages, _)) in live {
            extents.give_back(&mut table, start, pages);
        }
        check(&extents, &table, &BTreeMap::new());
        assert_eq!(Extents::runs(&table).count(), 1);
    }
}
