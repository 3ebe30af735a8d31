//! Looking names up in the loader, so that neither a fork nor a constructor meets it half done.
//!
//! The loader has a lock that no fork takes: a child that was forked while another thread looked a name up waits for that
//! lock for ever. So forks wait for lookups of ours, and lookups for forks. But a thread may fork, or look up, while it
//! holds the loader's lock itself (in the constructor of a library that is being loaded), and then whom it waits for may
//! wait for it. So nobody waits for ever, and a child that was forked all the same looks nothing up.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use firsttouch_linux::sys;
use std::thread::yield_now;

/// A lookup takes microseconds, on the busiest of machines less than this; who waits longer waits for itself.
const PATIENCE_NS: u64 = 20_000_000_000;

/// Threads that look names up, and threads that fork; of either, the one that came last.
static LOOKUPS: AtomicU32 = AtomicU32::new(0);
static LOOKING: AtomicUsize = AtomicUsize::new(0);
static FORKS: AtomicU32 = AtomicU32::new(0);
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// This process was forked while another thread had the loader's lock, perhaps.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Whether this thread alone is at it.
fn is_only_this(count: &AtomicU32, last: &AtomicUsize) -> bool {
    count.load(Ordering::SeqCst) == 1 && last.load(Ordering::SeqCst) == sys::this_thread()
}

/// Waits until a condition holds, but not for ever; whether it does.
pub(crate) fn wait_for(holds: impl Fn() -> bool) -> bool {
    let begin = sys::now_ns();
    loop {
        if holds() {
            return true;
        }
        if sys::now_ns() - begin > PATIENCE_NS {
            return false;
        }
        yield_now();
    }
}

/// Looks names up, by `look`; `None` in a process where the loader may be locked for ever.
pub(crate) fn with_loader<T>(look: impl FnOnce() -> T) -> Option<T> {
    if IS_LOST.load(Ordering::Relaxed) {
        return None;
    }
    let is_counted = wait_for(|| {
        LOOKUPS.fetch_add(1, Ordering::SeqCst);
        // A handler of fork may look up, in the thread that forks.
        let free = FORKS.load(Ordering::SeqCst) == 0 || is_only_this(&FORKS, &FORKING);
        if !free {
            LOOKUPS.fetch_sub(1, Ordering::SeqCst);
        }
        free
    });
    LOOKING.store(sys::this_thread(), Ordering::SeqCst);
    let found = look();
    LOOKING.store(0, Ordering::SeqCst);
    if is_counted {
        LOOKUPS.fetch_sub(1, Ordering::SeqCst);
    }
    Some(found)
}

/// Before a fork.
pub(crate) fn before_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    FORKING.store(sys::this_thread(), Ordering::SeqCst);
    // A handler of a signal may fork, in a thread that looks up.
    wait_for(|| LOOKUPS.load(Ordering::SeqCst) == 0 || is_only_this(&LOOKUPS, &LOOKING));
}

/// After a fork, in the parent.
pub(crate) fn after_fork_in_parent() {
    FORKING.store(0, Ordering::SeqCst);
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// After a fork, in the child, which has one thread; `others_were_at_it` if another thread was in the loader for certain.
pub(crate) fn after_fork_in_child(others_were_at_it: bool) {
    // A lookup of this thread's, which a handler of a signal has interrupted to fork, goes on here.
    let others_looked = !is_only_this(&LOOKUPS, &LOOKING) && LOOKUPS.swap(0, Ordering::SeqCst) > 0;
    if others_looked || others_were_at_it {
        IS_LOST.store(true, Ordering::Relaxed);
    }
    FORKING.store(0, Ordering::SeqCst);
    FORKS.store(0, Ordering::SeqCst);
}
