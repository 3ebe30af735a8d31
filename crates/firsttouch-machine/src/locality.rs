//! Where a device hangs: the piece of hardware that it belongs to, and the place that the machine states for it.

use crate::reader::Reader;
use std::path::{Path, PathBuf};

/// A piece of hardware and its stated place.
pub(crate) struct Locality {
    /// Its folder below the root.
    pub(crate) hardware: PathBuf,
    /// Its node; `None` when nothing above it states one either.
    pub(crate) node: Option<u32>,
    /// The CPUs near it, as stated: all CPUs of the machine when the kernel does not know.
    pub(crate) cpus: Option<Vec<u32>>,
}

impl Locality {
    /// The place of the hardware that a device in this folder belongs to; `None` for what software made.
    pub(crate) fn of(reader: &Reader<'_>, folder: &Path) -> Option<Locality> {
        let hardware = hardware(reader, folder)?;
        let mut locality = Locality { hardware, node: None, cpus: None };
        for above in locality.hardware.ancestors().take_while(|above| above.starts_with("sys")) {
            let text = above.to_string_lossy();
            // -1, which is no u32, is the kernel's word for unknown; a bridge above may know.
            locality.node = locality.node.or_else(|| reader.number(&format!("{text}/numa_node")));
            locality.cpus = locality.cpus.or_else(|| reader.set(&["local_cpulist"], &["local_cpus"], &text));
        }
        Some(locality)
    }

    /// The last step of the hardware's path, for example `0000:05:00.0`.
    pub(crate) fn address(&self) -> Option<String> {
        self.hardware.file_name().map(|name| name.to_string_lossy().into_owned())
    }
}

fn hardware(reader: &Reader<'_>, folder: &Path) -> Option<PathBuf> {
    let entry = folder.join("device");
    // A PCI device has a file of this name, with its number in it.
    let linked = reader.root.resolve(&entry.to_string_lossy()).filter(|linked| *linked != entry);
    let starts: Vec<&Path> = [Some(folder), linked.as_deref()].into_iter().flatten().collect();
    // A PCI device states its CPUs. An NVMe controller repeats the node of the PCI device it is, so it comes second.
    let stating = |names: &[&str]| {
        let states = |above: &&Path| {
            names.iter().any(|name| reader.root.has(&format!("{}/{name}", above.to_string_lossy())))
        };
        starts.iter().find_map(|start| {
            start.ancestors().take_while(|above| above.starts_with("sys")).find(states).map(Path::to_owned)
        })
    };
    let placed = stating(&["local_cpulist", "local_cpus"]).or_else(|| stating(&["numa_node"]));
    // Hardware on a bus that knows no nodes.
    placed.or_else(|| linked.filter(|linked| !linked.starts_with("sys/devices/virtual")))
}
