//! Limits of memory that are lower than programs with much memory need.

use super::{Found, noted};
use crate::rules::{memory, pages};
use firsttouch_machine::Bound;
use firsttouch_placement::format_bytes;

/// What the kernel has had as its default since 2.6, and no less is of any use.
const USUAL_MAPPINGS: u64 = 65_530;

pub(super) fn find(found: &mut Found<'_>) {
    let limits = &found.evidence.report.machine.limits;
    locked(found);
    found.findings.extend(memory::address_space(limits));
    found.findings.extend(memory::group_limit(limits));
    found.findings.extend(limits.cgroup_hugetlb.iter().filter_map(pages::pool_limit));
    shared(found);
    if found.number("proc/sys/vm/overcommit_memory") == Some(2) {
        let what = "the kernel promises no more memory than it has (strict accounting)";
        let effect =
            "programs that reserve much and use little are refused memory, and large ones cannot fork";
        let ratio = found.text("proc/sys/vm/overcommit_ratio").unwrap_or("?");
        let text = format!("2, vm.overcommit_ratio {ratio}");
        let file = "/proc/sys/vm/overcommit_memory";
        found.add(noted("overcommit-strict", what, effect).proof(file, text).set(file, "0"));
    }
    if let Some(count) = found.number("proc/sys/vm/max_map_count").filter(|count| *count < USUAL_MAPPINGS) {
        let what = format!("a program may have {count} mappings, fewer than the kernel's own default");
        let effect =
            "memory placed in pieces splits mappings: allocation and madvise fail once there are as many";
        let file = "/proc/sys/vm/max_map_count";
        found
            .add(noted("max-map-count-low", what, effect).proof(file, count.to_string()).set(file, "262144"));
    }
}

/// Network adapters with memory of their own access want it locked; for others the usual limit is good enough.
fn locked(found: &mut Found<'_>) {
    const ENOUGH: u64 = 1 << 30;
    let Some(Bound::Bytes(bytes)) = found.evidence.report.machine.limits.memlock_bytes else { return };
    if bytes >= ENOUGH || !found.evidence.settings.has("sys/class/infiniband/") {
        return;
    }
    found.add(memlock(bytes));
}

pub(crate) fn memlock(bytes: u64) -> crate::Finding {
    let what = format!("this process may lock {} of memory", format_bytes(bytes));
    let effect = "RDMA (MPI, libfabric, UCX) and mlock register less than programs use, and fail";
    noted("memlock-low", what, effect)
        .proof("/proc/self/limits", format!("Max locked memory {bytes}"))
        .remedy("sudo firsttouch setup limits memlock=unlimited --pid $$ --apply")
        .keep("sudo firsttouch setup limits memlock=unlimited --apply   # services: --service UNIT")
}

/// Less shared memory than a quarter of what there is keeps databases small.
fn shared(found: &mut Found<'_>) {
    let Some(memory) = found.evidence.report.machine.memory_bytes else { return };
    let effect =
        "programs with one large segment of System V shared memory (databases) cannot start, or stay small";
    if let Some(bytes) = found.number("proc/sys/kernel/shmmax").filter(|bytes| *bytes < memory / 4) {
        let what = format!("a segment of shared memory may have {}", format_bytes(bytes));
        let file = "/proc/sys/kernel/shmmax";
        let finding = noted("shmmax-low", what, effect).proof(file, bytes.to_string());
        found.add(finding.set(file, &memory.to_string()));
    }
    // In pages of 4 KiB at the least: larger pages only make it more.
    let pages = found.number("proc/sys/kernel/shmall");
    if let Some(pages) = pages.filter(|pages| pages.saturating_mul(4096) < memory / 4) {
        let what = format!("all segments of shared memory together may have {pages} pages");
        let file = "/proc/sys/kernel/shmall";
        let finding = noted("shmall-low", what, effect).proof(file, pages.to_string());
        found.add(finding.set(file, &(memory / 4096).to_string()));
    }
}
