//! Which queues of which devices there are, from `/sys/bus/dsa` (Documentation/ABI/stable/sysfs-driver-dma-idxd).

use firsttouch_linux::root::Root;
use std::fmt;
use std::path::PathBuf;

const DEVICES: &str = "/sys/bus/dsa/devices";

/// A work queue of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueInfo {
    /// As the kernel names it: `wq0.1`.
    pub name: String,
    /// The device it belongs to: `dsa0`.
    pub device: String,
    /// The node the device is next to; `None` if the kernel does not say.
    pub node: Option<u32>,
    /// Shared by all who open it (`ENQCMD`), or one's own (`MOVDIR64B`).
    pub is_shared: bool,
    /// Descriptors it holds; of a shared one so many as may be waiting before it refuses more.
    pub entries: u32,
    /// Bytes that a descriptor may cover.
    pub max_transfer_bytes: u64,
    /// Descriptors of a batch; 1 where there are no batches.
    pub max_batch: u32,
    /// The file to be opened.
    pub path: PathBuf,
    /// Why it cannot be used; `None` if nothing is known to be in the way.
    pub obstacle: Option<Obstacle>,
}

/// Why a queue cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The device is not enabled.
    DeviceDisabled,
    /// The queue is not enabled.
    QueueDisabled,
    /// It belongs to the kernel, or to nobody yet.
    NotForUsers,
    /// Programs' addresses mean nothing to the device: the machine runs without shared virtual memory.
    NoSharedAddresses,
    /// The device, or the configuration of the queue, does not fill memory.
    CannotFill,
    /// The kernel made no file for it.
    NoFile,
}

impl Obstacle {
    /// What would mend it.
    pub fn hint(self) -> &'static str {
        match self {
            Obstacle::DeviceDisabled => "accel-config enable-device dsaN",
            Obstacle::QueueDisabled => "accel-config enable-wq dsaN/wqN.M",
            Obstacle::NotForUsers => {
                "accel-config config-wq dsaN/wqN.M --type=user --driver-name=user --mode=shared --name=fill"
            }
            Obstacle::NoSharedAddresses => "boot the kernel with intel_iommu=on,sm_on",
            Obstacle::CannotFill => {
                "accel-config config-wq dsaN/wqN.M --op-config=… with memory fill (operation 4)"
            }
            Obstacle::NoFile => "see the kernel's log for idxd: /dev/dsa has no such queue",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::DeviceDisabled => "the device is not enabled",
            Obstacle::QueueDisabled => "the queue is not enabled",
            Obstacle::NotForUsers => "the queue is not for programs",
            Obstacle::NoSharedAddresses => "the device does not share addresses with programs",
            Obstacle::CannotFill => "the queue does not fill memory",
            Obstacle::NoFile => "the queue has no file in /dev/dsa",
        })
    }
}

/// Every queue there is, usable or not; what cannot be read counts as not there.
pub fn find_queues(root: &Root) -> Vec<QueueInfo> {
    let names = root.list(DEVICES).ok().flatten().unwrap_or_default();
    names.iter().filter_map(|name| queue(root, name)).collect()
}

fn queue(root: &Root, name: &str) -> Option<QueueInfo> {
    let folder = format!("{DEVICES}/{name}");
    name.strip_prefix("wq")?;
    // Compression engines are on the same bus, with queues of the same names.
    let device = root.resolve(&folder)?.parent()?.file_name()?.to_str()?.to_owned();
    device.strip_prefix("dsa")?;
    let of = |folder: &str, file: &str| -> Option<String> {
        let text = root.read(&format!("{folder}/{file}")).ok().flatten()?;
        Some(text.trim().to_owned())
    };
    let number = |folder: &str, file: &str| of(folder, file)?.parse::<u64>().ok();
    let device_folder = format!("{DEVICES}/{device}");
    let is_shared = of(&folder, "mode")? == "shared";
    let size = number(&folder, "size").unwrap_or(1);
    let entries = number(&folder, "threshold").filter(|_| is_shared).unwrap_or(size).max(1);
    let bytes = number(&folder, "max_transfer_size").or_else(|| number(&device_folder, "max_transfer_size"));
    let batch = number(&folder, "max_batch_size").or_else(|| number(&device_folder, "max_batch_size"));
    let path = format!("/dev/dsa/{name}");
    let can_fill = |operations: Option<String>| operations.is_none_or(|words| has_operation(&words, 4));
    let is = |folder: &str, file: &str, word: &str| of(folder, file).is_none_or(|found| found == word);
    let obstacle = [
        (is(&device_folder, "state", "enabled"), Obstacle::DeviceDisabled),
        (is(&folder, "state", "enabled"), Obstacle::QueueDisabled),
        (is(&folder, "type", "user") && is(&folder, "driver_name", "user"), Obstacle::NotForUsers),
        (is(&device_folder, "pasid_enabled", "1"), Obstacle::NoSharedAddresses),
        (can_fill(of(&device_folder, "op_cap")) && can_fill(of(&folder, "op_config")), Obstacle::CannotFill),
        (root.has(&path), Obstacle::NoFile),
    ];
    Some(QueueInfo {
        name: name.to_owned(),
        node: of(&device_folder, "numa_node").and_then(|node| node.parse().ok()),
        device,
        is_shared,
        entries: u32::try_from(entries).unwrap_or(u32::MAX),
        max_transfer_bytes: bytes.unwrap_or(0),
        max_batch: u32::try_from(batch.unwrap_or(1)).unwrap_or(1).max(1),
        path: root.path().join(path.trim_start_matches('/')),
        obstacle: obstacle.into_iter().find(|(is_well, _)| !is_well).map(|(_, obstacle)| obstacle),
    })
}

/// Whether an operation is in a set, written as the kernel writes bitmaps (`00000000,…,18003f03`, the highest word first)
/// or, on kernels before 6.0, as four numbers of 64 bits, the lowest first.
fn has_operation(words: &str, operation: u32) -> bool {
    let lowest = match words.contains(',') {
        true => words.rsplit(',').next(),
        false => words.split_whitespace().next(),
    };
    let lowest = lowest.map(|word| word.trim_start_matches("0x"));
    lowest.and_then(|word| u64::from_str_radix(word, 16).ok()).is_none_or(|bits| bits >> operation & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_read_in_both_forms() {
        assert!(has_operation("00000000,00000000,00000001,003f03ff", 4));
        assert!(!has_operation("00000000,00000000,00000001,003f03ef", 4));
        assert!(has_operation("0x1003f03ff 0x0 0x0 0x0", 4));
        assert!(!has_operation("0x8 0x0 0x0 0x0", 4));
    }
}
