//! What a machine has and allows: dense, aligned, no colour.

mod apic;

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::style::Style;
use crate::visible::visible;
use firsttouch_linux::cpulist::format_list;
use firsttouch_machine::{Ability, Access, Bound, Machine, Node, Pool, Probe, StatusReport};
use firsttouch_placement::format_bytes;
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// More nodes than this make the distance matrix wider than a page.
const MATRIX: usize = 10;
/// A longer list of CPUs is printed as a count.
const LIST: usize = 24;
const NOTHING: &str = "-";

/// What a machine has and allows, within so many columns. Commands are never broken, so that they can be copied.
pub fn status(report: &StatusReport, width: usize) -> String {
    let machine = &report.machine;
    let mut page = Page::new(width, Style::Plain);
    overview(&mut page, machine);
    nodes(&mut page, machine);
    caches(&mut page, machine);
    apic::section(&mut page, machine);
    huge_pages(&mut page, machine);
    kernel(&mut page, machine);
    limits(&mut page, machine);
    devices(&mut page, machine);
    traps(&mut page, machine);
    abilities(&mut page, &report.can);
    page.text
}

/// A label, as wide as all.
fn lead(label: &str) -> String {
    format!("  {:<14}", visible(label))
}

impl Page {
    /// A label and its value, wrapped under itself.
    fn row(&mut self, label: &str, value: &str) {
        self.paragraph(&lead(label), value, None);
    }

    fn row_if_some(&mut self, label: &str, value: Option<String>) {
        if let Some(value) = value {
            self.row(label, &value);
        }
    }

    /// Rows under their titles: the first column to the left, the others to the right.
    fn columns<T: Into<String>>(&mut self, titles: impl IntoIterator<Item = T>, rows: &[Vec<String>]) {
        let columns = titles.into_iter().enumerate().map(|(index, title)| {
            Column::new("", title, if index == 0 { Align::Left } else { Align::Right })
        });
        let mut table = Table::new(columns.collect());
        for row in rows {
            table.row(row.iter().map(Cell::new).collect());
        }
        for line in table.print(self.width, self.style).lines() {
            self.line("  ", line);
        }
    }
}

fn or_nothing<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

fn bytes(value: Option<u64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), format_bytes)
}

fn bound(value: Bound) -> String {
    match value {
        Bound::Bytes(bytes) => format_bytes(bytes),
        Bound::Unlimited => "unlimited".to_owned(),
    }
}

/// CPUs as `taskset -c` takes them, a regular stride included; a count when that is still long.
fn cpu_list(cpus: &[u32]) -> String {
    let list = match cpus {
        [] => "none".to_owned(),
        [first, second, .., last]
            if second - first > 1 && cpus.windows(2).all(|pair| pair[1] - pair[0] == second - first) =>
        {
            format!("{first}-{last}:{}", second - first)
        }
        _ => format_list(cpus),
    };
    if list.len() <= LIST { list } else { counted(cpus.len(), "cpu") }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn overview(page: &mut Page, machine: &Machine) {
    page.section("machine");
    page.row("processor", machine.cpu_model.as_deref().unwrap_or("unknown"));
    let place = match (machine.virtual_machine, &machine.hypervisor) {
        (_, Some(name)) => Some(format!("virtual, under {name}")),
        (Some(true), None) => Some("virtual".to_owned()),
        (Some(false), None) => Some("bare metal".to_owned()),
        (None, None) => None,
    };
    let parts: Vec<String> = [machine.product.clone(), place].into_iter().flatten().collect();
    page.row_if_some("hardware", (!parts.is_empty()).then(|| parts.join("; ")));
    page.row("kernel", machine.kernel.as_deref().unwrap_or("unknown"));
    page.row("cpus", &cpus(machine));
    for kind in &machine.core_kinds {
        page.row("", &format!("{} cores: cpus {}", kind.name, format_list(&kind.cpus)));
    }
    let mut memory = bytes(machine.memory_bytes);
    if let Some(available) = machine.memory_available_bytes {
        let _ = write!(memory, ", {} available", format_bytes(available));
    }
    match machine.swap_bytes {
        Some(0) => memory += ", no swap",
        Some(swap) => {
            let _ = write!(memory, ", {} swap", format_bytes(swap));
        }
        None => {}
    }
    page.row("memory", &memory);
    for remark in &machine.unreadable {
        page.row("unreadable", remark);
    }
}

fn cpus(machine: &Machine) -> String {
    let online: Vec<u32> = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    if online.is_empty() {
        return "unknown".to_owned();
    }
    let mut text = format!("{} online ({})", online.len(), format_list(&online));
    if online.len() < machine.cpus.len() {
        let offline: Vec<u32> = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
        let _ = write!(text, ", {} offline ({})", offline.len(), format_list(&offline));
    }
    if !machine.cores.is_empty() {
        let _ = write!(text, ", {}", counted(machine.cores.len(), "core"));
    }
    if !machine.clusters.is_empty() {
        let _ = write!(text, ", {}", counted(machine.clusters.len(), "cluster"));
    }
    if !machine.dies.is_empty() {
        let _ = write!(text, ", {}", counted(machine.dies.len(), "die"));
    }
    if !machine.packages.is_empty() {
        let _ = write!(text, ", {}", counted(machine.packages.len(), "package"));
    }
    text
}

fn nodes(page: &mut Page, machine: &Machine) {
    if machine.nodes.is_empty() {
        return;
    }
    page.section("nodes");
    let with_distances = machine.nodes.len() > 1 && machine.nodes.iter().any(|node| node.distances.is_some());
    let matrix = with_distances && machine.nodes.len() <= MATRIX;
    let tiered = machine.nodes.iter().any(|node| node.tier.is_some());
    let mut titles = ["node", "cpus", "kind", "memory", "free"].map(str::to_owned).to_vec();
    titles.extend(tiered.then(|| "tier".to_owned()));
    if matrix {
        titles.extend(machine.nodes.iter().map(|node| format!("to {}", node.id)));
    }
    let mut rows = Vec::new();
    for node in &machine.nodes {
        let mut row = vec![
            node.id.to_string(),
            cpu_list(&node.cpus),
            or_nothing(node.kind),
            bytes(node.size_bytes),
            bytes(node.free_bytes),
        ];
        row.extend(tiered.then(|| or_nothing(node.tier)));
        if matrix {
            let distance =
                |other: &Node| or_nothing(node.distances.as_ref().and_then(|all| all.get(&other.id)));
            row.extend(machine.nodes.iter().map(distance));
        }
        rows.push(row);
    }
    page.columns(titles, &rows);
    if with_distances && !matrix {
        for node in &machine.nodes {
            page.row_if_some(&format!("from {}", node.id), node.distances.as_ref().map(grouped));
        }
    }
    for node in &machine.nodes {
        for access in told_apart(&node.access) {
            page.row(&format!("speed of {}", node.id), &speed(access));
        }
        for cache in &node.side_caches {
            let size = bytes(cache.size_bytes);
            page.row(
                &format!("in front of {}", node.id),
                &format!("memory-side cache, level {}, {size}", cache.level),
            );
        }
    }
    if machine.tiers.len() > 1 {
        let tiers =
            machine.tiers.iter().map(|tier| format!("{}: nodes {}", tier.id, format_list(&tier.nodes)));
        page.row("tiers", &format!("{} (lower is faster)", tiers.collect::<Vec<_>>().join("; ")));
    }
}

/// The speeds without the one that the nearest device of any kind sees, where that is a CPU's.
fn told_apart(access: &[Access]) -> impl Iterator<Item = &Access> {
    let of_cpus = access.iter().find(|access| access.class == 1);
    access.iter().filter(move |access| {
        access.class == 1 || of_cpus.is_none_or(|of_cpus| of_cpus.initiators != access.initiators)
    })
}

/// Distances by value: `10 to 0; 20 to 1-3`.
fn grouped(distances: &BTreeMap<u32, u32>) -> String {
    let mut groups: SortedMap<u32, Vec<u32>> = SortedMap::new();
    for (node, distance) in distances {
        groups.entry(*distance).or_default().push(*node);
    }
    let groups = groups.iter().map(|(distance, nodes)| format!("{distance} to {}", format_list(nodes)));
    groups.collect::<Vec<_>>().join("; ")
}

fn speed(access: &Access) -> String {
    let latency = |ns: u64| format!("{ns} ns");
    let rate = |bytes_per_s: u64| format!("{:.1} GB/s", bytes_per_s as f64 / 1e9);
    let parts = [
        access.read_latency_ns.map(latency).map(|value| format!("read latency {value}")),
        access.read_bandwidth_bytes_per_s.map(rate).map(|value| format!("read {value}")),
        access.write_latency_ns.map(latency).map(|value| format!("write latency {value}")),
        access.write_bandwidth_bytes_per_s.map(rate).map(|value| format!("write {value}")),
    ];
    let from = format_list(&access.initiators);
    format!(
        "{}, from node {from}, says the firmware",
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    )
}

fn caches(page: &mut Page, machine: &Machine) {
    if machine.caches.is_empty() {
        return;
    }
    page.section("caches");
    // Caches that differ in their CPUs only are one line.
    let mut kinds: SortedMap<_, Vec<usize>> = SortedMap::new();
    for cache in &machine.caches {
        let kind = (cache.level, &cache.kind, cache.size_bytes, cache.line_bytes, cache.ways);
        kinds.entry(kind).or_default().push(cache.cpus.len());
    }
    let titles = ["cache", "size", "count", "cpus each", "line", "ways"];
    let mut rows = Vec::new();
    for ((level, kind, size, line, ways), shared) in kinds {
        let (least, most) = (shared.iter().min().unwrap_or(&0), shared.iter().max().unwrap_or(&0));
        rows.push(vec![
            format!("L{level} {}", kind.as_deref().unwrap_or_default()),
            bytes(size),
            shared.len().to_string(),
            if least == most { least.to_string() } else { format!("{least}-{most}") },
            or_nothing(line),
            or_nothing(ways.filter(|ways| *ways > 0)),
        ]);
    }
    page.columns(titles, &rows);
}

fn huge_pages(page: &mut Page, machine: &Machine) {
    page.section("huge pages");
    let thp = &machine.thp;
    if thp.enabled.is_none() && machine.pools.is_empty() {
        page.line("  ", "unknown");
        return;
    }
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| NOTHING.to_owned());
    let switch = |value: Option<bool>| value.map_or(NOTHING, |on| if on { "yes" } else { "no" });
    if thp.enabled.is_some() {
        let size = bytes(thp.hpage_pmd_size_bytes);
        let settings = format!(
            "{} (defrag {}; shared memory {}; khugepaged defrag {}; zero page {}; size {size})",
            word(&thp.enabled),
            word(&thp.defrag),
            word(&thp.shmem_enabled),
            switch(thp.khugepaged_defrag),
            switch(thp.use_zero_page),
        );
        page.row("transparent", &settings);
    }
    let mut settings: Vec<(&str, Vec<String>)> = Vec::new();
    for size in &thp.sizes {
        let Some(enabled) = size.enabled.as_deref() else { continue };
        let name = format!("{}k", size.page_bytes >> 10);
        match settings.iter_mut().find(|(word, _)| *word == enabled) {
            Some((_, names)) => names.push(name),
            None => settings.push((enabled, vec![name])),
        }
    }
    if !settings.is_empty() {
        let groups = settings.iter().map(|(word, names)| format!("{word}: {}", names.join(" ")));
        page.row("by size", &groups.collect::<Vec<_>>().join("; "));
    }
    pools(page, &machine.pools);
}

fn pools(page: &mut Page, pools: &[Pool]) {
    if pools.is_empty() {
        return;
    }
    let titles = ["pool of", "node", "pages", "free", "reserved", "surplus", "overcommit"];
    let mut rows = Vec::new();
    for pool in pools {
        rows.push(vec![
            format_bytes(pool.page_bytes),
            "all".to_owned(),
            or_nothing(pool.pages),
            or_nothing(pool.free),
            or_nothing(pool.reserved),
            or_nothing(pool.surplus),
            or_nothing(pool.overcommit),
        ]);
        // One node, or nothing in any of them: the row above has said it.
        if pool.nodes.len() < 2 || pool.pages == Some(0) {
            continue;
        }
        for part in &pool.nodes {
            let counts = [part.pages, part.free, None, part.surplus, None];
            let cells = [String::new(), part.node.to_string()].into_iter();
            rows.push(
                cells
                    .chain(counts.map(|count| count.map(|count| count.to_string()).unwrap_or_default()))
                    .collect(),
            );
        }
    }
    page.columns(titles, &rows);
}

fn kernel(page: &mut Page, machine: &Machine) {
    let features = &machine.features;
    let probes = [
        ("MADV_COLLAPSE", &features.madv_collapse),
        ("MADV_POPULATE_WRITE", &features.madv_populate_write),
        ("PAGEMAP_SCAN", &features.pagemap_scan),
        ("process_madvise", &features.process_madvise),
        ("weighted interleave", &features.weighted_interleave),
        ("hardware counters", &features.hardware_counters),
    ];
    let probes: Vec<(&str, &Probe)> =
        probes.iter().filter_map(|(name, probe)| Some((*name, probe.as_ref()?))).collect();
    let works: Vec<&str> = probes.iter().filter(|(_, probe)| probe.works).map(|(name, _)| *name).collect();
    let others = [
        machine.numa_balancing.map(|on| format!("NUMA balancing {}", if on { "on" } else { "off" })),
        machine.perf_event_paranoid.map(|level| format!("perf_event_paranoid {level}")),
        features.thp_disabled_by_prctl.as_ref().map(|state| format!("PR_SET_THP_DISABLE {state}")),
        machine.interleave_weights.as_ref().map(|weights| {
            let weights = weights.iter().map(|(node, weight)| format!("{node}:{weight}")).collect::<Vec<_>>();
            format!("interleave weights {}", weights.join(" "))
        }),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if probes.is_empty() && others.is_empty() {
        return;
    }
    page.section("kernel");
    page.row_if_some("works", (!works.is_empty()).then(|| works.join(", ")));
    for (name, probe) in probes.iter().filter(|(_, probe)| !probe.works) {
        page.row("does not", &format!("{name}: {}", probe.answer.as_deref().unwrap_or("no answer")));
    }
    page.row_if_some("settings", (!others.is_empty()).then(|| others.join(", ")));
}

fn limits(page: &mut Page, machine: &Machine) {
    let limits = &machine.limits;
    let memory = limits.cgroup_memory.as_ref().map(|memory| {
        let mut text = format!("{} of memory", bound(memory.limit_bytes));
        if let Some(usage) = memory.usage_bytes {
            let _ = write!(text, ", {} used", format_bytes(usage));
        }
        match &memory.file {
            Some(file) => format!("{text} ({file})"),
            None => format!("{text} (version {})", memory.version),
        }
    });
    let hugetlb = limits.cgroup_hugetlb.iter().map(|limit| {
        let used =
            limit.usage_bytes.map(|usage| format!(", {} used", format_bytes(usage))).unwrap_or_default();
        format!("{} of {} pages{used}", bound(limit.limit_bytes), format_bytes(limit.page_bytes))
    });
    let hugetlb: Vec<String> = hugetlb.collect();
    let place = |cpus: &Option<Vec<u32>>, nodes: &Option<Vec<u32>>| {
        let cpus = cpus.as_ref().map(|cpus| format!("cpus {}", format_list(cpus)));
        let nodes = nodes.as_ref().map(|nodes| format!("nodes {}", format_list(nodes)));
        let parts: Vec<String> = [cpus, nodes].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    // The kernel allows CPUs that may come to be there, too.
    let is_offline = |cpu: &u32| machine.cpus.iter().any(|one| one.id == *cpu && !one.online);
    let usable = limits.allowed_cpus.as_ref();
    let usable = usable.map(|cpus| cpus.iter().copied().filter(|cpu| !is_offline(cpu)).collect());
    let held = machine.capabilities.as_ref().map(|names| match names.as_slice() {
        [] => "none of those that matter here".to_owned(),
        names => names.join(", "),
    });
    let rows = [
        ("locked memory", limits.memlock_bytes.map(bound)),
        ("address space", limits.address_space_bytes.map(bound)),
        ("control group", memory),
        ("", (!hugetlb.is_empty()).then(|| hugetlb.join("; "))),
        ("cpuset", place(&limits.cpuset_cpus, &limits.cpuset_mems)),
        ("may use", place(&usable, &limits.allowed_nodes)),
        ("capabilities", held),
    ];
    if rows.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    page.section("limits of this process");
    for (label, value) in rows {
        page.row_if_some(label, value);
    }
}

fn devices(page: &mut Page, machine: &Machine) {
    if machine.devices.is_empty() {
        return;
    }
    page.section("devices");
    let titles = ["device", "class", "address", "node", "near cpus"];
    let mut rows = Vec::new();
    // A PCI device is what its driver made of it; those without a driver's name stand for themselves.
    let has_name = |address: &String| {
        let mut named = machine.devices.iter().filter(|device| device.class != "pci");
        named.any(|device| device.address.as_ref() == Some(address))
    };
    for device in machine.devices.iter().filter(|device| device.class != "pci" || !has_name(&device.name)) {
        rows.push(vec![
            device.name.clone(),
            device.class.clone(),
            or_nothing(device.address.as_ref()),
            or_nothing(device.node),
            device.cpus.as_deref().map_or_else(|| NOTHING.to_owned(), cpu_list),
        ]);
    }
    page.columns(titles, &rows);
}

fn traps(page: &mut Page, machine: &Machine) {
    if machine.traps.is_empty() {
        return;
    }
    page.section("traps");
    for trap in &machine.traps {
        page.line("  ", &trap.name);
        page.row("  what", &trap.what);
        // Documents of older versions have it in `what`.
        if !trap.effect.is_empty() {
            page.row("  effect", &trap.effect);
        }
        page.row("  hint", &trap.remedy);
    }
}

fn abilities(page: &mut Page, can: &[Ability]) {
    let of = |possible: Option<bool>| can.iter().filter(move |ability| ability.possible == possible);
    if of(Some(true)).next().is_some() {
        page.section("can be done here");
        for ability in of(Some(true)) {
            page.row(&ability.what, &ability.why);
        }
    }
    if of(Some(false)).next().is_some() {
        page.section("cannot be done here");
        let missing: Vec<&Ability> = of(Some(false)).collect();
        // Neighbours with the same reason (sizes that are switched off) share it.
        for group in missing.chunk_by(|a, b| a.why == b.why) {
            let words: Vec<&str> = group.iter().map(|ability| ability.what.as_str()).collect();
            match words.as_slice() {
                [only] => page.row(only, &group[0].why),
                words => page.paragraph("  ", &format!("{}: {}", words.join(" "), group[0].why), None),
            }
            for ability in group {
                if let Some(command) = &ability.remedy {
                    // A command is never broken: it is there to be copied.
                    let label = if group.len() > 1 { ability.what.as_str() } else { "" };
                    page.line(&lead(label), command);
                }
            }
        }
    }
    let unknown: Vec<&str> = of(None).map(|ability| ability.what.as_str()).collect();
    if !unknown.is_empty() {
        page.section("not known here");
        page.paragraph("  ", &format!("{}: this recording does not tell", unknown.join(", ")), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_machine::Root;
    use std::fs;

    #[test]
    fn this_machine_prints_within_the_page() {
        let report = StatusReport::examine(&Root::live()).unwrap();
        for width in [80, 100] {
            let text = status(&report, width);
            for title in
                ["machine\n", "\nhuge pages\n", "\nlimits of this process\n", "\ncannot be done here\n"]
            {
                assert!(text.contains(title), "{title:?} in\n{text}");
            }
            // Commands alone may be longer: they must stay copyable.
            for line in text.lines().filter(|line| !line.contains("sudo")) {
                assert!(line.chars().count() <= width, "{line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn a_machine_of_two_files_prints_what_they_say() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("proc")).unwrap();
        fs::write(folder.path().join("proc/cpuinfo"), "processor : 0\nmodel name : Test\n").unwrap();
        fs::write(folder.path().join("proc/meminfo"), "MemTotal: 2048 kB\nMemFree: 1024 kB\n").unwrap();
        let text = status(&StatusReport::examine(&Root::at(folder.path())).unwrap(), 100);
        assert!(text.contains("processor     Test\n"), "{text}");
        assert!(text.contains("2 MiB"), "{text}");
        assert!(text.contains("not known here"), "{text}");
    }

    #[test]
    fn cpus_that_are_offline_may_be_used_by_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("proc/cpuinfo", "processor : 0\n\nprocessor : 2\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2\nMems_allowed_list:\t0\n"),
            ("sys/devices/system/cpu/online", "0,2\n"),
            ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
            ("sys/devices/system/cpu/cpu1/online", "0\n"),
            ("sys/devices/system/cpu/cpu2/topology/core_id", "1\n"),
        ];
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let text = status(&StatusReport::examine(&Root::at(folder.path())).unwrap(), 100);
        assert!(text.contains("2 online (0,2), 1 offline (1)"), "{text}");
        assert!(text.contains("may use       cpus 0,2, nodes 0\n"), "{text}");
    }

    #[test]
    fn cpu_lists_stay_short() {
        assert_eq!(cpu_list(&[0, 4, 8, 12]), "0-12:4");
        assert_eq!(cpu_list(&[0, 1, 2, 8]), "0-2,8");
        assert_eq!(cpu_list(&[]), "none");
        assert_eq!(cpu_list(&(0..40).map(|n| n * n).collect::<Vec<_>>()), "40 cpus");
    }
}
