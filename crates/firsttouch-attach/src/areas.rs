//! Which mappings of a process are worked on, and in which order. Pure: the readings come in as values.

use crate::survey::Seen;
use firsttouch_linux::maps::{Backing, Mapping};
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::Reason;
use firsttouch_process::{is_plain, is_thread_stack, may_have_blocks};
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
    /// Of these, given up by the program (`MADV_FREE`); `None` if nobody says.
    pub(crate) lazy_free_bytes: Option<u64>,
    /// Of these, used since somebody last cleared the accessed bits; `None` if nobody says.
    pub(crate) referenced_bytes: Option<u64>,
    /// It can be collapsed: private memory that the program fills itself, read and written; or such memory that processes
    /// share.
    pub(crate) collapsible: bool,
    /// It is memory that processes share, as files in memory are.
    pub(crate) shared: bool,
    /// It could be collapsed, if its address had the same place in a huge page as its bytes have in what is shared.
    pub(crate) displaced: bool,
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

/// The mappings of a process, by what is done with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    /// Those that are worked on, the most worthwhile first.
    pub(crate) worked_on: Vec<Area>,
    /// Bytes on base pages of the program's own memory that is not collapsed, and why.
    pub(crate) left: Vec<(Reason, u64)>,
    /// First addresses of mappings whose pages stay on their nodes, and why.
    pub(crate) not_moved: Vec<(u64, Reason)>,
}

impl Areas {
    /// Stacks, guards, what the kernel treats in a way of its own and, unless asked for, files are not worked on.
    pub(crate) fn of(seen: &[Seen], files: bool) -> Areas {
        let mut areas = Areas::default();
        for (index, one) in seen.iter().enumerate() {
            let mapping = &one.mapping;
            let below = index.checked_sub(1).map(|index| &seen[index].mapping);
            let (is_wanted, is_stack) = match mapping.backing() {
                Backing::Anonymous => (true, is_thread_stack(mapping, below)),
                Backing::Stack => (true, true),
                Backing::File => (files, false),
                Backing::Kernel => (false, false),
            };
            let not_moved = why_not_moved(one, is_stack);
            areas.not_moved.extend(not_moved.map(|reason| (mapping.start, reason)));
            if !is_wanted || one.resident_bytes == 0 {
                continue;
            }
            let shares = mapping.is_shared_memory() && mapping.shared && mapping.read && mapping.write;
            let is_own = shares || mapping.backing() != Backing::File;
            let reason = if is_own { why_left(one, is_stack) } else { None };
            if let Some(reason) = reason {
                // What is too little for a block would not be collapsed elsewhere, either.
                let small_bytes = one.resident_bytes.saturating_sub(one.huge_bytes);
                let reason = if may_have_blocks(small_bytes, 0) { reason } else { Reason::NoWholeBlock };
                areas.left.push((reason, small_bytes));
            }
            if not_moved.is_some() {
                continue;
            }
            let displaced = shares && mapping.start.wrapping_sub(mapping.offset) % PMD_BYTES != 0;
            areas.worked_on.push(Area {
                start: mapping.start,
                end: mapping.end,
                resident_bytes: one.resident_bytes,
                huge_bytes: one.huge_bytes,
                lazy_free_bytes: one.lazy_free_bytes,
                referenced_bytes: one.referenced_bytes,
                shared: shares,
                collapsible: reason.is_none() && (is_plain(mapping, below) || shares && !displaced),
                displaced: displaced && reason.is_none(),
            });
        }
        sort_by_key(&mut areas.worked_on, |area| (Reverse(area.worth()), area.start));
        areas
    }
}

/// Why memory that the program fills is not collapsed.
fn why_left(one: &Seen, is_stack: bool) -> Option<Reason> {
    let Mapping { read, write, .. } = one.mapping;
    if one.watched {
        Some(Reason::Userfaultfd)
    } else if is_stack {
        Some(Reason::Stack)
    } else if one.special {
        None
    } else if one.forbidden {
        Some(Reason::NohugepageVma)
    } else {
        (!read || !write).then_some(Reason::NotWritable)
    }
}

/// Why a mapping is not worked on, whatever is asked.
fn why_not_moved(one: &Seen, is_stack: bool) -> Option<Reason> {
    if one.watched {
        Some(Reason::Userfaultfd)
    } else if is_stack {
        Some(Reason::Stack)
    } else if one.special {
        Some(Reason::SpecialMapping)
    } else {
        one.mapping.is_inaccessible().then_some(Reason::NotWritable)
    }
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
            region("b0000000-b0001000 r--p 0 00:00 0 [vvar]", 4, 4, "rd pf io"),
        ]
        .concat();
        let seen: Vec<Seen> = parse_smaps(&text).unwrap().into_iter().map(Seen::from).collect();
        let Areas { worked_on: areas, left, not_moved } = Areas::of(&seen, false);
        let starts: Vec<u64> = areas.iter().map(|area| area.start).collect();
        assert_eq!(starts, [0x2000_0000, 0x3000_0000, 0xa000_0000, 0x1000_0000]);
        let with_files = Areas::of(&seen, true).worked_on;
        let fits = |start| {
            with_files.iter().find(|area| area.start == start).map(|area| (area.collapsible, area.displaced))
        };
        assert_eq!(fits(0x5000_0000), Some((true, false)));
        assert_eq!(fits(0x6000_1000), Some((false, true)));
        assert!(areas[0].collapsible && !areas[1].collapsible && !areas[2].collapsible);
        let reasons = [
            (Reason::NohugepageVma, 4096 << 10),
            (Reason::Stack, 65536 << 10),
            (Reason::Stack, 8192 << 10),
            (Reason::NoWholeBlock, 4 << 10),
        ];
        assert_eq!(left, reasons);
        let reasons = [
            (0x7000_0000, Reason::Stack),
            (0x9000_0000, Reason::NotWritable),
            (0x9000_1000, Reason::Stack),
            (0xb000_0000, Reason::SpecialMapping),
        ];
        assert_eq!(not_moved, reasons);
    }

    #[test]
    fn what_is_left_has_its_reason() {
        let reason = |line: &str, flags: &str| {
            let seen = parse_smaps(&region(line, 2048, 0, flags)).unwrap().into_iter().map(Seen::from);
            let Areas { worked_on, left, .. } = Areas::of(&seen.collect::<Vec<_>>(), false);
            assert!(worked_on.iter().all(|area| area.collapsible == left.is_empty()));
            left.first().copied()
        };
        let own = "10000000-20000000 rw-p 0 00:00 0 ";
        assert_eq!(reason(own, "rd wr"), None);
        assert_eq!(reason(own, "rd wr gd"), None, "what grows down is as any other");
        assert_eq!(reason(own, "rd wr um"), Some((Reason::Userfaultfd, 2048 << 10)));
        for line in ["10000000-20000000 r--p 0 00:00 0 ", "10000000-20000000 ---p 0 00:00 0 "] {
            assert_eq!(reason(line, "mr"), Some((Reason::NotWritable, 2048 << 10)));
        }
        for line in ["10000000-20000000 rw-p 0 08:01 9 /a/file", "10000000-20000000 r--p 0 00:00 0 [vvar]"] {
            assert_eq!(reason(line, "rd"), None, "nobody asked for it");
        }
        let behind_guard = region("10000000-10001000 ---p 0 00:00 0 ", 0, 0, "mr")
            + &region("10001000-10801000 rw-s 1000 00:01 7 /dev/zero (deleted)", 8192, 0, "rd wr sh");
        let seen: Vec<Seen> = parse_smaps(&behind_guard).unwrap().into_iter().map(Seen::from).collect();
        let Areas { worked_on, left, .. } = Areas::of(&seen, true);
        assert!(worked_on[0].collapsible && left.is_empty(), "what processes share is no stack");
    }
}
