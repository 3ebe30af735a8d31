//! What a program does to its own mappings and limits that concerns placed memory: the functions of C, with a look at
//! the heap before.
//!
//! A block that was made read-only, say, and is freed so, is unmapped by glibc; ours is recycled, and must be made anew
//! first. And a reservation of address space would count against a limit that the program sets itself.

use crate::heap::Heap;
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

fn note_change(heap: &Heap, address: *mut c_void, bytes: usize) {
    if heap.owns(address.cast()) {
        heap.set_altered(address.cast(), bytes);
    }
}

/// mprotect(2).
///
/// # Safety
/// As in C.
pub unsafe fn mprotect(heap: &Heap, address: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    note_change(heap, address, bytes);
    // SAFETY: the same call.
    answer(unsafe { sys::protect(address as usize, bytes, protection) })
}

/// pkey_mprotect(2).
///
/// # Safety
/// As in C.
pub unsafe fn pkey_mprotect(
    heap: &Heap,
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    if key == -1 {
        // SAFETY: the same call, by definition.
        return unsafe { mprotect(heap, address, bytes, protection) };
    }
    note_change(heap, address, bytes);
    let arguments = [address as usize, bytes, protection as usize, key as usize, 0, 0];
    // SAFETY: the same call.
    answer(unsafe { sys::call(libc::SYS_pkey_mprotect, arguments) })
}

/// madvise(2).
///
/// # Safety
/// As in C.
pub unsafe fn madvise(heap: &Heap, address: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    // Advice that stays with the mapping and changes what a later owner of the memory would see.
    if matches!(
        advice,
        libc::MADV_DONTFORK | libc::MADV_WIPEONFORK | libc::MADV_DONTDUMP | libc::MADV_NOHUGEPAGE
    ) {
        note_change(heap, address, bytes);
    }
    // SAFETY: the same call.
    answer(unsafe { sys::advise(address as usize, bytes, advice) })
}

/// prlimit(2), and setrlimit(2), which is the same for the process itself; on 64-bit machines with the kernel's structure.
///
/// # Safety
/// As in C.
pub unsafe fn prlimit(
    heap: &Heap,
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    let is_own = process == 0 || process as u32 == sys::process_id();
    // SAFETY: null or the caller's structure, by contract.
    if let (true, Some(limit)) = (is_own && resource == libc::RLIMIT_AS as c_int, unsafe { new.as_ref() })
        && limit.rlim_cur != libc::RLIM_INFINITY
    {
        heap.ration();
    }
    let arguments = [process as usize, resource as usize, new as usize, old as usize, 0, 0];
    // SAFETY: the same call; on 64-bit machines the structure is the kernel's.
    answer(unsafe { sys::call(libc::SYS_prlimit64, arguments) })
}
