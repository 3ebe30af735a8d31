//! The allocation functions of C, under their own names: those of the allocator behind, with the heap in front
//! ([`interposer`]).
//!
//! A program may bring an allocator of its own, whose functions it then calls in place of ours. Functions that glibc makes of others do
//! not come with it: they hand on to those that the program calls.

use crate::HEAP;
use crate::behind::Behind;
use crate::next::{ALIGNED_ALLOC, FREE_IN_FRONT, MALLOC_IN_FRONT, MALLOC_TRIM, REALLOC_IN_FRONT};
use core::ffi::{c_int, c_void};
use core::mem::{transmute, zeroed};
use core::ptr;
use firsttouch_memory::{BASE, interposer};

/// Whether the program calls these functions, and no others of the same names. For the constructor.
///
/// A program at a fixed place that takes the address of one of ours has a jump there, whose place is the function's address for everybody;
/// its symbol of that name is defined nowhere in it.
pub(crate) fn are_in_front() -> bool {
    let Some(found) = MALLOC_IN_FRONT.find() else { return true };
    let (file, is_defined) = about(found);
    // The address of a function that is exported would be that of the one in front.
    let (own_file, _) = about(&raw const MALLOC_IN_FRONT as usize);
    file == own_file || !is_defined
}

/// The loaded file that an address lies in, by where it begins, and whether a symbol of that file is defined there.
fn about(address: usize) -> (*mut c_void, bool) {
    const RTLD_DL_SYMENT: c_int = 1;
    let mut symbol = ptr::null_mut();
    // SAFETY: an all-zero structure is valid; the call fills it in, and the pointer with that of a symbol of the file or not.
    unsafe {
        let mut about: libc::Dl_info = zeroed();
        libc::dladdr1(address as *const c_void, &raw mut about, &raw mut symbol, RTLD_DL_SYMENT);
        let symbol: *const libc::Elf64_Sym = symbol.cast_const().cast();
        (about.dli_fbase, symbol.as_ref().is_some_and(|symbol| symbol.st_shndx != 0))
    }
}

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
    type Free = unsafe extern "C" fn(*mut c_void);
    // SAFETY: the address is that of the function of this name, which has this type.
    let in_front = FREE_IN_FRONT.find().map_or(free as Free, |found| unsafe { transmute(found) });
    // SAFETY: the same contract.
    unsafe { in_front(address) }
}

/// free_aligned_sized of C23.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(address: *mut c_void, _alignment: usize, bytes: usize) {
    // SAFETY: the same contract.
    unsafe { free_sized(address, bytes) }
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
    type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    let Some(total) = interposer::array_bytes(count, bytes) else { return ptr::null_mut() };
    // SAFETY: the address is that of the function of this name, which has this type.
    let in_front = REALLOC_IN_FRONT.find().map_or(realloc as Realloc, |found| unsafe { transmute(found) });
    // SAFETY: the same contract.
    unsafe { in_front(address, total) }
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
        let real: AlignedAlloc = unsafe { transmute(found) };
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

/// malloc_trim(3): also of what is held for reuse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_trim(pad: usize) -> c_int {
    type Trim = unsafe extern "C" fn(usize) -> c_int;
    let trimmed = HEAP.trim();
    let Some(found) = MALLOC_TRIM.find() else { return trimmed.into() };
    // SAFETY: the address is that of the function of this name behind this library, which has this type.
    let real: Trim = unsafe { transmute(found) };
    // SAFETY: the same call.
    c_int::from(trimmed) | unsafe { real(pad) }
}
