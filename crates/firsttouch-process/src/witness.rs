//! Tells signals sent to our whole process group, which the program has already, from those sent to us alone.
//!
//! The kernel does not say whom a signal was sent to. Another process of the group that keeps its signals pending shows it: it has those
//! that were for the group, and no others. It is in the group for later than we are, and the kernel serves the latest first.

use firsttouch_linux::process::are_numbers_ours;
use firsttouch_linux::root::Root;
use std::fs;
use std::io;

/// A process of our group that waits for its end with all signals blocked.
#[derive(Debug)]
pub(crate) struct Witness {
    pid: libc::pid_t,
}

impl Witness {
    /// Starts it. All signals are blocked, and stay so in it. `None` where no process can be started.
    pub(crate) fn start() -> Option<Witness> {
        // SAFETY: takes no arguments.
        let own = unsafe { libc::getpid() };
        // SAFETY: the child only runs `wait_for_the_end`, which keeps to async-signal-safe calls.
        match unsafe { libc::fork() } {
            // SAFETY: this is the child, with all signals blocked.
            0 => unsafe { wait_for_the_end(own) },
            pid if pid > 0 => Some(Witness { pid }),
            _ => None,
        }
    }

    /// Whether it has this number.
    pub(crate) fn is(&self, pid: libc::pid_t) -> bool {
        self.pid == pid
    }

    /// The signals that were sent to the group since it was started, one bit each; `None` where the kernel does not tell.
    pub(crate) fn seen(&self) -> Option<u64> {
        // In a /proc of other numbers than ours its number would be somebody else's.
        if !are_numbers_ours(&Root::live()) {
            return None;
        }
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(pending.trim(), 16).ok()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: our own child, which is not collected yet, so the number is still its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            while libc::waitpid(self.pid, std::ptr::null_mut(), 0) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}

/// The whole life of the witness.
///
/// # Safety
/// To be called in a child after fork, with all signals blocked.
unsafe fn wait_for_the_end(parent: libc::pid_t) -> ! {
    // SAFETY: async-signal-safe calls with plain numbers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Whoever waits for the end of a pipe of ours waits for us alone.
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        // It may have ended before we could ask to be told.
        while libc::getppid() == parent {
            libc::pause();
        }
        libc::_exit(0)
    }
}
