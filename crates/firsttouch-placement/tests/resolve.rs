//! What a placement means on machines that are not ours.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_linux::numa::{Mode, NodeBits};
use firsttouch_machine::{Access, Machine, MemoryKind, Near};
use firsttouch_placement::ResolvedMemory::{Bind, Interleave, Local, Prefer};
use firsttouch_placement::{Placement, Policies, ResolveError, Resolved, Surroundings};
use skipped::skipped;
use std::collections::BTreeMap;
use std::path::Path;

const EVERYTHING: Policies = Policies { preferred_many: true, weighted_interleave: true };

/// Four nodes of six cores.
fn istanbul() -> Machine {
    machine("pack:4 [numa] l3:1 core:6 pu:1")
}

fn machine(text: &str) -> Machine {
    let mut machine = Machine::from_source(text).unwrap();
    machine.limits.allowed_cpus = None;
    machine.limits.allowed_nodes = None;
    machine.limits.cpuset_cpus = None;
    machine
}

/// Two nodes with CPUs and ordinary memory, one of high bandwidth, one behind CXL, and a graphics card's.
fn tiers() -> Machine {
    let mut machine = machine("[numa] [numa] [numa] pack:2 [numa] core:4 pu:1");
    let mut kinds = vec![MemoryKind::Hbm, MemoryKind::Cxl, MemoryKind::Gpu];
    for node in &mut machine.nodes {
        node.kind = if node.cpus.len() == 4 { Some(MemoryKind::Dram) } else { kinds.pop() };
    }
    machine
        .nodes
        .iter_mut()
        .filter(|node| node.kind != Some(MemoryKind::Dram))
        .for_each(|node| node.cpus.clear());
    machine
}

fn of_kind(machine: &Machine, kind: MemoryKind) -> Vec<u32> {
    machine.nodes.iter().filter(|node| node.kind == Some(kind)).map(|node| node.id).collect()
}

fn resolve_with(
    text: &str,
    machine: &Machine,
    near: Option<&Near>,
    kernel: Policies,
) -> Result<Resolved, ResolveError> {
    let placement: Placement = text.parse().unwrap();
    placement.resolve(&Surroundings { machine, near, measured: None, kernel })
}

fn resolve(text: &str, machine: &Machine) -> Result<Resolved, ResolveError> {
    resolve_with(text, machine, None, EVERYTHING)
}

#[track_caller]
fn refused(text: &str, machine: &Machine, reason: &str, hint: &str) {
    let error = resolve(text, machine).unwrap_err();
    assert!(error.to_string().contains(reason), "{error}");
    assert!(error.hint().contains(hint), "{}", error.hint());
}

#[test]
fn policies_become_modes_and_numbers() {
    let machine = istanbul();
    for (text, memory, mode) in [
        ("thp,bind=1+3", Bind(vec![1, 3]), Mode::Bind),
        ("thp,interleave=all", Interleave(vec![0, 1, 2, 3]), Mode::Interleave),
        ("thp,interleave=0-2+1", Interleave(vec![0, 1, 2]), Mode::Interleave),
        ("thp,prefer=2", Prefer(vec![2]), Mode::Preferred),
        ("thp,prefer=1-2", Prefer(vec![1, 2]), Mode::PreferredMany),
        ("thp,local", Local, Mode::Local),
    ] {
        let resolved = resolve(text, &machine).unwrap();
        assert_eq!(resolved.memory, memory, "{text}");
        let nodes = NodeBits::of(&memory.nodes()).unwrap();
        assert_eq!(memory.of_process(), Some((mode, nodes)), "{text}");
        assert!(resolved.cpus.is_empty() && resolved.order.is_empty());
    }
    assert_eq!(resolve("thp", &machine).unwrap(), Resolved::default());
}

#[test]
fn an_old_kernel_prefers_one_node_and_says_so() {
    let resolved = resolve_with("thp,prefer=1-3", &istanbul(), None, Policies::default()).unwrap();
    assert_eq!(resolved.memory, Prefer(vec![1]));
    assert!(resolved.notes[0].contains("Linux 5.15"), "{:?}", resolved.notes);
}

#[test]
fn nodes_that_cannot_be_had_are_refused() {
    let mut machine = istanbul();
    refused("thp,bind=4", &machine, "there is no node 4: this machine has nodes 0-3", "firsttouch status");
    machine.nodes[2].size_bytes = Some(0);
    refused("thp,bind=0-3", &machine, "node 2 has no memory", "");
    assert_eq!(resolve("thp,bind=all", &machine).unwrap().memory.nodes(), [0, 1, 3], "all that have memory");
    machine.nodes[2].distances = Some(BTreeMap::from([(0, 20), (1, 16), (2, 10), (3, 22)]));
    for policy in ["bind", "prefer", "interleave", "weighted"] {
        let hint = format!("--memory {policy}=1");
        refused(&format!("thp,{policy}=2"), &machine, "the nearest memory is that of node 1", &hint);
    }
    machine.limits.allowed_nodes = Some(vec![1, 3]);
    refused("thp,bind=0", &machine, "node 0 is outside the cpuset, which allows nodes 1,3", "cpuset.mems");
    assert_eq!(resolve("thp,interleave=all", &machine).unwrap().memory.nodes(), [1, 3]);
}

#[test]
fn words_for_kinds_of_memory_find_their_nodes() {
    let machine = tiers();
    for kind in [MemoryKind::Hbm, MemoryKind::Cxl, MemoryKind::Gpu, MemoryKind::Dram] {
        let nodes = resolve(&format!("thp,bind={kind}"), &machine).unwrap().memory.nodes();
        assert_eq!(nodes, of_kind(&machine, kind), "{kind}");
    }
    // A graphics card's memory is never meant unless it is named.
    let all = resolve("thp,interleave=all", &machine).unwrap().memory.nodes();
    assert_eq!(all.len(), 4);
    assert!(!all.contains(&of_kind(&machine, MemoryKind::Gpu)[0]));
    assert_eq!(resolve("thp,bind=hbm+dram", &machine).unwrap().memory.nodes().len(), 3);
    refused(
        "thp,bind=pmem",
        &machine,
        "no node has memory of the kind `pmem` (there is dram and hbm and cxl",
        "status",
    );
    refused("thp,bind=hbm", &istanbul(), "no node has memory of the kind `hbm`", "status");
}

#[test]
fn threads_become_an_order_and_a_mask() {
    let machine = istanbul();
    let resolved = resolve("plain,threads=scatter", &machine).unwrap();
    assert_eq!(resolved.order[..5], [0, 6, 12, 18, 1]);
    assert_eq!(resolved.cpus, (0..24).collect::<Vec<u32>>());
    let resolved = resolve("plain,threads=4-7+0", &machine).unwrap();
    assert_eq!((resolved.order, resolved.cpus), (vec![4, 5, 6, 7, 0], vec![0, 4, 5, 6, 7]));
    let resolved = resolve("plain,threads=groups=3x2", &machine).unwrap();
    assert_eq!(resolved.order, [0, 1, 2, 12, 13, 14]);
    refused("plain,threads=groups=7x2", &machine, "fits into no node: the largest has 6", "groups=6xN");
    refused("plain,threads=groups=6x5", &machine, "room for 4 groups", "--threads groups=6x4");
}

#[test]
fn cpus_that_cannot_be_had_are_refused() {
    let mut machine = istanbul();
    refused(
        "plain,threads=24",
        &machine,
        "there is no CPU 24: this machine has CPUs 0-23",
        "firsttouch status",
    );
    machine.cpus[5].online = false;
    refused(
        "plain,threads=4-6",
        &machine,
        "CPU 5 is offline",
        "echo 1 | sudo tee /sys/devices/system/cpu/cpu5/online",
    );
    machine.limits.allowed_cpus = Some((0..12).collect());
    refused(
        "plain,threads=13",
        &machine,
        "CPU 13 is outside the affinity that we were started with: 0-11",
        "taskset",
    );
    machine.limits.cpuset_cpus = Some((0..12).collect());
    refused("plain,threads=13", &machine, "CPU 13 is outside the cpuset, which allows 0-11", "cpuset.cpus");
    let resolved = resolve("plain,threads=compact", &machine).unwrap();
    assert_eq!(resolved.order, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn a_device_gives_its_cpus_and_its_memory() {
    let machine = istanbul();
    let near = Near {
        device: "nvme0n1".to_owned(),
        layers: vec!["nvme0n1".to_owned(), "0000:05:00.0".to_owned()],
        nodes: vec![2],
        cpus: (12..18).collect(),
    };
    let resolve = |text: &str| resolve_with(text, &machine, Some(&near), EVERYTHING).unwrap();
    let resolved = resolve("plain,near=nvme0n1");
    assert_eq!(resolved.memory, Prefer(vec![2]));
    assert_eq!(
        (resolved.cpus, resolved.order),
        ((12..18).collect(), vec![]),
        "its CPUs, and no thread on one of them"
    );
    let resolved = resolve("plain,near=nvme0n1,local,threads=scatter");
    assert_eq!(resolved.memory, Local);
    assert_eq!(resolved.order, [12, 13, 14, 15, 16, 17]);
    let mut elsewhere = machine.clone();
    elsewhere.limits.allowed_cpus = Some(vec![0, 1]);
    let error = resolve_with("plain,near=nvme0n1", &elsewhere, Some(&near), EVERYTHING).unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of the CPUs next to nvme0n1 may be used: they are 12-17, and we may use 0-1"
    );
}

fn with_bandwidths(machine: &mut Machine, of: impl Fn(u32) -> u64) {
    for node in &mut machine.nodes {
        node.access = vec![Access {
            class: 1,
            initiators: vec![0],
            read_latency_ns: None,
            write_latency_ns: None,
            read_bandwidth_bytes_per_s: Some(of(node.id) * 1_000_000_000),
            write_bandwidth_bytes_per_s: None,
        }];
    }
}

fn weights(resolved: &Resolved) -> Vec<(u32, u32)> {
    resolved.memory.of_agent().nodes().collect()
}

#[test]
fn weights_come_from_bandwidths_or_not_at_all() {
    let mut machine = istanbul();
    refused("thp,weighted", &machine, "the bandwidth of nodes 0-3 is not known", "firsttouch measure");
    with_bandwidths(&mut machine, |node| if node < 2 { 200 } else { 100 });
    let resolved = resolve("thp,weighted", &machine).unwrap();
    assert_eq!(weights(&resolved), [(0, 2), (1, 2), (2, 1), (3, 1)], "by us: the kernel has no weights");
    assert_eq!((resolved.memory.of_process(), resolved.memory.nodes()), (None, vec![0, 1, 2, 3]));
    assert!(
        resolved.notes[0].contains("0:2 1:2 2:1 3:1") && resolved.notes[0].contains("firmware"),
        "{:?}",
        resolved.notes
    );
    refused("plain,weighted", &machine, "nothing is placed by the agent", "--pages thp");
    refused(
        "thp,weighted,via=glibc",
        &machine,
        "the kernel's weights are others",
        "weighted_interleave/node0",
    );
    let some = resolve("thp,weighted=1+2", &machine).unwrap();
    assert_eq!(weights(&some), [(1, 2), (2, 1)]);
}

#[test]
fn weights_that_somebody_gave_the_kernel_are_taken_where_no_bandwidth_is_known() {
    let mut machine = istanbul();
    machine.interleave_weights = Some(BTreeMap::from([(0, 4), (1, 4), (2, 1), (3, 1)]));
    let resolved = resolve("plain,weighted", &machine).unwrap();
    let nodes = NodeBits::of(&[0, 1, 2, 3]).unwrap();
    assert_eq!(resolved.memory.of_process(), Some((Mode::WeightedInterleave, nodes)));
    assert!(resolved.notes[0].contains("0:4 1:4 2:1 3:1, as set in /sys/"), "{:?}", resolved.notes);
    // As they come.
    refused("thp,weighted=0+1", &machine, "the bandwidth of nodes 0-1 is not known", "firsttouch measure");
}

#[test]
fn the_kernel_interleaves_where_its_weights_are_the_wanted_ones() {
    let mut machine = istanbul();
    with_bandwidths(&mut machine, |node| if node < 2 { 200 } else { 100 });
    machine.interleave_weights = Some(BTreeMap::from([(0, 10), (1, 10), (2, 5), (3, 5)]));
    let resolved = resolve("thp,weighted", &machine).unwrap();
    let nodes = NodeBits::of(&[0, 1, 2, 3]).unwrap();
    assert_eq!(resolved.memory.of_process(), Some((Mode::WeightedInterleave, nodes)));
    assert_eq!(weights(&resolved), []);
    let old = resolve_with("thp,weighted", &machine, None, Policies::default()).unwrap();
    assert_eq!(weights(&old).len(), 4);
    assert!(old.notes[1].contains("Linux 6.9"));
    machine.interleave_weights = Some(BTreeMap::from([(0, 1), (1, 1), (2, 1), (3, 1)]));
    let other = resolve("thp,weighted", &machine).unwrap();
    assert!(
        other.memory.of_process().is_none() && other.notes[1].contains("the kernel's weights are others"),
        "{:?}",
        other.notes
    );
}

fn recorded(name: &str) -> Option<Machine> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../shared/data/machines/{name}.tar.bz2"));
    if !path.is_file() {
        skipped(&format!("{} is not there", path.display()));
        return None;
    }
    Some(machine(path.to_str().unwrap()))
}

#[test]
fn recorded_machines_resolve() {
    if let Some(machine) = recorded("48amd64-4pa2n6c-sparse") {
        assert_eq!(
            resolve("thp,interleave=all", &machine).unwrap().memory.nodes(),
            [0, 1, 2, 33, 34, 45, 72, 73]
        );
        refused(
            "thp,bind=0-3",
            &machine,
            "there is no node 3: this machine has nodes 0-2,33-34,45,72-73",
            "status",
        );
        assert_eq!(resolve("plain,threads=groups=6x8", &machine).unwrap().order.len(), 48);
    }
    if let Some(machine) = recorded("nvidiagpunumanodes") {
        let all = resolve("thp,interleave=all", &machine).unwrap().memory.nodes();
        assert_eq!(all, [0, 8], "not the memory of the graphics cards");
        assert_eq!(resolve("thp,bind=gpu", &machine).unwrap().memory.nodes(), [250, 251, 252, 253, 254, 255]);
    }
    if let Some(machine) = recorded("128ia64-17n4s2c") {
        // Node 16 is memory without CPUs.
        assert_eq!(resolve("thp,bind=16", &machine).unwrap().memory.nodes(), [16]);
        assert_eq!(resolve("plain,threads=compact", &machine).unwrap().order.len(), 128);
    }
    if let Some(machine) = recorded("offline-cpu0-node0") {
        refused("plain,threads=0", &machine, "CPU 0 is offline", "echo 1");
        refused("thp,bind=0", &machine, "there is no node 0: this machine has node 1", "status");
    }
}

#[test]
fn cpus_of_a_program_are_a_mask_and_no_order() {
    let machine = istanbul();
    for (text, cpus) in [
        ("plain,cpus=0-3+8", vec![0, 1, 2, 3, 8]),
        ("plain,cpus=nodes=1", (6..12).collect()),
        ("plain,node=3", (18..24).collect()),
        ("plain,cpus=nodes=0+2", (0..6).chain(12..18).collect()),
        ("plain,cpus=all", (0..24).collect()),
    ] {
        let resolved = resolve(text, &machine).unwrap();
        assert_eq!((resolved.cpus, resolved.order), (cpus, vec![]), "{text}");
        assert_eq!(resolved.notes, [""; 0], "{text}");
    }
    let resolved = resolve("plain,node=3", &machine).unwrap();
    assert_eq!(resolved.memory, Bind(vec![3]));
}

#[test]
fn threads_choose_among_the_cpus_of_the_program() {
    let machine = istanbul();
    let resolved = resolve("plain,cpus=nodes=1+2,threads=scatter", &machine).unwrap();
    assert_eq!(resolved.order[..3], [6, 12, 7]);
    assert_eq!(resolved.cpus, (6..18).collect::<Vec<u32>>());
    let resolved = resolve("plain,cpus=4-7,threads=7+4", &machine).unwrap();
    assert_eq!((resolved.order, resolved.cpus), (vec![7, 4], vec![4, 7]));
    refused(
        "plain,cpus=4-7,threads=4+8",
        &machine,
        "--threads names CPU 8, which --cpus 4-7 leaves out",
        "--threads chooses among the CPUs of --cpus: 4-7",
    );
    let near =
        Near { device: "eth0".to_owned(), cpus: (6..12).collect(), nodes: vec![1], layers: Vec::new() };
    let with = |text: &str| resolve_with(text, &machine, Some(&near), EVERYTHING);
    assert_eq!(with("plain,near=eth0,cpus=0-7").unwrap().cpus, [6, 7]);
    let error = with("plain,near=eth0,cpus=0-3").unwrap_err();
    assert!(error.to_string().contains("is among those of --cpus"), "{error}");
    assert!(error.hint().contains("--near eth0"), "{}", error.hint());
}

#[test]
fn cpus_of_a_program_that_cannot_be_had_are_refused() {
    let mut machine = istanbul();
    refused("plain,cpus=0+24", &machine, "there is no CPU 24", "firsttouch status");
    refused("plain,cpus=nodes=4", &machine, "there is no node 4", "firsttouch status");
    refused("plain,cpus=nodes=hbm", &machine, "no node has memory of the kind `hbm`", "status");
    machine.cpus[5].online = false;
    refused("plain,cpus=5", &machine, "CPU 5 is offline", "cpu5/online");
    let some = resolve("plain,cpus=nodes=0", &machine).unwrap();
    assert_eq!(some.cpus, [0, 1, 2, 3, 4]);
    assert!(some.notes[0].starts_with("CPUs 5 of the nodes are offline or not ours"), "{:?}", some.notes);
    assert_eq!(resolve("plain,cpus=all", &machine).unwrap().notes, [""; 0]);
    machine.limits.allowed_cpus = Some(vec![6, 7]);
    refused("plain,cpus=0", &machine, "CPU 0 is outside the affinity", "without taskset");
    let none = "none of the CPUs of node 2 may be used: they are 12-17, and we may use 6-7";
    refused("plain,cpus=nodes=2", &machine, none, "without taskset");
    machine.limits.cpuset_cpus = Some(vec![6, 7]);
    refused("plain,cpus=nodes=2", &machine, none, "cpuset.cpus");
    refused("plain,cpus=0", &machine, "CPU 0 is outside the cpuset", "cpuset.cpus");
    assert_eq!(resolve("plain,cpus=all", &machine).unwrap().cpus, [6, 7]);

    // Memory without CPUs, and CPUs without memory.
    let mut machine = tiers();
    let cxl = of_kind(&machine, MemoryKind::Cxl)[0];
    refused(
        &format!("plain,cpus=nodes={cxl}"),
        &machine,
        &format!("node {cxl} has no CPUs, only memory"),
        "",
    );
    refused("plain,cpus=nodes=cxl", &machine, "has no CPUs", "");
    let dram = of_kind(&machine, MemoryKind::Dram);
    assert_eq!(resolve("plain,cpus=nodes=dram", &machine).unwrap().cpus, (0..8).collect::<Vec<u32>>());
    let far = machine.nodes.iter_mut().find(|node| node.id == cxl).unwrap();
    far.distances = Some(BTreeMap::from([(dram[0], 30), (dram[1], 20), (cxl, 10)]));
    let hint = format!("-m {cxl} -N {}", dram[1]);
    refused(&format!("plain,cpus=nodes={cxl}"), &machine, "the nearest CPUs are those of node", &hint);
    machine.nodes.iter_mut().for_each(|node| node.size_bytes = Some(0));
    assert!(resolve(&format!("plain,cpus=nodes={}", dram[0]), &machine).is_ok());
}
