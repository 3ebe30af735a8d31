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

/// A number that threads can wait by.
pub(crate) trait Word {
    /// Puts `to` in place of `from`, if that is what is there.
    fn replace(&self, from: u32, to: u32) -> bool;
    /// Puts a number there, and answers what was there. An exchange gives on what was written before to whoever sees it.
    fn swap(&self, to: u32) -> u32;
    /// Waits while the number is this one; may come back at any time.
    fn wait(&self, number: u32);
    /// Wakes one that waits.
    fn wake_one(&self);
}

/// The kernel's: futex(2).
impl Word for AtomicU32 {
    fn replace(&self, from: u32, to: u32) -> bool {
        self.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn swap(&self, to: u32) -> u32 {
        self.swap(to, Ordering::AcqRel)
    }

    fn wait(&self, number: u32) {
        sys::futex_wait(self, number);
    }

    fn wake_one(&self) {
        sys::futex_wake_one(self);
    }
}

/// A value behind the lock.
#[derive(Debug)]
pub(crate) struct Lock<T, W: Word = AtomicU32> {
    state: W,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and only one guard exists at a time.
unsafe impl<T: Send, W: Word + Sync> Sync for Lock<T, W> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Lock { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }
}

impl<T, W: Word> Lock<T, W> {
    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Guard<'_, T, W> {
        if !self.state.replace(FREE, HELD) {
            while self.state.swap(CONTENDED) != FREE {
                self.state.wait(CONTENDED);
            }
        }
        Guard { lock: self }
    }

    /// Takes the lock if it comes free within about `tries` looks; for the way out of a process, where the
    /// holder may be a thread that will never run again.
    pub(crate) fn try_lock(&self, tries: u32) -> Option<Guard<'_, T, W>> {
        for _ in 0..tries {
            if self.state.replace(FREE, HELD) {
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
        if self.state.swap(FREE) == CONTENDED {
            self.state.wake_one();
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
pub(crate) struct Guard<'a, T, W: Word = AtomicU32> {
    lock: &'a Lock<T, W>,
}

impl<T, W: Word> Deref for Guard<'_, T, W> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T, W: Word> DerefMut for Guard<'_, T, W> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T, W: Word> Drop for Guard<'_, T, W> {
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

/// `RUSTFLAGS="--cfg loom" cargo test -p firsttouch-memory --lib models`
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::atomic::AtomicU32 as Number;
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// A futex as its manual page describes it: what is compared, and who sleeps, changes under a lock of the kernel's.
    struct Modelled {
        number: Number,
        kernel: Mutex<()>,
        sleepers: Condvar,
    }

    impl Word for Modelled {
        fn replace(&self, from: u32, to: u32) -> bool {
            self.number.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
        }

        fn swap(&self, to: u32) -> u32 {
            self.number.swap(to, Ordering::AcqRel)
        }

        fn wait(&self, number: u32) {
            let kernel = self.kernel.lock().unwrap();
            if self.number.load(Ordering::Relaxed) == number {
                drop(self.sleepers.wait(kernel));
            }
        }

        fn wake_one(&self) {
            let _kernel = self.kernel.lock().unwrap();
            self.sleepers.notify_one();
        }
    }

    #[test]
    fn one_at_a_time_and_nobody_sleeps_for_ever() {
        let mut builder = loom::model::Builder::new();
        // Orders in which a thread is interrupted more often are too many to try, and find nothing that these do not.
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let word =
                Modelled { number: Number::new(FREE), kernel: Mutex::new(()), sleepers: Condvar::new() };
            // A cell of loom's, which notices two that use it at once, and what one has not given on to the other.
            let lock =
                Arc::new(Lock { state: word, value: UnsafeCell::new(loom::cell::UnsafeCell::new(0_u32)) });
            let add = |lock: &Lock<loom::cell::UnsafeCell<u32>, Modelled>| {
                let guard = lock.lock();
                // SAFETY: the lock is held.
                guard.with_mut(|count| unsafe { *count += 1 });
            };
            let others = [(), ()].map(|()| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || add(&lock))
            });
            add(&lock);
            for other in others {
                other.join().unwrap();
            }
            // SAFETY: nobody else is left.
            lock.lock().with(|count| assert_eq!(unsafe { *count }, 3));
        });
    }
}
