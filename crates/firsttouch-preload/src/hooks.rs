//! The allocation functions of C, under their own names: glibc's, with the heap in front ([`stand_in`]).

use crate::{HEAP, prefault};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use firsttouch_memory::{BASE, Heap, StandIn, stand_in};

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

/// The heap of the process in front of glibc, whose functions are linked by the names that nobody interposes.
struct Glibc;

// SAFETY: the functions are glibc's allocator, which knows nothing of this library.
unsafe impl StandIn for Glibc {
    #[inline(always)]
    fn heap() -> &'static Heap {
        &HEAP
    }

    #[inline(always)]
    fn placed(address: *mut u8, bytes: usize) {
        prefault::block(address, bytes);
    }

    #[inline(always)]
    unsafe fn malloc(bytes: usize) -> *mut c_void {
        // SAFETY: the same call.
        unsafe { __libc_malloc(bytes) }
    }

    #[inline(always)]
    unsafe fn calloc(count: usize, bytes: usize) -> *mut c_void {
        // SAFETY: the same call.
        unsafe { __libc_calloc(count, bytes) }
    }

    #[inline(always)]
    unsafe fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: the same call.
        unsafe { __libc_realloc(address, bytes) }
    }

    #[inline(always)]
    unsafe fn free(address: *mut c_void) {
        // SAFETY: the same call.
        unsafe { __libc_free(address) }
    }

    #[inline(always)]
    unsafe fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
        // SAFETY: the same call.
        unsafe { __libc_memalign(alignment, bytes) }
    }

    #[inline(always)]
    unsafe fn pvalloc(bytes: usize) -> *mut c_void {
        // SAFETY: the same call.
        unsafe { __libc_pvalloc(bytes) }
    }

    unsafe fn usable_size(address: *mut c_void) -> Option<usize> {
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
}

/// malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { stand_in::malloc::<Glibc>(bytes) }
}

/// calloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { stand_in::calloc::<Glibc>(count, bytes) }
}

/// free(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(address: *mut c_void) {
    // SAFETY: the same contract.
    unsafe { stand_in::free::<Glibc>(address) }
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
    unsafe { stand_in::realloc::<Glibc>(address, bytes) }
}

/// reallocarray(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(address: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(total) = stand_in::array_bytes(count, bytes) else { return ptr::null_mut() };
    // SAFETY: the same contract.
    unsafe { realloc(address, total) }
}

/// memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { stand_in::memalign::<Glibc>(alignment, bytes) }
}

/// aligned_alloc(3): glibc's is memalign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { memalign(alignment, bytes) }
}

/// posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    // SAFETY: the same contract.
    unsafe { stand_in::posix_memalign::<Glibc>(result, alignment, bytes) }
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
    unsafe { stand_in::pvalloc::<Glibc>(bytes) }
}

/// malloc_usable_size(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(address: *mut c_void) -> usize {
    // SAFETY: the same contract.
    unsafe { stand_in::usable_size::<Glibc>(address) }
}
