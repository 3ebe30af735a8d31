//! From a device to its nodes, on trees written as the kernel lays them out.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;
mod written;

use firsttouch_machine::{Machine, MemoryKind, Near, NearError, Root};
use skipped::skipped;
use written::devices::{card, four_nodes, nvme, pci, virtual_card, virtual_disk};
use written::{Written, two_nodes};

const NODE: &str = "sys/devices/system/node";

fn near(written: &Written, device: &str) -> Result<Near, NearError> {
    let root = Root::at(written.path());
    Machine::read(&root).unwrap().near(&root, device)
}

#[track_caller]
fn check(written: &Written, device: &str, layers: &[&str], nodes: &[u32], cpus: &[u32]) {
    let near = near(written, device).unwrap();
    assert_eq!(near.layers, layers, "{device}");
    assert_eq!((near.nodes.as_slice(), near.cpus.as_slice()), (nodes, cpus), "{device}");
}

#[test]
fn disks_partitions_controllers_and_addresses() {
    let machine = four_nodes();
    nvme(&machine, 0, "0000:05:00.0", 1, "2-3");
    check(&machine, "nvme0n1p1", &["nvme0n1p1", "nvme0n1", "0000:05:00.0"], &[1], &[2, 3]);
    check(&machine, "nvme0n1", &["nvme0n1", "0000:05:00.0"], &[1], &[2, 3]);
    check(&machine, "nvme0", &["nvme0", "0000:05:00.0"], &[1], &[2, 3]);
    check(&machine, "0000:05:00.0", &["0000:05:00.0"], &[1], &[2, 3]);
    check(&machine, "05:00.0", &["0000:05:00.0"], &[1], &[2, 3]);
    check(&machine, "/dev/nvme0n1p1", &["nvme0n1p1", "nvme0n1", "0000:05:00.0"], &[1], &[2, 3]);
    machine.link("dev/disk/by-id/nvme-Written_42", "../../nvme0n1").file("dev/nvme0n1", "");
    check(&machine, "/dev/disk/by-id/nvme-Written_42", &["nvme0n1", "0000:05:00.0"], &[1], &[2, 3]);
}

#[test]
fn stacks_of_disks_lead_to_every_place() {
    let machine = four_nodes();
    nvme(&machine, 0, "0000:05:00.0", 1, "2-3");
    nvme(&machine, 1, "0000:06:00.0", 0, "0-1");
    virtual_disk(&machine, "md0", &["nvme0n1p1", "nvme1n1p1"]);
    virtual_disk(&machine, "dm-3", &["md0"]);
    machine.file("sys/devices/virtual/block/dm-3/dm/name", "vg-data\n");
    let layers =
        ["dm-3", "md0", "nvme0n1p1", "nvme1n1p1", "nvme0n1", "nvme1n1", "0000:05:00.0", "0000:06:00.0"];
    check(&machine, "dm-3", &layers, &[0, 1], &[0, 1, 2, 3]);
    check(&machine, "vg-data", &layers, &[0, 1], &[0, 1, 2, 3]);
    check(&machine, "/dev/mapper/vg-data", &layers, &[0, 1], &[0, 1, 2, 3]);
    // One part of unknown place.
    nvme(&machine, 2, "0000:07:00.0", -1, "0-4");
    virtual_disk(&machine, "md1", &["nvme0n1p1", "nvme2n1"]);
    assert!(matches!(near(&machine, "md1"), Err(NearError::Unplaced { .. })));
}

#[test]
fn a_disk_with_two_paths_is_near_both_controllers() {
    let machine = four_nodes();
    nvme(&machine, 0, "0000:05:00.0", 1, "2-3");
    nvme(&machine, 1, "0000:06:00.0", 0, "0-1");
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    machine
        .file(&format!("{subsystem}/nvme0n7/size"), "1\n")
        .link(&format!("{subsystem}/nvme0"), "/sys/class/nvme/nvme0")
        .link(&format!("{subsystem}/nvme1"), "/sys/class/nvme/nvme1")
        .link("sys/class/block/nvme0n7", &format!("/{subsystem}/nvme0n7"));
    let layers = ["nvme0n7", "nvme0", "nvme1", "0000:05:00.0", "0000:06:00.0"];
    check(&machine, "nvme0n7", &layers, &[0, 1], &[0, 1, 2, 3]);
}

#[test]
fn network_stacks_lead_to_their_cards() {
    let machine = four_nodes();
    card(&machine, "eth0", "0000:08:00.0", 0, "0-1");
    card(&machine, "eth1", "0000:08:00.1", 1, "2-3");
    virtual_card(&machine, "bond0", &[("lower_eth0", "eth0"), ("lower_eth1", "eth1")]);
    virtual_card(&machine, "bond0.7", &[("lower_bond0", "bond0")]);
    virtual_card(&machine, "old", &[("slave_eth1", "eth1")]);
    virtual_card(&machine, "lo", &[]);
    check(&machine, "eth1", &["eth1", "0000:08:00.1"], &[1], &[2, 3]);
    let layers = ["bond0.7", "bond0", "eth0", "eth1", "0000:08:00.0", "0000:08:00.1"];
    check(&machine, "bond0.7", &layers, &[0, 1], &[0, 1, 2, 3]);
    check(&machine, "old", &["old", "eth1", "0000:08:00.1"], &[1], &[2, 3]);
    let error = near(&machine, "lo").unwrap_err();
    assert!(matches!(error, NearError::NoHardware { .. }), "{error}");
}

#[test]
fn places_without_memory_or_cpus_stand_for_the_nearest_that_have_some() {
    let machine = four_nodes();
    card(&machine, "eth0", "0000:08:00.0", 2, "4");
    check(&machine, "eth0", &["eth0", "0000:08:00.0"], &[1], &[4]);
    card(&machine, "eth1", "0000:09:00.0", 5, "");
    check(&machine, "eth1", &["eth1", "0000:09:00.0"], &[5], &[2, 3]);
}

#[test]
fn a_bridge_above_may_know_what_the_device_does_not() {
    let machine = four_nodes();
    let bridge = pci(&machine, "0000:00:01.0", 1, "2-3");
    let card = format!("{bridge}/0000:0a:00.0");
    machine
        .file(&format!("{card}/numa_node"), "-1\n")
        .file(&format!("{card}/local_cpus"), "c\n")
        .link("sys/bus/pci/devices/0000:0a:00.0", &format!("/{card}"));
    check(&machine, "0a:00.0", &["0000:0a:00.0"], &[1], &[2, 3]);
}

#[test]
fn where_one_node_has_all_cpus_every_device_is_near_it() {
    let machine = two_nodes();
    card(&machine, "eth0", "0000:08:00.0", -1, "0,8");
    check(&machine, "eth0", &["eth0", "0000:08:00.0"], &[0], &[0, 8]);
    let machine = four_nodes();
    card(&machine, "eth0", "0000:08:00.0", -1, "0-4");
    let error = near(&machine, "eth0").unwrap_err();
    assert!(matches!(&error, NearError::Unplaced { layers, .. } if layers.len() == 2), "{error}");
}

#[test]
fn devices_of_the_live_machine_have_one_place_by_all_their_names() {
    let root = Root::live();
    let machine = Machine::read(&root).unwrap();
    let in_dev = |name: &str| std::path::Path::new("/dev").join(name).exists();
    let disks = machine.devices.iter().filter(|device| device.class == "block" && in_dev(&device.name));
    if disks.clone().next().is_none() {
        skipped("this machine has no disk in /dev");
    }
    for device in disks {
        let path = format!("/dev/{}", device.name);
        let (by_name, by_path) = (machine.near(&root, &device.name), machine.near(&root, &path));
        match (by_name, by_path) {
            (Ok(by_name), Ok(by_path)) => {
                assert_eq!(
                    (by_name.layers, by_name.nodes, by_name.cpus),
                    (by_path.layers, by_path.nodes, by_path.cpus)
                );
            }
            (by_name, by_path) => {
                assert!(machine.nodes.len() > 1, "one node is near everything: {by_name:?} {by_path:?}");
            }
        }
    }
}

#[test]
fn a_device_file_is_known_by_its_numbers() {
    let root = Root::live();
    let folder = tempfile::tempdir().unwrap();
    // Another name for it, that says nothing.
    let link = folder.path().join("nothing");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let error = Machine::read(&root).unwrap().near(&root, link.to_str().unwrap()).unwrap_err();
    assert!(matches!(&error, NearError::NoHardware { layers, .. } if layers == &["null"]), "{error:?}");
}

#[test]
fn unknown_devices_are_named_with_those_that_exist() {
    let machine = two_nodes();
    let error = near(&machine, "nvme9n9").unwrap_err();
    assert_eq!(error.to_string(), "there is no device `nvme9n9` (there are nvme0n1, nvme0)");
    assert!(!error.hint().is_empty());
    for name in ["", ".", "..", "../../proc", "/", "/dev/", "/dev/nothing", "a/b", "loop0\u{0}"] {
        assert!(matches!(near(&machine, name), Err(NearError::NoDevice { .. })), "{name:?}");
    }
    assert!(matches!(near(&machine, "loop0"), Err(NearError::NoHardware { .. })));
    // Its node has no CPUs: those of the nearest node are the nearest.
    check(&machine, "nvme0n1", &["nvme0n1", "0000:05:00.0"], &[1], &[0, 8]);
}

#[test]
fn kinds_of_memory_rest_on_evidence() {
    let written = four_nodes();
    let kinds = || {
        let machine = Machine::read(&Root::at(written.path())).unwrap();
        machine.nodes.iter().map(|node| node.kind).collect::<Vec<_>>()
    };
    let dram = Some(MemoryKind::Dram);
    assert_eq!(kinds(), [dram, dram, None, None], "distances alone say nothing");
    let speed = |node: u32, megabytes_per_s: u32, ns: u32| {
        let folder = format!("{NODE}/node{node}/access1/initiators");
        written
            .file(&format!("{folder}/read_bandwidth"), &format!("{megabytes_per_s}\n"))
            .file(&format!("{folder}/read_latency"), &format!("{ns}\n"));
    };
    speed(0, 100_000, 90);
    speed(1, 100_000, 90);
    for (megabytes_per_s, ns, kind) in [
        (400_000, 110, Some(MemoryKind::Hbm)),
        (20_000, 250, Some(MemoryKind::Cxl)),
        (100_000, 250, Some(MemoryKind::Cxl)),
        (100_000, 90, None),
    ] {
        speed(5, megabytes_per_s, ns);
        assert_eq!(kinds()[3], kind, "{megabytes_per_s} MB/s, {ns} ns");
    }
    let tiers = "sys/devices/virtual/memory_tiering";
    written.file(&format!("{tiers}/memory_tier4/nodelist"), "0-2\n");
    written.file(&format!("{tiers}/memory_tier22/nodelist"), "5\n");
    assert_eq!(kinds()[3], Some(MemoryKind::Cxl), "the kernel sorts it lower");
    let dax = "sys/devices/LNXSYSTM:00/ACPI0012:00/ndbus0/region2/dax2.0/dax2.0";
    written
        .file(&format!("{dax}/target_node"), "5\n")
        .file("sys/bus/dax/drivers/kmem/bind", "")
        .link(&format!("{dax}/driver"), "/sys/bus/dax/drivers/kmem")
        .link("sys/bus/dax/devices/dax2.0", &format!("/{dax}"));
    assert_eq!(kinds()[3], Some(MemoryKind::Pmem), "a driver goes before speeds");
    written.file("proc/driver/nvidia/gpus/0000:01:00.0/numa_status", "Node:\t\t5\nStatus: online\n");
    assert_eq!(kinds()[3], Some(MemoryKind::Gpu));
    let machine = Machine::read(&Root::at(written.path())).unwrap();
    let ordinary: Vec<_> =
        machine.nodes.iter().filter(|node| node.is_ordinary()).map(|node| node.id).collect();
    assert_eq!(ordinary, [0, 1]);
}

#[test]
fn flat_high_bandwidth_memory_of_a_many_core_processor() {
    let written = four_nodes();
    written.file("proc/cpuinfo", "processor : 0\nmodel name : Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz\n");
    let machine = Machine::read(&Root::at(written.path())).unwrap();
    assert_eq!(machine.nodes[3].kind, Some(MemoryKind::Hbm));
    assert_eq!(machine.nodes[2].kind, None, "no memory, no kind");
}
