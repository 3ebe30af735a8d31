//! What a process has in memory, mapping by mapping.
//!
//! A reading of `smaps` tells the most, but the kernel walks a mapping's page tables under the lock that the process needs
//! to change its mappings: 30 ns a page, longer than a pause may be where memory is large. Then it is counted in short
//! pieces by `PAGEMAP_SCAN` (Linux 6.7), which tells neither what was used lately nor what the
//! program advised or gave up. Where somebody has a userfaultfd open, the whole is read all the same: only that tells which
//! memory is under it.

use crate::target::Target;
use firsttouch_linux::maps::{Backing, Mapping, read_maps};
use firsttouch_linux::process::{Status, all};
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::{PMD_BYTES, Region, bytes_by_page_size, read_smaps_first};
use firsttouch_placement::{ProcessResident, Resident, ResidentMemory};
use firsttouch_process::{is_special, is_watched};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Time of the kernel's walk for each base page; measured on Linux 6.18.
const WALK_PER_PAGE: Duration = Duration::from_nanos(30);
const PAGE_BYTES: u64 = 4096;

/// Whether the kernel's walk of all page tables holds the process up for no more than a part of `limit`.
pub(crate) fn is_short_walk(target: &Target, limit: Duration) -> io::Result<bool> {
    let resident = Status::read(target.root(), target.member())?.vm_rss_bytes.unwrap_or(0);
    let pages = u32::try_from(resident / PAGE_BYTES).unwrap_or(u32::MAX);
    Ok(WALK_PER_PAGE * pages <= limit / 4)
}

/// Whether a process that can be seen has a userfaultfd open: any may have that of another, and without one no memory is under it.
fn has_userfaultfd(root: &Root) -> bool {
    let is_one = |link: String| root.link_text(&link).is_some_and(|text| text == "anon_inode:[userfaultfd]");
    let has_one = |pid: u32| {
        let folder = format!("proc/{pid}/fd");
        // Those of others, which we may not look into, watch nobody that we may.
        root.list(&folder).ok().flatten().into_iter().flatten().any(|name| is_one(format!("{folder}/{name}")))
    };
    all(root).unwrap_or_default().into_iter().any(has_one)
}

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) mapping: Mapping,
    /// Its bytes in memory.
    pub(crate) resident_bytes: u64,
    /// Of these, on huge pages.
    pub(crate) huge_bytes: u64,
    /// Of these, given up by the program (`MADV_FREE`); `None` if nobody says.
    pub(crate) lazy_free_bytes: Option<u64>,
    /// Of these, used since somebody last cleared the accessed bits; `None` if nobody says.
    pub(crate) referenced_bytes: Option<u64>,
    /// The program forbids huge pages here, as far as that was read.
    pub(crate) forbidden: bool,
    /// The kernel treats it in a way of its own, as far as that was read.
    pub(crate) special: bool,
    /// It is under a userfaultfd, which makes it special.
    pub(crate) watched: bool,
}

/// All mappings of a process at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    pub(crate) seen: Vec<Seen>,
    pub(crate) bytes_by_page_size: BTreeMap<u64, u64>,
    /// The same by kind.
    pub(crate) memory: ResidentMemory,
    /// It was counted in pieces, by page tables alone.
    pub(crate) in_pieces: bool,
    /// The process could not change its mappings for no longer than this, where they were read as a whole.
    pub(crate) longest_walk: Duration,
}

impl Survey {
    /// Reads a process, in pieces where the whole would hold it up for more than a part of `limit`.
    pub(crate) fn read(target: &Target, limit: Duration) -> io::Result<Survey> {
        if !is_short_walk(target, limit)?
            && !has_userfaultfd(target.root())
            && let Some(survey) = Survey::in_pieces(target)?
        {
            return Ok(survey);
        }
        let begun = Instant::now();
        let regions = read_smaps_first(target.root(), target.member(), target.precedence())?;
        Ok(Survey {
            longest_walk: begun.elapsed(),
            bytes_by_page_size: bytes_by_page_size(&regions),
            memory: ProcessResident::of(&regions).memory,
            seen: regions.into_iter().map(Seen::from).collect(),
            in_pieces: false,
        })
    }

    /// `None` where the kernel cannot.
    fn in_pieces(target: &Target) -> io::Result<Option<Survey>> {
        let mut survey = Survey { in_pieces: true, ..Survey::default() };
        // What the kernel provides lies outside of what it lets be scanned, and is small.
        let of_program = |mapping: &Mapping| mapping.backing() != Backing::Kernel;
        for mapping in read_maps(target.root(), target.member())?.into_iter().filter(of_program) {
            let Some(runs) = target.pagemap().resident_runs(mapping.start, mapping.end)? else {
                return Ok(None);
            };
            let (mut resident_bytes, mut huge_bytes) = (0, 0);
            for run in runs {
                let bytes = run.range.end - run.range.start;
                resident_bytes += bytes;
                huge_bytes += if run.huge { bytes } else { 0 };
            }
            for (page, bytes) in [(PMD_BYTES, huge_bytes), (PAGE_BYTES, resident_bytes - huge_bytes)] {
                if bytes > 0 {
                    *survey.bytes_by_page_size.entry(page).or_insert(0) += bytes;
                }
            }
            survey.memory.add_mapping(&mapping, Resident { bytes: resident_bytes, huge_bytes });
            survey.seen.push(Seen {
                mapping,
                resident_bytes,
                huge_bytes,
                lazy_free_bytes: None,
                referenced_bytes: None,
                forbidden: false,
                special: false,
                watched: false,
            });
        }
        Ok(Some(survey))
    }
}

impl From<Region> for Seen {
    fn from(region: Region) -> Seen {
        Seen {
            resident_bytes: region.figures.rss.unwrap_or(0),
            huge_bytes: region.figures.transparent_huge(),
            lazy_free_bytes: region.figures.lazy_free,
            referenced_bytes: region.figures.referenced,
            forbidden: region.has_flag("nh"),
            special: is_special(&region),
            watched: is_watched(&region),
            mapping: region.mapping,
        }
    }
}
