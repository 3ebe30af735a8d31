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

/// How many threads look names up (the low half) and fork (the high half). In one word, so that a child is never made
/// while somebody is counted who only waits.
static BUSY: AtomicU32 = AtomicU32::new(0);
const FORK: u32 = 1 << 16;
/// The thread that began to look last, and the one that began to fork.
static LOOKING: AtomicUsize = AtomicUsize::new(0);
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// This process was forked while another thread had the loader's lock, perhaps.
static IS_LOST: AtomicBool = AtomicBool::new(false);

fn lookups() -> u32 {
    BUSY.load(Ordering::SeqCst) % FORK
}

fn is_this_thread(last: &AtomicUsize) -> bool {
    last.load(Ordering::SeqCst) == sys::this_thread()
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
    // A handler of fork may look up, in the thread that forks.
    let enter = |busy: u32| (busy < FORK || busy < 2 * FORK && is_this_thread(&FORKING)).then(|| busy + 1);
    let is_counted = wait_for(|| BUSY.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).is_ok());
    LOOKING.store(sys::this_thread(), Ordering::SeqCst);
    let found = look();
    LOOKING.store(0, Ordering::SeqCst);
    if is_counted {
        BUSY.fetch_sub(1, Ordering::SeqCst);
    }
    Some(found)
}

/// Before a fork.
pub(crate) fn before_fork() {
    BUSY.fetch_add(FORK, Ordering::SeqCst);
    FORKING.store(sys::this_thread(), Ordering::SeqCst);
    // A handler of a signal may fork, in a thread that looks up.
    wait_for(|| lookups() == 0 || lookups() == 1 && is_this_thread(&LOOKING));
}

/// After a fork, in the parent.
pub(crate) fn after_fork_in_parent() {
    FORKING.store(0, Ordering::SeqCst);
    BUSY.fetch_sub(FORK, Ordering::SeqCst);
}

/// After a fork, in the child, which has one thread; `others_were_at_it` if another thread was in the loader for certain.
pub(crate) fn after_fork_in_child(others_were_at_it: bool) {
    // A lookup of this thread's, which a handler of a signal has interrupted to fork, goes on here.
    let own = u32::from(lookups() > 0 && is_this_thread(&LOOKING));
    if lookups() > own || others_were_at_it {
        IS_LOST.store(true, Ordering::Relaxed);
    }
    FORKING.store(0, Ordering::SeqCst);
    BUSY.store(own, Ordering::SeqCst);
}
