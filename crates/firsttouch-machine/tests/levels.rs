//! The levels between a machine and its CPUs, and what hangs on it, on trees written as the kernel lays them out.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod written;

use firsttouch_machine::{Device, Machine, Root};
use written::Written;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Sixteen CPUs: two packages of two dies of two clusters of two cores.
fn sixteen_cpus() -> Written {
    let machine = Written::new();
    machine.file("proc/cpuinfo", "processor : 0\napicid : 16\n\nprocessor : 7\napicid : 37\n");
    machine.file(&format!("{CPU}/online"), "0-15\n");
    for cpu in 0..16_u32 {
        let around = |size: u32| format!("{}-{}\n", cpu / size * size, cpu / size * size + size - 1);
        let folder = format!("{CPU}/cpu{cpu}/topology");
        machine
            .file(&format!("{folder}/physical_package_id"), &format!("{}\n", cpu / 8))
            .file(&format!("{folder}/core_id"), &format!("{}\n", cpu % 8))
            .file(&format!("{folder}/core_cpus_list"), &format!("{cpu}\n"))
            .file(&format!("{folder}/die_id"), &format!("{}\n", cpu / 4 % 2))
            .file(&format!("{folder}/die_cpus_list"), &around(4))
            .file(&format!("{folder}/cluster_id"), &format!("{}\n", cpu / 2 % 4))
            .file(&format!("{folder}/cluster_cpus_list"), &around(2));
    }
    machine
}

fn read(machine: &Written) -> Machine {
    Machine::read(&Root::at(machine.path())).unwrap()
}

#[test]
fn dies_and_clusters_have_numbers_within_their_package() {
    let machine = read(&sixteen_cpus());
    let dies: Vec<_> = machine.dies.iter().map(|die| (die.package, die.id, die.cpus.clone())).collect();
    assert_eq!(
        dies,
        [
            (Some(0), Some(0), vec![0, 1, 2, 3]),
            (Some(0), Some(1), vec![4, 5, 6, 7]),
            (Some(1), Some(0), vec![8, 9, 10, 11]),
            (Some(1), Some(1), vec![12, 13, 14, 15]),
        ]
    );
    assert_eq!(
        machine.clusters.iter().map(|cluster| cluster.id).collect::<Vec<_>>(),
        [0, 1, 2, 3, 0, 1, 2, 3].map(Some)
    );
    assert_eq!(
        (machine.cpus[5].die, machine.cpus[5].cluster, machine.cpus[5].core),
        (Some(1), Some(2), Some(5))
    );
    assert_eq!(
        (machine.cpus[0].apic_id, machine.cpus[1].apic_id, machine.cpus[7].apic_id),
        (Some(16), None, Some(37))
    );
    assert!(machine.core_kinds.is_empty());
}

#[test]
fn what_the_kernel_does_not_know_or_says_twice_is_left_out() {
    let written = sixteen_cpus();
    for cpu in 0..16_u32 {
        let folder = format!("{CPU}/cpu{cpu}/topology");
        let package = if cpu < 8 { "0-7\n" } else { "8-15\n" };
        written
            .file(&format!("{folder}/cluster_id"), if cpu < 8 { "-1\n" } else { "65535\n" })
            .file(&format!("{folder}/die_cpus_list"), package);
    }
    let machine = read(&written);
    assert!(machine.clusters.is_empty() && machine.dies.is_empty());
    assert_eq!((machine.cpus[0].cluster, machine.cpus[0].die), (None, None));
}

#[test]
fn cores_of_a_compute_unit_are_cores() {
    let written = sixteen_cpus();
    for cpu in 0..16_u32 {
        let pair = format!("{}-{}\n", cpu & !1, cpu | 1);
        written.file(&format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), &pair);
    }
    assert_eq!(read(&written).cores.len(), 16, "siblings with core numbers of their own");
    for cpu in 0..16_u32 {
        written.file(&format!("{CPU}/cpu{cpu}/topology/core_id"), &format!("{}\n", cpu / 2));
    }
    assert_eq!(read(&written).cores.len(), 8);
}

#[test]
fn kinds_of_cores_by_name_and_by_speed() {
    let written = sixteen_cpus();
    for cpu in 0..16 {
        let capacity = if cpu < 4 { 1024 } else { 446 };
        written.file(&format!("{CPU}/cpu{cpu}/cpu_capacity"), &format!("{capacity}\n"));
    }
    let kinds = |machine: &Machine| {
        machine
            .core_kinds
            .iter()
            .map(|kind| (kind.name.clone(), kind.capacity, kind.cpus.len()))
            .collect::<Vec<_>>()
    };
    let by_speed = [("capacity-1024".to_owned(), Some(1024), 4), ("capacity-446".to_owned(), Some(446), 12)];
    assert_eq!(kinds(&read(&written)), by_speed);
    written.file("sys/devices/cpu_core/cpus", "0-3,99\n").file("sys/devices/cpu_atom/cpus", "4-15\n");
    let by_name = [("performance".to_owned(), Some(1024), 4), ("efficient".to_owned(), Some(446), 12)];
    assert_eq!(kinds(&read(&written)), by_name);
}

#[test]
fn both_classes_of_initiators_are_kept() {
    let written = sixteen_cpus();
    let folder = format!("{NODE}/node0");
    written
        .file(&format!("{folder}/cpulist"), "0-7\n")
        .file(&format!("{folder}/meminfo"), "Node 0 MemTotal: 4 kB\n");
    written
        .file(&format!("{folder}/access0/initiators/read_latency"), "50\n")
        .file(&format!("{folder}/access0/initiators/node7/cpulist"), "\n")
        .file(&format!("{folder}/access1/initiators/read_latency"), "90\n")
        .file(&format!("{folder}/access1/initiators/node0/cpulist"), "0-7\n");
    let node = &read(&written).nodes[0];
    let classes: Vec<_> =
        node.access.iter().map(|access| (access.class, access.initiators.clone())).collect();
    assert_eq!(classes, [(0, vec![7]), (1, vec![0])]);
    assert_eq!(node.speed_from_cpus().unwrap().read_latency_ns, Some(90));
}

#[test]
fn a_row_of_distances_that_fits_no_list_of_nodes_is_unknown() {
    let written = sixteen_cpus();
    for (node, distances) in [(0, "10 20"), (2, "20 10"), (5, "20 20 10")] {
        let folder = format!("{NODE}/node{node}");
        written
            .file(&format!("{folder}/cpulist"), "\n")
            .file(&format!("{folder}/meminfo"), "Node 0 MemTotal: 4 kB\n")
            .file(&format!("{folder}/distance"), &format!("{distances}\n"));
    }
    let machine = read(&written);
    assert_eq!(machine.nodes[0].distances, None, "two numbers, three nodes");
    assert_eq!(machine.nodes[2].distances.as_ref().unwrap()[&2], 20);
}

#[test]
fn pci_devices_that_move_memory_are_listed_with_their_place() {
    let written = sixteen_cpus();
    let node = |node: u32, cpus: &str| {
        let folder = format!("{NODE}/node{node}");
        written
            .file(&format!("{folder}/cpulist"), &format!("{cpus}\n"))
            .file(&format!("{folder}/meminfo"), &format!("Node {node} MemTotal: 4 kB\n"));
    };
    node(0, "0-3");
    node(1, "4-15");
    let pci = |address: &str, class: &str, node: &str, cpus: &str| {
        let folder = format!("sys/devices/pci0000:00/{address}");
        written
            .file(&format!("{folder}/class"), &format!("0x{class}\n"))
            .file(&format!("{folder}/vendor"), "0x8086\n")
            .file(&format!("{folder}/device"), "0x0b60\n")
            .file(&format!("{folder}/numa_node"), &format!("{node}\n"))
            .file(&format!("{folder}/local_cpulist"), &format!("{cpus}\n"))
            .link(&format!("sys/bus/pci/devices/{address}"), &format!("/{folder}"));
    };
    pci("0000:00:1f.3", "0c0500", "0", "0-3");
    pci("0000:01:00.0", "010802", "1", "4-7");
    pci("0000:02:00.0", "020000", "-1", "4-7");
    pci("0000:03:00.0", "120000", "-1", "0-15");
    let devices = read(&written).devices;
    let found: Vec<_> = devices
        .iter()
        .map(|device| (device.name.as_str(), device.pci_class.as_deref(), device.node))
        .collect();
    assert_eq!(
        found,
        [
            ("0000:01:00.0", Some("0108"), Some(1)),
            ("0000:02:00.0", Some("0200"), Some(1)),
            ("0000:03:00.0", Some("1200"), None),
        ],
        "a bus for sensors is left out; CPUs alone tell the node; all CPUs tell nothing"
    );
    let expected = Device {
        class: "pci".to_owned(),
        name: "0000:01:00.0".to_owned(),
        address: Some("0000:01:00.0".to_owned()),
        node: Some(1),
        cpus: Some(vec![4, 5, 6, 7]),
        pci_class: Some("0108".to_owned()),
        pci_id: Some("8086:0b60".to_owned()),
    };
    assert_eq!(devices[0], expected);
}
