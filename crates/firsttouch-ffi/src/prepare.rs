//! What is done once before calls are redirected, or blocks are made by code that needs no redirected calls.

use crate::heap::HEAP;
use crate::lookup::with_loader;
use crate::{object, process, session};
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_linux::libraries::SANITIZERS;
use firsttouch_memory::Heap;
use std::ffi::CString;
use std::ops::ControlFlow::{Break, Continue};

/// The functions were found, and the library will not be unloaded.
static PREPARED: AtomicBool = AtomicBool::new(false);

/// The heap of this copy of the library, for code that allocates on it by itself and needs no redirected calls; safe over
/// forks. `None` where a sanitizer watches allocations.
///
/// What it makes must be freed on it: C's `free` knows its blocks only while calls are redirected.
pub fn heap() -> Option<&'static Heap> {
    prepare().then_some(&HEAP)
}

/// Finds the process's functions and sees to it that this library stays; false where nothing can be placed. Before the
/// session is entered.
pub(crate) fn prepare() -> bool {
    if !PREPARED.load(Ordering::Acquire) && session::follows_forks() {
        with_loader(|| {
            if !has_sanitizer() && process::resolve() {
                stay_loaded();
                HEAP.prepare();
                PREPARED.store(true, Ordering::Release);
            }
        });
    }
    PREPARED.load(Ordering::Acquire)
}

/// Whether a sanitizer watches the process's allocations; it would not know ours.
pub(crate) fn has_sanitizer() -> bool {
    let linked = [c"__asan_init", c"__tsan_init", c"__hwasan_init", c"__lsan_init"].iter().any(|name| {
        // SAFETY: looks a name up.
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
    });
    let mut loaded = false;
    object::each(|_, object| {
        loaded = SANITIZERS.iter().any(|name| object.file_name().starts_with(name.as_bytes()));
        if loaded { Break(()) } else { Continue(()) }
    });
    linked || loaded
}

/// Keeps the loader from unloading this library: a thread may be on its way into it at any time, even when the last slot
/// leads elsewhere again.
fn stay_loaded() {
    let own = stay_loaded as *const c_void as usize;
    let mut path: Option<CString> = None;
    object::each(|_, object| {
        if object.holds(own) {
            path = Some(object.path().to_owned());
            return Break(());
        }
        Continue(())
    });
    // The program itself has no path, and is not unloaded.
    if let Some(path) = path.filter(|path| !CStr::is_empty(path)) {
        // SAFETY: this library, which is loaded; the handle is kept for ever.
        unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}
