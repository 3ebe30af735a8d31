//! Where devices interrupt.

use super::{Found, noted};
use firsttouch_linux::cpulist::{format_list, parse_list};
use firsttouch_sorted::SortedMap;

pub(super) fn find(found: &mut Found<'_>) {
    isolated(found);
    far(found);
}

/// Interrupts that came to CPUs which were set apart, by number. Those of queues that nobody uses stay at 0, and are none.
fn isolated(found: &mut Found<'_>) {
    let list = |name: &str| {
        found.text(&format!("sys/devices/system/cpu/{name}")).and_then(parse_list).unwrap_or_default()
    };
    let apart = [list("isolated"), list("nohz_full")].concat();
    let Some(counts) = found.text("proc/interrupts").filter(|_| !apart.is_empty()).map(counts) else {
        return;
    };
    let mut hits: SortedMap<u32, Vec<u32>> = SortedMap::new();
    for (irq, cpus) in affinity(found) {
        let came = |cpu: &u32| counts.get(&irq).and_then(|row| row.get(cpu)).is_some_and(|count| *count > 0);
        if !cpus.is_empty() && cpus.iter().all(|cpu| apart.contains(cpu)) && cpus.iter().any(came) {
            hits.insert(irq, cpus);
        }
    }
    let Some((irq, cpus)) = hits.iter().next() else { return };
    let all: Vec<u32> = hits.keys().copied().collect();
    let what = format!("interrupts {} go to CPUs that were set apart", format_list(&all));
    let effect = "they stop the one thread that has such a CPU for itself";
    let file = format!("/proc/irq/{irq}/effective_affinity_list");
    let rest: Vec<u32> = (found.evidence.report.machine.cpus.iter())
        .filter(|cpu| cpu.online && !apart.contains(&cpu.id))
        .map(|cpu| cpu.id)
        .collect();
    let rest = format_list(&rest);
    found.add(
        noted("irq-isolated", what, effect)
            .proof(file, format_list(cpus))
            .remedy(format!("echo {rest} | sudo tee /proc/irq/{irq}/smp_affinity_list"))
            .keep(format!("add to the kernel's command line: irqaffinity={rest}")),
    );
}

/// The CPUs that each interrupt goes to.
fn affinity(found: &Found<'_>) -> SortedMap<u32, Vec<u32>> {
    let files = found.evidence.settings.between("proc/irq/", "/effective_affinity_list").into_iter();
    files.filter_map(|(irq, list)| Some((irq.parse().ok()?, parse_list(list)?))).collect()
}

/// How often each interrupt came to each CPU. The head line names the CPUs that are online.
fn counts(text: &str) -> SortedMap<u32, SortedMap<u32, u64>> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> = head.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let row = |line: &str| {
        let (irq, rest) = line.split_once(':')?;
        let counts = rest.split_whitespace().map_while(|word| word.parse().ok());
        Some((irq.trim().parse().ok()?, cpus.iter().copied().zip(counts).collect()))
    };
    lines.filter_map(row).collect()
}

/// Devices all of whose interrupts go to CPUs of other nodes than theirs.
fn far(found: &mut Found<'_>) {
    let nodes = &found.evidence.report.machine.nodes;
    if nodes.iter().filter(|node| !node.cpus.is_empty()).count() < 2 {
        return;
    }
    let affinity = affinity(found);
    let mut devices: SortedMap<&str, Vec<u32>> = SortedMap::new();
    for (between, _) in found.evidence.settings.between("sys/bus/pci/devices/", "") {
        if let Some((device, irq)) = between.split_once("/msi_irqs/")
            && let Ok(irq) = irq.parse()
        {
            devices.entry(device).or_default().push(irq);
        }
    }
    let far: Vec<(&str, u32, u32)> = devices
        .iter()
        .filter_map(|(device, irqs)| {
            let home = found.number(&format!("sys/bus/pci/devices/{device}/numa_node"))?;
            let home = nodes.iter().find(|node| u64::from(node.id) == home && !node.cpus.is_empty())?;
            let used: Vec<(u32, &Vec<u32>)> = irqs
                .iter()
                .filter_map(|irq| Some((*irq, affinity.get(irq)?)))
                .filter(|(_, cpus)| !cpus.is_empty())
                .collect();
            let away = |cpus: &Vec<u32>| cpus.iter().all(|cpu| !home.cpus.contains(cpu));
            (!used.is_empty() && used.iter().all(|(_, cpus)| away(cpus)))
                .then(|| (*device, home.id, used[0].0))
        })
        .collect();
    let Some((device, node, irq)) = far.first().copied() else { return };
    let names: Vec<&str> = far.iter().map(|(device, ..)| *device).collect();
    let what = format!("devices interrupt no CPU of their own node: {}", names.join(", "));
    let effect = "what they deliver is handled on another node, and crosses the machine on its way";
    let cpus =
        nodes.iter().find(|one| one.id == node).map(|node| format_list(&node.cpus)).unwrap_or_default();
    let text = affinity.get(&irq).map(|cpus| format_list(cpus)).unwrap_or_default();
    found.add(
        noted("irq-far", what, effect)
            .proof(format!("/sys/bus/pci/devices/{device}/numa_node"), node.to_string())
            .proof(format!("/proc/irq/{irq}/effective_affinity_list"), text)
            .remedy(format!("echo {cpus} | sudo tee /proc/irq/{irq}/smp_affinity_list")),
    );
}
