//! What could not be done because the lock turned its thread away (a fork is going on, a handler of a signal interrupted
//! the heap, or stopped another thread in it), or need not be done before somebody has the lock again.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use firsttouch_linux::sys;

/// So many blocks are noted in one table, which is a page.
const FREES: usize = 511;

/// Things to be done by whoever has the lock next.
#[derive(Debug)]
pub(crate) struct Deferred {
    /// There may be something to do.
    any: AtomicBool,
    frees: Frees,
    /// The program has changed mappings here.
    changed: Range,
    /// The program has mapped something of its own here.
    replaced: Range,
    /// The program limits its address space.
    ration: AtomicBool,
    /// The program confines itself to some system calls.
    confine: AtomicBool,
    /// The program creates a thread.
    thread: AtomicBool,
}

impl Deferred {
    pub(crate) const fn new() -> Self {
        Deferred {
            any: AtomicBool::new(false),
            frees: Frees {
                blocks: [const { AtomicUsize::new(0) }; FREES],
                more: AtomicPtr::new(ptr::null_mut()),
            },
            changed: Range::new(),
            replaced: Range::new(),
            ration: AtomicBool::new(false),
            confine: AtomicBool::new(false),
            thread: AtomicBool::new(false),
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
        let mut frees = &self.frees;
        while !frees.note(address) {
            // Where the kernel has no page the block is lost until the process ends, which is better than a thread that waits for
            // itself.
            let Some(more) = frees.more() else { break };
            frees = more;
        }
        self.any.store(true, Ordering::Release);
    }

    /// Notes that mappings were changed in `[address, end)`.
    pub(crate) fn change(&self, address: usize, end: usize) {
        self.changed.note(address, end);
        self.any.store(true, Ordering::Release);
    }

    /// Notes that the program maps something of its own at `[address, end)`.
    pub(crate) fn replace(&self, address: usize, end: usize) {
        self.replaced.note(address, end);
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

    /// Notes that the program creates a thread.
    pub(crate) fn create_thread(&self) {
        self.thread.store(true, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Begins to do what was noted.
    pub(crate) fn begin(&self) {
        self.any.store(false, Ordering::Release);
        core::sync::atomic::fence(Ordering::SeqCst);
    }

    /// The blocks that were freed, each told once.
    pub(crate) fn take_frees(&self) -> impl Iterator<Item = usize> + '_ {
        let all = core::iter::successors(Some(&self.frees), |frees| frees.next());
        all.flat_map(|frees| &frees.blocks)
            .filter(|slot| slot.load(Ordering::Relaxed) != 0)
            .map(|slot| slot.swap(0, Ordering::Acquire))
    }

    /// Where mappings were changed, and at times what lies between; told once.
    pub(crate) fn take_changed(&self) -> Option<(usize, usize)> {
        self.changed.take()
    }

    /// Where the program has mapped something of its own; likewise.
    pub(crate) fn take_replaced(&self) -> Option<(usize, usize)> {
        self.replaced.take()
    }

    /// Whether the program confines itself; told once.
    pub(crate) fn take_confine(&self) -> bool {
        self.confine.swap(false, Ordering::Acquire)
    }

    /// Whether the program creates a thread; told once.
    pub(crate) fn take_thread(&self) -> bool {
        self.thread.swap(false, Ordering::Acquire)
    }

    /// Whether address space is to be given up; told once.
    pub(crate) fn take_ration(&self) -> bool {
        self.ration.swap(false, Ordering::Acquire)
    }
}

/// Blocks that were freed.
#[derive(Debug)]
struct Frees {
    /// Addresses of blocks; 0 for none.
    blocks: [AtomicUsize; FREES],
    /// A further table, once this one was full.
    more: AtomicPtr<Frees>,
}

impl Frees {
    /// Notes a block; false if there is no place.
    fn note(&self, address: usize) -> bool {
        let takes = |slot: &AtomicUsize| {
            slot.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed).is_ok()
        };
        self.blocks.iter().any(takes)
    }

    fn next(&self) -> Option<&Frees> {
        // SAFETY: null, or a table that stays.
        unsafe { self.more.load(Ordering::Acquire).as_ref() }
    }

    /// The further table, which is made if there is none; `None` if the kernel refuses.
    fn more(&self) -> Option<&Frees> {
        if self.next().is_none() {
            let (bytes, access) = (size_of::<Frees>(), libc::PROT_READ | libc::PROT_WRITE);
            // SAFETY: a new mapping. All zeroes are an empty table.
            let new = unsafe { sys::map_anonymous(0, bytes, access, 0) }.ok()?;
            let set = self.more.compare_exchange(
                ptr::null_mut(),
                new as *mut Frees,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if set.is_err() {
                // SAFETY: another thread was quicker, and nobody knows of this one.
                let _ = unsafe { sys::unmap(new, bytes) };
            }
        }
        self.next()
    }
}

/// What lies between two addresses; between the highest and 0 is nothing.
#[derive(Debug)]
struct Range(AtomicUsize, AtomicUsize);

impl Range {
    const fn new() -> Range {
        Range(AtomicUsize::new(usize::MAX), AtomicUsize::new(0))
    }

    fn note(&self, address: usize, end: usize) {
        self.0.fetch_min(address, Ordering::Release);
        self.1.fetch_max(end, Ordering::Release);
    }

    fn take(&self) -> Option<(usize, usize)> {
        let end = self.1.swap(0, Ordering::Acquire);
        let address = self.0.swap(usize::MAX, Ordering::Acquire);
        (address < end).then_some((address, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_told_once() {
        let deferred = Deferred::new();
        assert!(!deferred.any());
        // More than one table has room for.
        let all = 1..=2 * FREES + 3;
        all.clone().for_each(|address| deferred.free(address));
        deferred.change(500, 600);
        assert!(deferred.any());
        deferred.begin();
        assert!(!deferred.any());
        assert!(deferred.take_frees().eq(all));
        assert!(deferred.take_frees().next().is_none() && !deferred.take_ration());
        assert_eq!((deferred.take_changed(), deferred.take_changed()), (Some((500, 600)), None));
        deferred.ration();
        assert!(deferred.any() && deferred.take_ration());
        deferred.replace(300, 400);
        deferred.replace(100, 200);
        assert_eq!((deferred.take_replaced(), deferred.take_replaced()), (Some((100, 400)), None));
        deferred.create_thread();
        assert!(deferred.any() && deferred.take_thread() && !deferred.take_thread());
    }
}
