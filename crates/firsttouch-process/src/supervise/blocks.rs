//! Which blocks of another process are worth a huge page, and how much memory it may be given that it has not written.

use firsttouch_linux::pagemap::{PageEntry, Pagemap};
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::{Reason, Room};
use std::ffi::CString;
use std::io;
use std::ops::Range;

const PAGES_PER_BLOCK: usize = (PMD_BYTES / Pagemap::PAGE_BYTES) as usize;
/// A block is worth a huge page from this share of its pages on that are the program's alone. With fewer, the program would be given
/// more memory than it has written: MADV_COLLAPSE does not heed khugepaged's limits, for pages that are not there, pages of
/// zeros, and pages shared with a child alike.
const ENOUGH_PAGES: usize = PAGES_PER_BLOCK / 2;
/// The same in bytes.
const ENOUGH_BYTES: u64 = ENOUGH_PAGES as u64 * Pagemap::PAGE_BYTES;
/// Pagemap entries read at a time: 64 blocks.
const PAGES_PER_READ: usize = 64 * PAGES_PER_BLOCK;

/// Whole blocks, one after another, that are worth collapsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Their addresses.
    pub range: Range<u64>,
    /// Bytes of them that are not the program's alone yet: collapsing gives it these.
    pub absent_bytes: u64,
    /// Bytes of them, at most, that the kernel may take back without writing them anywhere (`MADV_FREE`): collapsing ends that.
    pub lazy_free_bytes: u64,
    /// Of each at least so many bytes are the program's alone.
    own_bytes: u64,
}

impl Blocks {
    /// A range of them as it is now: since they were chosen the program may have forked, and collapsing copies what a child has as well.
    pub fn as_now(
        &self,
        range: Range<u64>,
        entries: impl Fn(u64, usize) -> io::Result<Vec<PageEntry>>,
    ) -> io::Result<Blocks> {
        let pages = ((range.end - range.start) / Pagemap::PAGE_BYTES) as usize;
        let own = entries(range.start, pages)?.iter().filter(|page| page.is_written_in_place()).count();
        let absent_bytes = (pages - own) as u64 * Pagemap::PAGE_BYTES;
        Ok(Blocks { range, absent_bytes, lazy_free_bytes: self.lazy_free_bytes, own_bytes: 0 })
    }

    /// By how much collapsing so many bytes of them makes what the process holds grow, at most.
    fn growth(&self, bytes: u64) -> u64 {
        self.absent_bytes.min(bytes - bytes / PMD_BYTES * self.own_bytes) + self.lazy_free_bytes.min(bytes)
    }
}

/// Whether a mapping may have blocks that are worth a huge page, by the sizes of its parts on base pages and of what the program has given
/// up by `MADV_FREE`: not where less is on base pages than makes one block worth it, nor where most of that was given up.
pub fn may_have_blocks(small_bytes: u64, lazy_free_bytes: u64) -> bool {
    small_bytes >= ENOUGH_BYTES && lazy_free_bytes <= small_bytes / 2
}

/// The runs of whole blocks in a range that are worth collapsing: mostly the program's own already, and nothing of them in swap.
/// `lazy_free_bytes` are those of the range that the program has given up by `MADV_FREE`: nobody tells which. Of `shared` memory
/// all pages have to be there: others would take room in its file system, which the program may have counted on. `entries` reads
/// the pagemap.
pub fn whole_blocks(
    range: Range<u64>,
    lazy_free_bytes: u64,
    shared: bool,
    entries: impl Fn(u64, usize) -> io::Result<Vec<PageEntry>>,
) -> io::Result<Vec<Blocks>> {
    let mut runs: Vec<Blocks> = Vec::new();
    let mut at = range.start.next_multiple_of(PMD_BYTES);
    let end = range.end - range.end % PMD_BYTES;
    while at < end {
        let pages = (((end - at) / Pagemap::PAGE_BYTES) as usize).min(PAGES_PER_READ);
        let read = entries(at, pages)?;
        let blocks = read.chunks_exact(PAGES_PER_BLOCK);
        if blocks.len() == 0 {
            break;
        }
        for block in blocks {
            if let Some(absent_bytes) =
                absent_if_worth_it(block, if shared { PAGES_PER_BLOCK } else { ENOUGH_PAGES })
            {
                match runs.last_mut() {
                    Some(run) if run.range.end == at => {
                        run.range.end = at + PMD_BYTES;
                        run.absent_bytes += absent_bytes;
                    }
                    _ => {
                        let range = at..at + PMD_BYTES;
                        runs.push(Blocks { range, absent_bytes, lazy_free_bytes, own_bytes: ENOUGH_BYTES });
                    }
                }
            }
            at += PMD_BYTES;
        }
    }
    Ok(runs)
}

/// Bytes of a block that are not the program's own, if so many pages are, and nothing would have to be fetched from swap.
fn absent_if_worth_it(block: &[PageEntry], enough_pages: usize) -> Option<u64> {
    let own = block.iter().filter(|page| page.is_written_in_place()).count();
    let is_worth_it = own >= enough_pages && !block.iter().any(|page| page.swapped());
    is_worth_it.then(|| (block.len() - own) as u64 * Pagemap::PAGE_BYTES)
}

/// Memory that a process may be given by collapsing: half of what its control groups and the machine had left for it when it
/// was most. The rest is the program's own to use.
#[derive(Debug)]
pub struct GrowthLimit {
    cgroup_file: CString,
    kept_bytes: u64,
}

impl GrowthLimit {
    /// That of a process.
    pub fn new(pid: u32) -> GrowthLimit {
        let cgroup_file = CString::new(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        GrowthLimit { cgroup_file, kept_bytes: 0 }
    }

    /// How many of the next `bytes` of blocks can be collapsed, in whole blocks. If none, what keeps the process from having more.
    pub fn fitting(&mut self, blocks: &Blocks, bytes: u64) -> Result<u64, Reason> {
        if blocks.growth(bytes) == 0 {
            return Ok(bytes);
        }
        let Some(room) = Room::read(&self.cgroup_file, usize::MAX) else { return Ok(bytes) };
        self.fitting_in(room.bytes as u64, blocks, bytes).ok_or(if room.is_of_group {
            Reason::CgroupLimit
        } else {
            Reason::NoContiguousMemory
        })
    }

    fn fitting_in(&mut self, room_bytes: u64, blocks: &Blocks, mut bytes: u64) -> Option<u64> {
        self.kept_bytes = self.kept_bytes.max(room_bytes / 2);
        // The kernel has the huge page before it gives up those that are copied into it.
        let most = room_bytes.saturating_sub(self.kept_bytes).saturating_sub(PMD_BYTES);
        while blocks.growth(bytes) > most {
            bytes = bytes / 2 / PMD_BYTES * PMD_BYTES;
        }
        (bytes > 0).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORKED: u64 = 1 << 63;
    const PRESENT: u64 = FORKED | 1 << 56;
    const OF_A_FILE: u64 = FORKED | 1 << 61;
    const SWAPPED: u64 = 1 << 62;

    /// A pagemap in which block number `n` has `present[n]` pages.
    fn pagemap(present: Vec<usize>, word: u64) -> impl Fn(u64, usize) -> io::Result<Vec<PageEntry>> {
        move |start, pages| {
            let first = (start / Pagemap::PAGE_BYTES) as usize;
            Ok((first..first + pages)
                .map(|page| {
                    let there = present.get(page / PAGES_PER_BLOCK).copied().unwrap_or(0);
                    PageEntry::from_raw(if page % PAGES_PER_BLOCK < there { word } else { 0 })
                })
                .collect())
        }
    }

    #[test]
    fn blocks_that_are_mostly_there_are_joined_to_runs() {
        let present = pagemap(vec![512, 512, 256, 255, 0, 512, 512], PRESENT);
        // The range begins inside block 0 and ends inside block 6.
        let runs = whole_blocks(4096..6 * PMD_BYTES + 4096, 0, false, &present).unwrap();
        let found: Vec<_> = runs.into_iter().map(|run| (run.range, run.absent_bytes)).collect();
        assert_eq!(found, [(PMD_BYTES..3 * PMD_BYTES, 1 << 20), (5 * PMD_BYTES..6 * PMD_BYTES, 0)]);
        let shared = whole_blocks(0..7 * PMD_BYTES, 0, true, &present).unwrap();
        let found: Vec<_> = shared.into_iter().map(|run| (run.range, run.absent_bytes)).collect();
        assert_eq!(found, [(0..2 * PMD_BYTES, 0), (5 * PMD_BYTES..7 * PMD_BYTES, 0)]);
        let of_one =
            |range, present, word| whole_blocks(range, 0, false, pagemap(vec![present], word)).unwrap();
        assert_eq!(of_one(0..PMD_BYTES, 512, SWAPPED), []);
        assert_eq!(of_one(4096..8192, 512, PRESENT), []);
        assert_eq!(of_one(0..PMD_BYTES, 512, FORKED), []);
        assert_eq!(of_one(0..PMD_BYTES, 512, OF_A_FILE).len(), 1);
        // What was the program's alone, and has been forked since.
        let blocks = whole_blocks(0..2 * PMD_BYTES, 0, false, &present).unwrap().remove(0);
        let growth = |word| {
            blocks.as_now(PMD_BYTES..2 * PMD_BYTES, pagemap(vec![512; 2], word)).unwrap().growth(PMD_BYTES)
        };
        assert_eq!((blocks.growth(PMD_BYTES), growth(PRESENT), growth(FORKED)), (0, 0, PMD_BYTES));
    }

    #[test]
    fn half_of_the_most_room_is_left_to_the_program() {
        const MIB: u64 = 1 << 20;
        let blocks = |absent_bytes, lazy_free_bytes| Blocks {
            range: 0..64 * MIB,
            absent_bytes,
            lazy_free_bytes,
            own_bytes: ENOUGH_BYTES,
        };
        let mut limit = GrowthLimit::new(1);
        // Of each block at least half is there.
        let mut fitting = |room: u64, blocks: &Blocks| {
            limit.fitting_in(room * MIB, blocks, 64 * MIB).map(|bytes| bytes / MIB)
        };
        assert_eq!(fitting(100, &blocks(40 * MIB, 0)), Some(64));
        assert_eq!(fitting(70, &blocks(40 * MIB, 0)), Some(32));
        assert_eq!(fitting(70, &blocks(4096, 0)), Some(64));
        assert_eq!(fitting(70, &blocks(0, 20 * MIB)), Some(16));
        assert_eq!((fitting(52, &blocks(4096, 0)), fitting(0, &blocks(4096, 0))), (None, None));
    }

    proptest! {
        #[test]
        fn runs_are_whole_blocks_inside_the_range(
            start in 0u64..1 << 30,
            bytes in 0u64..1 << 28,
            present in proptest::collection::vec(0usize..513, 0..640),
        ) {
            let runs = whole_blocks(start..start + bytes, 0, false, pagemap(present, PRESENT)).unwrap();
            for Blocks { range, absent_bytes, .. } in runs {
                prop_assert!(range.start >= start && range.end <= start + bytes);
                prop_assert_eq!(range.start % PMD_BYTES + range.end % PMD_BYTES, 0);
                prop_assert!(absent_bytes * 2 <= range.end - range.start);
            }
        }
    }
}
