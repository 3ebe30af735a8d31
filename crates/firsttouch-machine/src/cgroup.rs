//! Finds the folder of a process's control group, in version 1 and version 2 hierarchies.

use crate::reader::Reader;
use firsttouch_linux::sysinfo::{self, CgroupLine, Mount};

/// The groups that a process is in, of one controller: the innermost first, the top of the mount last.
pub(crate) struct Group {
    /// 1 or 2.
    pub(crate) version: u8,
    /// Folders below the root, the innermost first.
    pub(crate) folders: Vec<String>,
    /// Version 1 mounted with `noprefix`: `cpus` in place of `cpuset.cpus`.
    pub(crate) bare_names: bool,
}

pub(crate) struct Cgroups {
    lines: Vec<CgroupLine>,
    mounts: Vec<Mount>,
    /// What `/proc/PID/cpuset` says: all that old recordings have.
    cpuset: Option<String>,
}

impl Cgroups {
    /// Those of a process: its folder in /proc, `self` or a number.
    pub(crate) fn of_process(reader: &Reader<'_>, process: &str) -> Cgroups {
        let mounts = reader
            .text("proc/self/mountinfo")
            .or_else(|| reader.text("proc/self/mounts"))
            .or_else(|| reader.text("proc/mounts"));
        Cgroups {
            lines: reader
                .text(&format!("proc/{process}/cgroup"))
                .map(|text| sysinfo::cgroups(&text))
                .unwrap_or_default(),
            mounts: mounts.map(|text| sysinfo::mounts(&text)).unwrap_or_default(),
            cpuset: reader.word(&format!("proc/{process}/cpuset")),
        }
    }

    /// The group that a controller sees the process in: its own hierarchy where it has one, else the unified one.
    pub(crate) fn of(&self, controller: &str) -> Option<Group> {
        let is_ours = |mount: &&Mount| mount.options.iter().any(|option| option == controller);
        if let Some(mount) = self.mounts.iter().filter(|mount| mount.kind == "cgroup").find(is_ours) {
            let line = self.lines.iter().find(|line| line.controllers.iter().any(|name| name == controller));
            let old_cpuset = self.cpuset.as_deref().filter(|_| controller == "cpuset");
            let path = line.map(|line| line.path.as_str()).or(old_cpuset)?;
            let bare_names = mount.options.iter().any(|option| option == "noprefix");
            return Some(Group { version: 1, folders: folders(mount, path), bare_names });
        }
        let mount = self.mounts.iter().find(|mount| mount.kind == "cgroup2")?;
        let line = self.lines.iter().find(|line| line.controllers.is_empty());
        let path = line.map(|line| line.path.as_str()).or(self.cpuset.as_deref())?;
        Some(Group { version: 2, folders: folders(mount, path), bare_names: false })
    }
}

/// A container sees a part of the hierarchy mounted, and its path from the top of the whole.
fn folders(mount: &Mount, path: &str) -> Vec<String> {
    let within = if mount.part == "/" { Some(path) } else { path.strip_prefix(mount.part.as_str()) };
    // A path that leads out of the mount (`/../other`) leaves its top as the only group that can be seen.
    let within = within.filter(|path| !path.contains("..")).unwrap_or("");
    let mut steps: Vec<&str> = within.split('/').filter(|step| !step.is_empty()).collect();
    let top = mount.point.trim_matches('/');
    let mut folders = Vec::new();
    loop {
        folders.push([&[top], steps.as_slice()].concat().join("/"));
        if steps.pop().is_none() {
            return folders;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cgroups(lines: &str, mounts: &str) -> Cgroups {
        Cgroups { lines: sysinfo::cgroups(lines), mounts: sysinfo::mounts(mounts), cpuset: None }
    }

    #[test]
    fn a_hierarchy_of_its_own_goes_before_the_unified_one() {
        let mounts = "1 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      2 0 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = cgroups("4:memory:/a/b\n0::/c\n", mounts);
        let memory = found.of("memory").unwrap();
        assert_eq!(memory.version, 1);
        assert_eq!(
            memory.folders,
            ["sys/fs/cgroup/memory/a/b", "sys/fs/cgroup/memory/a", "sys/fs/cgroup/memory"]
        );
        let hugetlb = found.of("hugetlb").unwrap();
        assert_eq!(hugetlb.version, 2);
        assert_eq!(hugetlb.folders, ["sys/fs/cgroup/unified/c", "sys/fs/cgroup/unified"]);
    }

    #[test]
    fn a_container_sees_its_part() {
        let mounts = "1 0 0:1 /docker/9f /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(cgroups("0::/docker/9f/x\n", mounts).of("memory").unwrap().folders.len(), 2);
        assert_eq!(cgroups("0::/docker/9f\n", mounts).of("memory").unwrap().folders, ["sys/fs/cgroup"]);
        assert_eq!(cgroups("0::/../up\n", mounts).of("memory").unwrap().folders, ["sys/fs/cgroup"]);
        assert!(cgroups("", "").of("memory").is_none());
    }
}
