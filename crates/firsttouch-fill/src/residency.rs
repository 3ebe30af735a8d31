//! Which pages of our own memory exist.

use firsttouch_linux::sys::{Descriptor, PageRegion, open_to_read};
use std::ops::Range;

/// Bytes that one entry of the pagemap speaks for.
pub(crate) const PAGE: usize = 4096;
/// The page is in memory, or swapped out: it has contents.
const HAS_CONTENTS: u64 = 1 << 63 | 1 << 62;
const ENTRIES: usize = 512;

/// A look at the pagemap of this process.
#[derive(Debug)]
pub(crate) struct Residency {
    pagemap: Option<Descriptor>,
}

impl Residency {
    pub(crate) fn open() -> Residency {
        Residency { pagemap: open_to_read(c"/proc/self/pagemap").ok() }
    }

    /// Cuts a range into runs and tells `each` whether their pages exist. Without /proc all are taken to.
    pub(crate) fn runs(&self, range: Range<usize>, mut each: impl FnMut(Range<usize>, bool)) {
        let whole = range.start.next_multiple_of(PAGE)..range.end / PAGE * PAGE;
        let Some(pagemap) = self.pagemap.as_ref().filter(|_| whole.start < whole.end) else {
            return each(range, true);
        };
        match at_once(pagemap, &whole) {
            Some(true) => return each(range, true),
            Some(false) if whole == range => return each(range, false),
            _ => {}
        }
        // Parts of pages at either end share them with other memory.
        let mut run = (range.start..whole.start, true);
        let mut at = whole.start;
        let mut buffer = [0_u8; ENTRIES * 8];
        while at < whole.end {
            let pages = ((whole.end - at) / PAGE).min(ENTRIES);
            let read = pagemap.read_at((at / PAGE * 8) as u64, &mut buffer[..pages * 8]).unwrap_or(0);
            let (entries, _) = buffer[..read].as_chunks::<8>();
            if entries.is_empty() {
                run = extend(run, at..whole.end, true, &mut each);
                break;
            }
            for entry in entries {
                let there = u64::from_ne_bytes(*entry) & HAS_CONTENTS != 0;
                run = extend(run, at..at + PAGE, there, &mut each);
                at += PAGE;
            }
        }
        run = extend(run, whole.end..range.end, true, &mut each);
        if !run.0.is_empty() {
            each(run.0, run.1);
        }
    }
}

/// Whether all is there or nothing, where it is one or the other, as it is mostly: by one call that reads no entries (Linux
/// 6.7).
fn at_once(pagemap: &Descriptor, whole: &Range<usize>) -> Option<bool> {
    let mut regions = [PageRegion::default(); 4];
    let (filled, walked_to) = pagemap.scan_contents(whole.start, whole.end, &mut regions).ok()?;
    let there: u64 = regions[..filled].iter().map(|region| region.end - region.start).sum();
    match there {
        _ if walked_to < whole.end => None,
        0 => Some(false),
        there if there == whole.len() as u64 => Some(true),
        _ => None,
    }
}

type Run = (Range<usize>, bool);

fn extend(run: Run, next: Range<usize>, there: bool, each: &mut impl FnMut(Range<usize>, bool)) -> Run {
    if next.is_empty() {
        run
    } else if run.0.is_empty() {
        (next, there)
    } else if run.1 == there {
        (run.0.start..next.end, there)
    } else {
        each(run.0, run.1);
        (next, there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_memory::{Pages, Region};

    #[test]
    fn what_was_touched_is_there_and_nothing_else() {
        let mut region = Region::map(4 << 20, Pages::Base, None).unwrap();
        let start = region.as_slice().as_ptr() as usize;
        let mut runs = Vec::new();
        Residency::open().runs(start..start + (4 << 20), |run, there| runs.push((run, there)));
        assert_eq!(runs, [(start..start + (4 << 20), false)]);
        for page in [0, 1, 700] {
            region.as_mut_slice()[page * PAGE] = 1;
        }
        let mut runs = Vec::new();
        let bytes = region.as_slice().len();
        Residency::open().runs(start..start + bytes, |run, there| {
            runs.push(((run.start - start) / PAGE, (run.end - start) / PAGE, there));
        });
        assert_eq!(runs, [(0, 2, true), (2, 700, false), (700, 701, true), (701, bytes / PAGE, false)]);
        // Parts of pages are taken to be there: they may hold what others wrote.
        let mut runs = Vec::new();
        Residency::open()
            .runs(start + 2 * PAGE + 5..start + 4 * PAGE + 7, |run, there| runs.push((run, there)));
        assert_eq!(
            runs,
            [
                (start + 2 * PAGE + 5..start + 3 * PAGE, true),
                (start + 3 * PAGE..start + 4 * PAGE, false),
                (start + 4 * PAGE..start + 4 * PAGE + 7, true)
            ]
        );
    }
}
