//! Devices that live next to a memory node: disks, network cards, graphics cards, and the PCI devices they are.

use crate::locality::Locality;
use crate::nodes::Node;
use crate::reader::Reader;
use serde::{Deserialize, Serialize};

/// The classes under `/sys/class` whose devices move enough memory for their place to matter.
const CLASSES: [&str; 5] = ["block", "drm", "infiniband", "net", "nvme"];
const PCI: &str = "sys/bus/pci/devices";

/// One device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Device {
    /// `block`, `drm`, `infiniband`, `net`, `nvme` or `pci`.
    pub class: String,
    /// The name in that class, for example `nvme0n1`; of a PCI device its address.
    pub name: String,
    /// The address on its bus, for example `0000:05:00.0`.
    pub address: Option<String>,
    /// Its node; `None` when the machine does not say.
    pub node: Option<u32>,
    /// The CPUs near it; `None` when the machine does not say.
    pub cpus: Option<Vec<u32>>,
    /// Base class and subclass of a PCI device, in hexadecimal: `0108` is NVMe, `0200` Ethernet.
    pub pci_class: Option<String>,
    /// Vendor and device of a PCI device, in hexadecimal: `144d:a808`.
    pub pci_id: Option<String>,
}

/// Devices by class and name, the PCI devices last.
pub(crate) fn devices(reader: &Reader<'_>, nodes: &[Node]) -> Vec<Device> {
    let in_class = |class: &&str| {
        let names = reader.names(&format!("sys/class/{class}")).into_iter();
        names.filter_map(|name| class_device(reader, nodes, class, name)).collect::<Vec<_>>()
    };
    let pci = reader.names(PCI).into_iter().filter_map(|address| pci_device(reader, nodes, &address));
    CLASSES.iter().flat_map(in_class).chain(pci).collect()
}

/// Entries without hardware behind them (loop, bridges, partitions, connectors of a card) are no devices.
fn class_device(reader: &Reader<'_>, nodes: &[Node], class: &str, name: String) -> Option<Device> {
    if class == "drm" && name.contains('-') {
        return None;
    }
    let entry = format!("sys/class/{class}/{name}");
    if !reader.root.has(&format!("{entry}/device")) {
        return None;
    }
    let locality = Locality::of(reader, &reader.root.resolve(&entry)?);
    Some(device(nodes, class, name, locality))
}

fn pci_device(reader: &Reader<'_>, nodes: &[Node], address: &str) -> Option<Device> {
    let entry = format!("{PCI}/{address}");
    let number = |name: &str| {
        let word = reader.word(&format!("{entry}/{name}"))?;
        u32::from_str_radix(word.trim_start_matches("0x"), 16).ok()
    };
    let class = number("class")? >> 8;
    if !moves_memory(class) {
        return None;
    }
    let locality = Locality::of(reader, &reader.root.resolve(&entry)?);
    let mut device = device(nodes, "pci", address.to_owned(), locality);
    device.pci_class = Some(format!("{class:04x}"));
    device.pci_id =
        number("vendor").zip(number("device")).map(|(vendor, device)| format!("{vendor:04x}:{device:04x}"));
    Some(device)
}

/// Whether a class of PCI devices moves enough memory for its place to matter: storage, network, display, processors
/// and accelerators, Fibre Channel, InfiniBand, CXL memory, and what has no class (interconnects). The rest are
/// bridges, ports, sensors and the insides of processors. These are the classes that hwloc keeps, too.
fn moves_memory(class: u32) -> bool {
    matches!(class >> 8, 0x00..=0x03 | 0x0b | 0x12) || matches!(class, 0x0502 | 0x0c04 | 0x0c06)
}

fn device(nodes: &[Node], class: &str, name: String, locality: Option<Locality>) -> Device {
    let address = locality.as_ref().and_then(Locality::address);
    let (node, cpus) = locality.map_or((None, None), |locality| (locality.node, locality.cpus));
    // Old kernels and some architectures state the CPUs alone.
    let node = node.or_else(|| cpus.as_deref().and_then(|cpus| only_node(nodes, cpus)));
    Device { class: class.to_owned(), name, address, node, cpus, pci_class: None, pci_id: None }
}

/// The node that has these CPUs, when it is one of several.
fn only_node(nodes: &[Node], cpus: &[u32]) -> Option<u32> {
    let mut having = nodes.iter().filter(|node| node.cpus.iter().any(|cpu| cpus.contains(cpu)));
    let first = having.next()?;
    (having.next().is_none() && nodes.len() > 1).then_some(first.id)
}
