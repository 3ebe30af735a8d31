//! Devices that live next to a memory node: disks, network cards, graphics cards.

use crate::reader::Reader;
use serde::Serialize;
use std::path::Path;

/// The classes under `/sys/class` whose devices move enough memory for their place to matter.
const CLASSES: [&str; 5] = ["block", "drm", "infiniband", "net", "nvme"];

/// One device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// `block`, `drm`, `infiniband`, `net` or `nvme`.
    pub class: String,
    /// The name in that class, for example `nvme0n1`.
    pub name: String,
    /// The address on its bus, for example `0000:05:00.0`.
    pub address: Option<String>,
    /// Its node; `None` when the machine does not say.
    pub node: Option<u32>,
    /// The CPUs near it; `None` when the machine does not say.
    pub cpus: Option<Vec<u32>>,
}

pub(crate) fn devices(reader: &Reader<'_>) -> Vec<Device> {
    let in_class = |class: &&str| {
        let class = (*class).to_owned();
        let names = reader.names(&format!("sys/class/{class}")).into_iter();
        names.filter_map(|name| device(reader, &class, name)).collect::<Vec<_>>()
    };
    CLASSES.iter().flat_map(in_class).collect()
}

/// Entries without hardware behind them (loop, bridges, partitions, connectors of a card) are no devices.
fn device(reader: &Reader<'_>, class: &str, name: String) -> Option<Device> {
    if class == "drm" && name.contains('-') {
        return None;
    }
    let hardware = reader.root.resolve(&format!("sys/class/{class}/{name}/device"))?;
    // A disk hangs on a controller that hangs on the bus, and only the bus device knows the node.
    let placed = hardware.ancestors().find(|folder| {
        folder.starts_with("sys/devices") && reader.root.has(&folder.join("numa_node").to_string_lossy())
    });
    let (mut node, mut cpus, mut address) = (None, None, None);
    if let Some(folder) = placed {
        let text = folder.to_string_lossy();
        node = reader.number(&format!("{text}/numa_node"));
        cpus = reader.set(&["local_cpulist"], &["local_cpus"], &text);
        address = last(folder);
    }
    Some(Device { class: class.to_owned(), name, address: address.or_else(|| last(&hardware)), node, cpus })
}

fn last(folder: &Path) -> Option<String> {
    folder.file_name().map(|name| name.to_string_lossy().into_owned())
}
