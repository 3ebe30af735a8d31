//! Which resident memory lies on huge pages, asked for piece by piece (`PAGEMAP_SCAN`, Linux 6.7): several times faster than
//! `smaps_rollup`, and the lock of the process is held for moments only.
//!
//! What the kernel counts as present here are pages of zeros too, which belong to nobody. They are told apart by the sum.

use firsttouch_linux::maps::{Backing, Mapping, read_maps};
use firsttouch_linux::pagemap::{Pagemap, ResidentRun};
use firsttouch_linux::root::Root;
use firsttouch_linux::urgent::Precedence;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was found on huge pages mapped by one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Huge {
    /// All of it, in bytes.
    pub(crate) bytes: u64,
    /// Of these, pages of files.
    pub(crate) of_files: u64,
    /// Everything that is present, on pages of either kind.
    pub(crate) runs: Vec<ResidentRun>,
    pub(crate) longest_call: Duration,
}

/// Addresses asked for at once. Walking so much memory of small pages takes a fraction of a millisecond.
const PIECE: u64 = 64 << 20;

/// Less memory in a mapping than this, on average, and asking for each costs more than one walk through all, which then lets go
/// of the lock often enough.
const CROWDED: u64 = 128 << 10;

/// What a scan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    Found(Huge),
    /// The process has so many small mappings that a walk is better.
    Crowded,
    /// The kernel cannot; or what is present is not what is resident, so that some of the huge pages may be of zeros.
    Unsure,
}

/// Scans a process that has `rss_bytes` resident and no hugetlb pages.
pub(crate) fn scan(root: &Root, pid: u32, rss_bytes: u64, precedence: &Arc<Precedence>) -> Scan {
    match read_maps(root, pid) {
        Ok(mappings) if (mappings.len() as u64).saturating_mul(CROWDED) > rss_bytes.max(64 << 20) => {
            Scan::Crowded
        }
        Ok(mappings) => {
            let pagemap = Pagemap::open_first(root, pid, Arc::clone(precedence)).ok();
            let found = pagemap.and_then(|pagemap| pieces(&pagemap, &mappings, rss_bytes));
            found.map_or(Scan::Unsure, Scan::Found)
        }
        Err(_) => Scan::Unsure,
    }
}

fn pieces(pagemap: &Pagemap, mappings: &[Mapping], rss_bytes: u64) -> Option<Huge> {
    let mut found = Huge::default();
    let mut present = 0;
    // Addresses of the kernel have no place in a pagemap.
    for mapping in mappings.iter().filter(|mapping| mapping.end <= 1 << 63) {
        let mut at = mapping.start;
        while at < mapping.end {
            let end = mapping.end.min(at + PIECE);
            let begun = Instant::now();
            let runs = pagemap.resident_runs(at, end).ok()??;
            found.longest_call = begun.elapsed().max(found.longest_call);
            for run in &runs {
                let bytes = run.range.end - run.range.start;
                present += bytes;
                if run.huge {
                    found.bytes += bytes;
                    found.of_files += if is_of_file(mapping) { bytes } else { 0 };
                }
            }
            found.runs.extend(runs);
            at = end;
        }
    }
    adds_up(found.bytes, present, rss_bytes).then_some(found)
}

/// Whether so much may be present where so much is resident. Without huge pages nothing can be taken for one.
fn adds_up(huge: u64, present: u64, rss_bytes: u64) -> bool {
    huge == 0 || huge <= rss_bytes && present <= rss_bytes + rss_bytes / 100 + (1 << 20)
}

fn is_of_file(mapping: &Mapping) -> bool {
    mapping.backing() == Backing::File && !mapping.is_shared_memory()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::sysinfo::kernel_version;
    use firsttouch_memory::{Pages, Region};

    fn none() -> Arc<Precedence> {
        Arc::new(Precedence::none())
    }

    #[test]
    fn zeros_are_found_out_by_the_sum() {
        const MIB: u64 = 1 << 20;
        assert!(adds_up(0, 900 * MIB, 10 * MIB), "no huge page, nothing to mistake");
        assert!(adds_up(64 * MIB, 100 * MIB, 99 * MIB));
        assert!(!adds_up(64 * MIB, 128 * MIB, 64 * MIB));
        assert!(!adds_up(64 * MIB, 64 * MIB, 2 * MIB));
    }

    #[test]
    fn shared_memory_is_no_file() {
        let of = |name: &str| {
            is_of_file(&Mapping::parse(&format!("1000-2000 rw-s 00000000 00:01 77   {name}")).unwrap())
        };
        assert!(of("/usr/lib/libc.so.6") && of("/tmp/data"));
        assert!(!of("/dev/zero (deleted)") && !of("/memfd:x (deleted)") && !of("/SYSV00000000 (deleted)"));
        let anonymous = Mapping::parse("1000-2000 rw-p 00000000 00:00 0").unwrap();
        assert!(!is_of_file(&anonymous));
    }

    #[test]
    fn huge_pages_of_ours_are_found_where_the_kernel_can() {
        let find = || scan(&Root::live(), std::process::id(), u64::MAX / 2, &none());
        let Scan::Found(before) = find() else {
            let release = Root::live().read("proc/sys/kernel/osrelease").unwrap().unwrap();
            assert!(kernel_version(&release) < Some((6, 7)), "{release}");
            return;
        };
        let mut region = Region::map(32 << 20, Pages::Transparent, None).unwrap();
        region.prefault().unwrap();
        let coverage = region.coverage().unwrap();
        let Scan::Found(found) = find() else { panic!("not found again") };
        // Other tests of this process come and go with far less.
        assert!(
            found.bytes + (4 << 20) >= before.bytes + coverage.huge as u64,
            "{} {coverage:?}",
            found.bytes
        );
        assert!(found.of_files <= found.bytes);
    }

    #[test]
    fn many_small_mappings_are_left_to_a_walk() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let mappings: String =
            (0..2000).map(|at| format!("{:x}-{:x} rw-p 0 00:00 0\n", at * 8192, at * 8192 + 4096)).collect();
        std::fs::write(process.join("maps"), mappings).unwrap();
        let root = Root::at(folder.path());
        assert_eq!(scan(&root, 7, 100 << 20, &none()), Scan::Crowded);
        // There is no pagemap in a recording.
        assert_eq!(scan(&root, 7, 1 << 30, &none()), Scan::Unsure);
        assert_eq!(scan(&root, 8, 1 << 30, &none()), Scan::Unsure);
    }
}
