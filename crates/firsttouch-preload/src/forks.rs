//! Forks of the program: the child has a whole heap, and huge pages that a fork splits are put together again.
//!
//! Nobody who places nothing pays for it: the handlers are registered when placing begins, which may be long after the
//! program has.

use crate::{HEAP, threads};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::Fork;

/// Nobody has registered the handlers; any other number but the last is of the process that is at it.
const NOBODY: u32 = 0;
const REGISTERED: u32 = u32::MAX;
static REGISTRATION: AtomicU32 = AtomicU32::new(NOBODY);

/// What is handed from the handler before a fork to those after it.
struct Held(UnsafeCell<Option<Fork>>);
// SAFETY: written and taken under the heap's lock.
unsafe impl Sync for Held {}

static FORK: Held = Held(UnsafeCell::new(None));
/// The thread that forks is bound; likewise.
static IS_BOUND: AtomicBool = AtomicBool::new(false);

/// Sees to forks from now on. To be called before the heap places its first block; comes back when the handlers are
/// registered, by whomever.
pub(crate) fn follow() {
    let process = sys::process_id();
    let mut seen = REGISTRATION.load(Ordering::Acquire);
    while seen != REGISTERED {
        // Left behind by another process: in that one a thread was at it when this one was forked, and here nobody is.
        if seen == process {
            // Another thread of ours, for microseconds.
            // SAFETY: lets others run.
            unsafe { libc::sched_yield() };
            seen = REGISTRATION.load(Ordering::Acquire);
            continue;
        }
        match REGISTRATION.compare_exchange(seen, process, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                // SAFETY: registers functions of this library, which is never unloaded (a preload library).
                unsafe {
                    libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
                }
                REGISTRATION.store(REGISTERED, Ordering::Release);
                return;
            }
            Err(now) => seen = now,
        }
    }
}

extern "C" fn before() {
    let fork = HEAP.before_fork();
    // SAFETY: the heap's lock is held from here to the end of both other handlers.
    unsafe { *FORK.0.get() = Some(fork) };
    IS_BOUND.store(threads::bound_here().is_some(), Ordering::Relaxed);
}

extern "C" fn after_in_parent() {
    // SAFETY: as in `before`. If the handlers were registered in the middle of this fork, there is nothing to take.
    if let Some(fork) = unsafe { (*FORK.0.get()).take() } {
        // SAFETY: the value of the fork that ends here.
        unsafe { HEAP.after_fork_in_parent(fork) };
    }
}

extern "C" fn after_in_child() {
    threads::end_in_child(IS_BOUND.load(Ordering::Relaxed));
    // SAFETY: as in `after_in_parent`.
    if let Some(fork) = unsafe { (*FORK.0.get()).take() } {
        // SAFETY: the value of the fork that ends here.
        unsafe { HEAP.after_fork_in_child(fork) };
    }
}
