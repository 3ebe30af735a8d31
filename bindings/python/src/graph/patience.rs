//! Long work, and a calling thread that stays able to be interrupted.

use crate::errors::unsupported;
use firsttouch_threads::MORE_THREADS;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Wakes the thread that waits, also when the work panics.
struct Tells<'a> {
    done: &'a AtomicBool,
    waits: Thread,
}

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.waits.unpark();
    }
}

/// Does work in a thread of its own and without Python's lock. The calling thread looks for signals meanwhile, and calls
/// `watch`; an exception of either sets the flag that the work was given, and is raised when the work has ended.
pub(super) fn patiently<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
    mut watch: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let tells = Tells { done: &done, waits: thread::current() };
    thread::scope(|scope| {
        let stop = &stop;
        let worker = thread::Builder::new().spawn_scoped(scope, move || {
            let _tells = tells;
            work(stop)
        });
        let worker = worker.map_err(|error| {
            unsupported(&format_args!("a thread cannot be started: {error}"), MORE_THREADS)
        })?;
        let mut outcome = Ok(());
        while !done.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(LOOK));
            if outcome.is_ok() {
                outcome = py.check_signals().and_then(|()| watch(py));
                stop.store(outcome.is_err(), Ordering::Relaxed);
            }
        }
        let made = py.detach(|| worker.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.map(|()| made)
    })
}
