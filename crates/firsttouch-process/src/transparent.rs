//! Standing in for a program: as its parent, but as if we were it.

use crate::child::Signals;
use crate::ending::Finished;
use crate::launch::Launch;
use crate::refusal::LaunchError;
use firsttouch_linux::remote::{ProcessHandle, poll};
use std::fs::File;
use std::io::{self, Read};
use std::mem::size_of;
use std::os::fd::{AsFd, FromRawFd};
use std::time::{Duration, Instant};

/// What a person, a shell or a service manager sends to the process it knows: us.
const PASSED_ON: [libc::c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGCONT,
    libc::SIGTSTP,
];

/// Runs a program to its end, passing on to it the signals sent to us, and stopping and continuing with it.
///
/// `companion` is called with the number of the process right after its start, and again whenever the time it returned
/// has passed; `None` is never again. Signals wait while it runs: it should be brief.
///
/// To be called from the only thread, or with these signals blocked in all others. Should we be killed, the program
/// goes on.
pub fn run_and_wait(
    launch: &Launch,
    mut companion: impl FnMut(u32) -> Option<Duration>,
) -> Result<Finished, LaunchError> {
    let refused = |call, source| launch.refused(call, source);
    let signals = Signals::of(&PASSED_ON);
    let before = signals.block();
    let restore = Restore(before);
    let queue = SignalQueue::open(&signals).map_err(|source| refused("signalfd", source))?;
    let held = launch.hold_with(Some(&restore.0))?;
    let child = ProcessHandle::open(held.pid()).map_err(|source| refused("pidfd_open", source))?;
    let mut running = held.release()?;
    let mut next = companion(running.pid()).map(|pause| Instant::now() + pause);
    loop {
        let limit = next.map(|next| next.saturating_duration_since(Instant::now()));
        let [ended, signalled] = match poll(&[child.as_fd(), queue.file.as_fd()], limit) {
            Ok(ready) => ready,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused("poll", error)),
        };
        if signalled {
            while let Some(signal) = queue.next() {
                pass_on(&child, &signal);
            }
        }
        if ended {
            break;
        }
        if next.is_some_and(|next| next <= Instant::now()) {
            next = companion(running.pid()).map(|pause| Instant::now() + pause);
        }
    }
    let finished = running.collect().map_err(|source| refused("wait", source))?;
    // What arrived for a program that is gone would otherwise hit us, before its receipt is written.
    while queue.next().is_some() {}
    Ok(finished)
}

fn pass_on(child: &ProcessHandle, signal: &libc::signalfd_siginfo) {
    let number = signal.ssi_signo as libc::c_int;
    // The terminal sends to the whole foreground group: the program has it already.
    let from_terminal = signal.ssi_code == SI_KERNEL;
    if !from_terminal {
        // It may just have ended; then the next poll says so.
        let _ = child.signal(number);
    }
    if number == libc::SIGTSTP {
        // Whoever waits for us has to see us stopped. Let through, the signal stops us by the kernel's rules (not where
        // nobody could continue us). SIGCONT continues us here and is then passed on.
        // SAFETY: sends a signal to this thread; takes no pointers.
        unsafe { libc::raise(libc::SIGTSTP) };
        Signals::of(&[libc::SIGTSTP]).let_through_once();
    }
}

/// The sender was the kernel.
const SI_KERNEL: i32 = 0x80;

/// The blocked signals that have arrived.
struct SignalQueue {
    file: File,
}

impl SignalQueue {
    fn open(signals: &Signals) -> io::Result<SignalQueue> {
        // SAFETY: the set is live during the call.
        let fd = unsafe { libc::signalfd(-1, &raw const signals.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just handed this descriptor to us alone.
        Ok(SignalQueue { file: unsafe { File::from_raw_fd(fd) } })
    }

    fn next(&self) -> Option<libc::signalfd_siginfo> {
        let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
        (&self.file).read_exact(&mut bytes).ok()?;
        // SAFETY: the kernel has written one whole struct of plain numbers; the bytes need not be aligned.
        Some(unsafe { bytes.as_ptr().cast::<libc::signalfd_siginfo>().read_unaligned() })
    }
}

/// Lets the signals through again on every way out.
struct Restore(Signals);

impl Drop for Restore {
    fn drop(&mut self) {
        self.0.restore();
    }
}
