//! Transparent huge pages: whether there are any, and what they cost.

use super::{Found, noted, trap};
use crate::rules::pages;
use firsttouch_placement::Reason;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

pub(super) fn find(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    let Some(mode) = machine.thp_mode() else { return };
    let enabled = format!("{THP}/enabled");
    if mode == "never" {
        let what = "transparent huge pages are switched off";
        let effect = "programs get base pages unless they ask for reserved ones; `--pages thp` obtains none";
        let finding = noted(Reason::ThpNever.word(), what, effect).proof(&enabled, "never");
        return found.add(finding.set(&enabled, "madvise"));
    }
    if let Some(finding) = trap(machine, Reason::ThpDisabledByPrctl.word()) {
        found.add(finding.proof("prctl(PR_GET_THP_DISABLE)", "1"));
    }
    if mode == "always" {
        let effect = "programs that never asked pay for them, too: more memory in use, and slower first touches where none \
                      is free";
        found.add(pages::thp_always(effect));
    }
    let own = machine.thp.sizes.iter().find(|size| Some(size.page_bytes) == machine.thp.hpage_pmd_size_bytes);
    if let Some(size) = own.filter(|size| size.enabled.as_deref() == Some("never")) {
        let file = format!("{THP}/hugepages-{}kB/enabled", size.page_bytes >> 10);
        let what =
            format!("huge pages of the processor's own size are switched off, though the mode is {mode}");
        let effect = "`--pages thp` obtains nothing: the setting of the size goes before the general one";
        found.add(noted("mthp-off", what, effect).proof(&file, "never").set(&file, "inherit"));
    }
    defrag(found);
    let off = machine.thp.khugepaged_defrag == Some(false);
    let scanned = "khugepaged/pages_to_scan";
    if off || found.number(&format!("sys/kernel/mm/transparent_hugepage/{scanned}")) == Some(0) {
        let (file, value) = match off {
            true => (format!("{THP}/khugepaged/defrag"), "1"),
            false => (format!("{THP}/{scanned}"), "4096"),
        };
        let what = "the thread that makes huge pages of small ones later does nothing, or may not compact";
        let effect = "memory that got no huge page at its first touch keeps base pages for good";
        found.add(noted("khugepaged-off", what, effect).proof(&file, "0").set(&file, value));
    }
    let shared = machine.thp.shmem_enabled.as_deref();
    if let Some(word) = shared.filter(|word| ["deny", "force"].contains(word)) {
        let file = format!("{THP}/shmem_enabled");
        let (purpose, effect) = match word {
            "deny" => {
                ("emergencies", "shared memory gets none, not even where a mount asks for them (huge=)")
            }
            _ => ("testing", "all shared memory gets them, however small the file"),
        };
        let what = format!("huge pages of shared memory are set to {word}, which is for {purpose}");
        found.add(noted("shmem-huge", what, effect).proof(&file, word).set(&file, "advise"));
    }
}

fn defrag(found: &mut Found<'_>) {
    let (what, effect) = match found.evidence.report.machine.thp.defrag.as_deref() {
        Some("always") => (
            "a page fault waits for memory to be compacted whenever no huge page is free",
            "first touches stall where memory is fragmented, in programs that never asked, too",
        ),
        Some("never") => (
            "no page fault compacts memory, not even where huge pages were asked for",
            "where no huge page is free, placed memory gets base pages until khugepaged comes by",
        ),
        _ => return,
    };
    let file = format!("{THP}/defrag");
    let text = found.evidence.report.machine.thp.defrag.clone().unwrap_or_default();
    found.add(noted("thp-defrag", what, effect).proof(&file, text).set(&file, "madvise"));
}
