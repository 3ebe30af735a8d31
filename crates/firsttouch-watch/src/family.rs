//! The processes watched: one, or one and its descendants. A number that comes to mean another process is noticed.

use crate::WatchError;
use firsttouch_linux::process::{self, Stat, Status, living_status, shows_others};
use firsttouch_linux::remote::ProcessHandle;
use firsttouch_linux::root::Root;
use std::io;
use std::time::Duration;

/// A process and what it had done at the last look.
#[derive(Clone, Debug)]
struct Member {
    pid: u32,
    start_ticks: u64,
    minor_faults: u64,
    major_faults: u64,
    ticks: u64,
}

/// One process at a look.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// The number under which /proc shows its memory: that of a thread that lives.
    pub(crate) shown_under: u32,
    /// Of the process as a whole, but for the state, which is that thread's.
    pub(crate) stat: Stat,
    pub(crate) status: Status,
}

impl Look {
    /// An error for a process that has none: that is not only a thread of the kernel but also who is ending, which gives its memory
    /// back before its end can be seen.
    fn has_memory(&self, pid: u32) -> Result<(), WatchError> {
        match self.status.vm_rss_bytes {
            None if self.stat.kernel_thread => Err(WatchError::KernelThread { pid }),
            None => Err(WatchError::Ended { pid }),
            Some(_) => Ok(()),
        }
    }
}

/// What the processes did since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) ticks: u64,
}

/// The processes watched.
#[derive(Debug)]
pub(crate) struct Family {
    handle: ProcessHandle,
    /// The first is the one that was named.
    members: Vec<Member>,
}

impl Family {
    /// Takes hold of a process.
    pub(crate) fn new(root: &Root, pid: u32) -> Result<Family, WatchError> {
        const ENOENT: i32 = 2;
        const ESRCH: i32 = 3;
        const EINVAL: i32 = 22;
        let unreadable = |source: io::Error| match source.raw_os_error() {
            Some(ESRCH) => WatchError::NoSuchProcess { pid },
            _ => WatchError::Unreadable { pid, source },
        };
        if shows_others(root) {
            return Err(WatchError::OtherNamespace { pid });
        }
        let handle = ProcessHandle::open(pid).map_err(|source| match source.raw_os_error() {
            Some(EINVAL | ENOENT) => WatchError::Thread { pid },
            _ => unreadable(source),
        })?;
        let look = look(root, pid).map_err(unreadable)?;
        // Only now is it sure that what was read is what the handle holds.
        if handle.wait_ended(Some(Duration::ZERO)).map_err(unreadable)? {
            return Err(WatchError::Ended { pid });
        }
        look.has_memory(pid)?;
        Ok(Family { handle, members: vec![Member::of(&look.stat)] })
    }

    pub(crate) fn handle(&self) -> &ProcessHandle {
        &self.handle
    }

    /// The numbers of the processes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.pid).collect()
    }

    /// Looks for descendants that are new. What they did they did since the last look; at the first, `from_now` on.
    pub(crate) fn grow(&mut self, root: &Root, from_now: bool) -> io::Result<()> {
        for pid in process::descendants(root, &[self.members[0].pid])? {
            if self.members.iter().any(|member| member.pid == pid) {
                continue;
            }
            if let Ok(stat) = Stat::read(root, pid) {
                let member = Member::of(&stat);
                self.members.push(if from_now {
                    member
                } else {
                    Member { minor_faults: 0, major_faults: 0, ticks: 0, ..member }
                });
            }
        }
        Ok(())
    }

    /// Looks at every process; `None` if the one that was named has ended. Others that have ended are forgotten.
    pub(crate) fn look(&mut self, root: &Root) -> io::Result<Option<(Vec<Look>, Since)>> {
        let mut looks = Vec::with_capacity(self.members.len());
        let mut since = Since::default();
        self.members.retain_mut(|member| {
            let Some(look) = look(root, member.pid).ok().filter(|look| member.is(&look.stat)) else {
                return false;
            };
            since.minor_faults += look.stat.minor_faults.saturating_sub(member.minor_faults);
            since.major_faults += look.stat.major_faults.saturating_sub(member.major_faults);
            since.ticks += look.stat.ticks().saturating_sub(member.ticks);
            *member = Member::of(&look.stat);
            looks.push(look);
            true
        });
        // As long as the handle has not seen its end, its number means it.
        if self.handle.wait_ended(Some(Duration::ZERO))? || looks.is_empty() {
            return Ok(None);
        }
        Ok(Some((looks, since)))
    }
}

impl Member {
    fn of(stat: &Stat) -> Member {
        Member {
            pid: stat.pid,
            start_ticks: stat.start_ticks,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
            ticks: stat.ticks(),
        }
    }

    fn is(&self, stat: &Stat) -> bool {
        (self.pid, self.start_ticks) == (stat.pid, stat.start_ticks)
    }
}

fn look(root: &Root, pid: u32) -> io::Result<Look> {
    let stat = Stat::read(root, pid)?;
    match living_status(root, pid, stat.clone()) {
        Some((shown_under, living, status)) => {
            Ok(Look { shown_under, stat: Stat { state: living.state, ..stat }, status })
        }
        // It has ended and was not collected.
        None => Ok(Look { shown_under: pid, stat, status: Status::read(root, pid)? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process that lives until its input is closed.
    fn waiting() -> Child {
        Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn what_cannot_be_watched_is_told_apart() {
        let root = &Root::live();
        let mut child = waiting();
        Family::new(root, child.id()).unwrap();
        drop(child.stdin.take());
        let handle = ProcessHandle::open(child.id()).unwrap();
        assert!(handle.wait_ended(None).unwrap());
        assert!(matches!(Family::new(root, child.id()), Err(WatchError::Ended { .. })));
        child.wait().unwrap();
        assert!(matches!(Family::new(root, child.id()), Err(WatchError::NoSuchProcess { .. })));
        let thread = std::thread::spawn(|| Family::new(&Root::live(), firsttouch_linux::numa::thread_id()));
        let error = thread.join().unwrap().unwrap_err();
        assert!(matches!(error, WatchError::Thread { .. }) && error.hint().contains("Tgid"), "{error}");
    }

    #[test]
    fn who_is_ending_is_no_thread_of_the_kernel() {
        // The fields of stat up to the flags: 0x40 forked and was not replaced, 0x4 is ending, 0x200000 a thread of the kernel.
        let refused = |state: char, flags: u64, memory: &str| {
            let stat = format!("7 (a) {state} 1 7 7 0 -1 {flags} 10 0 2 0 5 6 0 0 20 0 1 0 99 0 0");
            let status = Status::parse(&format!("Name:\ta\n{memory}"));
            Look { shown_under: 7, stat: Stat::parse(&stat).unwrap(), status }.has_memory(7).err()
        };
        assert!(matches!(refused('R', 0x44, ""), Some(WatchError::Ended { pid: 7 })));
        assert!(matches!(refused('S', 0x20_0040, ""), Some(WatchError::KernelThread { pid: 7 })));
        assert!(matches!(refused('Z', 0x4, ""), Some(WatchError::Ended { pid: 7 })));
        assert!(refused('S', 0x40, "VmRSS:\t4 kB\n").is_none());
    }

    #[test]
    fn the_end_is_seen_and_children_are_found() {
        let root = &Root::live();
        let mut family = Family::new(root, std::process::id()).unwrap();
        let mut child = waiting();
        family.grow(root, false).unwrap();
        assert!(family.pids().contains(&child.id()));
        let (looks, since) = family.look(root).unwrap().unwrap();
        assert!(looks.len() >= 2 && since.minor_faults > 0);

        let mut of_child = Family::new(root, child.id()).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(of_child.look(root).unwrap().is_none());
        family.look(root).unwrap().unwrap();
        assert!(!family.pids().contains(&child.id()));
    }
}
