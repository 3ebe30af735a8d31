//! What moves, merges, swaps and gives back pages while programs run.

use super::{Found, noted, trap};
use crate::rules::memory;
use firsttouch_linux::sysinfo;
use firsttouch_placement::format_bytes;

pub(super) fn find(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    if let Some(finding) = memory::balancing(machine) {
        found.add(finding);
    }
    let zone = "/proc/sys/vm/zone_reclaim_mode";
    let mode = found.number("proc/sys/vm/zone_reclaim_mode").unwrap_or(0);
    if mode != 0 && machine.nodes.len() > 1 {
        let what = "a full node drops its file cache before memory of another node is used";
        let effect = "programs larger than a node stall in reclaim while other nodes are empty";
        found.add(noted("zone-reclaim", what, effect).proof(zone, mode.to_string()).set(zone, "0"));
    }
    swap(found);
    let (run, sharing) =
        ("/sys/kernel/mm/ksm/run", found.number("sys/kernel/mm/ksm/pages_sharing").unwrap_or(0));
    if found.number("sys/kernel/mm/ksm/run") == Some(1) {
        let what = "the kernel merges equal pages (KSM)";
        let effect =
            "it splits the huge pages of programs that asked for merging (virtual machines), and uses a CPU";
        let text = format!("1, pages_sharing {sharing}");
        found.add(noted("ksm-runs", what, effect).proof(run, text).set(run, "0"));
    }
    let reporting = "/sys/module/page_reporting, or features of /sys/bus/virtio/devices";
    if let Some(finding) = trap(machine, "free-page-reporting") {
        found.add(finding.proof(reporting, "free page reporting is in use"));
    }
    if let Some(finding) = trap(machine, "memory-outside-nodes") {
        let in_nodes: u64 = machine.nodes.iter().filter_map(|node| node.size_bytes).sum();
        let finding = finding.proof("/proc/meminfo", format_bytes(machine.memory_bytes.unwrap_or(0)));
        found.add(finding.proof("/sys/devices/system/node/node*/meminfo", format_bytes(in_nodes)));
    }
}

fn swap(found: &mut Found<'_>) {
    let memory = found.text("proc/meminfo").map(sysinfo::meminfo).unwrap_or_default();
    let Some(total) = memory.swap_total_bytes.filter(|total| *total > 0) else { return };
    let file = "/proc/sys/vm/swappiness";
    if let Some(swappiness) = found.number("proc/sys/vm/swappiness").filter(|value| *value > 60) {
        let what = format!("the kernel swaps out memory of programs readily (swappiness {swappiness})");
        let effect =
            "pages of idle programs go to disk to make room for files, and come back one fault at a time";
        found.add(noted("swappiness-high", what, effect).proof(file, swappiness.to_string()).set(file, "60"));
    }
    let (Some(free), Some(all)) = (memory.swap_free_bytes, memory.total_bytes) else { return };
    let used = total.saturating_sub(free);
    if used > all / 50 {
        let what = format!("{} are swapped out", format_bytes(used));
        let effect =
            "pages lie on disk, not on a node: they come back by faults, to wherever there is room then";
        let text = format!("SwapTotal {}, SwapFree {}", format_bytes(total), format_bytes(free));
        let finding = noted("swap-used", what, effect).proof("/proc/meminfo", text);
        found.add(finding.remedy("sudo swapoff -a && sudo swapon -a   # once that much memory is free"));
    }
}
