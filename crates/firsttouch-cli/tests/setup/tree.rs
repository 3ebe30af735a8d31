//! A machine with two nodes that is written below a folder, and everything that is in a folder, to the byte.

use crate::{Said, firsttouch};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const THP: &str = "sys/kernel/mm/transparent_hugepage";

/// Mode and bytes of a file; what a link says.
pub(crate) type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Everything below a folder.
pub(crate) fn tree(folder: &Path) -> Tree {
    let mut all = Tree::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = if found.is_symlink() {
                fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes()
            } else if found.is_dir() {
                pending.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            all.insert(path.strip_prefix(folder).unwrap().to_owned(), (found.permissions().mode(), bytes));
        }
    }
    all
}

/// A machine with 8 GiB on each of two nodes, of which 14 are to be had.
pub(crate) struct Machine {
    pub(crate) folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        for (file, text) in [
            ("proc/cpuinfo", "processor : 0\nmodel name : Test\n\nprocessor : 1\nmodel name : Test\n"),
            (
                "proc/meminfo",
                "MemTotal: 16777216 kB\nMemFree: 12582912 kB\nMemAvailable: 14680064 kB\nHugepagesize: 2048 kB\n",
            ),
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("proc/sys/vm/max_map_count", "65530\n"),
            ("proc/sys/vm/overcommit_memory", "0\n"),
            ("proc/sys/kernel/shmmax", "18446744073692774399\n"),
            ("proc/sys/kernel/shmall", "18446744073692774399\n"),
            ("proc/sys/fs/nr_open", "1048576\n"),
            ("proc/sys/kernel/hostname", "written\n"),
            ("etc/security/limits.conf", ""),
            ("etc/default/grub.d/50-other.cfg", ""),
            ("etc/fstab", "# nothing\n"),
            ("usr/lib/systemd/systemd", ""),
            ("var/lib/dpkg/status", ""),
            ("etc/systemd/system/other.service", "[Unit]\n"),
        ] {
            machine.write(file, text);
        }
        for (file, text) in [
            ("enabled", "always madvise [never]\n"),
            ("defrag", "always defer defer+madvise [madvise] never\n"),
            ("shmem_enabled", "always within_size advise [never] deny force\n"),
            ("hpage_pmd_size", "2097152\n"),
            ("khugepaged/defrag", "1\n"),
            ("hugepages-64kB/enabled", "always inherit madvise [never]\n"),
            ("hugepages-2048kB/enabled", "always [inherit] madvise never\n"),
        ] {
            machine.write(&format!("{THP}/{file}"), text);
        }
        for node in 0..2 {
            let folder = format!("sys/devices/system/node/node{node}");
            machine.write(&format!("{folder}/cpulist"), &format!("{node}\n"));
            let rows =
                ["MemTotal: 8388608", "MemFree: 6291456", "Active(file): 524288", "Inactive(file): 524288"];
            let rows = rows.map(|row| format!("Node {node} {row} kB\n"));
            machine.write(&format!("{folder}/meminfo"), &rows.concat());
            machine.pools(&format!("{folder}/hugepages"));
        }
        machine.pools("sys/kernel/mm/hugepages");
        machine
    }

    fn pools(&self, folder: &str) {
        for size in [2048, 1 << 20] {
            for name in ["nr_hugepages", "free_hugepages", "surplus_hugepages"] {
                self.write(&format!("{folder}/hugepages-{size}kB/{name}"), "0\n");
            }
        }
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub(crate) fn pool(&self, node: u32, kib: u32) -> String {
        let file = format!("sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB/nr_hugepages");
        self.read(&file).trim().to_owned()
    }

    pub(crate) fn thp(&self, file: &str) -> String {
        self.read(&format!("{THP}/{file}"))
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(self.folder.path())
    }

    /// `setup` of this machine.
    pub(crate) fn setup(&self, words: &[&str]) -> Said {
        Said::of(firsttouch().args(words).arg("--root").arg(self.folder.path()))
    }
}
