//! Forks of the program: the child has a whole heap, and huge pages that a fork splits are put together again.
//!
//! The handlers are registered when the agent is loaded, also where it places nothing yet. Later another thread could fork
//! at the same moment, and its child would not know whether it has them. Libraries that the program is linked with have
//! registered theirs before: those run while the heap is closed, and are turned away by it.

use crate::{HEAP, background, channel, helper, record, threads};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use firsttouch_linux::sys;

/// The thread that began to fork last, and whether we have bound it.
static FORKING: AtomicUsize = AtomicUsize::new(0);
static IS_BOUND: AtomicBool = AtomicBool::new(false);

/// Sees to forks from now on. To be called once, by the constructor, while no other thread exists.
pub(crate) fn follow() {
    // SAFETY: registers functions of this library, which is never unloaded (a preload library).
    unsafe {
        libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
    }
}

extern "C" fn before() {
    HEAP.before_fork();
    IS_BOUND.store(threads::bound_here().is_some(), Ordering::Relaxed);
    FORKING.store(sys::this_thread(), Ordering::Relaxed);
}

extern "C" fn after_in_parent() {
    HEAP.after_fork_in_parent();
}

extern "C" fn after_in_child() {
    // Where another thread forked as well, this one's mask tells.
    let is_known = FORKING.load(Ordering::Relaxed) == sys::this_thread();
    let was_bound = if is_known { IS_BOUND.load(Ordering::Relaxed) } else { threads::bound_here().is_some() };
    threads::end_in_child(was_bound);
    helper::after_fork_in_child();
    channel::after_fork_in_child();
    record::after_fork_in_child();
    background::after_fork_in_child();
    HEAP.after_fork_in_child();
}
