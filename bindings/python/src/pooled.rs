//! What a fork does to arrays on reserved pages, and what is done about it.
//!
//! Both sides share such pages until one writes; that one then needs a second page of the pool, and where the pool has
//! none, the kernel kills. So the child gets ordinary memory with the same contents before it goes on, while the thread
//! that forked waits (see [`firsttouch_memory::inherit`]). In it, the arrays lie on ordinary pages.
//!
//! Whoever forks has the lock of the table from before the fork to its end on both sides. So no other thread is in the middle
//! of a change when the child's copy is made, and in the child the lock is held by the one thread there is, which releases
//! it. A handler of a signal that forks while its own thread has the lock is turned away, where it would wait for itself:
//! its child shares the pages, as without us, and the lock is released by whom it interrupted, on both sides.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};
use firsttouch_linux::sys::{self, Descriptor};
use firsttouch_memory::{Guard, Lock, inherit};
use std::collections::BTreeMap;
use std::sync::Once;

/// Live mappings by address: their bytes, and those of a page.
type Mappings = BTreeMap<usize, (usize, usize)>;

static MAPPINGS: Lock<Mappings> = Lock::new(Mappings::new());
/// Forks that go on in a thread which had the lock already, one inside the other. Nobody else's can get so far meanwhile.
static TURNED_AWAY: AtomicU32 = AtomicU32::new(0);

/// From now on, children get ordinary memory in place of this.
pub(crate) fn add(address: usize, bytes: usize, page_bytes: usize) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: registers functions of a module that Python never unloads. Without memory to note them, which is the
        // one error, forks are as dangerous as the kernel makes them.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child))
        };
    });
    // Nobody is turned away here: handlers of signals run no Python.
    if let Some(mut mappings) = MAPPINGS.enter() {
        mappings.insert(address, (bytes, page_bytes));
    }
}

/// The mapping is about to go.
pub(crate) fn remove(address: usize) {
    if let Some(mut mappings) = MAPPINGS.enter() {
        mappings.remove(&address);
    }
}

/// What is held from before a fork to its end on both sides: the lock, and the ends of a socket if there is copying to do.
struct Held(UnsafeCell<Option<Forking>>);
type Forking = (Guard<'static, Mappings>, Option<(Descriptor, Descriptor)>);
// SAFETY: written and taken by the thread that forks, while it holds the lock.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let Some(mappings) = MAPPINGS.enter() else {
        TURNED_AWAY.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let ends = if mappings.is_empty() { None } else { sys::socket_pair().ok() };
    // SAFETY: the lock is held from here to the end of both other handlers.
    unsafe { *HELD.0.get() = Some((mappings, ends)) };
}

/// Whether the fork that ends is one that was turned away.
fn was_turned_away() -> bool {
    TURNED_AWAY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |forks| forks.checked_sub(1)).is_ok()
}

extern "C" fn after_fork_in_parent() {
    if was_turned_away() {
        return;
    }
    // SAFETY: as in `before_fork`.
    if let Some((mappings, ends)) = unsafe { (*HELD.0.get()).take() } {
        // The child's end is closed before another thread may fork: else that child would have a copy of it.
        let own = ends.map(|(own, _)| own);
        drop(mappings);
        if let Some(own) = own {
            inherit::serve(&own);
        }
    }
}

extern "C" fn after_fork_in_child() {
    if was_turned_away() {
        return;
    }
    // SAFETY: as in `before_fork`.
    if let Some((mut mappings, ends)) = unsafe { (*HELD.0.get()).take() } {
        let parent = ends.map(|(_, own)| own);
        for (address, (bytes, page_bytes)) in core::mem::take(&mut *mappings) {
            for page in (address..address + bytes).step_by(page_bytes) {
                // SAFETY: whole pages of a mapping of ours; a forked child has one thread, and that is here.
                unsafe { inherit::copy_to_ordinary_memory(page, page_bytes, parent.as_ref()) };
            }
        }
    }
}
