//! The memory of a process in windows: which pages are there, how large they are, and where they lie.

use crate::destination::PAGE_BYTES;
use crate::executor::Executor;
use crate::runs::NodeRuns;
use crate::target::Target;
use firsttouch_linux::pagemap::Pagemap;
use firsttouch_linux::smaps::PMD_BYTES;
use std::io;

/// Memory that is looked at, and written down, at a time.
pub(crate) const WINDOW: u64 = 4 * PMD_BYTES;

/// A page that is moved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// The resident pages of a window with their nodes; a negative number is an error of the kernel's.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) pages: Vec<(Page, i32)>,
}

impl Window {
    /// Reads the pages of a range, and asks where they lie.
    pub(crate) fn read(
        target: &Target,
        executor: &mut dyn Executor,
        start: u64,
        end: u64,
    ) -> io::Result<Window> {
        let pages = resident(target.pagemap(), start, end)?;
        let addresses: Vec<u64> = pages.iter().map(|page| page.address).collect();
        let mut nodes = vec![-1; pages.len()];
        if !addresses.is_empty() {
            executor.nodes_of(&addresses, &mut nodes)?;
        }
        Ok(Window { pages: pages.into_iter().zip(nodes).collect() })
    }

    /// Takes blocks that are there as a whole, on one node, for huge pages, where the kernel does not tell.
    pub(crate) fn join_blocks(&mut self) {
        let mut joined: Vec<(Page, i32)> = Vec::new();
        for block in self.pages.chunk_by(|(a, _), (b, _)| a.address / PMD_BYTES == b.address / PMD_BYTES) {
            let (first, node) = block[0];
            let whole = block.len() as u64 == PMD_BYTES / PAGE_BYTES && block.iter().all(|(_, n)| *n == node);
            if whole {
                joined.push((Page { address: first.address, bytes: PMD_BYTES }, node));
            } else {
                joined.extend_from_slice(block);
            }
        }
        self.pages = joined;
    }
}

/// The nodes of every base page from `start` to `end`, by those of these pages.
pub(crate) fn node_runs(pages: impl Iterator<Item = (Page, i32)>, start: u64, end: u64) -> NodeRuns {
    let mut all = vec![-1; ((end - start) / PAGE_BYTES) as usize];
    for (page, node) in pages {
        let first = ((page.address - start) / PAGE_BYTES) as usize;
        let last = (first + (page.bytes / PAGE_BYTES) as usize).min(all.len());
        all[first..last].fill(node);
    }
    NodeRuns::of(&all)
}

/// The resident pages of a range; huge ones as one where the kernel tells.
fn resident(pagemap: &Pagemap, start: u64, end: u64) -> io::Result<Vec<Page>> {
    let Some(runs) = pagemap.resident_runs(start, end)? else {
        let entries = pagemap.entries(start, ((end - start) / PAGE_BYTES) as usize)?;
        let there =
            (start..end).step_by(PAGE_BYTES as usize).zip(entries).filter(|(_, entry)| entry.present());
        return Ok(there.map(|(address, _)| Page { address, bytes: PAGE_BYTES }).collect());
    };
    let mut pages = Vec::new();
    for run in runs {
        let mut address = run.range.start;
        while address < run.range.end {
            let whole = run.huge && address % PMD_BYTES == 0 && address + PMD_BYTES <= run.range.end;
            let bytes = if whole { PMD_BYTES } else { PAGE_BYTES };
            pages.push(Page { address, bytes });
            address += bytes;
        }
    }
    Ok(pages)
}

/// Whether the kernel tells huge pages from base ones.
pub(crate) fn tells_huge(target: &Target) -> bool {
    target.pagemap().resident_runs(0, PAGE_BYTES).is_ok_and(|runs| runs.is_some())
}

/// The next window of a range that has a page in it; blocks are not cut.
pub(crate) fn next_window(target: &Target, start: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
    if start >= end {
        return Ok(None);
    }
    let start = target.pagemap().first_resident(start, end)?.unwrap_or(start);
    Ok((start < end).then_some((start, end.min((start + WINDOW) / PMD_BYTES * PMD_BYTES))))
}
