//! A number that only moves on, and threads that wait for it to.

use super::lock::lock;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Condvar, Mutex};
use std::hint::spin_loop;
use std::ops::RangeInclusive;
use std::sync::PoisonError;
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Looks before a waiting thread goes to sleep. They take tens of microseconds, about what waking it up takes:
/// waiting then costs at most twice what it would with the future known (the competitive bound of Karlin et al., 1991).
const LOOKS: u32 = if cfg!(loom) { 1 } else { 2000 };
/// After so many looks, which take a few microseconds, the processor is offered to others before each, unless that lasted long lately. Where
/// every processor has a member of the team, the thread that the team works for has none of its own: whoever spins there keeps from running
/// what it waits for.
const LOOKS_ALONE: u32 = 64;
/// Offers take a fraction of a microsecond where nobody takes them: so many take as long as [`LOOKS`].
const OFFERS: u32 = if cfg!(loom) { 0 } else { 336 };
/// Who was away for longer either waits for long work or is not alone with the team: the scheduler gives what others do whole milliseconds.
const LONG: Duration = Duration::from_micros(500);
/// So many times at least and at most nothing is offered after that: four times as often each time, and half as often after an offer that did
/// well.
const WARY: RangeInclusive<u32> = 8..=1024;

/// Waited for by spinning first, then asleep.
#[derive(Debug, Default)]
pub(super) struct Gate {
    value: AtomicU32,
    /// So many times the processor is not offered to others.
    wary: AtomicU32,
    /// What that was the last time.
    was_wary: AtomicU32,
    sleepers: Mutex<u32>,
    moved: Condvar,
}

impl Gate {
    pub(super) fn new() -> Gate {
        Gate::default()
    }

    pub(super) fn value(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    /// Moves on. What was written before is seen by those who wait for it.
    pub(super) fn set(&self, value: u32) {
        // Under the lock, so that nobody goes to sleep between its last look and this.
        let sleepers = lock(&self.sleepers);
        self.value.store(value, Ordering::Release);
        if *sleepers > 0 {
            self.moved.notify_all();
        }
    }

    /// Wakes those who sleep, for them to look at what they wait for besides.
    pub(super) fn wake(&self) {
        let _sleepers = lock(&self.sleepers);
        self.moved.notify_all();
    }

    /// Waits for this value.
    pub(super) fn wait_for(&self, value: u32) {
        self.wait_until(|| self.value() == value);
    }

    /// Waits until `come`, which may become true when the value moves or at [`Gate::wake`].
    pub(super) fn wait_until(&self, come: impl Fn() -> bool) {
        if self.looked(&come) {
            return;
        }
        let mut sleepers = lock(&self.sleepers);
        *sleepers += 1;
        while !come() {
            sleepers = self.moved.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }

    /// Looks for as long as it is better than to sleep; true if it has come.
    fn looked(&self, come: impl Fn() -> bool) -> bool {
        let spin = |looks| {
            (0..looks).any(|_| {
                spin_loop();
                come()
            })
        };
        if come() || spin(LOOKS.min(LOOKS_ALONE)) {
            return true;
        }
        // Two that lose count of it are wary for once more or less.
        let wary = self.wary.load(Ordering::Relaxed);
        if wary > 0 {
            self.wary.store(wary - 1, Ordering::Relaxed);
            return spin(LOOKS.saturating_sub(LOOKS_ALONE));
        }
        for _ in 0..OFFERS {
            let before = Instant::now();
            yield_now();
            let was_wary = self.was_wary.load(Ordering::Relaxed);
            if before.elapsed() > LONG {
                let wary = (4 * was_wary).clamp(*WARY.start(), *WARY.end());
                self.was_wary.store(wary, Ordering::Relaxed);
                self.wary.store(wary, Ordering::Relaxed);
                return come();
            }
            if come() {
                if was_wary > 0 {
                    self.was_wary.store(was_wary / 2, Ordering::Relaxed);
                }
                return true;
            }
        }
        false
    }
}
