//! How far a search is, on stderr, and a way to end it early.

use crate::output;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Exit code of a command that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Becomes true at the first Ctrl-C; the second ends the process.
pub(crate) fn stop_at_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// How often it is told where lines cannot be drawn over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Seldom,
    /// From the first step on.
    EverySecond,
}

/// Tells how many of so many steps are done, and when the rest will be. Quiet while there is nothing worth telling.
pub(crate) struct Progress {
    of: usize,
    what: &'static str,
    began: Instant,
    done: AtomicUsize,
    pause: Duration,
    /// When it was told last, or began, if there is nothing to tell at once.
    told: Mutex<Option<Instant>>,
    redraws: bool,
    drawn: AtomicBool,
}

impl Progress {
    pub(crate) fn new(of: usize, what: &'static str, pace: Pace) -> Progress {
        let redraws = output::terminal().is_some();
        let pause_ms = match pace {
            _ if redraws => 200,
            Pace::EverySecond => 1000,
            Pace::Seldom => 10_000,
        };
        let began = Instant::now();
        Progress {
            told: Mutex::new((pace == Pace::Seldom).then_some(began)),
            pause: Duration::from_millis(pause_ms),
            redraws,
            began,
            of,
            what,
            done: AtomicUsize::new(0),
            drawn: AtomicBool::new(false),
        }
    }

    /// Some more steps are done.
    pub(crate) fn add(&self, steps: usize) {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        self.tell(done, done);
    }

    /// So many steps are done, some of them now and the others in an earlier run.
    pub(crate) fn come(&self, done: usize, done_now: usize) {
        self.done.fetch_max(done, Ordering::Relaxed);
        self.tell(done, done_now);
    }

    fn tell(&self, done: usize, done_now: usize) {
        // Whoever finds it locked has nothing newer to say.
        let Ok(mut told) = self.told.try_lock() else { return };
        if told.is_some_and(|told| told.elapsed() < self.pause) {
            return;
        }
        *told = Some(Instant::now());
        self.drawn.store(true, Ordering::Relaxed);
        let words = words(done, done_now, self.of, self.what, self.began.elapsed());
        output::message(&if self.redraws { format!("\r\u{1b}[K{words}") } else { format!("{words}\n") });
    }

    /// Takes the line away that was being redrawn; answers how many steps were done.
    pub(crate) fn finish(self) -> usize {
        if self.redraws && self.drawn.into_inner() {
            output::message("\r\u{1b}[K");
        }
        self.done.into_inner()
    }
}

fn words(done: usize, done_now: usize, of: usize, what: &str, passed: Duration) -> String {
    let left = passed.as_secs_f64() / done_now.max(1) as f64 * of.saturating_sub(done) as f64;
    let left = match left {
        left if left < 100.0 => format!("{left:.0} s"),
        left if left < 6000.0 => format!("{:.0} min", left / 60.0),
        left => format!("{:.1} h", left / 3600.0),
    };
    format!("{done} of {of} {what}, {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let words = |done, passed| words(done, done, 1000, "sources", Duration::from_secs(passed));
        assert_eq!(words(250, 10), "250 of 1000 sources, 30 s left");
        assert_eq!(words(1, 4), "1 of 1000 sources, 67 min left");
        assert_eq!(words(1, 40), "1 of 1000 sources, 11.1 h left");
        assert_eq!(words(1000, 40), "1000 of 1000 sources, 0 s left");
        let resumed = super::words(750, 50, 1000, "sources", Duration::from_secs(10));
        assert_eq!(resumed, "750 of 1000 sources, 50 s left");
    }
}
