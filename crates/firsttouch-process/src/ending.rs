//! How a program ended and what it used.

use firsttouch_experiment::{Meanwhile, TimedRun};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
}

impl Ending {
    /// From the status word of `wait4`.
    pub(crate) fn from_wait_status(status: i32) -> Ending {
        if libc::WIFSIGNALED(status) {
            Ending::Signaled(libc::WTERMSIG(status))
        } else {
            Ending::Exited(libc::WEXITSTATUS(status))
        }
    }

    /// It ended by itself with status 0.
    pub fn is_success(self) -> bool {
        self == Ending::Exited(0)
    }

    /// What a program that stood in for it has to do to end likewise.
    pub fn plan(self) -> ExitPlan {
        match self {
            Ending::Exited(status) => ExitPlan::Exit(status as u8),
            Ending::Signaled(signal) => ExitPlan::Raise(signal),
        }
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Exited(status) => write!(f, "exit status {status}"),
            Ending::Signaled(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// How to end as another program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitPlan {
    /// Exit with this status.
    Exit(u8),
    /// Die of this signal, so that the shell sees what it would have seen.
    Raise(i32),
}

impl ExitPlan {
    /// Dies of the signal, if that is the plan: resets its disposition, lets it through, and writes no core file (the
    /// program has written its own). Otherwise, or where the signal does not kill, returns the status to exit with.
    ///
    /// Write and flush everything first.
    pub fn carry_out(self) -> u8 {
        let signal = match self {
            ExitPlan::Exit(status) => return status,
            ExitPlan::Raise(signal) => signal,
        };
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let mut only_this = MaybeUninit::uninit();
        // SAFETY: every pointer is to a live local; sigemptyset fills the set before it is used; SIG_DFL is a valid
        // disposition. This process is about to end, so nothing relies on the handler that goes away.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::signal(signal, libc::SIG_DFL);
            libc::sigemptyset(only_this.as_mut_ptr());
            libc::sigaddset(only_this.as_mut_ptr(), signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, only_this.as_ptr(), std::ptr::null_mut());
            libc::raise(signal);
        }
        (128 + signal) as u8
    }
}

/// A finished run: how it ended and what it used, from the moment of its release to the moment it was collected.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// What it used, measured by CLOCK_MONOTONIC, its children that it collected included.
    ///
    /// The kernel counts the forked image of the launcher in the peak resident set.
    pub used: TimedRun,
}

impl Finished {
    /// From two readings of the child's use of resources, before its release and at its end, and the counters.
    pub(crate) fn from_usage(
        ending: Ending,
        wall_s: f64,
        before: &libc::rusage,
        after: &libc::rusage,
        counters: BTreeMap<String, u64>,
    ) -> Finished {
        let count = |field: fn(&libc::rusage) -> libc::c_long| {
            field(after).saturating_sub(field(before)).max(0) as u64
        };
        let used = TimedRun {
            wall_s,
            user_s: (seconds(after.ru_utime) - seconds(before.ru_utime)).max(0.0),
            system_s: (seconds(after.ru_stime) - seconds(before.ru_stime)).max(0.0),
            max_rss_bytes: after.ru_maxrss.max(0) as u64 * 1024,
            minor_faults: count(|usage| usage.ru_minflt),
            major_faults: count(|usage| usage.ru_majflt),
            context_switches: count(|usage| usage.ru_nvcsw + usage.ru_nivcsw),
            counters,
            judged: None,
            meanwhile: Meanwhile::default(),
        };
        Finished { ending, used }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_follows_the_ending() {
        assert_eq!(Ending::from_wait_status(3 << 8).plan(), ExitPlan::Exit(3));
        assert_eq!(Ending::from_wait_status(libc::SIGTERM).plan(), ExitPlan::Raise(libc::SIGTERM));
        assert_eq!(ExitPlan::Exit(7).carry_out(), 7);
        assert!(Ending::Exited(0).is_success() && !Ending::Signaled(9).is_success());
    }
}
