//! Ctrl-C in a session: once ends it after this run, twice ends the run as well.

use crate::output;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Exit code of a session that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What somebody asked for by signals.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    kill: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes the signals over for the rest of the process.
    pub(crate) fn listen() -> io::Result<Interrupt> {
        let interrupt = Interrupt { asked: Arc::default(), kill: Arc::default() };
        let heard = interrupt.clone();
        // In the handler itself: on a busy machine the thread may not get to run before the next run begins.
        for signal in SIGNALS {
            signal_hook::flag::register(signal, Arc::clone(&interrupt.asked))?;
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

    /// The session is to end.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Becomes true when the run is to end, too.
    pub(crate) fn kill(&self) -> &AtomicBool {
        &self.kill
    }
}
