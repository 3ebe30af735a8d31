//! The functions of the libraries behind this one, by name: the C library's, or those of another preload library.
//!
//! They are looked up by the constructor, and by whoever comes before it: a library that the program is linked with may
//! call us from its own constructor.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A function behind this library.
pub(crate) struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// Its address, looked up the first time; `None` if there is none. Not in an allocation path.
    pub(crate) fn find(&self) -> Option<usize> {
        if self.address.load(Ordering::Relaxed) == 0 {
            // SAFETY: looks up a function of the libraries behind this one.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.address.store(found as usize, Ordering::Relaxed);
        }
        Some(self.address.load(Ordering::Relaxed)).filter(|address| *address != 0)
    }
}
