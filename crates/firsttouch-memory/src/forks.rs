//! The forks that go on now, of programs with reserved pages.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};
use firsttouch_linux::sys::{self, Descriptor};

/// Forks with reserved pages that go on at the same time at most; in further ones the child copies without its parent's help.
const MOST_FORKS: usize = 8;

/// The sockets between parents and children of forks that go on now.
#[derive(Debug)]
pub(crate) struct Forks([Ongoing; MOST_FORKS]);

/// One fork.
#[derive(Debug)]
struct Ongoing {
    /// The thread that forks; 0 for none.
    thread: AtomicUsize,
    /// The parent's and the child's end.
    ends: UnsafeCell<Option<(Descriptor, Descriptor)>>,
}

// SAFETY: the ends are reached only by the thread whose number stands beside them, and in a child by its only thread.
unsafe impl Sync for Ongoing {}

impl Forks {
    pub(crate) const fn new() -> Self {
        Forks([const { Ongoing { thread: AtomicUsize::new(0), ends: UnsafeCell::new(None) } }; MOST_FORKS])
    }

    /// This thread begins one.
    pub(crate) fn begin(&self, ends: (Descriptor, Descriptor)) {
        let own = sys::this_thread();
        let free = |ongoing: &&Ongoing| {
            ongoing.thread.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if let Some(ongoing) = self.0.iter().find(free) {
            // SAFETY: claimed by this thread just now.
            unsafe { *ongoing.ends.get() = Some(ends) };
        }
    }

    /// The ends of a fork that this thread has begun. There are several where a handler of a signal forks while its thread
    /// does: whichever it is, parent and child find the same.
    pub(crate) fn end(&self) -> Option<(Descriptor, Descriptor)> {
        let own = sys::this_thread();
        let ongoing = self.0.iter().rfind(|ongoing| ongoing.thread.load(Ordering::Relaxed) == own)?;
        // SAFETY: this thread's, as its number stands there.
        let ends = unsafe { (*ongoing.ends.get()).take() };
        ongoing.thread.store(0, Ordering::Relaxed);
        ends
    }

    /// In a child: closes the ends of all other forks, whose children would otherwise wait for this one.
    pub(crate) fn forget(&self) {
        for ongoing in &self.0 {
            // SAFETY: the child has one thread, and that is here.
            drop(unsafe { (*ongoing.ends.get()).take() });
            ongoing.thread.store(0, Ordering::Relaxed);
        }
    }
}
