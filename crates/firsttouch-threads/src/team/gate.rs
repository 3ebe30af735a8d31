//! A number that only moves on, and threads that wait for it to.

use super::lock::lock;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Condvar, Mutex};
use std::hint::spin_loop;
use std::sync::PoisonError;

/// Looks before a waiting thread goes to sleep. They take tens of microseconds, about what waking it up takes:
/// waiting then costs at most twice what it would with the future known (the competitive bound of Karlin et al., 1991).
const LOOKS: u32 = if cfg!(loom) { 1 } else { 2000 };

/// Waited for by spinning first, then asleep.
#[derive(Debug, Default)]
pub(super) struct Gate {
    value: AtomicU32,
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
        for _ in 0..LOOKS {
            if come() {
                return;
            }
            spin_loop();
        }
        let mut sleepers = lock(&self.sleepers);
        *sleepers += 1;
        while !come() {
            sleepers = self.moved.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }
}
