//! Ctrl-C, in every command that has something to finish before it ends.
//!
//! Commands that stand in for a program (`run`, `watch -- PROGRAM`) pass signals on to it instead:
//! [`crate::program::accompany`], [`firsttouch_launch::run_once`].

use crate::exit::INTERRUPTED;
use crate::output::{self, Failure, Outcome};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::pipe;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What somebody asked for by signals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    kill: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes the signals over for the rest of the process: the first asks for an end in order, the second ends us at once.
    pub(crate) fn listen() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in SIGNALS {
            flag::register_conditional_shutdown(
                signal,
                i32::from(INTERRUPTED),
                Arc::clone(&interrupt.asked),
            )?;
            flag::register(signal, Arc::clone(&interrupt.asked))?;
        }
        Ok(interrupt)
    }

    /// The same, and every signal writes a byte to `waker`, for whoever waits at the other end.
    pub(crate) fn waking(waker: &UnixStream) -> io::Result<Interrupt> {
        let interrupt = Interrupt::listen()?;
        interrupt.wakes(waker)?;
        Ok(interrupt)
    }

    fn wakes(&self, mut waker: &UnixStream) -> io::Result<()> {
        for signal in SIGNALS {
            // After the flag: whoever is woken finds it set.
            pipe::register(signal, waker.try_clone()?)?;
        }
        // A signal between the two has set the flag and woken nobody.
        if self.asked() {
            waker.write_all(&[0])?;
        }
        Ok(())
    }

    /// For a session of runs: the first signal ends it after this run, the second ends the run as well, the third ends us.
    pub(crate) fn of_runs() -> Outcome<Interrupt> {
        Interrupt::by_thread().map_err(|error| {
            let error = anyhow::Error::new(error).context("cannot listen for Ctrl-C");
            Failure::new(error).hint(firsttouch_threads::MORE_THREADS)
        })
    }

    fn by_thread() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let heard = interrupt.clone();
        // In the handler itself: on a busy machine the thread may not get to run before the next run begins.
        for signal in SIGNALS {
            flag::register(signal, Arc::clone(&interrupt.asked))?;
        }
        let mut signals = Signals::new(SIGNALS)?;
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for (before, _) in signals.forever().enumerate() {
                heard.hear(before == 0);
            }
        })?;
        Ok(interrupt)
    }

    fn hear(&self, is_first: bool) {
        if is_first {
            output::message(
                "\nending after this run, then writing what there is (again: end the run as well)\n",
            );
        } else if self.kill.swap(true, Ordering::Relaxed) {
            // The program heeds nothing, so neither do we.
            std::process::exit(i32::from(INTERRUPTED));
        }
    }

    /// An end is asked for.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Becomes true when an end is asked for.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.asked
    }

    /// Becomes true when the run is to end, too.
    pub(crate) fn kill(&self) -> &AtomicBool {
        &self.kill
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_signal_from_before_somebody_is_woken_wakes_too() {
        let (mut woken, waker) = UnixStream::pair().unwrap();
        woken.set_nonblocking(true).unwrap();
        let interrupt = Interrupt::default();
        interrupt.asked.store(true, Ordering::Relaxed);
        interrupt.wakes(&waker).unwrap();
        assert_eq!(woken.read(&mut [0]).unwrap(), 1);
    }
}
