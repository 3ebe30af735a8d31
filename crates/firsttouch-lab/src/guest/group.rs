//! The control group of one command: what confines it, and what ends all it has started.

use super::setup::write;
use crate::job::Cpuset;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// A control group (version 2).
pub(super) struct Group(PathBuf);

impl Group {
    /// Makes the group of the command of that index.
    pub(super) fn new(index: usize, cpuset: &Cpuset) -> io::Result<Group> {
        let group = Group(Path::new(ROOT).join(format!("command-{index}")));
        if *cpuset != Cpuset::default() {
            write(&Path::new(ROOT).join("cgroup.subtree_control"), "+cpuset")?;
        }
        fs::create_dir(&group.0)?;
        for (file, list) in [("cpuset.cpus", &cpuset.cpus), ("cpuset.mems", &cpuset.nodes)] {
            if let Some(list) = list {
                write(&group.0.join(file), list)?;
            }
        }
        Ok(group)
    }

    /// Calls `start` as a member: a process that it starts is born in the group, before its first instruction.
    pub(super) fn as_member<T>(&self, start: impl FnOnce() -> T) -> io::Result<T> {
        write(&self.0.join("cgroup.procs"), "0")?;
        let started = start();
        write(&Path::new(ROOT).join("cgroup.procs"), "0")?;
        Ok(started)
    }

    /// Ends whatever is left in the group (Linux 5.14).
    pub(super) fn end(&self) -> io::Result<()> {
        write(&self.0.join("cgroup.kill"), "1")
    }
}
