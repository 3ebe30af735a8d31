//! Kernels with known defects in what placement uses.

use super::{Found, noted};

/// The numbers of a release.
type Release = (u32, u32, u32);

/// A defect: the releases that have it (from, to, both included), what is wrong, and where that is written.
///
/// Only releases that had it beyond doubt: branches that were maintained for years got the repair at some point, and only the last release
/// that is certain to be without is named.
const DEFECTS: [(Release, Release, &str, &str, &str); 4] = [
    (
        (4, 10, 0),
        (4, 13, u32::MAX),
        "writing can reach read-only transparent huge pages",
        "programs can change each other's memory (a hole in the protection)",
        "CVE-2017-1000405, repaired by a8f97366452e in Linux 4.15",
    ),
    (
        (5, 5, 0),
        (5, 7, 4),
        "copying a transparent huge page on write races with splitting it",
        "memory that was shared by fork may be changed by the other process",
        "CVE-2020-29368, repaired by c444eb564fb1 in Linux 5.7.5",
    ),
    (
        (6, 4, 0),
        (6, 4, 2),
        "fork does not keep page faults of other threads away while it copies",
        "memory of programs with threads that start others is corrupted",
        "repaired by fb49c455323f in Linux 6.5",
    ),
    (
        (6, 7, 0),
        (6, 10, u32::MAX),
        "anonymous mappings of any size are aligned to huge pages",
        "neighbouring mappings no longer join, and programs with mappings of odd sizes can be slower",
        "caused by efa7df3e3bb5 in Linux 6.7, repaired by d4148aeab412 in Linux 6.12",
    ),
];

/// The release by its numbers, where they are those of kernel.org: distributors that count for themselves (`5.14.0-362.el9`,
/// `6.1.0-18-amd64`) repair without changing the first three numbers.
pub(super) fn own_release(release: &str) -> Option<Release> {
    let end = release.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(release.len());
    let (numbers, rest) = release.split_at(end);
    if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    // 6.12 is 6.12.0.
    Some((numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
}

pub(super) fn find(found: &mut Found<'_>) {
    let Some(text) = &found.evidence.report.machine.kernel else { return };
    let Some(release) = own_release(text) else { return };
    for (from, to, what, effect, source) in DEFECTS {
        if (from..=to).contains(&release) {
            let finding = noted("kernel-defect", format!("Linux {text}: {what}"), effect);
            let finding = finding.proof("/proc/sys/kernel/osrelease", text).proof("known defect", source);
            found.add(finding.remedy("update the kernel"));
        }
    }
}
