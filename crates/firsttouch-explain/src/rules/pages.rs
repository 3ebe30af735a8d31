//! What stands between the program and the pages that were asked for.

use crate::{Evidence, Finding, Weight};
use firsttouch_machine::{Bound, HugetlbLimit};
use firsttouch_placement::{Pages, format_bytes};

const THP_FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    ability(evidence, findings);
    always(evidence, findings);
    pool_limits(evidence, findings);
}

/// The machine model knows whether such pages can be had, why not, and what allows them.
fn ability(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let pages = evidence.wanted.pages;
    let word = match pages {
        Pages::Plain | Pages::Base => return,
        Pages::Auto => Pages::Transparent.to_string(),
        pages => pages.to_string(),
    };
    let Some(ability) = evidence.report.can(&word).filter(|ability| ability.possible == Some(false)) else {
        return;
    };
    let (weight, effect) = match pages {
        pages if pages.is_reserved() => {
            (Weight::Weakens, "each block falls back to the next smaller pages, with a reason in the receipt")
        }
        _ => (Weight::Overrides, "the program gets pages of 4 KiB"),
    };
    let file = match pages {
        pages if pages.is_reserved() => {
            format!("/sys/kernel/mm/hugepages/hugepages-{}kB", pages.bytes() >> 10)
        }
        Pages::Multi(bytes) => {
            format!("/sys/kernel/mm/transparent_hugepage/hugepages-{}kB/enabled", bytes >> 10)
        }
        _ => THP_FILE.to_owned(),
    };
    let text = match pages {
        pages if pages.is_reserved() => pool_text(evidence, pages.bytes() as u64),
        _ => evidence.machine().thp_mode().unwrap_or("(not there)").to_owned(),
    };
    let mut finding =
        Finding::new("pages", weight, format!("{word}: {}", ability.why), effect).proof(file, text);
    finding.remedy.clone_from(&ability.remedy);
    findings.push(finding);
}

fn pool_text(evidence: &Evidence, page_bytes: u64) -> String {
    let Some(pool) = evidence.machine().pool(page_bytes) else { return "(not there)".to_owned() };
    let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!("nr_hugepages {}, free_hugepages {}", count(pool.pages), count(pool.free))
}

/// With the mode `always` small pages are hard to get, and a comparison compares huge pages with huge pages.
fn always(evidence: &Evidence, findings: &mut Vec<Finding>) {
    if evidence.machine().thp_mode() != Some("always") {
        return;
    }
    let effect = match evidence.wanted.pages {
        Pages::Base => "only memory of the agent is kept on 4 KiB pages; the C library's own gets huge ones",
        _ => "the program gets huge pages without us as well: expect little difference",
    };
    findings.push(thp_always(effect));
}

pub(super) fn thp_always(effect: &str) -> Finding {
    Finding::new("thp-always", Weight::Remark, "all memory gets transparent huge pages", effect)
        .proof(THP_FILE, "always")
        .set(THP_FILE, "madvise")
}

fn pool_limits(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let pages = evidence.wanted.pages;
    if !pages.is_reserved() && pages != Pages::Auto {
        return;
    }
    let page_bytes = pages.bytes() as u64;
    let limits = &evidence.machine().limits.cgroup_hugetlb;
    findings.extend(limits.iter().filter(|limit| limit.page_bytes == page_bytes).filter_map(pool_limit));
}

pub(super) fn pool_limit(limit: &HugetlbLimit) -> Option<Finding> {
    let Bound::Bytes(bytes) = limit.limit_bytes else { return None };
    let (bound, size) = (format_bytes(bytes), format_bytes(limit.page_bytes));
    let what = format!("the control group may use {bound} of {size} pages");
    let effect = "blocks beyond that fall back to transparent pages";
    let finding = Finding::new("cgroup-hugetlb", Weight::Weakens, what, effect);
    Some(finding.proof(&limit.file, bytes.to_string()).remedy(format!("echo max | sudo tee {}", limit.file)))
}
