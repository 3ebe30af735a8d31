//! What ends a wait: the time, the process's end, a signal.

use crate::interrupt::Interrupt;
use firsttouch_linux::remote::{ProcessHandle, poll};
use signal_hook::{consts::SIGWINCH, low_level::pipe};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next sample is due, or the process has ended, which the sample will find out.
    Due,
    /// The terminal has another size.
    Resized,
    /// Somebody wants an end.
    Interrupted,
}

/// Listens for signals for the rest of the process.
#[derive(Debug)]
pub(super) struct Events {
    interrupt: Interrupt,
    /// A byte arrives with every signal.
    woken: UnixStream,
}

impl Events {
    pub(super) fn listen() -> io::Result<Events> {
        let (woken, waker) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let interrupt = Interrupt::waking(&waker)?;
        pipe::register(SIGWINCH, waker)?;
        Ok(Events { interrupt, woken })
    }

    /// Waits until `due`, or less.
    pub(super) fn wait(&mut self, process: &ProcessHandle, due: Instant) -> io::Result<Event> {
        let limit = due.saturating_duration_since(Instant::now());
        let woken = match poll(&[process.as_fd(), self.woken.as_fd()], Some(limit)) {
            Ok([_, woken]) => woken,
            // The byte of the signal has arrived, too.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) => return Err(error),
        };
        if !woken {
            return Ok(Event::Due);
        }
        while self.woken.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        Ok(if self.interrupt.asked() { Event::Interrupted } else { Event::Resized })
    }
}
