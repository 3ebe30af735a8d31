//! Threads of our own, for what was asked for when the settings were read: they are neither counted nor bound, and take
//! none of the program's signals.

use crate::next::CREATE;
use core::ffi::{c_int, c_void};

pub(crate) type Function = extern "C" fn(*mut c_void) -> *mut c_void;
pub(crate) type Create =
    unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Function, *mut c_void) -> c_int;

/// Creates a thread of our own, which is neither counted nor bound.
///
/// # Safety
/// As for pthread_create(3).
pub(crate) unsafe fn create_helper(
    handle: &mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let Some(found) = CREATE.find() else { return libc::EAGAIN };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Create = unsafe { core::mem::transmute(found) };
    // SAFETY: the caller's attributes, function and argument.
    unsafe { real(handle, attributes, function, argument) }
}

/// Several times what any of them takes.
const STACK_BYTES: usize = 256 << 10;

/// Starts a thread of our own for which nobody waits, and which takes none of the program's signals; whether it could be.
pub(crate) fn start_detached(function: Function) -> bool {
    let start = |attributes: *const libc::pthread_attr_t| {
        let mut handle = 0;
        // SAFETY: attributes that were initialised; the function takes no argument.
        unsafe { create_helper(&mut handle, attributes, function, core::ptr::null_mut()) }
    };
    // SAFETY: attributes that are initialised before they are used; thread-local data of the program's libraries may
    // leave no room on a small stack, then glibc refuses it.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return false;
        }
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let error = without_signals(|| {
            libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
            match start(&raw const attributes) {
                libc::EINVAL => {
                    libc::pthread_attr_setstacksize(&raw mut attributes, 2 << 20);
                    start(&raw const attributes)
                }
                other => other,
            }
        });
        libc::pthread_attr_destroy(&raw mut attributes);
        error == 0
    }
}

/// Does something with all signals blocked: threads that it creates take none of the program's.
pub(crate) fn without_signals<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: plain signal sets; the mask of this thread is restored below.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let answer = act();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut());
        answer
    }
}
