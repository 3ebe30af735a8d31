//! Which mappings of a process are worked on, and in which order. Pure: the readings come in as values.

use crate::survey::Seen;
use firsttouch_linux::maps::Backing;
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_process::{is_plain, is_thread_stack};
use firsttouch_sorted::sort_by_key;
use std::cmp::Reverse;

/// A mapping that is worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// First address.
    pub(crate) start: u64,
    /// First address after it.
    pub(crate) end: u64,
    /// Its bytes that are in memory.
    pub(crate) resident_bytes: u64,
    /// Of these, on huge pages.
    pub(crate) huge_bytes: u64,
    /// Of these, given up by the program (`MADV_FREE`), as far as that was read.
    pub(crate) lazy_free_bytes: u64,
    /// Of these, used since somebody last cleared the accessed bits; `None` if the kernel does not say.
    pub(crate) referenced_bytes: Option<u64>,
    /// It can be collapsed: private memory that the program fills itself, read and written; or such memory that processes
    /// share.
    pub(crate) collapsible: bool,
    /// It is memory that processes share, as files in memory are.
    pub(crate) shared: bool,
    /// It could be collapsed, if its address had the same place in a huge page as its bytes have in what is shared.
    pub(crate) displaced: bool,
    /// The program forbids huge pages here.
    pub(crate) forbidden: bool,
}

impl Area {
    /// Bytes that are not on huge pages yet.
    pub(crate) fn small_bytes(&self) -> u64 {
        self.resident_bytes.saturating_sub(self.huge_bytes)
    }

    /// What makes it worth being first: what there is to gain of memory that was used lately, then what there is at all.
    fn worth(&self) -> (u64, u64) {
        let gain = self.small_bytes();
        (gain.min(self.referenced_bytes.unwrap_or(gain)), gain)
    }
}

/// The mappings that are worked on, the most worthwhile first. Stacks of threads, guards, what the kernel treats in a way
/// of its own and, unless asked for, files are none.
pub(crate) fn areas(seen: &[Seen], files: bool) -> Vec<Area> {
    let mut areas = Vec::new();
    for (index, one) in seen.iter().enumerate() {
        let mapping = &one.mapping;
        let below = index.checked_sub(1).map(|index| &seen[index].mapping);
        let wanted = match mapping.backing() {
            Backing::Anonymous => true,
            Backing::File => files,
            Backing::Stack | Backing::Kernel => false,
        };
        let left = one.special || mapping.is_inaccessible() || is_thread_stack(mapping, below);
        if !wanted || left || one.resident_bytes == 0 {
            continue;
        }
        let shares = mapping.is_shared_memory() && mapping.shared && mapping.read && mapping.write;
        let displaced = shares && mapping.start.wrapping_sub(mapping.offset) % PMD_BYTES != 0;
        areas.push(Area {
            start: mapping.start,
            end: mapping.end,
            resident_bytes: one.resident_bytes,
            huge_bytes: one.huge_bytes,
            lazy_free_bytes: one.lazy_free_bytes,
            referenced_bytes: one.referenced_bytes,
            shared: shares,
            collapsible: is_plain(mapping, below) || shares && !displaced,
            displaced,
            forbidden: one.forbidden,
        });
    }
    sort_by_key(&mut areas, |area| (Reverse(area.worth()), area.start));
    areas
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::smaps::parse_smaps;

    fn region(line: &str, rss_kib: u64, referenced_kib: u64, flags: &str) -> String {
        format!(
            "{line}\nRss: {rss_kib} kB\nReferenced: {referenced_kib} kB\nAnonHugePages: 0 kB\nVmFlags: {flags}\n"
        )
    }

    #[test]
    fn what_was_used_lately_comes_first_and_stacks_never() {
        let text = [
            region("10000000-20000000 rw-p 0 00:00 0 ", 65536, 0, "rd wr"),
            region("20000000-30000000 rw-p 0 00:00 0 ", 32768, 32768, "rd wr"),
            region("30000000-40000000 rw-p 0 00:00 0 ", 4096, 4096, "rd wr nh"),
            region("50000000-60000000 rw-s 0 00:01 7 /dev/zero (deleted)", 65536, 0, "rd wr sh"),
            region("60001000-60401000 rw-s 0 00:01 8 /memfd:x (deleted)", 4096, 0, "rd wr sh"),
            region("70000000-80000000 rw-p 0 00:00 0 [stack]", 65536, 0, "rd wr gd"),
            region("90000000-90001000 ---p 0 00:00 0 ", 0, 0, "mr"),
            region("90001000-90801000 rw-p 0 00:00 0 ", 8192, 0, "rd wr"),
            region("a0000000-a0001000 r--p 0 00:00 0 ", 4, 4, "rd"),
            region("b0000000-b0001000 r--p 0 00:00 0 [vvar]", 4, 4, "rd"),
        ]
        .concat();
        let seen: Vec<Seen> = parse_smaps(&text).unwrap().into_iter().map(Seen::from).collect();
        let starts = || areas(&seen, false).iter().map(|area| area.start).collect::<Vec<_>>();
        assert_eq!(starts(), [0x2000_0000, 0x3000_0000, 0xa000_0000, 0x1000_0000]);
        let with_files = areas(&seen, true);
        let fits = |start| {
            with_files.iter().find(|area| area.start == start).map(|area| (area.collapsible, area.displaced))
        };
        assert_eq!(fits(0x5000_0000), Some((true, false)));
        assert_eq!(fits(0x6000_1000), Some((false, true)));
        let areas = areas(&seen, false);
        assert!(areas[1].forbidden && areas[1].collapsible && !areas[2].collapsible);
    }
}
