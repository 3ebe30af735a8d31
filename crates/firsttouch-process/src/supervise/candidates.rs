//! Which memory of another process is worth collapsing. Pure: everything read comes in as values.

use super::blocks::may_have_blocks;
use super::pass::{Pass, SuperviseRange};
use firsttouch_linux::maps::{Backing, Mapping};
use firsttouch_linux::smaps::Region;
use firsttouch_memory::Reason;

/// A mapping that could get more huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) rss_bytes: u64,
    pub(super) huge_bytes: u64,
    pub(super) lazy_free_bytes: u64,
}

/// A stack of a thread has a guard of no access right below it; the C library does not name it.
const LARGEST_GUARD: u64 = 1 << 20;
const DEFAULT_STACK: u64 = 8 << 20;

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

/// Whether a mapping is under a userfaultfd: its pages must not be touched from outside.
pub fn is_watched(region: &Region) -> bool {
    ["um", "uw", "ui"].iter().any(|flag| region.has_flag(flag))
}

/// Whether the kernel treats a mapping in a way of its own: it is hugetlb, device memory, mixed, or under a userfaultfd.
pub fn is_special(region: &Region) -> bool {
    ["ht", "io", "pf", "mm"].iter().any(|flag| region.has_flag(flag)) || is_watched(region)
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
        let lazy_free_bytes = region.figures.lazy_free.unwrap_or(0);
        if may_have_blocks(small_bytes, lazy_free_bytes) {
            candidates.push(Candidate {
                start: mapping.start,
                end: mapping.end,
                rss_bytes,
                huge_bytes,
                lazy_free_bytes,
            });
        }
    }
    (candidates, pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::smaps::parse_smaps;

    const ALL: SuperviseRange = SuperviseRange { min_size: 0, max_size: None };

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

    #[test]
    fn what_the_program_has_given_up_is_not_wanted() {
        let given_up = |kib: u64| {
            region("10000000-20000000 rw-p 0 00:00 0 ", 65536, 0, "rd wr") + &format!("LazyFree: {kib} kB\n")
        };
        assert_eq!(starts(&given_up(32768), ALL), [0x1000_0000]);
        assert!(starts(&given_up(32769), ALL).is_empty());
    }
}
