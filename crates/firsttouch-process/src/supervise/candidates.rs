//! Which memory of another process is worth collapsing. Pure: everything read comes in as values.

use super::pass::{Pass, SuperviseRange};
use firsttouch_linux::maps::{Backing, Mapping};
use firsttouch_linux::process::{PageEntry, Pagemap};
use firsttouch_linux::smaps::{PMD_BYTES, Region};
use firsttouch_memory::Reason;
use std::io;
use std::ops::Range;

/// A mapping that could get more huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) rss_bytes: u64,
    pub(super) huge_bytes: u64,
}

/// A stack of a thread has a guard of no access right below it; the C library does not name it.
const LARGEST_GUARD: u64 = 1 << 20;
const DEFAULT_STACK: u64 = 8 << 20;
const PAGES_PER_BLOCK: usize = (PMD_BYTES / Pagemap::PAGE_BYTES) as usize;
/// A block is worth a huge page from this share of its pages on that are the program's alone. With fewer, the program would be given
/// more memory than it has written: MADV_COLLAPSE does not heed khugepaged's limits, for pages that are not there, pages of
/// zeros, and pages shared with a child alike.
const ENOUGH_PAGES: usize = PAGES_PER_BLOCK / 2;
/// Pagemap entries read at a time: 64 blocks.
const PAGES_PER_READ: usize = 64 * PAGES_PER_BLOCK;

/// Whether a mapping, with the one right `below` it, is private memory that a program fills itself: no file, nothing of the
/// kernel's, and no stack of a thread.
pub fn is_plain(mapping: &Mapping, below: Option<&Mapping>) -> bool {
    let plain = mapping.backing() == Backing::Anonymous && mapping.write && mapping.read && !mapping.shared;
    plain && !is_thread_stack(mapping, below)
}

/// Whether a mapping looks like the stack of a thread: not large, with a guard of no access right below it.
pub fn is_thread_stack(mapping: &Mapping, below: Option<&Mapping>) -> bool {
    let guarded = below.is_some_and(|below| {
        below.end == mapping.start && below.is_inaccessible() && below.bytes() <= LARGEST_GUARD
    });
    guarded && mapping.bytes() <= DEFAULT_STACK
}

/// Whether the kernel treats a mapping in a way of its own: it grows down, or is hugetlb, device memory, mixed, or under a
/// userfaultfd, whose pages must not be touched from outside.
pub fn is_special(region: &Region) -> bool {
    ["gd", "ht", "io", "pf", "mm", "um", "uw", "ui"].iter().any(|flag| region.has_flag(flag))
}

/// The mappings that could get more huge pages, and a pass with the figures of those in the range.
pub(super) fn candidates(regions: &[Region], range: SuperviseRange) -> (Vec<Candidate>, Pass) {
    let mut pass = Pass::default();
    let mut candidates = Vec::new();
    for (index, region) in regions.iter().enumerate() {
        let mapping = &region.mapping;
        let below = index.checked_sub(1).map(|index| &regions[index].mapping);
        let sized =
            mapping.bytes() >= range.min_size && range.max_size.is_none_or(|max| mapping.bytes() <= max);
        if !sized || !is_plain(mapping, below) || is_special(region) {
            continue;
        }
        let rss_bytes = region.figures.rss.unwrap_or(0);
        let huge_bytes = region.figures.anon_huge_pages.unwrap_or(0);
        pass.eligible_bytes += rss_bytes;
        pass.huge_before_bytes += huge_bytes;
        let small_bytes = rss_bytes.saturating_sub(huge_bytes);
        if region.has_flag("nh") {
            if small_bytes > 0 {
                *pass.refused.entry(Reason::NohugepageVma).or_insert(0) += small_bytes;
            }
            continue;
        }
        // Nothing to gain where less than what makes one block worth it is on base pages.
        if small_bytes >= ENOUGH_PAGES as u64 * Pagemap::PAGE_BYTES {
            candidates.push(Candidate { start: mapping.start, end: mapping.end, rss_bytes, huge_bytes });
        }
    }
    (candidates, pass)
}

/// The runs of whole blocks in a range that are worth collapsing: mostly the program's own already, and nothing of them in swap.
/// `entries` reads the pagemap.
pub fn whole_blocks(
    start: u64,
    end: u64,
    entries: impl Fn(u64, usize) -> io::Result<Vec<PageEntry>>,
) -> io::Result<Vec<Range<u64>>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    let mut at = start.next_multiple_of(PMD_BYTES);
    let end = end - end % PMD_BYTES;
    while at < end {
        let pages = (((end - at) / Pagemap::PAGE_BYTES) as usize).min(PAGES_PER_READ);
        let read = entries(at, pages)?;
        let blocks = read.chunks_exact(PAGES_PER_BLOCK);
        if blocks.len() == 0 {
            break;
        }
        for block in blocks {
            if worth_it(block) {
                match runs.last_mut() {
                    Some(run) if run.end == at => run.end = at + PMD_BYTES,
                    _ => runs.push(at..at + PMD_BYTES),
                }
            }
            at += PMD_BYTES;
        }
    }
    Ok(runs)
}

/// Mostly the program's own, and nothing that would have to be fetched from swap.
fn worth_it(block: &[PageEntry]) -> bool {
    let own = block.iter().filter(|page| page.is_written_in_place()).count();
    own >= ENOUGH_PAGES && !block.iter().any(|page| page.swapped())
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::smaps::parse_smaps;
    use proptest::prelude::*;

    const ALL: SuperviseRange = SuperviseRange { min_size: 0, max_size: None };
    const FORKED: u64 = 1 << 63;
    const PRESENT: u64 = FORKED | 1 << 56;
    const OF_A_FILE: u64 = FORKED | 1 << 61;
    const SWAPPED: u64 = 1 << 62;

    fn region(line: &str, rss_kib: u64, huge_kib: u64, flags: &str) -> String {
        format!("{line}\nRss: {rss_kib} kB\nAnonHugePages: {huge_kib} kB\nVmFlags: {flags}\n")
    }

    fn starts(text: &str, range: SuperviseRange) -> Vec<u64> {
        candidates(&parse_smaps(text).unwrap(), range).0.iter().map(|candidate| candidate.start).collect()
    }

    #[test]
    fn only_plain_memory_is_wanted() {
        let text = [
            region("10000000-20000000 rw-p 0 00:00 0 ", 65536, 0, "rd wr"),
            region("20000000-30000000 rw-p 0 00:00 0 ", 65536, 65536, "rd wr"),
            region("30000000-40000000 rw-p 0 00:00 0 ", 65536, 0, "rd wr nh"),
            region("40000000-50000000 r--p 0 00:00 0 ", 65536, 0, "rd"),
            region("50000000-60000000 rw-s 0 00:00 0 ", 65536, 0, "rd wr sh"),
            region("60000000-70000000 rw-p 0 08:01 9 /a/file", 65536, 0, "rd wr"),
            region("70000000-80000000 rw-p 0 00:00 0 [stack]", 65536, 0, "rd wr gd"),
            region("80000000-90000000 rw-p 0 00:00 0 [anon: Go: heap]", 65536, 0, "rd wr"),
            region("90000000-90001000 ---p 0 00:00 0 ", 0, 0, "mr"),
            region("90001000-90801000 rw-p 0 00:00 0 ", 8192, 0, "rd wr"),
        ]
        .concat();
        assert_eq!(starts(&text, ALL), [0x1000_0000, 0x8000_0000]);
        let (_, pass) = candidates(&parse_smaps(&text).unwrap(), ALL);
        assert_eq!(pass.eligible_bytes, 256 << 20);
        assert_eq!(pass.huge_before_bytes, 64 << 20);
        assert_eq!(pass.refused[&Reason::NohugepageVma], 64 << 20);
    }

    #[test]
    fn the_range_is_that_of_the_mappings() {
        let text = [
            region("10000000-10400000 rw-p 0 00:00 0 ", 4096, 0, ""),
            region("20000000-30000000 rw-p 0 00:00 0 ", 65536, 0, ""),
        ]
        .concat();
        assert_eq!(starts(&text, SuperviseRange { min_size: 8 << 20, max_size: None }), [0x2000_0000]);
        assert_eq!(starts(&text, SuperviseRange { min_size: 0, max_size: Some(8 << 20) }), [0x1000_0000]);
    }

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
        let runs = whole_blocks(4096, 6 * PMD_BYTES + 4096, &present).unwrap();
        assert_eq!(runs, [PMD_BYTES..3 * PMD_BYTES, 5 * PMD_BYTES..6 * PMD_BYTES]);
        let swapped = pagemap(vec![512], SWAPPED);
        assert_eq!(whole_blocks(0, PMD_BYTES, swapped).unwrap(), []);
        assert_eq!(whole_blocks(4096, 8192, pagemap(vec![512], PRESENT)).unwrap(), []);
        assert_eq!(whole_blocks(0, PMD_BYTES, pagemap(vec![512], FORKED)).unwrap(), []);
        assert_eq!(whole_blocks(0, PMD_BYTES, pagemap(vec![512], OF_A_FILE)).unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn runs_are_whole_blocks_inside_the_range(
            start in 0u64..1 << 30,
            bytes in 0u64..1 << 28,
            present in proptest::collection::vec(0usize..513, 0..640),
        ) {
            let runs = whole_blocks(start, start + bytes, pagemap(present, PRESENT)).unwrap();
            for run in runs {
                prop_assert!(run.start >= start && run.end <= start + bytes);
                prop_assert_eq!(run.start % PMD_BYTES + run.end % PMD_BYTES, 0);
            }
        }
    }
}
