//! Where threads wait for each other.

use super::gate::Gate;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A barrier that can be used again at once: those who come count down, the last one opens it for the next time.
#[derive(Debug)]
pub(super) struct Barrier {
    size: usize,
    missing: AtomicUsize,
    opened: Gate,
}

impl Barrier {
    pub(super) fn new(size: usize) -> Barrier {
        Barrier { size, missing: AtomicUsize::new(size), opened: Gate::new() }
    }

    /// Waits for the others; true for the last.
    ///
    /// # Panics
    /// If `broken` becomes true: then not all will come.
    pub(super) fn wait(&self, broken: &AtomicBool) -> bool {
        let before = self.opened.value();
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.missing.store(self.size, Ordering::Relaxed);
            self.opened.set(before.wrapping_add(1));
            return true;
        }
        self.opened.wait_until(|| self.opened.value() != before || broken.load(Ordering::Relaxed));
        assert!(self.opened.value() != before, "another member of the team panicked");
        false
    }

    /// Lets those who wait look at `broken`.
    pub(super) fn wake(&self) {
        self.opened.wake();
    }

    /// As new, while nobody waits.
    pub(super) fn reset(&self) {
        self.missing.store(self.size, Ordering::Relaxed);
    }
}
