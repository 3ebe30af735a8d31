//! The allocation functions of C, under their own names: those of the allocator behind, with the heap in front
//! ([`interposer`]).

use crate::behind::Behind;
use crate::next::ALIGNED_ALLOC;
use core::ffi::{c_int, c_void};
use core::ptr;
use firsttouch_memory::{BASE, interposer};

/// malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::malloc::<Behind>(bytes) }
}

/// calloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::calloc::<Behind>(count, bytes) }
}

/// free(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(address: *mut c_void) {
    // SAFETY: the same contract.
    unsafe { interposer::free::<Behind>(address) }
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
    // SAFETY: the same contract.
    unsafe { interposer::realloc::<Behind>(address, bytes) }
}

/// reallocarray(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(address: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(total) = interposer::array_bytes(count, bytes) else { return ptr::null_mut() };
    // SAFETY: the same contract.
    unsafe { realloc(address, total) }
}

/// memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::memalign::<Behind>(alignment, bytes) }
}

/// aligned_alloc(3): glibc's is memalign, but for odd alignments, which it refuses from 2.38 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    type AlignedAlloc = unsafe extern "C" fn(usize, usize) -> *mut c_void;
    if !alignment.is_power_of_two()
        && let Some(found) = ALIGNED_ALLOC.find()
    {
        // SAFETY: the address is that of the function of this name behind this library, which has this type.
        let real: AlignedAlloc = unsafe { core::mem::transmute(found) };
        // SAFETY: the same call.
        return unsafe { real(alignment, bytes) };
    }
    // SAFETY: the same contract.
    unsafe { memalign(alignment, bytes) }
}

/// posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    // SAFETY: the same contract.
    unsafe { interposer::posix_memalign::<Behind>(result, alignment, bytes) }
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
    // SAFETY: the same contract.
    unsafe { interposer::pvalloc::<Behind>(bytes) }
}

/// malloc_usable_size(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(address: *mut c_void) -> usize {
    // SAFETY: the same contract.
    unsafe { interposer::usable_size::<Behind>(address) }
}
