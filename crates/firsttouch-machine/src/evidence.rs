//! What tells of which kind a node's memory is.
//!
//! Invariant: a kind rests on evidence that can be named (a driver, a DAX device, the firmware's speeds, the kernel's
//! tiers, the processor); without any it is `None`, whatever the distances suggest.

use crate::kind::MemoryKind;
use crate::nodes::Node;
use crate::reader::Reader;
use firsttouch_linux::sysinfo;

const DAX: &str = "sys/bus/dax/devices";
const NVIDIA: &str = "proc/driver/nvidia/gpus";

/// Sets the kind of each node, from drivers first, then from speeds and tiers.
pub(crate) fn assign_kinds(reader: &Reader<'_>, nodes: &mut [Node], cpu_model: Option<&str>) {
    let gpus = gpu_nodes(reader);
    let dax = dax_nodes(reader);
    let device = |node: &Node| dax.iter().find(|(target, _)| *target == node.id).map(|(_, device)| *device);
    for node in &mut *nodes {
        node.kind = match device(node) {
            _ if gpus.contains(&node.id) => Some(MemoryKind::Gpu),
            Some(DaxDevice::Persistent) => Some(MemoryKind::Pmem),
            Some(DaxDevice::Cxl) => Some(MemoryKind::Cxl),
            // Memory set aside by the firmware for a purpose it does not name: the speed tells.
            Some(DaxDevice::SetAside) => None,
            None => (!node.cpus.is_empty() && node.size_bytes != Some(0)).then_some(MemoryKind::Dram),
        };
    }
    kinds_by_speed(nodes, cpu_model);
}

/// Kinds of the nodes of a machine that somebody described, with no drivers to ask.
pub(crate) fn kinds_of_described(nodes: &mut [Node], cpu_model: Option<&str>) {
    for node in nodes.iter_mut().filter(|node| !node.cpus.is_empty() && node.size_bytes != Some(0)) {
        node.kind = node.kind.or(Some(MemoryKind::Dram));
    }
    kinds_by_speed(nodes, cpu_model);
}

/// Kinds of the nodes that are not known yet, by comparison with those that are ordinary memory.
fn kinds_by_speed(nodes: &mut [Node], cpu_model: Option<&str>) {
    let ordinary: Vec<Node> =
        nodes.iter().filter(|node| node.kind == Some(MemoryKind::Dram)).cloned().collect();
    let many_core = cpu_model.is_some_and(|model| model.contains("Xeon Phi"));
    for node in nodes.iter_mut().filter(|node| node.kind.is_none() && node.size_bytes != Some(0)) {
        node.kind = by_firmware(node, &ordinary)
            .or_else(|| by_tier(node, &ordinary))
            // A Xeon Phi in flat mode shows its MCDRAM as nodes without CPUs, and no firmware table tells their speed.
            .or_else(|| (many_core && node.cpus.is_empty()).then_some(MemoryKind::Hbm));
    }
}

/// More bandwidth than any ordinary node is high-bandwidth memory, even when its latency is a little higher; less
/// than any, or the same with a longer way, is memory at a distance.
fn by_firmware(node: &Node, ordinary: &[Node]) -> Option<MemoryKind> {
    let bandwidth = |node: &Node| node.speed_from_cpus()?.read_bandwidth_bytes_per_s;
    let latency = |node: &Node| node.speed_from_cpus()?.read_latency_ns;
    let best_bandwidth = ordinary.iter().filter_map(bandwidth).max();
    let worst_bandwidth = ordinary.iter().filter_map(bandwidth).min();
    if let (Some(own), Some(best), Some(worst)) = (bandwidth(node), best_bandwidth, worst_bandwidth) {
        if own > best {
            return Some(MemoryKind::Hbm);
        }
        if own < worst {
            return Some(MemoryKind::Cxl);
        }
    }
    let slowest = ordinary.iter().filter_map(latency).max()?;
    (latency(node)? > slowest).then_some(MemoryKind::Cxl)
}

fn by_tier(node: &Node, ordinary: &[Node]) -> Option<MemoryKind> {
    let own = node.tier?;
    let tiers = || ordinary.iter().filter_map(|node| node.tier);
    match (tiers().min()?, tiers().max()?) {
        (fastest, _) if own < fastest => Some(MemoryKind::Hbm),
        (_, slowest) if own > slowest => Some(MemoryKind::Cxl),
        _ => None,
    }
}

/// What hands memory over to the kernel's page allocator (the driver `kmem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DaxDevice {
    Persistent,
    Cxl,
    SetAside,
}

/// The nodes that DAX devices became.
fn dax_nodes(reader: &Reader<'_>) -> Vec<(u32, DaxDevice)> {
    let names = reader.names(DAX).into_iter();
    names
        .filter_map(|name| {
            let folder = reader.root.resolve(&format!("{DAX}/{name}"))?;
            // A device of another driver (`device_dax`) is a file, and no node.
            let driver = reader.root.resolve(&format!("{DAX}/{name}/driver"))?;
            if driver.file_name()? != "kmem" {
                return None;
            }
            let target = reader.number::<u32>(&format!("{DAX}/{name}/target_node"))?;
            let step = |start: &str| {
                folder.components().any(|step| step.as_os_str().to_string_lossy().starts_with(start))
            };
            let device = match () {
                () if step("ndbus") => DaxDevice::Persistent,
                // The root of all CXL windows, as ACPI names it.
                () if step("ACPI0017") || step("decoder") => DaxDevice::Cxl,
                () => DaxDevice::SetAside,
            };
            Some((target, device))
        })
        .collect()
}

/// The nodes that NVIDIA's driver made of its cards' memory (POWER9, Grace Hopper).
fn gpu_nodes(reader: &Reader<'_>) -> Vec<u32> {
    let cards = reader.names(NVIDIA).into_iter();
    cards
        .filter_map(|card| {
            let text = reader.text(&format!("{NVIDIA}/{card}/numa_status"))?;
            sysinfo::cpuinfo_field(&text, "Node")?.parse().ok()
        })
        .collect()
}
