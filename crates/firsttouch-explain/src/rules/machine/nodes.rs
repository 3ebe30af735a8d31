//! Memory as it is built in: nodes, modules, tiers, caches in front of them.

use super::{Found, noted};
use firsttouch_linux::sysinfo::kernel_version;
use firsttouch_machine::{MemoryKind, Node};
use firsttouch_placement::format_bytes;
use firsttouch_sorted::SortedMap;

pub(super) fn find(found: &mut Found<'_>) {
    empty(found);
    uneven(found);
    modules(found);
    errors(found);
    tiers(found);
    side_caches(found);
}

fn meminfo(node: &Node) -> String {
    format!("/sys/devices/system/node/node{}/meminfo", node.id)
}

fn empty(found: &mut Found<'_>) {
    let nodes = &found.evidence.report.machine.nodes;
    let empty = |node: &&Node| node.size_bytes == Some(0) && !node.cpus.is_empty();
    let Some(node) = nodes.iter().find(empty).filter(|_| nodes.len() > 1) else { return };
    let list: Vec<u32> = nodes.iter().filter(empty).map(|node| node.id).collect();
    let list = firsttouch_linux::cpulist::format_list(&list);
    let what = format!("there are CPUs and no memory on node {list}");
    let effect = "all memory of threads there is remote; binding memory to such a node is refused";
    let finding = noted("node-without-memory", what, effect).proof(meminfo(node), "MemTotal: 0 kB");
    found.add(
        finding.remedy(
            "sudo dmidecode -t memory   # populate the slots of that socket, or see why they are off",
        ),
    );
}

fn uneven(found: &mut Found<'_>) {
    let nodes = &found.evidence.report.machine.nodes;
    let of = |node: &Node| {
        let alike = node.kind.is_none_or(|kind| kind == MemoryKind::Dram) && !node.cpus.is_empty();
        node.size_bytes.filter(|size| *size > 0 && alike)
    };
    let sizes: Vec<(u32, u64)> = nodes.iter().filter_map(|node| Some((node.id, of(node)?))).collect();
    let (Some(least), Some(most)) =
        (sizes.iter().map(|one| one.1).min(), sizes.iter().map(|one| one.1).max())
    else {
        return;
    };
    // The firmware and the kernel keep memory of the first node for themselves.
    if least >= most / 4 * 3 {
        return;
    }
    let text = sizes.iter().map(|(node, size)| format!("node {node}: {}", format_bytes(*size)));
    let what = "nodes have different amounts of memory";
    let effect = "the small ones are full first, and what is interleaved or divided evenly does not fit";
    let finding = noted("nodes-uneven", what, effect)
        .proof("/sys/devices/system/node/node*/meminfo", text.collect::<Vec<_>>().join(", "));
    found.add(
        finding.remedy("sudo dmidecode -t memory   # the same modules in the same slots of each socket"),
    );
}

/// Modules by memory controller, in MiB.
fn modules(found: &mut Found<'_>) {
    let mut controllers: SortedMap<&str, Vec<u64>> = SortedMap::new();
    for (between, size) in found.evidence.settings.between("sys/devices/system/edac/mc/mc", "/size") {
        if let (Some((controller, _)), Ok(size)) = (between.split_once('/'), size.parse::<u64>()) {
            controllers.entry(controller).or_default().push(size);
        }
    }
    controllers.values_mut().for_each(|sizes| {
        sizes.retain(|size| *size > 0);
        sizes.sort_unstable();
    });
    // A controller for which the driver tells no module is one of which nothing is known.
    let mut told = controllers.values().filter(|sizes| !sizes.is_empty());
    let Some(first) = told.next() else { return };
    if told.all(|sizes| sizes == first) && first.iter().all(|size| size == &first[0]) {
        return;
    }
    let all = controllers.iter().map(|(controller, sizes)| {
        let sizes: Vec<String> = sizes.iter().map(|size| format_bytes(*size << 20)).collect();
        format!("mc{controller}: {}", sizes.join(" + "))
    });
    let what = "memory controllers have different modules";
    let effect =
        "channels with more memory serve a part of it alone: addresses there have less bandwidth than others";
    let text = all.collect::<Vec<_>>().join(", ");
    let finding =
        noted("dimms-uneven", what, effect).proof("/sys/devices/system/edac/mc/mc*/dimm*/size", text);
    found.add(finding.remedy("sudo dmidecode -t memory   # one module of the same size in each channel"));
}

fn errors(found: &mut Found<'_>) {
    let count = |file: &str| -> Vec<(String, u64)> {
        let counts = found.evidence.settings.between("sys/devices/system/edac/mc/mc", file).into_iter();
        counts
            .filter_map(|(mc, count)| Some((format!("mc{mc}"), count.parse().ok().filter(|n| *n > 0)?)))
            .collect()
    };
    let (corrected, lost) = (count("/ce_count"), count("/ue_count"));
    let Some((mc, _)) = lost.first().or(corrected.first()) else { return };
    let sum =
        |counts: &[(String, u64)]| counts.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    let what = format!("memory had {} corrected and {} uncorrected errors", sum(&corrected), sum(&lost));
    let effect =
        "correcting takes time on the CPU that is interrupted; a module that does so often will fail";
    let text = format!("ce_count {}, ue_count {}", sum(&corrected), sum(&lost));
    let finding = noted("edac-errors", what, effect).proof(format!("/sys/devices/system/edac/mc/{mc}"), text);
    found.add(finding.remedy("sudo ras-mc-ctl --errors   # which module it is, to be replaced"));
}

/// Nodes of memory alone that is not a graphics card's: there for whoever asks, or for what is not used much.
fn tiers(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    let apart = |node: &&Node| {
        node.cpus.is_empty() && node.is_ordinary() && node.size_bytes.is_some_and(|size| size > 0)
    };
    let nodes: Vec<u32> = machine.nodes.iter().filter(apart).map(|node| node.id).collect();
    // Where not every CPU has its node, a node without CPUs may be one whose CPUs are not known.
    if nodes.is_empty() || machine.cpus.iter().any(|cpu| cpu.online && cpu.node.is_none()) {
        return;
    }
    let list = firsttouch_linux::cpulist::format_list(&nodes);
    let file = "/sys/kernel/mm/numa/demotion_enabled";
    if machine.tiers.len() > 1
        && matches!(found.text("sys/kernel/mm/numa/demotion_enabled"), Some("false" | "0"))
    {
        let what = "there are several tiers of memory, and the kernel demotes nothing to the slower ones";
        let effect = format!(
            "pages that nobody uses stay in fast memory until they are swapped out; node {list} is used when asked for"
        );
        found.add(noted("tier-unused", what, effect).proof(file, "false").set(file, "1"));
    }
    // Linux shows the table since 5.2; of machines that are no files it is not known whether they have one.
    let shows = machine.kernel.as_deref().and_then(kernel_version).is_some_and(|version| version >= (5, 2));
    if shows && found.evidence.settings.is_read() && machine.nodes.iter().all(|node| node.access.is_empty()) {
        let what = format!("the firmware does not say how fast the memory of node {list} is (no HMAT)");
        let effect = "kernel and programs tell kinds of memory apart by distance alone, which is no speed";
        found.add(
            noted("hmat-missing", what, effect)
                .proof(format!("/sys/devices/system/node/node{}/access0/initiators", nodes[0]), "(not there)")
                .remedy("firsttouch measure   # measures it; the result is kept, and placement uses it"),
        );
    }
}

/// High-bandwidth memory in front of ordinary memory: it cannot be placed in.
fn side_caches(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    if machine.nodes.iter().any(|node| node.kind == Some(MemoryKind::Hbm)) {
        return;
    }
    let Some((node, cache)) =
        machine.nodes.iter().find_map(|node| Some((node.id, node.side_caches.first()?)))
    else {
        return;
    };
    let size = cache.size_bytes.map(format_bytes).unwrap_or_else(|| "unknown size".to_owned());
    let what = format!("memory of {size} in front of node {node} is a cache (cache mode)");
    let effect = "nothing can be placed in it; data larger than it, or that falls on the same lines, gets little of its speed";
    found.add(
        noted("cache-mode", what, effect)
            .proof(
                format!("/sys/devices/system/node/node{node}/memory_side_cache/index{}/size", cache.level),
                size,
            )
            .remedy("choose flat mode in the firmware's setup to place data there: --memory prefer=hbm"),
    );
}
