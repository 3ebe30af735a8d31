//! How far a search is, on stderr.

use crate::output;
use crate::progress_lines::ProgressLines;
use firsttouch_report::span;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time between two looks at how far it is, on a terminal.
const PAUSE: Duration = Duration::from_millis(200);
/// The same between two lines of a log.
const LOG_PAUSE: Duration = Duration::from_secs(1);

/// Tells how many of so many steps are done, and when the rest will be.
pub(crate) struct SearchProgress {
    of: usize,
    what: &'static str,
    began: Instant,
    done: AtomicUsize,
    /// When it was told last.
    told: Mutex<Option<Instant>>,
    lines: ProgressLines,
    /// Tell it where there is no terminal, too.
    logs: bool,
}

impl SearchProgress {
    /// Of so many steps; a line each second where there is no terminal, if that `logs`.
    pub(crate) fn new(of: usize, what: &'static str, logs: bool) -> SearchProgress {
        let (done, told) = (AtomicUsize::new(0), Mutex::new(None));
        SearchProgress { of, what, began: Instant::now(), done, told, lines: ProgressLines::new(), logs }
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
        let pause = match (self.lines.is_shown(), self.logs) {
            (true, _) => PAUSE,
            (false, true) => LOG_PAUSE,
            (false, false) => return,
        };
        // Whoever finds it locked has nothing newer to say.
        let Ok(mut told) = self.told.try_lock() else { return };
        if told.is_some_and(|told| told.elapsed() < pause) {
            return;
        }
        *told = Some(Instant::now());
        let words = words(done, done_now, self.of, self.what, self.began.elapsed());
        if self.lines.is_shown() {
            self.lines.show(&words);
        } else {
            output::message(&format!("{words}\n"));
        }
    }

    /// Takes the line away; answers how many steps were done.
    pub(crate) fn finish(self) -> usize {
        self.lines.clear();
        self.done.into_inner()
    }
}

fn words(done: usize, done_now: usize, of: usize, what: &str, passed: Duration) -> String {
    let left = passed.as_secs_f64() / done_now.max(1) as f64 * of.saturating_sub(done) as f64;
    format!("{done} of {of} {what}, {} left", span(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let words = |done, passed| words(done, done, 1000, "sources", Duration::from_secs(passed));
        assert_eq!(words(250, 10), "250 of 1000 sources, 30.0 s left");
        assert_eq!(words(1, 4), "1 of 1000 sources, 1 h 6 min left");
        assert_eq!(words(1000, 40), "1000 of 1000 sources, 0 s left");
        let resumed = super::words(750, 50, 1000, "sources", Duration::from_secs(10));
        assert_eq!(resumed, "750 of 1000 sources, 50.0 s left");
    }
}
