//! Which calls of placement a sandbox lets through, found by making them in a child that can be spared: a filter may
//! refuse a call, pretend that it does not exist, or kill who makes it.

use crate::socket;
use crate::sys::{self, Answer};
use std::fs;
use std::io;
use std::sync::OnceLock;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It did what it should.
    Works,
    /// It was refused with this error number.
    Refused(i32),
    /// Whoever makes it is killed by this signal.
    Killed(i32),
}

/// A call as it is made in the child.
type Call = fn() -> Answer;

/// The calls that are tried, by name. Each leaves things as they were, if it works.
const CALLS: [(&str, Call); 5] = [
    ("set_mempolicy", set_mempolicy),
    ("mbind", mbind),
    ("move_pages", move_pages),
    ("sched_setaffinity", sched_setaffinity),
    ("madvise", madvise),
];

/// Tries each call in a child of its own.
pub fn placement_calls() -> io::Result<Vec<(&'static str, Trial)>> {
    CALLS.iter().map(|(name, call)| Ok((*name, in_child(*call)?))).collect()
}

/// Whether a filter of system calls (seccomp) decides about those of this process.
fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("Seccomp:")).any(|mode| mode.trim() != "0")
}

/// Whether a filter kills who makes these calls, as systemd's `SystemCallFilter=` does unless it is told otherwise. Only where there
/// is a filter a child has to find out, of which the kernel's log tells.
pub fn is_deadly(calls: impl FnOnce() -> Answer) -> bool {
    is_filtered() && matches!(in_child(calls), Ok(Trial::Killed(_)))
}

/// Whether who asks which pages are in memory (mincore(2)) is let live. A filter stays: it is found out once.
pub fn may_ask_for_residency() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| !is_deadly(|| sys::resident_pages(scratch()?, &mut [0])))
}

/// Whether a thread that gives up its capabilities is let live.
pub fn may_leave_capabilities() -> bool {
    !is_deadly(socket::leave_capabilities)
}

/// Whether who sets how it is scheduled is let live.
pub fn may_be_scheduled() -> bool {
    !is_deadly(|| {
        let priority = 0;
        // SAFETY: schedules this child as others are; the kernel reads one number.
        unsafe {
            sys::call(
                libc::SYS_sched_setscheduler,
                [0, libc::SCHED_OTHER as usize, &raw const priority as usize, 0, 0, 0],
            )
        }
    })
}

/// What becomes of calls in a child.
pub(crate) fn in_child(calls: impl FnOnce() -> Answer) -> io::Result<Trial> {
    // SAFETY: the child makes system calls of its own and ends; it runs nothing that a lock of another thread could
    // stop.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // A call that kills shall leave no core file behind.
            let none = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
            let arguments = [0, libc::RLIMIT_CORE as usize, &raw const none as usize, 0, 0, 0];
            // SAFETY: the kernel reads the structure; only this child is limited.
            let _ = unsafe { sys::call(libc::SYS_prlimit64, arguments) };
            // Error numbers are below 134 and so fit into an exit status.
            sys::exit_now(calls().err().unwrap_or(0))
        }
        child => loop {
            let mut status = 0;
            // SAFETY: waits for the child just made; the kernel fills the number.
            if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
                return Ok(match (libc::WIFSIGNALED(status), libc::WEXITSTATUS(status)) {
                    (true, _) => Trial::Killed(libc::WTERMSIG(status)),
                    (false, 0) => Trial::Works,
                    (false, errno) => Trial::Refused(errno),
                });
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        },
    }
}

const PAGE: usize = 4096;
/// The default policy takes no nodes.
const NO_NODES: usize = 0;

fn set_mempolicy() -> Answer {
    // SAFETY: sets the policy of this child to the default.
    unsafe { sys::call(libc::SYS_set_mempolicy, [libc::MPOL_DEFAULT as usize, NO_NODES, 0, 0, 0, 0]) }
}

fn scratch() -> Answer {
    // SAFETY: a new mapping, which ends with the child.
    unsafe { sys::map_anonymous(0, PAGE, libc::PROT_READ | libc::PROT_WRITE, 0) }
}

fn mbind() -> Answer {
    let page = scratch()?;
    // SAFETY: sets the policy of a page of this child.
    unsafe { sys::call(libc::SYS_mbind, [page, PAGE, libc::MPOL_DEFAULT as usize, NO_NODES, 0, 0]) }
}

fn move_pages() -> Answer {
    // SAFETY: asks about no page at all, which passes every check and does nothing.
    unsafe { sys::call(libc::SYS_move_pages, [0; 6]) }
}

fn sched_setaffinity() -> Answer {
    let mut cpus = [0_u64; 128];
    let (bytes, address) = (size_of_val(&cpus), cpus.as_mut_ptr() as usize);
    // SAFETY: the kernel fills a set of the size named.
    unsafe { sys::call(libc::SYS_sched_getaffinity, [0, bytes, address, 0, 0, 0]) }?;
    // SAFETY: sets what was there before, of this child.
    unsafe { sys::call(libc::SYS_sched_setaffinity, [0, bytes, address, 0, 0, 0]) }
}

fn madvise() -> Answer {
    let page = scratch()?;
    // SAFETY: the page is the child's; the advice changes no contents.
    match unsafe { sys::advise(page, PAGE, libc::MADV_HUGEPAGE) } {
        // The kernel was built without transparent huge pages: no sandbox's doing.
        Err(libc::EINVAL) => Ok(0),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_an_answer() {
        let trials = placement_calls().unwrap();
        assert_eq!(trials.len(), CALLS.len());
        for (name, trial) in trials {
            let expected = [
                Trial::Works,
                Trial::Refused(libc::EPERM),
                Trial::Refused(libc::EACCES),
                Trial::Refused(libc::ENOSYS),
                Trial::Killed(libc::SIGSYS),
            ];
            assert!(expected.contains(&trial), "{name}: {trial:?}");
        }
    }

    #[test]
    fn refusal_and_death_are_told_apart() {
        assert_eq!(in_child(|| Ok(7)).unwrap(), Trial::Works);
        assert_eq!(in_child(|| Err(libc::EPERM)).unwrap(), Trial::Refused(libc::EPERM));
        let die = || -> Answer {
            // SAFETY: ends this child only.
            unsafe {
                sys::call(libc::SYS_kill, [sys::process_id() as usize, libc::SIGKILL as usize, 0, 0, 0, 0])
            }
        };
        assert_eq!(in_child(die).unwrap(), Trial::Killed(libc::SIGKILL));
    }
}
