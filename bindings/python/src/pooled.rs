//! What a fork does to arrays on reserved pages, and what is done about it.
//!
//! Both sides share such pages until one writes; that one then needs a second page of the pool, and where the pool has
//! none, the kernel kills. So the child gets ordinary memory with the same contents before it goes on, while the thread
//! that forked waits (see [`firsttouch_memory::inherit`]). In it, the arrays lie on ordinary pages.

use core::cell::UnsafeCell;
use firsttouch_linux::sys::{self, Descriptor};
use firsttouch_memory::inherit;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// Live mappings by address: their bytes, and those of a page.
type Mappings = BTreeMap<usize, (usize, usize)>;

static MAPPINGS: Mutex<Mappings> = Mutex::new(Mappings::new());

fn lock() -> MutexGuard<'static, Mappings> {
    MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    lock().insert(address, (bytes, page_bytes));
}

/// The mapping is about to go.
pub(crate) fn remove(address: usize) {
    lock().remove(&address);
}

/// What is held from before a fork to its end on both sides: the lock, and the ends of a socket if there is copying to do.
struct Held(UnsafeCell<Option<Forking>>);
type Forking = (MutexGuard<'static, Mappings>, Option<(Descriptor, Descriptor)>);
// SAFETY: written and taken by the thread that forks, while it holds the lock.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let mappings = lock();
    let ends = if mappings.is_empty() { None } else { sys::socket_pair().ok() };
    // SAFETY: the lock is held from here to the end of both other handlers.
    unsafe { *HELD.0.get() = Some((mappings, ends)) };
}

extern "C" fn after_fork_in_parent() {
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
