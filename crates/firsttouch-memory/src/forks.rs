//! The forks that go on now: those of programs with reserved pages, and those for which the heap could not be closed.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use firsttouch_linux::sys::{self, Descriptor};

/// Forks with reserved pages that go on at the same time at most; in further ones the child copies without its parent's help.
const MOST_FORKS: usize = 8;

/// The forks.
#[derive(Debug)]
pub(crate) struct Forks {
    /// The sockets between parents and children.
    ongoing: [Ongoing; MOST_FORKS],
    /// How many have not closed the heap.
    open: AtomicU32,
}

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
        Forks {
            ongoing: [const { Ongoing { thread: AtomicUsize::new(0), ends: UnsafeCell::new(None) } };
                MOST_FORKS],
            open: AtomicU32::new(0),
        }
    }

    /// One begins for which the heap was not closed.
    pub(crate) fn begin_open(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// One ends: whether the heap is to be opened for it. Which of several that overlap have closed it makes no difference: the
    /// last of them all opens it for the last that has.
    pub(crate) fn end_closed(&self) -> bool {
        let one_less = |open: u32| open.checked_sub(1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err()
    }

    /// This thread begins one.
    pub(crate) fn begin(&self, ends: (Descriptor, Descriptor)) {
        let own = sys::this_thread();
        let free = |ongoing: &&Ongoing| {
            ongoing.thread.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if let Some(ongoing) = self.ongoing.iter().find(free) {
            // SAFETY: claimed by this thread just now.
            unsafe { *ongoing.ends.get() = Some(ends) };
        }
    }

    /// The ends of a fork that this thread has begun. There are several where a handler of a signal forks while its thread
    /// does: whichever it is, parent and child find the same.
    pub(crate) fn end(&self) -> Option<(Descriptor, Descriptor)> {
        let own = sys::this_thread();
        let ongoing = self.ongoing.iter().rfind(|ongoing| ongoing.thread.load(Ordering::Relaxed) == own)?;
        // SAFETY: this thread's, as its number stands there.
        let ends = unsafe { (*ongoing.ends.get()).take() };
        ongoing.thread.store(0, Ordering::Relaxed);
        ends
    }

    /// In a child: closes the ends of all other forks, whose children would otherwise wait for this one.
    pub(crate) fn forget(&self) {
        self.open.store(0, Ordering::Relaxed);
        for ongoing in &self.ongoing {
            // SAFETY: the child has one thread, and that is here.
            drop(unsafe { (*ongoing.ends.get()).take() });
            ongoing.thread.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Forks;

    #[test]
    fn who_has_not_closed_the_heap_opens_it_for_nobody() {
        let forks = Forks::new();
        assert!(forks.end_closed());
        forks.begin_open();
        // One that has closed it meanwhile ends first.
        assert!(!forks.end_closed() && forks.end_closed());
        forks.begin_open();
        forks.forget();
        assert!(forks.end_closed());
    }
}
