//! Disks below the files of a process, and the device files that it has open or mapped.

use super::{Search, Use};
use crate::near::{by_number, find};
use crate::reader::Reader;
use firsttouch_linux::maps::{Backing, Mapping};
use firsttouch_linux::sysinfo::{Mount, mounts};
use firsttouch_sorted::{SortedMap, SortedSet};
use std::path::{Path, PathBuf};

/// File systems that keep their files in memory, or make them up.
const NO_DISK: [&str; 22] = [
    "tmpfs",
    "ramfs",
    "devtmpfs",
    "hugetlbfs",
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "mqueue",
    "debugfs",
    "tracefs",
    "securityfs",
    "bpf",
    "pstore",
    "efivarfs",
    "configfs",
    "binfmt_misc",
    "rootfs",
    "nsfs",
    "rpc_pipefs",
    "fusectl",
];
/// Kinds of device files (`/sys/class`, `/sys/bus`) through which much memory is moved.
const MOVING: [&str; 13] = [
    "accel",
    "block",
    "dax",
    "drm",
    "infiniband",
    "infiniband_verbs",
    "nvme",
    "nvme-generic",
    "pci",
    "scsi_generic",
    "uio",
    "vfio",
    "vfio-dev",
];
/// What is installed belongs to programs, and is not their data: every program has some of it open or mapped.
const INSTALLED: [&str; 7] = ["/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/", "/etc/"];
/// Layers of layers of overlays end somewhere.
const MOST_LAYERS: usize = 8;

/// A regular file in use.
#[derive(Default)]
struct File {
    /// Its size, where it is open.
    open_bytes: Option<u64>,
    mapped_bytes: u64,
}

impl Search<'_> {
    /// Adds what lies below the files that are open or mapped, and the device files.
    pub(super) fn files(&mut self) {
        let reader = self.reader;
        let below = Below::new(reader, &self.process);
        let mut files: SortedMap<(usize, String), File> = SortedMap::new();
        for (descriptor, target) in self.open.clone() {
            let link = format!("{}/fd/{descriptor}", self.process);
            if is_device_file(&target) {
                let by_number = reader.root.is_live().then(|| by_number(reader, Path::new(&link))).flatten();
                let folder = by_number.or_else(|| find(reader, &target));
                self.add_device(folder, format!("open device {target}"));
            } else if let Some(folder) = sysfs_folder(&target) {
                self.add_device(Some(folder), format!("open device {target}"));
            } else if !is_installed(&target)
                && let Some(mount) =
                    below.mount_of_descriptor(&format!("{}/fdinfo/{descriptor}", self.process))
                && let Some(bytes) = reader.root.file_bytes(&link)
            {
                files.entry((mount, target)).or_default().open_bytes = Some(bytes);
            }
        }
        self.mappings(&below, &mut files);
        for ((mount, name), file) in files {
            let used = file.into_use(&name);
            match below.disks(mount) {
                Ok(disks) => disks.iter().for_each(|disk| self.add(reader, disk, used.clone())),
                Err(why) => self.cannot_tell(why, used),
            }
        }
    }

    fn mappings(&mut self, below: &Below<'_>, files: &mut SortedMap<(usize, String), File>) {
        let maps = self.reader.text(&format!("{}/maps", self.process)).unwrap_or_default();
        let maps: Vec<Mapping> = maps.lines().filter_map(Mapping::parse).collect();
        let code: SortedSet<&str> =
            maps.iter().filter(|map| map.execute).map(|map| map.name.as_str()).collect();
        let mut devices = SortedSet::new();
        for map in maps.iter().filter(|map| map.backing() == Backing::File) {
            if is_device_file(&map.name) || sysfs_folder(&map.name).is_some() {
                devices.insert(map.name.as_str());
            } else if !code.contains(map.name.as_str())
                && !is_installed(&map.name)
                && let Some(mount) = below.mount_of_device(map.device)
            {
                files.entry((mount, map.name.clone())).or_default().mapped_bytes += map.bytes();
            }
        }
        for name in devices {
            let folder = sysfs_folder(name).or_else(|| find(self.reader, name));
            self.add_device(folder, format!("mapped device {name}"));
        }
    }

    /// Device files of kinds that move no memory to speak of (terminals, `/dev/null`, sound) are of no interest, nor
    /// are those without hardware behind them, unless they are disks.
    fn add_device(&mut self, folder: Option<PathBuf>, what: String) {
        let Some(folder) = folder else { return };
        let kind = self.reader.root.resolve(&format!("{}/subsystem", folder.to_string_lossy()));
        let kind = kind.as_deref().and_then(Path::file_name).map(|kind| kind.to_string_lossy().into_owned());
        let moves_memory = kind.is_none_or(|kind| MOVING.contains(&kind.as_str()));
        let is_disk = folder.starts_with("sys/devices/virtual/block");
        let is_bare = folder.starts_with("sys/devices/virtual") && !is_disk;
        if moves_memory && (!is_bare || self.machine.near_folder(self.reader, "", &folder).is_ok()) {
            self.add(self.reader, &folder, Use { what, bytes: None });
        }
    }
}

impl File {
    fn into_use(self, name: &str) -> Use {
        let what = if self.open_bytes.is_some() { "open" } else { "mapped" };
        let bytes = self.open_bytes.unwrap_or(0).max(self.mapped_bytes);
        Use { what: format!("{what} file {name}"), bytes: Some(bytes) }
    }
}

fn is_installed(path: &str) -> bool {
    INSTALLED.iter().any(|folder| path.starts_with(folder))
}

/// Shared memory lies below `/dev`, too.
fn is_device_file(path: &str) -> bool {
    path.starts_with("/dev/")
        && !["/dev/shm/", "/dev/mqueue/", "/dev/hugepages/", "/dev/zero (deleted)"]
            .iter()
            .any(|no| path.starts_with(no))
}

/// The device that a file of `/sys` belongs to: registers of PCI devices are mapped there.
fn sysfs_folder(path: &str) -> Option<PathBuf> {
    path.starts_with("/sys/devices/")
        .then(|| Path::new(path.trim_start_matches('/')).parent().map(Path::to_owned))?
}

/// The file systems of a process, and what they stand on.
struct Below<'a> {
    reader: &'a Reader<'a>,
    mounts: Vec<Mount>,
    /// Those that paths in the options of an overlay mean: of whoever mounted it.
    outer: Vec<Mount>,
}

impl<'a> Below<'a> {
    fn new(reader: &'a Reader<'a>, process: &str) -> Below<'a> {
        let read = |process: &str| {
            reader.text(&format!("{process}/mountinfo")).map(|text| mounts(&text)).unwrap_or_default()
        };
        Below { reader, mounts: read(process), outer: read("proc/self") }
    }

    fn mount_of_descriptor(&self, about: &str) -> Option<usize> {
        let about = self.reader.text(about)?;
        let id: u32 = about.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()?;
        self.mounts.iter().position(|mount| mount.id == Some(id))
    }

    fn mount_of_device(&self, device: (u32, u32)) -> Option<usize> {
        self.mounts.iter().position(|mount| mount.device == Some(device))
    }

    /// The folders of the block devices below a mount; none for what is not on a disk, and words where that is not
    /// known.
    fn disks(&self, mount: usize) -> Result<Vec<PathBuf>, String> {
        self.disks_below(&self.mounts[mount], 0)
    }

    fn disks_below(&self, mount: &Mount, layers: usize) -> Result<Vec<PathBuf>, String> {
        if NO_DISK.contains(&mount.kind.as_str()) {
            return Ok(Vec::new());
        }
        let unknown = || format!("{} on {} stands on no disk that is known here", mount.kind, mount.source);
        if let Some((major, minor)) = mount.device.filter(|(major, _)| *major != 0) {
            let disk = self.reader.root.resolve(&format!("sys/dev/block/{major}:{minor}"));
            return disk.map(|disk| vec![disk]).ok_or_else(unknown);
        }
        match mount.kind.as_str() {
            "btrfs" => self.btrfs(mount).ok_or_else(unknown),
            "overlay" if layers < MOST_LAYERS => {
                let upper = upper_folder(mount).ok_or_else(unknown)?;
                // The later of two mounts on the same point hides the earlier one.
                let holding = self.outer.iter().filter(|outer| Path::new(upper).starts_with(&outer.point));
                let holding = holding.max_by_key(|outer| outer.point.len()).ok_or_else(unknown)?;
                self.disks_below(holding, layers + 1)
            }
            _ => Err(unknown()),
        }
    }

    /// All disks of the file system that this one belongs to.
    fn btrfs(&self, mount: &Mount) -> Option<Vec<PathBuf>> {
        const ALL: &str = "sys/fs/btrfs";
        let root = self.reader.root;
        let disk = find(self.reader, &mount.source)?;
        let disks = |id: &String| -> Vec<PathBuf> {
            let devices = format!("{ALL}/{id}/devices");
            let names = self.reader.names(&devices).into_iter();
            names.filter_map(|name| root.resolve(&format!("{devices}/{name}"))).collect()
        };
        let all = self.reader.names(ALL).into_iter().map(|id| disks(&id)).find(|disks| disks.contains(&disk));
        Some(all.unwrap_or_else(|| vec![disk]))
    }
}

/// Where an overlay keeps what is written, or else the lowest of its layers.
fn upper_folder(mount: &Mount) -> Option<&str> {
    let option = |name: &str| mount.options.iter().find_map(|option| option.strip_prefix(name));
    let lower = || option("lowerdir=")?.rsplit(':').next();
    option("upperdir=").or_else(lower).filter(|folder| folder.starts_with('/'))
}
