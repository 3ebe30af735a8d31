//! From the name of a device to the node it lives next to, through the layers that stand on it.
//!
//! Invariant: a node is given only where the machine states it. A device of unknown place is an error and never the
//! whole machine, because binding to everything would look like success.

use crate::locality::Locality;
use crate::reader::Reader;
use crate::{Machine, Root};
use firsttouch_sorted::SortedSet;
use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Classes under `/sys/class` that a bare name is looked for in, the first that has it counts.
const CLASSES: [&str; 7] = ["block", "net", "infiniband", "nvme", "drm", "infiniband_verbs", "accel"];
const PCI: &str = "sys/bus/pci/devices";
/// More layers than anybody stacks: a loop in a recording must end.
const MOST: usize = 256;

/// Where a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// The device as it was asked for.
    pub device: String,
    /// The layers from the device down to the hardware: `md0`, `nvme0n1p1`, `nvme0n1`, `0000:05:00.0`.
    pub layers: Vec<String>,
    /// The nodes whose memory is nearest, ascending; several when the device stands on hardware in several places.
    /// A place without memory of its own stands for the nearest nodes that have some.
    pub nodes: Vec<u32>,
    /// The CPUs that are nearest and online, ascending.
    pub cpus: Vec<u32>,
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = firsttouch_linux::cpulist::format_list;
        write!(f, "{}: nodes {}, cpus {}", self.layers.join(" -> "), list(&self.nodes), list(&self.cpus))
    }
}

/// Why the place of a device cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NearError {
    /// There is no such device.
    #[error("there is no device `{device}`{}", known_devices(known))]
    NoDevice {
        /// As it was asked for.
        device: String,
        /// Names of devices whose place is known.
        known: Vec<String>,
    },
    /// The device is made by software alone.
    #[error("`{device}` stands on no hardware ({} leads to no device with a place)", layers.join(" -> "))]
    NoHardware {
        /// As it was asked for.
        device: String,
        /// The layers that were found.
        layers: Vec<String>,
    },
    /// The firmware does not say where the hardware is.
    #[error("the firmware does not say which node `{device}` is next to ({})", layers.join(" -> "))]
    Unplaced {
        /// As it was asked for.
        device: String,
        /// The layers that were found.
        layers: Vec<String>,
    },
}

impl NearError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            NearError::NoDevice { .. } => {
                "firsttouch status lists the devices; /dev paths, PCI addresses and partitions are taken too"
            }
            NearError::NoHardware { .. } => "name the disk, card or interface that the data comes from",
            NearError::Unplaced { .. } => {
                "name the node yourself: --memory bind=NODE; measure which by firsttouch measure"
            }
        }
    }
}

fn known_devices(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (there are {})", known.join(", ")) }
}

impl Machine {
    /// The nodes and CPUs next to a device of this machine.
    ///
    /// A device is a block device or partition (`nvme0n1`, `sda1`), a stack of them (md, dm by either name, bcache),
    /// a network interface or a stack of them (bond, bridge, VLAN), an NVMe controller, an InfiniBand or graphics
    /// device, a PCI address with or without its domain, or a path below `/dev`.
    pub fn near(&self, root: &Root, device: &str) -> Result<Near, NearError> {
        let reader = Reader::new(root);
        match find(&reader, device) {
            Some(start) => self.near_folder(&reader, device, &start),
            None => Err(NearError::NoDevice { device: device.to_owned(), known: self.placed_devices() }),
        }
    }

    /// The same, of the device in a folder below `sys`.
    pub(crate) fn near_folder(
        &self,
        reader: &Reader<'_>,
        device: &str,
        start: &Path,
    ) -> Result<Near, NearError> {
        let stack = Stack::below(reader, start);
        let places: Vec<Place> = stack.bottoms.iter().map(|bottom| self.place(bottom)).collect();
        let layers = stack.layers;
        if places.is_empty() {
            return Err(NearError::NoHardware { device: device.to_owned(), layers });
        }
        let mut nodes = SortedSet::new();
        let mut cpus = SortedSet::new();
        for place in &places {
            nodes.extend(place.nodes.iter().copied());
            cpus.extend(place.cpus.iter().copied());
        }
        // One part of unknown place makes the whole unknown: half an answer would move everything to the other half.
        if nodes.is_empty() || places.iter().any(|place| place.nodes.is_empty()) {
            return Err(NearError::Unplaced { device: device.to_owned(), layers });
        }
        Ok(Near { device: device.to_owned(), layers, nodes: nodes.into_vec(), cpus: cpus.into_vec() })
    }

    fn placed_devices(&self) -> Vec<String> {
        let placed = self.devices.iter().filter(|device| device.node.is_some() && device.class != "pci");
        placed.map(|device| device.name.clone()).collect()
    }

    /// Nodes with memory and CPUs next to a place; empty when the machine does not say.
    fn place(&self, locality: &Locality) -> Place {
        let online: Vec<u32> = self.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let mut cpus = locality.cpus.clone().unwrap_or_default();
        cpus.retain(|cpu| online.contains(cpu));
        // "Local to all CPUs" is how the kernel prints a place it does not know.
        if cpus.len() == online.len() {
            cpus.clear();
        }
        let node = |id: u32| self.nodes.iter().find(|node| node.id == id);
        let mut nodes: Vec<u32> = match (locality.node.and_then(node), self.nodes.as_slice()) {
            (Some(node), _) => vec![node.id],
            (None, [only]) => vec![only.id],
            (None, _) if !cpus.is_empty() => self.nodes_of(&cpus),
            // Where one node has all CPUs, every bus ends there.
            (None, _) => Some(self.nodes_of(&online)).filter(|nodes| nodes.len() == 1).unwrap_or_default(),
        };
        if cpus.is_empty() {
            cpus = nodes.iter().flat_map(|id| self.nearest(*id, |node| !node.cpus.is_empty())).collect();
            cpus = cpus.iter().filter_map(|id| node(*id)).flat_map(|node| node.cpus.clone()).collect();
        }
        nodes = nodes.iter().flat_map(|id| self.nearest(*id, |node| node.is_ordinary())).collect();
        Place { nodes, cpus }
    }

    fn nodes_of(&self, cpus: &[u32]) -> Vec<u32> {
        let nodes = self.nodes.iter().filter(|node| node.cpus.iter().any(|cpu| cpus.contains(cpu)));
        nodes.map(|node| node.id).collect()
    }

    /// The node itself if it is wanted, else the nearest that are.
    fn nearest(&self, id: u32, wanted: impl Fn(&crate::Node) -> bool) -> Vec<u32> {
        let Some(own) = self.nodes.iter().find(|node| node.id == id) else { return Vec::new() };
        if wanted(own) {
            return vec![id];
        }
        let distance = |other: u32| own.distances.as_ref().and_then(|all| all.get(&other)).copied();
        let wanted: Vec<u32> = self.nodes.iter().filter(|node| wanted(node)).map(|node| node.id).collect();
        let least = wanted.iter().filter_map(|other| distance(*other)).min();
        wanted.into_iter().filter(|other| least.is_some() && distance(*other) == least).collect()
    }
}

struct Place {
    nodes: Vec<u32>,
    cpus: Vec<u32>,
}

/// A device and what it stands on.
struct Stack {
    /// Names, from the top down.
    layers: Vec<String>,
    /// The hardware at the bottom.
    bottoms: Vec<Locality>,
}

impl Stack {
    fn below(reader: &Reader<'_>, start: &Path) -> Stack {
        let mut stack = Stack { layers: Vec::new(), bottoms: Vec::new() };
        let mut seen = SortedSet::new();
        let mut pending = VecDeque::from([start.to_owned()]);
        while let Some(folder) = pending.pop_front() {
            if !seen.insert(folder.clone()) || seen.len() > MOST {
                continue;
            }
            stack.add(&folder);
            if stack.bottoms.iter().any(|bottom| bottom.hardware == folder) {
                continue;
            }
            let lower = lower(reader, &folder);
            if lower.is_empty()
                && let Some(bottom) = Locality::of(reader, &folder)
                && stack.bottoms.iter().all(|known| known.hardware != bottom.hardware)
            {
                pending.push_back(bottom.hardware.clone());
                stack.bottoms.push(bottom);
            }
            pending.extend(lower);
        }
        stack
    }

    fn add(&mut self, folder: &Path) {
        if let Some(name) = folder.file_name().map(|name| name.to_string_lossy().into_owned())
            && !self.layers.contains(&name)
        {
            self.layers.push(name);
        }
    }
}

/// The devices that a device is made of; none for hardware.
fn lower(reader: &Reader<'_>, folder: &Path) -> Vec<PathBuf> {
    let text = folder.to_string_lossy();
    if reader.root.has(&format!("{text}/partition")) {
        return folder.parent().map(Path::to_owned).into_iter().collect();
    }
    let below = |sub: &str, wanted: fn(&str) -> bool| -> Vec<PathBuf> {
        let names = reader.names(&format!("{text}{sub}")).into_iter().filter(|name| wanted(name));
        names.filter_map(|name| reader.root.resolve(&format!("{text}{sub}/{name}"))).collect()
    };
    let mut found = below("/slaves", |_| true);
    // A driver in a program (DPDK, SPDK) has a group of PCI devices.
    if let Some(group) = text.strip_prefix("sys/devices/virtual/vfio/") {
        let devices = format!("sys/kernel/iommu_groups/{group}/devices");
        let names = reader.names(&devices).into_iter();
        found.extend(names.filter_map(|name| reader.root.resolve(&format!("{devices}/{name}"))));
    }
    // Bonds, bridges and VLANs link to what they send through; old kernels linked bonds by another name.
    found.extend(below("", |name| name.starts_with("lower_") || name.starts_with("slave_")));
    // A disk with several paths hangs on an NVMe subsystem, and that links to its controllers.
    let subsystem =
        folder.parent().filter(|parent| parent.parent().is_some_and(|up| up.ends_with("nvme-subsystem")));
    if let (true, Some(subsystem)) = (found.is_empty(), subsystem) {
        let text = subsystem.to_string_lossy();
        let controllers = reader.names(&text).into_iter().filter(|name| is_controller(name));
        found.extend(controllers.filter_map(|name| reader.root.resolve(&format!("{text}/{name}"))));
    }
    found.retain(|lower| lower != folder);
    found
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The folder of a device under `sys`, by any of its names.
pub(crate) fn find(reader: &Reader<'_>, device: &str) -> Option<PathBuf> {
    let resolve = |path: String| reader.root.resolve(&path).filter(|path| path.starts_with("sys"));
    if device.starts_with('/') {
        let in_dev = device.trim_start_matches('/');
        let node = reader.root.resolve(in_dev);
        // The numbers of a device file lead straight to its folder.
        if let Some(folder) = node.as_ref().and_then(|node| by_number(reader, node)) {
            return Some(folder);
        }
        if let Some(group) = in_dev.strip_prefix("dev/vfio/") {
            return resolve(format!("sys/class/vfio/{group}"));
        }
        if let Some(minor) = in_dev.strip_prefix("dev/nvidia").and_then(|minor| minor.parse().ok()) {
            return nvidia(reader, minor).and_then(|address| resolve(format!("{PCI}/{address}")));
        }
        // A recording keeps links, and names, but no device files.
        let name = node.as_deref().unwrap_or(Path::new(in_dev)).file_name()?.to_string_lossy().into_owned();
        return find_name(reader, &name);
    }
    if device.contains('/') || device.is_empty() || device.starts_with('.') {
        return None;
    }
    find_name(reader, device)
        .or_else(|| resolve(format!("{PCI}/{device}")))
        .or_else(|| resolve(format!("{PCI}/0000:{device}")))
}

fn find_name(reader: &Reader<'_>, name: &str) -> Option<PathBuf> {
    let resolve = |path: String| reader.root.resolve(&path).filter(|path| path.starts_with("sys"));
    let in_class = CLASSES.iter().find_map(|class| resolve(format!("sys/class/{class}/{name}")));
    // Old kernels list partitions below their disk only, and nothing in the class.
    let in_class = in_class.or_else(|| resolve(format!("sys/block/{name}")));
    in_class.or_else(|| {
        let mapped = reader.names("sys/class/block").into_iter().filter(|disk| disk.starts_with("dm-"));
        mapped
            .map(|disk| format!("sys/class/block/{disk}"))
            .find(|disk| reader.word(&format!("{disk}/dm/name")).as_deref() == Some(name))
            .and_then(resolve)
    })
}

/// The folder of the device that a device file stands for.
pub(crate) fn by_number(reader: &Reader<'_>, node: &Path) -> Option<PathBuf> {
    // Without links in it, or one of the live /proc/PID/fd, which leads further than its text.
    let status = fs::metadata(reader.root.path().join(node)).ok()?;
    let kind = match status.file_type() {
        kind if kind.is_block_device() => "block",
        kind if kind.is_char_device() => "char",
        _ => return None,
    };
    let number = status.rdev();
    // The layout of `dev_t` in glibc and musl: 12 bits of the major and 8 of the minor number at the bottom.
    let major = number >> 8 & 0xfff | number >> 32 & !0xfff;
    let minor = number & 0xff | number >> 12 & !0xff & 0xffff_ffff;
    reader.root.resolve(&format!("sys/dev/{kind}/{major}:{minor}"))
}

/// The PCI address of NVIDIA's card with this number. Its driver makes no entry in `/sys` for the device file.
fn nvidia(reader: &Reader<'_>, minor: u32) -> Option<String> {
    const CARDS: &str = "proc/driver/nvidia/gpus";
    reader.names(CARDS).into_iter().find(|address| {
        let about = reader.text(&format!("{CARDS}/{address}/information")).unwrap_or_default();
        let stated = about.lines().find_map(|line| line.strip_prefix("Device Minor:"));
        stated.and_then(|number| number.trim().parse().ok()) == Some(minor)
    })
}
