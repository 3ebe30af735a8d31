//! The allocation functions of C, as glibc documents them (malloc(3), posix_memalign(3), malloc_usable_size(3)).
//!
//! Every one has the same form: one comparison that tells what is surely not ours, which goes to glibc, and a function
//! apart for the rest, so that the way of small allocations needs no stack frame. `errno` is set on failure and kept
//! otherwise: our system calls do not touch it.

use crate::{HEAP, prefault};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::{BASE, Resized, may_be_placed};

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(address: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(address: *mut c_void);
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_pvalloc(bytes: usize) -> *mut c_void;
}

/// glibc's `malloc_usable_size`, which has no twin that could be linked; looked up once, by the constructor.
static USABLE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Looks up what cannot be linked. Until then nothing is placed, so nothing needs it.
pub(crate) fn resolve() {
    // SAFETY: looks up a function of the libraries behind this one; not in an allocation path.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
    USABLE_SIZE.store(found as usize, Ordering::Relaxed);
}

/// The usable size of a block that is not ours; `None` if glibc's function was not found.
unsafe fn foreign_usable_bytes(address: *mut c_void) -> Option<usize> {
    if USABLE_SIZE.load(Ordering::Relaxed) == 0 {
        resolve();
    }
    let function = USABLE_SIZE.load(Ordering::Relaxed);
    if function == 0 {
        return None;
    }
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let function: unsafe extern "C" fn(*mut c_void) -> usize = unsafe { core::mem::transmute(function) };
    // SAFETY: the address is a live block of the C library, by the contract of our caller.
    Some(unsafe { function(address) })
}

fn set_errno(error: c_int) {
    // SAFETY: the thread's errno.
    unsafe { *libc::__errno_location() = error };
}

/// A placed block, or null: the size is not in the range, or there is no room.
fn place(bytes: usize, alignment: usize, zeroed: bool) -> *mut c_void {
    if !HEAP.wants(bytes) {
        return ptr::null_mut();
    }
    let address = HEAP.allocate(bytes, alignment, zeroed);
    if !address.is_null() {
        prefault::block(address, bytes);
    }
    address.cast()
}

/// glibc ends a program that frees what is no block; so do we, because what follows would be worse.
#[cold]
fn not_a_block(function: &str) -> ! {
    sys::complain(function.as_bytes());
    sys::complain(b": invalid pointer\n");
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

/// malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if HEAP.may_want(bytes) {
        return malloc_large(bytes);
    }
    // SAFETY: the same call.
    unsafe { __libc_malloc(bytes) }
}

#[cold]
#[inline(never)]
fn malloc_large(bytes: usize) -> *mut c_void {
    let address = place(bytes, 0, false);
    if address.is_null() {
        // SAFETY: an ordinary allocation.
        return unsafe { __libc_malloc(bytes) };
    }
    address
}

/// calloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    if count.checked_mul(bytes).is_none_or(|total| HEAP.may_want(total)) {
        return calloc_large(count, bytes);
    }
    // SAFETY: the same call.
    unsafe { __libc_calloc(count, bytes) }
}

#[cold]
#[inline(never)]
fn calloc_large(count: usize, bytes: usize) -> *mut c_void {
    let address = count.checked_mul(bytes).map_or(ptr::null_mut(), |total| place(total, 0, true));
    if address.is_null() {
        // SAFETY: an ordinary allocation; glibc answers an overflow.
        return unsafe { __libc_calloc(count, bytes) };
    }
    address
}

/// free(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(address: *mut c_void) {
    if may_be_placed(address.cast()) {
        return free_placed(address);
    }
    // SAFETY: the same call.
    unsafe { __libc_free(address) }
}

#[cold]
#[inline(never)]
fn free_placed(address: *mut c_void) {
    if HEAP.free(address.cast()) {
        return;
    }
    if HEAP.covers(address.cast()) {
        not_a_block("free()");
    }
    // SAFETY: not in our memory, although near it: glibc's.
    unsafe { __libc_free(address) }
}

/// The old name of free(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfree(address: *mut c_void) {
    // SAFETY: the same contract.
    unsafe { free(address) }
}

/// free_sized of C23.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_sized(address: *mut c_void, _bytes: usize) {
    // SAFETY: the same contract.
    unsafe { free(address) }
}

/// free_aligned_sized of C23.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(address: *mut c_void, _alignment: usize, _bytes: usize) {
    // SAFETY: the same contract.
    unsafe { free(address) }
}

/// realloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
    if may_be_placed(address.cast()) || HEAP.may_want(bytes) {
        // SAFETY: the same contract.
        return unsafe { realloc_large(address, bytes) };
    }
    // SAFETY: the same call.
    unsafe { __libc_realloc(address, bytes) }
}

#[cold]
#[inline(never)]
unsafe fn realloc_large(address: *mut c_void, bytes: usize) -> *mut c_void {
    if HEAP.owns(address.cast()) {
        // SAFETY: the same contract.
        return unsafe { resize_ours(address, bytes) };
    }
    if address.is_null() {
        return malloc_large(bytes);
    }
    if HEAP.wants(bytes)
        // SAFETY: a live block of glibc's, by the contract of realloc.
        && let Some(old_bytes) = unsafe { foreign_usable_bytes(address) }
    {
        let target = place(bytes, 0, false);
        if !target.is_null() {
            // SAFETY: both blocks have that many bytes; the new one is known to nobody else.
            unsafe { ptr::copy_nonoverlapping(address.cast::<u8>(), target.cast(), old_bytes.min(bytes)) };
            // SAFETY: the block is glibc's and is not used any more.
            unsafe { __libc_free(address) };
            return target;
        }
    }
    // SAFETY: the same call.
    unsafe { __libc_realloc(address, bytes) }
}

/// realloc of one of our blocks.
unsafe fn resize_ours(address: *mut c_void, bytes: usize) -> *mut c_void {
    if bytes == 0 {
        // As glibc does: free, and null.
        // SAFETY: the contract of realloc.
        unsafe { free(address) };
        return ptr::null_mut();
    }
    let Some(old_bytes) = HEAP.usable_bytes(address.cast()) else {
        if HEAP.covers(address.cast()) {
            not_a_block("realloc()");
        }
        // SAFETY: not in our memory, although between it: glibc's.
        return unsafe { __libc_realloc(address, bytes) };
    };
    // A block that grows stays placed even when placing was switched off meanwhile: moving it out would be the surprise.
    if HEAP.wants(bytes) || bytes >= old_bytes {
        // SAFETY: the contract of realloc: the block is the caller's alone during the call.
        if let Resized::To(target) = unsafe { HEAP.resize(address.cast(), bytes) } {
            return target.cast();
        }
    }
    // SAFETY: an ordinary allocation.
    let target = unsafe { __libc_malloc(bytes) };
    if target.is_null() {
        // The old block is untouched, and errno set by glibc.
        return target;
    }
    // SAFETY: both blocks have that many bytes.
    unsafe { ptr::copy_nonoverlapping(address.cast::<u8>(), target.cast(), old_bytes.min(bytes)) };
    HEAP.free(address.cast());
    target
}

/// reallocarray(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(address: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(total) = count.checked_mul(bytes) else {
        set_errno(libc::ENOMEM);
        return ptr::null_mut();
    };
    // SAFETY: the same contract.
    unsafe { realloc(address, total) }
}

/// memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    if HEAP.may_want(bytes) {
        return memalign_large(alignment, bytes);
    }
    // SAFETY: the same call; glibc rounds odd alignments up, and answers impossible ones.
    unsafe { __libc_memalign(alignment, bytes) }
}

#[cold]
#[inline(never)]
fn memalign_large(alignment: usize, bytes: usize) -> *mut c_void {
    let address = if alignment.is_power_of_two() { place(bytes, alignment, false) } else { ptr::null_mut() };
    if address.is_null() {
        // SAFETY: an ordinary allocation.
        return unsafe { __libc_memalign(alignment, bytes) };
    }
    address
}

/// aligned_alloc(3): glibc's is memalign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { memalign(alignment, bytes) }
}

/// posix_memalign(3): the result is left alone on failure, and errno in any case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    // SAFETY: the thread's errno.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: an ordinary allocation.
    let address = unsafe { memalign(alignment, bytes) };
    set_errno(errno);
    if address.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's pointer, by the contract of posix_memalign.
    unsafe { *result = address };
    0
}

/// valloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { memalign(BASE, bytes) }
}

/// pvalloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    match bytes.checked_next_multiple_of(BASE) {
        // SAFETY: the same contract.
        Some(whole) if HEAP.wants(whole) => unsafe { memalign(BASE, whole) },
        // SAFETY: the same call.
        _ => unsafe { __libc_pvalloc(bytes) },
    }
}

/// malloc_usable_size(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(address: *mut c_void) -> usize {
    if HEAP.owns(address.cast())
        && let Some(bytes) = HEAP.usable_bytes(address.cast())
    {
        return bytes;
    }
    if address.is_null() {
        return 0;
    }
    // SAFETY: a live block of glibc's, by contract.
    unsafe { foreign_usable_bytes(address) }.unwrap_or(0)
}
