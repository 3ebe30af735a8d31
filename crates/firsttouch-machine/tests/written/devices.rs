//! Devices of the machines that the tests write, as the kernel lays them out.

use super::Written;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";
const PCI: &str = "sys/devices/pci0000:00";

/// Four nodes: 0 and 1 with two CPUs each, 2 with a CPU and no memory, 5 with memory and no CPU.
pub(crate) fn four_nodes() -> Written {
    let machine = Written::new();
    machine.file("proc/cpuinfo", "processor : 0\n").file(&format!("{CPU}/online"), "0-4\n");
    for cpu in 0..5 {
        machine.file(&format!("{CPU}/cpu{cpu}/topology/core_id"), "0\n");
    }
    for (node, cpus, gib, distances) in [
        (0, "0-1", 4, "10 20 30 40"),
        (1, "2-3", 4, "20 10 15 25"),
        (2, "4", 0, "30 15 10 40"),
        (5, "", 8, "40 25 40 10"),
    ] {
        machine
            .file(&format!("{NODE}/node{node}/cpulist"), &format!("{cpus}\n"))
            .file(&format!("{NODE}/node{node}/distance"), &format!("{distances}\n"))
            .file(
                &format!("{NODE}/node{node}/meminfo"),
                &format!("Node {node} MemTotal: {} kB\n", gib << 20),
            );
    }
    machine
}

/// A PCI device, and its link on the bus.
pub(crate) fn pci(machine: &Written, address: &str, node: i32, cpus: &str) -> String {
    let folder = format!("{PCI}/{address}");
    machine
        .file(&format!("{folder}/numa_node"), &format!("{node}\n"))
        .file(&format!("{folder}/local_cpulist"), &format!("{cpus}\n"))
        .link(&format!("sys/bus/pci/devices/{address}"), &format!("../../../devices/pci0000:00/{address}"));
    folder
}

/// An NVMe disk with one partition; the controller repeats the node, as kernels since 5.4 do.
pub(crate) fn nvme(machine: &Written, number: u32, address: &str, node: i32, cpus: &str) {
    let controller = format!("{}/nvme/nvme{number}", pci(machine, address, node, cpus));
    let disk = format!("{controller}/nvme{number}n1");
    machine
        .file(&format!("{controller}/numa_node"), &format!("{node}\n"))
        .file(&format!("{disk}/nvme{number}n1p1/partition"), "1\n")
        .link(&format!("{disk}/device"), &format!("../../nvme{number}"))
        .link(&format!("sys/class/nvme/nvme{number}"), &format!("/{controller}"))
        .link(&format!("sys/class/block/nvme{number}n1"), &format!("/{disk}"))
        .link(&format!("sys/class/block/nvme{number}n1p1"), &format!("/{disk}/nvme{number}n1p1"));
}

pub(crate) fn virtual_disk(machine: &Written, name: &str, slaves: &[&str]) {
    let folder = format!("sys/devices/virtual/block/{name}");
    machine
        .file(&format!("{folder}/size"), "1\n")
        .link(&format!("sys/class/block/{name}"), &format!("/{folder}"));
    for slave in slaves {
        machine.link(&format!("{folder}/slaves/{slave}"), &format!("/sys/class/block/{slave}"));
    }
}

pub(crate) fn card(machine: &Written, name: &str, address: &str, node: i32, cpus: &str) {
    let folder = format!("{}/net/{name}", pci(machine, address, node, cpus));
    machine
        .file(&format!("{folder}/mtu"), "1500\n")
        .link(&format!("{folder}/device"), &format!("/{PCI}/{address}"))
        .link(&format!("sys/class/net/{name}"), &format!("/{folder}"));
}

pub(crate) fn virtual_card(machine: &Written, name: &str, links: &[(&str, &str)]) {
    let folder = format!("sys/devices/virtual/net/{name}");
    machine
        .file(&format!("{folder}/mtu"), "1500\n")
        .link(&format!("sys/class/net/{name}"), &format!("/{folder}"));
    for (link, lower) in links {
        machine.link(&format!("{folder}/{link}"), &format!("/sys/class/net/{lower}"));
    }
}
