//! Looking names up in the loader, so that neither a fork nor a constructor meets it half done.
//!
//! The loader has a lock that no fork takes: a child that was forked while another thread looked a name up waits for that
//! lock for ever. So forks wait for lookups of ours, and lookups for forks. But a thread may fork, or look up, while it
//! holds the loader's lock itself (in the constructor of a library that is being loaded), and then whom it waits for may
//! wait for it. So nobody waits long, and a child that was forked all the same looks nothing up.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::sys;
use std::thread::yield_now;

/// A lookup takes microseconds; who waits this long waits for itself.
const PATIENCE_NS: u64 = 200_000_000;

/// Threads that look names up, and threads that fork.
static LOOKUPS: AtomicU32 = AtomicU32::new(0);
static FORKS: AtomicU32 = AtomicU32::new(0);
/// This process was forked while another thread had the loader's lock, perhaps.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Waits until a condition holds, but not long; whether it does.
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
    // A handler of fork that looks up, in the thread that forks, is not counted in the end, and goes on.
    let is_counted = wait_for(|| {
        LOOKUPS.fetch_add(1, Ordering::SeqCst);
        let free = FORKS.load(Ordering::SeqCst) == 0;
        if !free {
            LOOKUPS.fetch_sub(1, Ordering::SeqCst);
        }
        free
    });
    let found = look();
    if is_counted {
        LOOKUPS.fetch_sub(1, Ordering::SeqCst);
    }
    Some(found)
}

/// Before a fork.
pub(crate) fn before_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    wait_for(|| LOOKUPS.load(Ordering::SeqCst) == 0);
}

/// After a fork, in the parent.
pub(crate) fn after_fork_in_parent() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// After a fork, in the child, which has one thread; `others_were_at_it` if another thread was in the loader for certain.
pub(crate) fn after_fork_in_child(others_were_at_it: bool) {
    if LOOKUPS.swap(0, Ordering::SeqCst) > 0 || others_were_at_it {
        IS_LOST.store(true, Ordering::Relaxed);
    }
    FORKS.store(0, Ordering::SeqCst);
}
