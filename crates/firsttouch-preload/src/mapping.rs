//! What a program does to its own mappings and limits that concerns placed memory.
//!
//! A block that was made read-only, say, and is freed so, is unmapped by glibc; ours is recycled, and must be made anew
//! first. And a reservation of address space would count against a limit that the program sets itself.

use crate::HEAP;
use core::ffi::{c_int, c_void};
use firsttouch_linux::sys::{self, Answer};

/// The kernel's answer the way of C.
fn answer(answer: Answer) -> c_int {
    match answer {
        Ok(value) => value as c_int,
        Err(error) => {
            // SAFETY: the thread's errno.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

fn note_change(address: *mut c_void, bytes: usize) {
    if HEAP.owns(address.cast()) {
        HEAP.set_altered(address.cast(), bytes);
    }
}

/// mprotect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(address: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    note_change(address, bytes);
    // SAFETY: the same call.
    answer(unsafe { sys::protect(address as usize, bytes, protection) })
}

/// pkey_mprotect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pkey_mprotect(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    if key == -1 {
        // SAFETY: the same call, by definition.
        return unsafe { mprotect(address, bytes, protection) };
    }
    note_change(address, bytes);
    let arguments = [address as usize, bytes, protection as usize, key as usize, 0, 0];
    // SAFETY: the same call.
    answer(unsafe { sys::call(libc::SYS_pkey_mprotect, arguments) })
}

/// madvise(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(address: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    // Advice that stays with the mapping and changes what a later owner of the memory would see.
    if matches!(
        advice,
        libc::MADV_DONTFORK | libc::MADV_WIPEONFORK | libc::MADV_DONTDUMP | libc::MADV_NOHUGEPAGE
    ) {
        note_change(address, bytes);
    }
    // SAFETY: the same call.
    answer(unsafe { sys::advise(address as usize, bytes, advice) })
}

/// Before a limit of the address space comes into force.
unsafe fn before_limit(process: libc::pid_t, resource: c_int, limit: *const libc::rlimit) {
    let is_own = process == 0 || process as u32 == sys::process_id();
    // SAFETY: null or the caller's structure, by contract.
    if let (true, Some(limit)) = (is_own && resource == libc::RLIMIT_AS as c_int, unsafe { limit.as_ref() })
        && limit.rlim_cur != libc::RLIM_INFINITY
    {
        HEAP.ration();
    }
}

/// prlimit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prlimit(
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the contract of prlimit.
    unsafe { before_limit(process, resource, new) };
    let arguments = [process as usize, resource as usize, new as usize, old as usize, 0, 0];
    // SAFETY: the same call; on 64-bit machines the structure is the kernel's.
    answer(unsafe { sys::call(libc::SYS_prlimit64, arguments) })
}

/// prlimit64: the same, on 64-bit machines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prlimit64(
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { prlimit(process, resource, new, old) }
}

/// setrlimit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setrlimit(resource: c_int, limit: *const libc::rlimit) -> c_int {
    // SAFETY: the same contract.
    unsafe { prlimit(0, resource, limit, core::ptr::null_mut()) }
}

/// setrlimit64: the same, on 64-bit machines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setrlimit64(resource: c_int, limit: *const libc::rlimit) -> c_int {
    // SAFETY: the same contract.
    unsafe { prlimit(0, resource, limit, core::ptr::null_mut()) }
}
