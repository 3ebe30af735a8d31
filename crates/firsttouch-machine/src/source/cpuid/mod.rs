//! The machine in answers of the CPUID instruction, as `hwloc-gather-cpuid` records them of each CPU.
//!
//! The processor knows its packages, dies, cores, threads and caches, AMD's and Hygon's also their memory nodes. It knows nothing of
//! memory, of the operating system and of devices: all that stays unknown.

mod caches;
mod leaves;
mod processor;

use crate::core_kinds::CoreKind;
use crate::nodes::Node;
use crate::topology::{Cache, Core, Cpu, Part, Topology};
use crate::{Machine, MachineError};
use firsttouch_linux::cpuid::Answers;
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::root::Root;
use firsttouch_sorted::{SortedMap, SortedSet, sort_by, sort_by_key};
use processor::Processor;

/// Reads the files `pu0`, `pu1`, … below a root.
///
/// # Errors
/// There is none of them.
pub(super) fn machine(root: &Root) -> Result<Machine, MachineError> {
    let mut remarks = Vec::new();
    let names = root.list("").unwrap_or_else(|error| {
        remarks.push(error.to_string());
        None
    });
    let number = |name: &String| name.strip_prefix("pu")?.parse().ok().filter(|cpu| *cpu < CpuBits::END);
    // In order, and none twice: `pu1` and `pu01` are one CPU.
    let cpus: SortedMap<u32, String> =
        names.into_iter().flatten().filter_map(|name| Some((number(&name)?, name))).collect();
    if cpus.is_empty() {
        return Err(MachineError::NoAnswers { path: root.path().to_owned() });
    }
    let mut processors = Vec::new();
    for (cpu, name) in cpus {
        // The answers are dropped one by one: what is kept of them is little.
        match root.read(&name) {
            Ok(text) => processors.push(Processor::of(cpu, &Answers::parse(&text.unwrap_or_default()))),
            Err(error) => remarks.push(error.to_string()),
        }
    }
    let mut ids = SortedSet::new();
    if !processors.iter().filter_map(|one| one.apic).all(|id| ids.insert(id)) {
        // Who asked was not bound to the CPUs: nothing tells them apart.
        remarks.push(
            "several CPUs answered CPUID with one APIC id: cores, packages and caches are unknown".to_owned(),
        );
        processors.iter_mut().for_each(Processor::forget_place);
    }
    let nodes = nodes(&processors);
    remarks.push(if nodes.is_empty() {
        "answers of CPUID alone: memory, nodes, kernel and devices are unknown".to_owned()
    } else {
        "answers of CPUID alone: memory, kernel and devices are unknown, and nodes are numbered by the processor; firmware may \
         have divided or joined them"
            .to_owned()
    });
    let mut machine = Machine::described(topology(&processors), nodes);
    machine.cpu_model = processors.iter().find_map(|one| one.model.clone());
    machine.virtual_machine = processors.iter().find_map(|one| one.virtual_machine);
    machine.unreadable = remarks;
    Ok(machine)
}

fn topology(processors: &[Processor]) -> Topology {
    let mut cores: SortedMap<_, Core> = SortedMap::new();
    let mut dies: SortedMap<_, Part> = SortedMap::new();
    let mut caches: SortedMap<_, Cache> = SortedMap::new();
    for one in processors {
        let package = one.package;
        if let Some(core) = one.core {
            let new = || Core { id: Some(core), package, cpus: Vec::new() };
            // Processors of several nodes count their cores anew in each.
            cores.entry((package, one.node, core)).or_insert_with(new).cpus.push(one.cpu);
        }
        if let Some(die) = one.die {
            let new = || Part { id: Some(die), package, cpus: Vec::new() };
            dies.entry((package, die)).or_insert_with(new).cpus.push(one.cpu);
        }
        for cache in &one.caches {
            let key = (package, cache.level, cache.kind, cache.shared);
            caches.entry(key).or_insert_with(|| cache.described()).cpus.push(one.cpu);
        }
    }
    let cpu = |one: &Processor| Cpu { package: one.package, apic_id: one.apic, ..Cpu::new(one.cpu, true) };
    let mut topology = Topology {
        cpus: processors.iter().map(cpu).collect(),
        cores: cores.into_values().collect(),
        core_kinds: core_kinds(processors),
        dies: dies.into_values().collect(),
        caches: caches.into_values().collect(),
        ..Topology::default()
    };
    sort_by_key(&mut topology.cores, |core| core.cpus.first().copied());
    sort_by(&mut topology.caches, Cache::cmp);
    topology.join();
    topology.leave_out_repetitions();
    topology
}

/// The kinds of cores, the fastest first; none when all are alike.
fn core_kinds(processors: &[Processor]) -> Vec<CoreKind> {
    let mut kinds: SortedMap<_, Vec<u32>> = SortedMap::new();
    for one in processors {
        if let Some(kind) = one.kind {
            kinds.entry(kind).or_default().push(one.cpu);
        }
    }
    if kinds.len() < 2 {
        return Vec::new();
    }
    let kind = |(kind, cpus): (leaves::Kind, Vec<u32>)| CoreKind {
        name: kind.name().to_owned(),
        capacity: None,
        cpus,
    };
    kinds.into_iter().map(kind).collect()
}

/// The nodes that the processors name; none where one of them does not name its own.
fn nodes(processors: &[Processor]) -> Vec<Node> {
    let mut nodes: SortedMap<u32, Vec<u32>> = SortedMap::new();
    for one in processors {
        let Some(node) = one.node else { return Vec::new() };
        nodes.entry(node).or_default().push(one.cpu);
    }
    nodes.into_iter().map(|(id, cpus)| Node::new(id, cpus)).collect()
}
