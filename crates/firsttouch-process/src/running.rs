//! A child process: held before its exec, then running.

use crate::counters::Counters;
use crate::ending::{Ending, Finished};
use crate::inheritance::Step;
use crate::refusal::LaunchError;
use firsttouch_linux::perf::Event;
use firsttouch_linux::remote::ProcessHandle;
use std::fs::File;
use std::io::{self, Read};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A forked child that waits before its exec. Dropped, it ends without ever having been the program.
#[derive(Debug)]
#[must_use = "the program starts with release()"]
pub struct Held {
    program: PathBuf,
    pid: libc::pid_t,
    /// `None` once released.
    release: Option<OwnedFd>,
    report: File,
    counters: Counters,
}

impl Held {
    pub(crate) fn new(program: PathBuf, pid: libc::pid_t, release: OwnedFd, report: File) -> Held {
        Held { program, pid, release: Some(release), report, counters: Counters::default() }
    }

    /// The number of the process, which it keeps as the program.
    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Counts these events of the program and of what it starts, from its exec on, where the kernel can.
    pub fn count(&mut self, events: &[Event]) {
        self.counters = Counters::attach(self.pid(), events);
    }

    /// Lets the program start, and returns when it has.
    pub fn release(mut self) -> Result<Running, LaunchError> {
        let mut before = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the struct's bytes as a slice, zeroed and written by the read below only.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(before.as_mut_ptr().cast::<u8>(), size_of::<libc::rusage>())
        };
        let lost = |source| LaunchError::Kernel { program: self.program.clone(), call: "fork", source };
        self.report.read_exact(bytes).map_err(lost)?;
        // SAFETY: plain numbers, every byte of which the child has written.
        let before = unsafe { before.assume_init() };
        let release = self.release.take();
        let started = Instant::now();
        if let Some(release) = release {
            // Closing without a byte would end the child.
            io::Write::write_all(&mut File::from(release), &[1]).map_err(|source| LaunchError::Kernel {
                program: self.program.clone(),
                call: "write",
                source,
            })?;
        }
        // The exec closes the child's end; before that come only error number and step of a start that failed.
        let mut failure = Vec::new();
        let answer = self.report.read_to_end(&mut failure);
        let pid = std::mem::replace(&mut self.pid, 0);
        let counters = std::mem::take(&mut self.counters);
        if let Some((number, step)) = failure.split_first_chunk() {
            let mut collected = Running { pid, before, started, signalled: false, counters };
            // Nothing to be learnt from a child that was never the program.
            let _ = collected.collect();
            let step =
                step.first_chunk().map_or(Step::Execute, |step| Step::of_number(i32::from_ne_bytes(*step)));
            return Err(LaunchError::at(step, &self.program, i32::from_ne_bytes(*number)));
        }
        answer.map_err(|source| LaunchError::Kernel {
            program: self.program.clone(),
            call: "read",
            source,
        })?;
        Ok(Running { pid, before, started, signalled: false, counters })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.pid != 0 {
            self.release = None;
            let mut status = 0;
            // SAFETY: collects our own child, which ends now that its pipe is closed.
            while unsafe { libc::waitpid(self.pid, &raw mut status, 0) } < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}

/// A running program. It is in our process group, so what the terminal sends reaches it as well.
///
/// Dropped without [`Running::wait`], it goes on, and stays as a zombie when it ends.
#[derive(Debug)]
#[must_use = "a program that is not waited for stays as a zombie"]
pub struct Running {
    pid: libc::pid_t,
    before: libc::rusage,
    started: Instant,
    signalled: bool,
    counters: Counters,
}

/// How soon a request to stop is noticed that arrives in the one moment when it does not interrupt the wait.
const LATEST_NOTICE: Duration = Duration::from_millis(250);

impl Running {
    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// A handle for other threads, polls and signals (Linux 5.3).
    pub fn handle(&self) -> io::Result<ProcessHandle> {
        // Not collected yet, so the number cannot have come to mean another process.
        ProcessHandle::open(self.pid())
    }

    /// Sends a signal to the program (not to what it has started).
    pub fn kill(&self, signal: i32) -> io::Result<()> {
        // SAFETY: a number and a signal; the child is not collected yet, so the number is still its own.
        if unsafe { libc::kill(self.pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits for its end.
    pub fn wait(mut self) -> io::Result<Finished> {
        self.collect()
    }

    /// Waits for its end; when `stop` becomes true, asks it once to end by SIGTERM and goes on waiting.
    pub fn wait_heeding(mut self, stop: &AtomicBool) -> io::Result<Finished> {
        let handle = self.handle()?;
        while !handle.wait_ended(Some(LATEST_NOTICE))? {
            if stop.load(Ordering::Relaxed) && !self.signalled {
                self.signalled = true;
                self.kill(libc::SIGTERM)?;
            }
        }
        self.collect()
    }

    pub(crate) fn collect(&mut self) -> io::Result<Finished> {
        let mut status = 0;
        let mut after = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both out-parameters are live; the child is ours.
        while unsafe { libc::wait4(self.pid, &raw mut status, 0, after.as_mut_ptr()) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let wall_s = self.started.elapsed().as_secs_f64();
        // SAFETY: plain numbers, zeroed before and filled by the kernel.
        let after = unsafe { after.assume_init() };
        let ending = Ending::from_wait_status(status);
        Ok(Finished::from_usage(ending, wall_s, &self.before, &after, self.counters.read()))
    }
}
