//! What a program does to its own mappings and limits, under the names of C: see [`changes`] for what it means to placed
//! memory.

use crate::{HEAP, prefault};
use core::ffi::{c_int, c_void};
use core::ptr;
use firsttouch_linux::sys;
use firsttouch_memory::changes;

/// mmap(2). Where prefaulting is asked for, memory that processes will share (a database's buffers) is created here, in
/// parallel, instead of page by page by whoever comes first. Private memory is not: allocators and virtual machines
/// reserve more of it than they will ever use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let arguments =
        [address as usize, bytes, protection as usize, flags as usize, file as usize, offset as usize];
    // SAFETY: the same call.
    let mapped = match unsafe { sys::call(libc::SYS_mmap, arguments) } {
        Ok(mapped) => mapped as *mut c_void,
        Err(error) => {
            // SAFETY: the thread's errno.
            unsafe { *libc::__errno_location() = error };
            return libc::MAP_FAILED;
        }
    };
    let shared = flags & libc::MAP_TYPE == libc::MAP_SHARED && flags & libc::MAP_ANONYMOUS != 0;
    let wanted = shared && flags & libc::MAP_NORESERVE == 0 && protection & libc::PROT_WRITE != 0;
    if wanted && HEAP.wants(bytes) {
        prefault::block(mapped.cast(), bytes);
    }
    mapped
}

/// mmap64: the same, on 64-bit machines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { mmap(address, bytes, protection, flags, file, offset) }
}

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
