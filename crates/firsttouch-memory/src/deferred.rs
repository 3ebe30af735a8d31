//! What could not be done because the lock turned its thread away (a fork is going on, or a handler of a signal interrupted
//! the heap), until somebody has the lock again.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// So many large blocks are freed during one fork at most; further ones are never recycled.
const MOST_FREES: usize = 1024;

/// Things to be done by whoever has the lock next.
#[derive(Debug)]
pub(crate) struct Deferred {
    /// There may be something to do.
    any: AtomicBool,
    /// Addresses of blocks; 0 for none.
    frees: [AtomicUsize; MOST_FREES],
    /// The program has changed mappings, and nobody knows of which blocks.
    changes: AtomicBool,
    /// The program has mapped something of its own between these two addresses; between the highest and 0 for nowhere.
    replaced: (AtomicUsize, AtomicUsize),
    /// The program limits its address space.
    ration: AtomicBool,
    /// The program confines itself to some system calls.
    confine: AtomicBool,
}

impl Deferred {
    pub(crate) const fn new() -> Self {
        Deferred {
            any: AtomicBool::new(false),
            frees: [const { AtomicUsize::new(0) }; MOST_FREES],
            changes: AtomicBool::new(false),
            replaced: (AtomicUsize::new(usize::MAX), AtomicUsize::new(0)),
            ration: AtomicBool::new(false),
            confine: AtomicBool::new(false),
        }
    }

    /// Whether there may be something to do.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Notes a block that was freed. The `any` comes after what it stands for, here and below: a look that comes too early
    /// leaves it to the next.
    pub(crate) fn free(&self, address: usize) {
        // What finds no place is lost until the process ends, which is better than a thread that waits for itself.
        for slot in &self.frees {
            if slot.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed).is_ok() {
                break;
            }
        }
        self.any.store(true, Ordering::Release);
    }

    /// Notes that some mappings were changed.
    pub(crate) fn change(&self) {
        self.changes.store(true, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Notes that the program maps something of its own at `[address, end)`.
    pub(crate) fn replace(&self, address: usize, end: usize) {
        self.replaced.0.fetch_min(address, Ordering::Release);
        self.replaced.1.fetch_max(end, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Notes that address space is to be given up.
    pub(crate) fn ration(&self) {
        self.ration.store(true, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Notes that the program confines itself.
    pub(crate) fn confine(&self) {
        self.confine.store(true, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Begins to do what was noted.
    pub(crate) fn begin(&self) {
        self.any.store(false, Ordering::Release);
        core::sync::atomic::fence(Ordering::SeqCst);
    }

    /// The blocks that were freed, each told once.
    pub(crate) fn take_frees(&self) -> impl Iterator<Item = usize> + '_ {
        self.frees.iter().map(|slot| slot.swap(0, Ordering::Acquire)).filter(|address| *address != 0)
    }

    /// Whether mappings were changed; told once.
    pub(crate) fn take_change(&self) -> bool {
        self.changes.swap(false, Ordering::Acquire)
    }

    /// Where the program has mapped something of its own, and at times what lies between; told once.
    pub(crate) fn take_replaced(&self) -> Option<(usize, usize)> {
        let end = self.replaced.1.swap(0, Ordering::Acquire);
        let address = self.replaced.0.swap(usize::MAX, Ordering::Acquire);
        (address < end).then_some((address, end))
    }

    /// Whether the program confines itself; told once.
    pub(crate) fn take_confine(&self) -> bool {
        self.confine.swap(false, Ordering::Acquire)
    }

    /// Whether address space is to be given up; told once.
    pub(crate) fn take_ration(&self) -> bool {
        self.ration.swap(false, Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn everything_is_told_once() {
        let deferred = Deferred::new();
        assert!(!deferred.any());
        (1..=MOST_FREES + 3).for_each(|address| deferred.free(address));
        deferred.change();
        assert!(deferred.any());
        deferred.begin();
        assert!(!deferred.any());
        assert_eq!(deferred.take_frees().collect::<Vec<_>>(), (1..=MOST_FREES).collect::<Vec<_>>());
        assert!(deferred.take_frees().next().is_none());
        assert!(deferred.take_change() && !deferred.take_change() && !deferred.take_ration());
        deferred.ration();
        assert!(deferred.any() && deferred.take_ration());
        deferred.replace(300, 400);
        deferred.replace(100, 200);
        assert_eq!((deferred.take_replaced(), deferred.take_replaced()), (Some((100, 400)), None));
    }
}
