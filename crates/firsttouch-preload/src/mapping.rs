//! What a program does to its own mappings and limits, under the names of C: see [`changes`] for what it means to placed
//! memory.

use crate::HEAP;
use core::ffi::{c_int, c_void};
use core::ptr;
use firsttouch_memory::changes;

/// mprotect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(address: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::mprotect(&HEAP, address, bytes, protection) }
}

/// pkey_mprotect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pkey_mprotect(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::pkey_mprotect(&HEAP, address, bytes, protection, key) }
}

/// madvise(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(address: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::madvise(&HEAP, address, bytes, advice) }
}

/// prlimit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prlimit(
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::prlimit(&HEAP, process, resource, new, old) }
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
    unsafe { prlimit(0, resource, limit, ptr::null_mut()) }
}

/// setrlimit64: the same, on 64-bit machines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setrlimit64(resource: c_int, limit: *const libc::rlimit) -> c_int {
    // SAFETY: the same contract.
    unsafe { prlimit(0, resource, limit, ptr::null_mut()) }
}
