//! The control group of one command: what confines it, and what ends all it has started.

use super::setup::write;
use crate::job::Cpuset;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

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

    /// Ends whatever is left in the group.
    pub(super) fn end(&self) -> io::Result<()> {
        let kill = self.0.join("cgroup.kill");
        // Linux 5.14.
        if kill.exists() { write(&kill, "1") } else { self.end_one_by_one() }
    }

    /// Frozen, so that nobody starts another process before the turn comes to it: who is frozen can still be killed.
    fn end_one_by_one(&self) -> io::Result<()> {
        write(&self.0.join("cgroup.freeze"), "1")?;
        loop {
            let left = fs::read_to_string(self.0.join("cgroup.procs"))?;
            if left.is_empty() {
                return Ok(());
            }
            for pid in left.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
                // It may be gone already.
                let _ = kill_process(pid, Signal::KILL);
            }
            thread::yield_now();
        }
    }
}
