//! Threads of our own, each on its CPU, that begin together and are timed together.

use crate::MeasureError;
#[cfg(test)]
use firsttouch_linux::numa;
use firsttouch_threads::bind_this_thread;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// A CPU that was idle takes a while to run at its speed: so long it is kept busy before anything is timed.
const WARM_UP: Duration = Duration::from_millis(5);
/// After so many looks in vain somebody else may need the CPU we wait on.
const PATIENCE: u32 = 100_000;

/// Where threads wait for each other without going to sleep: waking up is slow, in virtual machines above all.
#[derive(Debug)]
pub(crate) struct Start {
    missing: AtomicUsize,
}

impl Start {
    /// For so many threads.
    pub(crate) fn new(threads: usize) -> Start {
        Start { missing: AtomicUsize::new(threads) }
    }

    /// Starts a thread that comes, and of so many that wait for each other knows when one does not: those that came wait for nobody then.
    pub(crate) fn thread<'scope, T: Send + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> Result<ScopedJoinHandle<'scope, T>, MeasureError> {
        let started = thread::Builder::new().spawn_scoped(scope, work);
        started.map_err(|source| {
            self.missing.fetch_sub(1, Ordering::AcqRel);
            MeasureError::Start(source)
        })
    }

    /// Warms this thread's CPU up and returns when all have come.
    pub(crate) fn together(&self) {
        let begin = Instant::now();
        while begin.elapsed() < WARM_UP {
            spin_loop();
        }
        self.missing.fetch_sub(1, Ordering::AcqRel);
        wait_until(|| (self.missing.load(Ordering::Acquire) == 0).then_some(()));
    }
}

/// Looks until there is something to be seen, without going to sleep.
pub(crate) fn wait_until<T>(look: impl Fn() -> Option<T>) -> T {
    let mut looks = 0_u32;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        looks += 1;
        if looks.is_multiple_of(PATIENCE) {
            thread::yield_now();
        } else {
            spin_loop();
        }
    }
}

/// What a thread ended with, if it was started.
pub(crate) fn ended<T>(
    thread: Result<ScopedJoinHandle<'_, Result<T, MeasureError>>, MeasureError>,
) -> Result<T, MeasureError> {
    thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Puts the calling thread on one CPU.
pub(crate) fn pin(cpu: u32) -> Result<(), MeasureError> {
    bind_this_thread(cpu).map_err(|source| MeasureError::Pin { cpu, source })
}

/// The CPUs of the calling thread.
#[cfg(test)]
pub(crate) fn own_cpus() -> Vec<u32> {
    numa::affinity(0).map(|cpus| cpus.iter().collect()).unwrap_or_default()
}

/// Runs each piece of work on its CPU, all at once, and answers the seconds from the first begin to the last end.
pub(crate) fn timed<W: FnOnce() + Send>(
    work: impl IntoIterator<Item = (u32, W)>,
) -> Result<f64, MeasureError> {
    timed_all(work.into_iter().map(|(cpu, work)| (cpu, Box::new(work) as Box<_>)).collect())
}

/// The same, compiled once for all kinds of work.
fn timed_all(work: Vec<(u32, Box<dyn FnOnce() + Send + '_>)>) -> Result<f64, MeasureError> {
    let start = Start::new(work.len());
    let times = thread::scope(|scope| {
        let threads: Vec<_> = work
            .into_iter()
            .map(|(cpu, work)| {
                let start = &start;
                start.thread(scope, move || {
                    let pinned = pin(cpu);
                    start.together();
                    let begin = Instant::now();
                    work();
                    pinned.map(|()| (begin, Instant::now()))
                })
            })
            .collect();
        threads.into_iter().map(ended).collect::<Result<Vec<(Instant, Instant)>, MeasureError>>()
    })?;
    let begin = times.iter().map(|(begin, _)| *begin).min();
    let end = times.iter().map(|(_, end)| *end).max();
    Ok(begin.zip(end).map_or(0.0, |(begin, end)| (end - begin).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn each_piece_runs_on_its_cpu_and_all_are_timed() {
        let cpus = own_cpus();
        let seen = Mutex::new(Vec::new());
        let work = cpus.iter().map(|cpu| {
            let seen = &seen;
            (*cpu, move || seen.lock().unwrap().push(own_cpus()))
        });
        let seconds = timed(work).unwrap();
        assert!((0.0..60.0).contains(&seconds));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen.concat(), cpus);
        assert_eq!(own_cpus(), cpus, "the caller's own thread stays where it was");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_nobody_waits_for_ever() {
        let cpu = own_cpus()[0];
        let error = timed([cpu, 100_000].map(|cpu| (cpu, || ()))).unwrap_err();
        assert!(matches!(error, MeasureError::Pin { cpu: 100_000, .. }), "{error}");
    }
}
