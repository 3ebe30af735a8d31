//! Which pages of a process exist: `/proc/PID/pagemap`, entry by entry, or scanned by `PAGEMAP_SCAN`.

use crate::maps::process_file;
use crate::root::Root;
use crate::sys::{self, PAGE_IS_HUGE, PageRegion};
use crate::urgent::Precedence;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

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

    /// The page is in memory, and writing to it makes no other: it is not shared since a fork, nor the page of zeros that stands for what
    /// was only read. So it is mapped once (bit 56), or by a file or as shared memory (bit 61; `pagemap.rst` of the kernel, Linux 4.2).
    pub fn is_written_in_place(self) -> bool {
        self.present() && self.0 & (1 << 56 | 1 << 61) != 0
    }

    /// The page is in swap.
    pub fn swapped(self) -> bool {
        self.0 >> 62 & 1 == 1
    }
}

/// `/proc/PID/pagemap`, held open. It stays with the memory the process had when it was opened: after an `exec` of the
/// process, open it again.
#[derive(Debug)]
pub struct Pagemap {
    file: File,
    /// The kernel walks under the lock that the process needs to change its mappings.
    precedence: Arc<Precedence>,
}

impl Pagemap {
    /// Bytes of memory that one entry speaks for.
    pub const PAGE_BYTES: u64 = 4096;

    /// Opens the pagemap of a process; refused without the right to look into it.
    pub fn open(root: &Root, pid: u32) -> io::Result<Pagemap> {
        Pagemap::open_first(root, pid, Arc::new(Precedence::none()))
    }

    /// The same, to be read before other threads.
    pub fn open_first(root: &Root, pid: u32, precedence: Arc<Precedence>) -> io::Result<Pagemap> {
        Ok(Pagemap { file: File::open(process_file(root, pid, "pagemap"))?, precedence })
    }

    /// The entries of the pages from `start` on, `pages` of them or fewer where the address space ends.
    pub fn entries(&self, start: u64, pages: usize) -> io::Result<Vec<PageEntry>> {
        let mut bytes = vec![0; pages * 8];
        let offset = start / Self::PAGE_BYTES * 8;
        let mut filled = 0;
        while filled < bytes.len() {
            let rest = &mut bytes[filled..];
            match self.precedence.during(|| self.file.read_at(rest, offset + filled as u64)) {
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
        let mut at = start;
        while at < end {
            let Some((runs, walked)) = self.scan(at, end, PAGES_PER_SCAN)? else { return Ok(None) };
            for run in runs {
                match found.last_mut() {
                    Some(last) if last.range.end == run.range.start && last.huge == run.huge => {
                        last.range.end = run.range.end;
                    }
                    _ => found.push(run),
                }
            }
            at = walked;
        }
        Ok(Some(found))
    }

    /// The first address of a range, from `start` on, that is in memory, or `end`; `None` before Linux 6.7.
    pub fn first_resident(&self, start: u64, end: u64) -> io::Result<Option<u64>> {
        let answer = self.scan(start, end, 1)?;
        Ok(answer.map(|(runs, _)| runs.first().map_or(end, |run| run.range.start)))
    }

    /// One walk over so many pages that are there at most, and where it stopped.
    fn scan(&self, start: u64, end: u64, pages: u64) -> io::Result<Option<(Vec<ResidentRun>, u64)>> {
        let mut regions = [PageRegion::default(); 128];
        let pagemap = self.file.as_raw_fd();
        let (filled, walked) = loop {
            let scan = || sys::scan_pages(pagemap, start as usize, end as usize, pages, &mut regions);
            match self.precedence.during(scan) {
                Ok(answer) => break answer,
                Err(libc::ENOTTY | libc::EINVAL) => return Ok(None),
                Err(libc::EINTR) => {}
                Err(error) => return Err(io::Error::from_raw_os_error(error)),
            }
        };
        let run = |region: &PageRegion| ResidentRun {
            range: region.start..region.end,
            huge: region.categories & PAGE_IS_HUGE != 0,
        };
        // A walk that does not get on would be made for ever.
        let walked = if walked as u64 > start { walked as u64 } else { end };
        Ok(Some((regions.iter().take(filled).map(run).collect(), walked)))
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

/// Pages that one scan finds before it lets go of the lock on the mappings: less than a millisecond.
const PAGES_PER_SCAN: u64 = 16384;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysinfo::kernel_version;

    #[test]
    fn a_scan_finds_what_is_there_and_passes_over_what_is_not() {
        const PAGE: usize = 4096;
        let mut block = vec![0u8; 3 * PAGES_PER_SCAN as usize * PAGE];
        let first = (block.as_ptr() as usize).next_multiple_of(PAGE);
        let start = first - block.as_ptr() as usize;
        // Every other page, so that no huge page comes of it, more than one scan finds; nothing behind.
        for page in (0..2 * PAGES_PER_SCAN as usize).step_by(2) {
            block[start + page * PAGE] = 1;
        }
        let pagemap = Pagemap::open(&Root::live(), std::process::id()).unwrap();
        let (start, end) = (first as u64, (block.as_ptr() as usize + block.len() - PAGE) as u64);
        let Some(runs) = pagemap.resident_runs(start, end).unwrap() else {
            let release = Root::live().read("proc/sys/kernel/osrelease").unwrap().unwrap();
            assert!(kernel_version(&release) < Some((6, 7)), "{release}");
            return;
        };
        let bytes: u64 = runs.iter().map(|run| run.range.end - run.range.start).sum();
        // Where the machine gives huge pages unasked, all of it is there.
        assert!(runs.iter().any(|run| run.huge) || bytes == PAGES_PER_SCAN * PAGE as u64, "{bytes}");
        assert!(runs.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        assert_eq!(pagemap.first_resident(start, end).unwrap(), Some(start));
        if bytes == PAGES_PER_SCAN * PAGE as u64 {
            assert_eq!(
                pagemap.first_resident(start + PAGE as u64, end).unwrap(),
                Some(start + 2 * PAGE as u64)
            );
            let behind = start + 2 * PAGES_PER_SCAN * PAGE as u64;
            assert_eq!(pagemap.first_resident(behind, end).unwrap(), Some(end));
        }
        assert!(block.contains(&1));
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
}
