//! One process as procfs shows it: `status`, `stat` and which of its pages exist (`pagemap`).

use crate::maps::{process_file, read_text, unreadable};
use crate::root::Root;
use crate::smaps::kilobytes;
use crate::sys::{self, PAGE_IS_HUGE, PageRegion};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Fields of `/proc/PID/status`; `None` is a field this kernel (or this state of the process) does not print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Name of the command, cut to 15 bytes by the kernel.
    pub name: Option<String>,
    /// Largest address space so far, in bytes.
    pub vm_peak_bytes: Option<u64>,
    /// Largest resident set so far, in bytes; hugetlb pages not included.
    pub vm_hwm_bytes: Option<u64>,
    /// Resident set now, in bytes; hugetlb pages not included.
    pub vm_rss_bytes: Option<u64>,
    /// Hugetlb pages now, in bytes.
    pub hugetlb_bytes: Option<u64>,
    /// Number of threads.
    pub threads: Option<u32>,
    /// Transparent huge pages are not forbidden by `PR_SET_THP_DISABLE`.
    pub thp_enabled: Option<bool>,
    /// The process that a thread belongs to; of a process its own number.
    pub process: Option<u32>,
    /// The user that it acts as.
    pub effective_user: Option<u32>,
    /// Who traces it (a debugger, strace); 0 is nobody.
    pub tracer: Option<u32>,
    /// `R` running, `S` sleeping, `T` stopped, `t` stopped by its tracer, `Z` ended and not collected…
    pub state: Option<char>,
}

impl Status {
    /// Reads the text of a `status` file. Lines it does not know are passed over.
    pub fn parse(text: &str) -> Status {
        let mut status = Status::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match key {
                "Name" => status.name = Some(value.to_owned()),
                "VmPeak" => status.vm_peak_bytes = kilobytes(value),
                "VmHWM" => status.vm_hwm_bytes = kilobytes(value),
                "VmRSS" => status.vm_rss_bytes = kilobytes(value),
                "HugetlbPages" => status.hugetlb_bytes = kilobytes(value),
                "Threads" => status.threads = value.parse().ok(),
                "Tgid" => status.process = value.parse().ok(),
                "Uid" => status.effective_user = value.split('\t').nth(1).and_then(|id| id.parse().ok()),
                "TracerPid" => status.tracer = value.parse().ok(),
                "State" => status.state = value.chars().next(),
                "THP_enabled" => status.thp_enabled = value.parse::<u8>().ok().map(|word| word != 0),
                _ => {}
            }
        }
        status
    }

    /// The status of a process. Read below `root`.
    pub fn read(root: &Root, pid: u32) -> io::Result<Status> {
        Ok(Status::parse(&read_text(&process_file(root, pid, "status"))?))
    }

    /// Resident memory of every kind, in bytes; `None` for a process without memory (a zombie, a kernel thread).
    pub fn resident_bytes(&self) -> Option<u64> {
        Some(self.vm_rss_bytes?.saturating_add(self.hugetlb_bytes.unwrap_or(0)))
    }
}

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub pid: u32,
    /// Name of the command, cut to 15 bytes by the kernel.
    pub command: String,
    /// `R` running, `S` sleeping, `D` uninterruptible, `T` stopped, `Z` zombie…
    pub state: char,
    /// The parent process.
    pub parent: u32,
    /// The process group.
    pub group: i32,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Time in user mode, in clock ticks.
    pub user_ticks: u64,
    /// Time in the kernel, in clock ticks.
    pub system_ticks: u64,
    /// When it started, in clock ticks after boot: together with the number, the identity of a process.
    pub start_ticks: u64,
    /// It is a thread of the kernel itself, without memory of its own.
    pub kernel_thread: bool,
    /// Where its code begins and where its stack began, which an `exec` changes; 0 for readers that may not look into
    /// the process, `None` where the line ends early.
    pub image: Option<(u64, u64)>,
}

impl Stat {
    /// Reads the text of a `stat` file; `None` if it is something else.
    ///
    /// ```
    /// use firsttouch_linux::process::Stat;
    /// let text = "7 (a) (b c) S 1 7 7 0 -1 0 10 0 2 0 5 6 0 0 20 0 1 0 99 0 0";
    /// let stat = Stat::parse(text).unwrap();
    /// assert_eq!((stat.command.as_str(), stat.state, stat.start_ticks), ("a) (b c", 'S', 99));
    /// ```
    pub fn parse(text: &str) -> Option<Stat> {
        // The command may hold blanks and brackets: the last closing one ends it.
        let (head, tail) = text.rsplit_once(')')?;
        let (pid, command) = head.split_once('(')?;
        let words: Vec<&str> = tail.split_ascii_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        Some(Stat {
            pid: pid.trim().parse().ok()?,
            command: command.to_owned(),
            state: words.first()?.chars().next()?,
            parent: words.get(1)?.parse().ok()?,
            group: words.get(2)?.parse().ok()?,
            minor_faults: number(7)?,
            major_faults: number(9)?,
            user_ticks: number(11)?,
            system_ticks: number(12)?,
            start_ticks: number(19)?,
            kernel_thread: number(6)? & PF_KTHREAD != 0,
            image: number(23).zip(number(25)),
        })
    }

    /// The stat line of a process.
    pub fn read(root: &Root, pid: u32) -> io::Result<Stat> {
        Stat::of_file(&process_file(root, pid, "stat"))
    }

    /// The stat line of one thread; not found where it is no thread (any more) of this process.
    pub fn read_thread(root: &Root, pid: u32, thread: u32) -> io::Result<Stat> {
        Stat::of_file(&process_file(root, pid, &format!("task/{thread}/stat")))
    }

    fn of_file(path: &Path) -> io::Result<Stat> {
        Stat::parse(&read_text(path)?).ok_or_else(|| unreadable(path))
    }
}

/// A thread of the kernel (`include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// One entry of `pagemap`: whether the page exists. (Frame numbers are hidden from unprivileged readers and not read.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageEntry(u64);

impl PageEntry {
    /// An entry as the kernel writes it.
    pub fn from_raw(word: u64) -> PageEntry {
        PageEntry(word)
    }

    /// The page is in memory.
    pub fn present(self) -> bool {
        self.0 >> 63 & 1 == 1
    }

    /// The page is in swap.
    pub fn swapped(self) -> bool {
        self.0 >> 62 & 1 == 1
    }

    /// The page belongs to a file or is shared anonymous memory.
    pub fn file_or_shared(self) -> bool {
        self.0 >> 61 & 1 == 1
    }
}

/// `/proc/PID/pagemap`, held open. It stays with the memory the process had when it was opened: after an `exec` of the
/// process, open it again.
#[derive(Debug)]
pub struct Pagemap {
    file: File,
}

impl Pagemap {
    /// Bytes of memory that one entry speaks for.
    pub const PAGE_BYTES: u64 = 4096;

    /// Opens the pagemap of a process; refused without the right to look into it.
    pub fn open(root: &Root, pid: u32) -> io::Result<Pagemap> {
        Ok(Pagemap { file: File::open(process_file(root, pid, "pagemap"))? })
    }

    /// The entries of the pages from `start` on, `pages` of them or fewer where the address space ends.
    pub fn entries(&self, start: u64, pages: usize) -> io::Result<Vec<PageEntry>> {
        let mut bytes = vec![0; pages * 8];
        let offset = start / Self::PAGE_BYTES * 8;
        let mut filled = 0;
        while filled < bytes.len() {
            match self.file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let (words, _) = bytes[..filled].as_chunks::<8>();
        Ok(words.iter().map(|word| PageEntry::from_raw(u64::from_ne_bytes(*word))).collect())
    }

    /// The resident parts of a range, ascending, each with whether it lies on huge pages mapped by one entry (transparent
    /// ones of 2 MiB, hugetlb); `None` before Linux 6.7, which cannot tell.
    ///
    /// Unlike a reading of `smaps` it holds up the process's changes of its mappings for moments only, however large the
    /// range is.
    pub fn resident_runs(&self, start: u64, end: u64) -> io::Result<Option<Vec<ResidentRun>>> {
        let mut found: Vec<ResidentRun> = Vec::new();
        let mut regions = [PageRegion::default(); 128];
        let mut at = start;
        while at < end {
            let piece_end = end.min(at + BYTES_PER_SCAN);
            let answer =
                sys::scan_pages(self.file.as_raw_fd(), at as usize, piece_end as usize, &mut regions);
            let (filled, walked) = match answer {
                Ok(answer) => answer,
                Err(libc::ENOTTY | libc::EINVAL) => return Ok(None),
                Err(libc::EINTR) => continue,
                Err(error) => return Err(io::Error::from_raw_os_error(error)),
            };
            for region in regions.iter().take(filled) {
                let huge = region.categories & PAGE_IS_HUGE != 0;
                match found.last_mut() {
                    Some(last) if last.range.end == region.start && last.huge == huge => {
                        last.range.end = region.end;
                    }
                    _ => found.push(ResidentRun { range: region.start..region.end, huge }),
                }
            }
            // A walk that does not get on would never end.
            at = if walked as u64 > at { walked as u64 } else { piece_end };
        }
        Ok(Some(found))
    }
}

/// Pages that are in memory, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidentRun {
    /// Their addresses.
    pub range: Range<u64>,
    /// They are parts of huge pages mapped by one entry.
    pub huge: bool,
}

/// Memory that one scan walks through: the lock on the mappings is held as long.
const BYTES_PER_SCAN: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn our_own_status_reads() {
        let root = &Root::live();
        let status = Status::read(root, std::process::id()).unwrap();
        assert!(status.threads.unwrap() >= 1);
        assert!(status.vm_hwm_bytes.unwrap() >= status.resident_bytes().unwrap() / 2);
        let stat = Stat::read(root, std::process::id()).unwrap();
        assert_eq!(stat.pid, std::process::id());
        assert!(stat.minor_faults > 0 && stat.start_ticks > 0);
    }

    #[test]
    fn a_missing_field_is_unknown() {
        let status = Status::parse("Name:\tx\nVmRSS:\t 8 kB\nTHP_enabled:\t0\nThreads:\tmany\n");
        assert_eq!(status.thp_enabled, Some(false));
        assert_eq!((status.threads, status.vm_hwm_bytes), (None, None));
        assert_eq!(status.resident_bytes(), Some(8192));
        assert_eq!(Status::default().resident_bytes(), None);
    }

    #[test]
    fn pagemap_tells_touched_from_untouched() {
        let mut block = vec![0u8; 64 * 4096];
        let first = (block.as_ptr() as u64).next_multiple_of(4096);
        let offset = (first - block.as_ptr() as u64) as usize;
        block[offset] = 1;
        block[offset + 9 * 4096] = 1;
        let pagemap = Pagemap::open(&Root::live(), std::process::id()).unwrap();
        let entries = pagemap.entries(first, 10).unwrap();
        assert_eq!(entries.len(), 10);
        assert!(entries[0].present() && entries[9].present() && !entries[0].swapped());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,40}\\)?( [0-9A-Z-]{1,22}){0,24}", lines in "([A-Za-z_]{1,12}:.{0,20}\n){0,6}") {
            let _ = Stat::parse(&text);
            let _ = Status::parse(&lines);
        }
    }
}
