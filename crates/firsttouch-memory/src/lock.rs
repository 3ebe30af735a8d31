//! A mutual-exclusion lock that needs no thread-local storage, never allocates and survives fork.
//!
//! The three-state futex lock of Drepper, "Futexes Are Tricky" (2011), second mutex.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};
use firsttouch_linux::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// A value behind the lock.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and only one guard exists at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Lock { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            while self.state.swap(CONTENDED, Ordering::Acquire) != FREE {
                sys::futex_wait(&self.state, CONTENDED);
            }
        }
        Guard { lock: self }
    }

    /// Takes the lock if it comes free within about `tries` looks; for the way out of a process, where the
    /// holder may be a thread that will never run again.
    pub(crate) fn try_lock(&self, tries: u32) -> Option<Guard<'_, T>> {
        for _ in 0..tries {
            if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Some(Guard { lock: self });
            }
            core::hint::spin_loop();
        }
        None
    }

    /// Leaves the lock held beyond the guard's life (before fork); [`Lock::release`] ends it.
    pub(crate) fn hold(&self) {
        core::mem::forget(self.lock());
    }

    /// Ends [`Lock::hold`].
    ///
    /// # Safety
    /// The calling thread, or the thread it was forked from, must have called [`Lock::hold`].
    pub(crate) unsafe fn release(&self) {
        if self.state.swap(FREE, Ordering::Release) == CONTENDED {
            sys::futex_wake_one(&self.state);
        }
    }

    /// The value, between [`Lock::hold`] and [`Lock::release`].
    ///
    /// # Safety
    /// As for [`Lock::release`], and no other reference from this function may be alive.
    #[allow(clippy::mut_from_ref, reason = "the lock, held, is what makes the reference unique")]
    pub(crate) unsafe fn held(&self) -> &mut T {
        // SAFETY: the caller holds the lock, so no guard exists.
        unsafe { &mut *self.value.get() }
    }
}

/// Access to the value while the lock is held.
#[derive(Debug)]
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this guard holds the lock.
        unsafe { self.lock.release() };
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;
    use std::thread;

    #[test]
    fn counts_of_many_threads_add_up() {
        let count = Lock::new(0_u32);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 40_000);
        let guard = count.lock();
        assert!(count.try_lock(3).is_none());
        drop(guard);
        assert!(count.try_lock(1).is_some());
    }
}
