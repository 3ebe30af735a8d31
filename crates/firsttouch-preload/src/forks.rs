//! Forks of the program: the child has a whole heap, and huge pages that a fork splits are put together again.
//!
//! The handlers are registered when the agent is loaded, also where it places nothing yet. Later another thread could fork
//! at the same moment, and its child would not know whether it has them. And those who register first are called last before
//! a fork, and first after it: the handlers of the program may allocate.

use crate::{HEAP, threads};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_memory::Fork;

/// What is handed from the handler before a fork to those after it.
struct Held(UnsafeCell<Option<Fork>>);
// SAFETY: written and taken under the heap's lock.
unsafe impl Sync for Held {}

static FORK: Held = Held(UnsafeCell::new(None));
/// The thread that forks is bound; likewise.
static IS_BOUND: AtomicBool = AtomicBool::new(false);

/// Sees to forks from now on. To be called once, by the constructor, while no other thread exists.
pub(crate) fn follow() {
    // SAFETY: registers functions of this library, which is never unloaded (a preload library).
    unsafe {
        libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
    }
}

extern "C" fn before() {
    let fork = HEAP.before_fork();
    // SAFETY: the heap's lock is held from here to the end of both other handlers.
    unsafe { *FORK.0.get() = Some(fork) };
    IS_BOUND.store(threads::bound_here().is_some(), Ordering::Relaxed);
}

extern "C" fn after_in_parent() {
    // SAFETY: as in `before`.
    if let Some(fork) = unsafe { (*FORK.0.get()).take() } {
        // SAFETY: the value of the fork that ends here.
        unsafe { HEAP.after_fork_in_parent(fork) };
    }
}

extern "C" fn after_in_child() {
    threads::end_in_child(IS_BOUND.load(Ordering::Relaxed));
    // SAFETY: as in `before`.
    if let Some(fork) = unsafe { (*FORK.0.get()).take() } {
        // SAFETY: the value of the fork that ends here.
        unsafe { HEAP.after_fork_in_child(fork) };
    }
}
