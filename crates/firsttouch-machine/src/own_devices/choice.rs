//! Where a process belongs by the devices it uses.

use super::{OwnDevice, OwnDevices};
use crate::{Machine, Near};
use firsttouch_linux::cpulist::format_list;
use firsttouch_sorted::{SortedMap, SortedSet};

/// Why the devices of a process do not tell where it belongs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOwnPlace {
    /// It uses none whose place is known.
    #[error("process {pid} uses no device of known place{}", among(unknown))]
    NoDevice {
        /// The process.
        pid: u32,
        /// What it uses of unknown place, with the reasons.
        unknown: Vec<String>,
    },
    /// They are spread evenly.
    #[error("process {pid} uses devices of several nodes, and none of them more than the others: {}", devices.join("; "))]
    Tie {
        /// The process.
        pid: u32,
        /// The devices with their nodes.
        devices: Vec<String>,
        /// One of them, to be named.
        example: String,
    },
}

impl NoOwnPlace {
    /// What would mend it.
    pub fn hint(&self) -> String {
        match self {
            NoOwnPlace::NoDevice { .. } => "name the node yourself: --node NODE".to_owned(),
            NoOwnPlace::Tie { example, .. } => {
                format!("name the device that counts, or the node: --near {example}, --node NODE")
            }
        }
    }
}

fn among(unknown: &[String]) -> String {
    if unknown.is_empty() { String::new() } else { format!(" ({})", unknown.join("; ")) }
}

/// Where a process belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPlace {
    /// The place; its device is all that decided.
    pub near: Near,
    /// The names of the devices that decided.
    pub devices: Vec<String>,
    /// Why there.
    pub why: String,
}

impl OwnDevice {
    fn line(&self) -> String {
        let first = self.how.first().map_or("", String::as_str);
        let more =
            if self.how.len() > 1 { format!(" and {} more", self.how.len() - 1) } else { String::new() };
        format!("{} on node {} ({first}{more})", self.name, format_list(&self.nodes))
    }

    /// The piece of hardware at the bottom: partitions of a disk are one device.
    fn hardware(&self) -> &str {
        self.layers.last().map_or(&self.name, String::as_str)
    }
}

impl OwnDevices {
    /// Where the process belongs: next to its devices, which are in one place, or next to most of them, or else to most
    /// of the bytes that it has in use.
    pub fn place(&self, machine: &Machine, pid: u32) -> Result<OwnPlace, NoOwnPlace> {
        let placed: Vec<&OwnDevice> = self.devices.iter().filter(|device| !device.nodes.is_empty()).collect();
        let Some(first) = placed.first() else {
            let unplaced = self.devices.iter().map(|device| {
                format!("{}: {}", device.name, device.unplaced.as_deref().unwrap_or("of unknown place"))
            });
            return Err(NoOwnPlace::NoDevice {
                pid,
                unknown: unplaced.chain(self.unknown.iter().cloned()).collect(),
            });
        };
        if placed.iter().all(|device| device.nodes == first.nodes) {
            let names: Vec<&str> = placed.iter().map(|device| device.name.as_str()).collect();
            let why =
                format!("its devices ({}) are next to node {}", names.join(", "), format_list(&first.nodes));
            return Ok(place(&placed, first.nodes.clone(), machine, why));
        }
        let Some((node, why)) = by_count(&placed).or_else(|| by_bytes(&placed)) else {
            return Err(NoOwnPlace::Tie {
                pid,
                devices: placed.iter().map(|device| device.line()).collect(),
                example: first.name.clone(),
            });
        };
        let there: Vec<&OwnDevice> =
            placed.into_iter().filter(|device| device.nodes.contains(&node)).collect();
        Ok(place(&there, vec![node], machine, why))
    }
}

/// The place of devices that are all next to these nodes.
fn place(placed: &[&OwnDevice], nodes: Vec<u32>, machine: &Machine, why: String) -> OwnPlace {
    let exact = placed.iter().filter(|device| device.nodes == nodes);
    let mut cpus: SortedSet<u32> = exact.flat_map(|device| device.cpus.iter().copied()).collect();
    if cpus.is_empty() {
        let having = machine.nodes.iter().filter(|node| nodes.contains(&node.id));
        cpus = having.flat_map(|node| node.cpus.iter().copied()).collect();
    }
    let devices: Vec<String> = placed.iter().map(|device| device.name.clone()).collect();
    let mut layers: Vec<String> = Vec::new();
    for layer in placed.iter().flat_map(|device| &device.layers) {
        if !layers.contains(layer) {
            layers.push(layer.clone());
        }
    }
    let near = Near { device: devices.join(", "), layers, nodes, cpus: cpus.into_vec() };
    OwnPlace { near, devices, why }
}

/// The one value that is greater than all others.
fn greatest<T: Ord + Copy>(values: &SortedMap<u32, T>) -> Option<(u32, T)> {
    let (node, most) = values.iter().max_by_key(|(_, value)| *value)?;
    (values.values().filter(|value| *value == most).count() == 1).then_some((*node, *most))
}

fn by_count(placed: &[&OwnDevice]) -> Option<(u32, String)> {
    let mut hardware: SortedMap<u32, SortedSet<&str>> = SortedMap::new();
    for device in placed {
        for node in &device.nodes {
            hardware.entry(*node).or_default().insert(device.hardware());
        }
    }
    let all: SortedSet<&str> = placed.iter().map(|device| device.hardware()).collect();
    let counts = hardware.iter().map(|(node, devices)| (*node, devices.len())).collect();
    let (node, count) = greatest(&counts)?;
    Some((node, format!("{count} of its {} devices are next to node {node}", all.len())))
}

/// Where all devices are disks, so that their bytes can be held against each other.
fn by_bytes(placed: &[&OwnDevice]) -> Option<(u32, String)> {
    let mut bytes: SortedMap<u32, u64> = SortedMap::new();
    for device in placed {
        for node in &device.nodes {
            *bytes.entry(*node).or_default() += device.bytes?;
        }
    }
    let all: u64 = placed.iter().filter_map(|device| device.bytes).sum();
    let (node, most) = greatest(&bytes)?;
    Some((node, format!("most of the bytes it has in use ({most} of {all}) are next to node {node}")))
}
