//! Standing in for a program: as its parent, but as if we were it.

use crate::child::Signals;
use crate::ending::Finished;
use crate::launch::Launch;
use crate::refusal::LaunchError;
use crate::witness::Witness;
use firsttouch_linux::remote::{ProcessHandle, poll};
use std::fs::File;
use std::io::{self, Read};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, FromRawFd};
use std::time::{Duration, Instant};

/// Runs a program to its end, passing on to it the signals sent to us, and stopping and continuing with it: when it stops, so do we, by the
/// same signal, for whoever waits for us. As the first process of a container we collect the orphans.
///
/// What was sent to our whole process group the program has already, and is not passed on.
///
/// `companion` is called with the number of the process right after its start, and again whenever the time it returned
/// has passed; `None` is never again. Signals wait while it runs: it should be brief.
///
/// To be called from the only thread, or with all signals blocked in all others. Should we be killed, or stopped by SIGSTOP, which nobody can
/// pass on, the program goes on.
pub fn run_and_wait(
    launch: &Launch,
    mut companion: impl FnMut(u32) -> Option<Duration>,
) -> Result<Finished, LaunchError> {
    let refused = |call, source| launch.refused(call, source);
    let signals = Signals::all();
    let before = signals.block();
    let restore = Restore(before);
    let queue = SignalQueue::open(&signals).map_err(|source| refused("signalfd", source))?;
    let mut witness = Witness::start();
    let held = launch.hold_with(Some(&restore.0))?;
    // Where there is none (before Linux 5.3, in some sandboxes, under valgrind) it is asked for its end whenever a signal has arrived, as
    // SIGCHLD does then.
    let child = ProcessHandle::open(held.pid()).ok();
    let mut running = held.release()?;
    let mut next = companion(running.pid()).map(|pause| Instant::now() + pause);
    loop {
        let limit = next.map(|next| next.saturating_duration_since(Instant::now()));
        let ready = match &child {
            Some(child) => poll(&[child.as_fd(), queue.file.as_fd()], limit),
            None => poll(&[queue.file.as_fd()], limit).map(|[signalled]| [false, signalled]),
        };
        let [ended, signalled] = match ready {
            Ok([ended, signalled]) => [ended || child.is_none() && has_ended(running.pid()), signalled],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused("poll", error)),
        };
        if signalled {
            let mut arrived: Vec<_> = queue.arrived().collect();
            if arrived.iter().any(is_for_the_program) {
                let group = of_group(&mut witness, &queue, &mut arrived);
                pass_on(running.pid(), &arrived, group);
            }
            if is_first_process() {
                collect_orphans(running.pid(), witness.as_ref());
            }
            if !ended {
                stop_with(running.pid());
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
    queue.arrived().for_each(drop);
    Ok(finished)
}

/// Which of the signals that have arrived were sent to our whole group, one bit each; `None` where that is not known.
fn of_group(
    witness: &mut Option<Witness>,
    queue: &SignalQueue,
    arrived: &mut Vec<libc::signalfd_siginfo>,
) -> Option<u64> {
    if witness.as_ref()?.seen()? == 0 {
        return Some(0);
    }
    // What it has seen it keeps, so another takes its place, which has seen nothing of what has arrived here.
    let next = loop {
        let next = Witness::start();
        let before = arrived.len();
        arrived.extend(queue.arrived());
        if !arrived[before..].iter().any(is_for_the_program) {
            break next;
        }
    };
    let seen = std::mem::replace(witness, next)?.seen()?;
    // Of those that stop and those that continue the kernel takes away what is pending when one of the others comes.
    let (stops, continues) = (STOPS.map(bit).into_iter().sum::<u64>(), bit(libc::SIGCONT));
    let with = |some: u64, others: u64| if seen & some == 0 { 0 } else { others };
    Some(seen | with(stops, continues) | with(continues, stops))
}

/// Passes on what was not sent to the whole group, of whose signals each is a bit.
fn pass_on(pid: u32, arrived: &[libc::signalfd_siginfo], group: Option<u64>) {
    for signal in arrived.iter().filter(|signal| is_for_the_program(signal)) {
        let number = signal.ssi_signo as libc::c_int;
        let is_of_group = match group {
            Some(group) => group & bit(number) != 0,
            // Where that is not known: a terminal sends to its whole foreground group.
            None => signal.ssi_code == SI_KERNEL,
        };
        if is_of_group {
            continue;
        }
        // It may just have ended; then the next poll says so.
        // SAFETY: sends a signal to our own child, which is not collected yet, so the number is still its own; a value that comes with a
        // signal is a number or an address of the program's, and is handed on as it came.
        unsafe {
            if signal.ssi_code == libc::SI_QUEUE {
                let value = libc::sigval { sival_ptr: signal.ssi_ptr as *mut libc::c_void };
                libc::sigqueue(pid as libc::pid_t, number, value);
            } else {
                libc::kill(pid as libc::pid_t, number);
            }
        }
    }
}

/// Whether a signal would be the program's if we were not there. News of children are ours, as is what we have caused ourselves (SIGPIPE).
fn is_for_the_program(signal: &libc::signalfd_siginfo) -> bool {
    signal.ssi_signo as libc::c_int != libc::SIGCHLD
        && (signal.ssi_code == SI_KERNEL || signal.ssi_pid != std::process::id())
}

/// Signals that stop whoever does nothing about them.
const STOPS: [libc::c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// The place of a signal in a set of them.
fn bit(signal: libc::c_int) -> u64 {
    1 << (signal - 1)
}

/// The sender was the kernel.
const SI_KERNEL: i32 = 0x80;

/// Stops where the program has stopped, by the same signal, so that whoever waits for us sees what it would have seen of the program.
fn stop_with(pid: u32) {
    let Some(signal) = stopped_by(pid, libc::WNOWAIT) else { return };
    if signal == libc::SIGSTOP {
        stopped_by(pid, 0);
        // SAFETY: sends a signal to this thread; takes no pointers.
        unsafe { libc::raise(libc::SIGSTOP) };
        return;
    }
    // SAFETY: a disposition that holds no handler, and a signal to this thread, where it is blocked.
    let before = unsafe {
        let before = libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        before
    };
    // Pending first, then a second look: should the group be continued at this moment, either the program has gone on, or the kernel has
    // taken our signal away. We would stop for ever otherwise.
    let ours = Signals::of(&[signal]);
    match stopped_by(pid, 0) {
        Some(_) => ours.let_through_once(),
        None => ours.take_away(),
    }
    // SAFETY: puts back what was there.
    unsafe { libc::signal(signal, before) };
}

/// The signal that has stopped the program, if it is stopped and that was not asked before; with `WNOWAIT` it may be asked again.
fn stopped_by(pid: u32, flags: libc::c_int) -> Option<libc::c_int> {
    let news = news_of(libc::P_PID, pid, libc::WSTOPPED | flags)?;
    // SAFETY: the kernel has filled in what it tells of a child.
    Some(unsafe { news.si_status() })
}

/// What the kernel has to tell of a child, or of any, without waiting for it.
fn news_of(which: libc::idtype_t, pid: u32, flags: libc::c_int) -> Option<libc::siginfo_t> {
    let mut news = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the out-parameter is live, and plain numbers.
    unsafe {
        let answer = libc::waitid(which, pid, news.as_mut_ptr(), flags | libc::WNOHANG);
        let news = news.assume_init();
        (answer == 0 && news.si_pid() != 0).then_some(news)
    }
}

/// Whether a child has ended that was not collected.
fn has_ended(pid: u32) -> bool {
    news_of(libc::P_PID, pid, libc::WEXITED | libc::WNOWAIT).is_some()
}

fn is_first_process() -> bool {
    std::process::id() == 1
}

/// Collects whoever has ended and is neither the program, whose use of resources is read when it is collected, nor the witness.
fn collect_orphans(program: u32, witness: Option<&Witness>) {
    // SAFETY: the kernel has filled in what it tells of a child.
    let ended =
        || news_of(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT).map(|news| unsafe { news.si_pid() });
    while let Some(pid) = ended()
        && pid as u32 != program
        && witness.is_none_or(|witness| !witness.is(pid))
    {
        news_of(libc::P_PID, pid as u32, libc::WEXITED);
    }
}

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

    fn arrived(&self) -> impl Iterator<Item = libc::signalfd_siginfo> {
        std::iter::from_fn(|| self.next())
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
