//! The allocation functions of C with a [`Heap`] in front of another allocator, as glibc documents them (malloc(3),
//! posix_memalign(3), malloc_usable_size(3)).
//!
//! The agent exports them under C's own names, a library redirects calls to them; both bring the allocator behind as a
//! [`Interposer`]. Every function has the same form: one comparison that tells what is surely not ours, which goes to the
//! allocator behind, and a function apart for the rest, so that the way of small allocations needs no stack frame.
//! `errno` is set on failure and kept otherwise: our system calls do not touch it.

use crate::heap::Heap;
use crate::pages::BASE;
use crate::resize::Resized;
use crate::span::may_be_placed;
use core::ffi::{c_int, c_void};
use core::ptr;
use firsttouch_linux::sys;

/// A heap, and the allocator that takes what the heap does not.
///
/// # Safety
/// The functions must be those of one allocator, with the contract of C; they must not come back to the functions of
/// this module.
pub unsafe trait Interposer {
    /// The heap in front.
    fn heap() -> &'static Heap;

    /// Called with every block that is placed, before its owner knows it.
    fn placed(address: *mut u8, bytes: usize);

    /// Called before the allocator behind is asked for a block that [concerns](Heap::concerns) the heap.
    fn asked_behind();

    /// Called with every placed block whose memory is about to be given up or to change its size.
    fn leaving(address: *mut u8);

    /// Called before the program maps something else in a range, handles its faults itself or does without its contents: no page
    /// is to be created there any more.
    fn leaving_range(address: usize, bytes: usize);

    /// malloc(3).
    ///
    /// # Safety
    /// As in C.
    unsafe fn malloc(bytes: usize) -> *mut c_void;

    /// calloc(3).
    ///
    /// # Safety
    /// As in C.
    unsafe fn calloc(count: usize, bytes: usize) -> *mut c_void;

    /// realloc(3).
    ///
    /// # Safety
    /// As in C.
    unsafe fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void;

    /// free(3).
    ///
    /// # Safety
    /// As in C.
    unsafe fn free(address: *mut c_void);

    /// memalign(3).
    ///
    /// # Safety
    /// As in C.
    unsafe fn memalign(alignment: usize, bytes: usize) -> *mut c_void;

    /// pvalloc(3).
    ///
    /// # Safety
    /// As in C.
    unsafe fn pvalloc(bytes: usize) -> *mut c_void;

    /// malloc_usable_size(3) of a block that is not null; `None` if the function was not found.
    ///
    /// # Safety
    /// As in C.
    unsafe fn usable_size(address: *mut c_void) -> Option<usize>;
}

fn errno() -> c_int {
    // SAFETY: the thread's errno.
    unsafe { *libc::__errno_location() }
}

fn set_errno(error: c_int) {
    // SAFETY: the thread's errno.
    unsafe { *libc::__errno_location() = error };
}

/// A placed block, or null: the size is not in the range, or there is no room.
fn place<S: Interposer>(bytes: usize, alignment: usize, zeroed: bool) -> *mut c_void {
    if !S::heap().wants(bytes) {
        return ptr::null_mut();
    }
    let address = S::heap().allocate(bytes, alignment, zeroed);
    if !address.is_null() {
        S::placed(address, bytes);
    }
    address.cast()
}

/// A block that comes this way only because growth is watched; the shorter, since it may be one of many.
#[inline(always)]
fn small<S: Interposer>(bytes: usize, allocate: impl Fn() -> *mut c_void) -> Option<*mut c_void> {
    if !S::heap().is_small(bytes) {
        return None;
    }
    let address = allocate();
    S::heap().saw_behind(address as usize);
    Some(address).filter(|address| !address.is_null())
}

/// What the allocator behind answers to a call for a large block. Where it finds no room, the heap makes some and it is asked
/// once more.
#[cold]
fn behind<S: Interposer>(allocate: impl Fn() -> *mut c_void) -> *mut c_void {
    S::asked_behind();
    let errno_before = errno();
    let mut address = allocate();
    if address.is_null() && S::heap().make_room() {
        address = allocate();
        if !address.is_null() {
            set_errno(errno_before);
        }
    }
    S::heap().saw_behind(address as usize);
    address
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
///
/// # Safety
/// As in C.
#[inline(always)]
pub unsafe fn malloc<S: Interposer>(bytes: usize) -> *mut c_void {
    if S::heap().concerns(bytes) {
        return malloc_large::<S>(bytes);
    }
    // SAFETY: the same call.
    unsafe { S::malloc(bytes) }
}

#[cold]
#[inline(never)]
fn malloc_large<S: Interposer>(bytes: usize) -> *mut c_void {
    // SAFETY: an ordinary allocation.
    if let Some(address) = small::<S>(bytes, || unsafe { S::malloc(bytes) }) {
        return address;
    }
    let address = place::<S>(bytes, 0, false);
    if address.is_null() {
        // SAFETY: an ordinary allocation.
        return behind::<S>(|| unsafe { S::malloc(bytes) });
    }
    address
}

/// calloc(3).
///
/// # Safety
/// As in C.
#[inline(always)]
pub unsafe fn calloc<S: Interposer>(count: usize, bytes: usize) -> *mut c_void {
    if count.checked_mul(bytes).is_none_or(|total| S::heap().concerns(total)) {
        return calloc_large::<S>(count, bytes);
    }
    // SAFETY: the same call.
    unsafe { S::calloc(count, bytes) }
}

#[cold]
#[inline(never)]
fn calloc_large<S: Interposer>(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: an ordinary allocation.
    if let Some(address) = small::<S>(count.saturating_mul(bytes), || unsafe { S::calloc(count, bytes) }) {
        return address;
    }
    let address = count.checked_mul(bytes).map_or(ptr::null_mut(), |total| place::<S>(total, 0, true));
    if address.is_null() {
        // SAFETY: an ordinary allocation; the allocator behind answers an overflow.
        return behind::<S>(|| unsafe { S::calloc(count, bytes) });
    }
    address
}

/// free(3).
///
/// # Safety
/// As in C.
#[inline(always)]
pub unsafe fn free<S: Interposer>(address: *mut c_void) {
    if may_be_placed(address.cast()) {
        return free_placed::<S>(address);
    }
    // SAFETY: the same call.
    unsafe { S::free(address) }
}

#[cold]
#[inline(never)]
fn free_placed<S: Interposer>(address: *mut c_void) {
    // Where the kernel maps in this region (`vm.legacy_va_layout`), small blocks of threads lie there, and the heap has one lock for all.
    if !S::heap().owns(address.cast()) {
        // SAFETY: the same call.
        return unsafe { S::free(address) };
    }
    S::leaving(address.cast());
    if S::heap().free(address.cast()) {
        return;
    }
    if S::heap().covers(address.cast()) {
        not_a_block("free()");
    }
    // SAFETY: not in our memory, although near it: a block of the allocator behind.
    unsafe { S::free(address) }
}

/// realloc(3).
///
/// # Safety
/// As in C.
#[inline(always)]
pub unsafe fn realloc<S: Interposer>(address: *mut c_void, bytes: usize) -> *mut c_void {
    if may_be_placed(address.cast()) || S::heap().concerns(bytes) {
        // SAFETY: the same contract.
        return unsafe { realloc_large::<S>(address, bytes) };
    }
    // SAFETY: the same call.
    unsafe { S::realloc(address, bytes) }
}

#[cold]
#[inline(never)]
unsafe fn realloc_large<S: Interposer>(address: *mut c_void, bytes: usize) -> *mut c_void {
    if S::heap().owns(address.cast()) {
        // SAFETY: the same contract.
        return unsafe { resize_ours::<S>(address, bytes) };
    }
    if address.is_null() {
        return malloc_large::<S>(bytes);
    }
    if S::heap().wants(bytes)
        // SAFETY: a live block of the allocator behind, by the contract of realloc.
        && let Some(old_bytes) = unsafe { S::usable_size(address) }
    {
        let target = place::<S>(bytes, 0, false);
        if !target.is_null() {
            // SAFETY: both blocks have that many bytes; the new one is known to nobody else.
            unsafe { ptr::copy_nonoverlapping(address.cast::<u8>(), target.cast(), old_bytes.min(bytes)) };
            S::heap().lock_as_mapping(address as usize..address as usize + old_bytes, target.cast());
            // SAFETY: the block belongs to the allocator behind and is not used any more.
            unsafe { S::free(address) };
            return target;
        }
    }
    if bytes == 0 {
        // Null is then no failure.
        // SAFETY: the same call.
        return unsafe { S::realloc(address, bytes) };
    }
    // SAFETY: the same call, which leaves the block alone where it fails.
    behind::<S>(|| unsafe { S::realloc(address, bytes) })
}

/// realloc(3) for callers whose own allocations are not to be placed: a placed block that somebody gave them is resized,
/// everything else goes to the allocator behind.
///
/// # Safety
/// As in C.
#[inline(always)]
pub unsafe fn realloc_given<S: Interposer>(address: *mut c_void, bytes: usize) -> *mut c_void {
    if may_be_placed(address.cast()) && S::heap().owns(address.cast()) {
        // SAFETY: the same contract.
        return unsafe { resize_ours::<S>(address, bytes) };
    }
    // SAFETY: the same call.
    unsafe { S::realloc(address, bytes) }
}

/// realloc of one of our blocks.
#[cold]
#[inline(never)]
unsafe fn resize_ours<S: Interposer>(address: *mut c_void, bytes: usize) -> *mut c_void {
    let heap = S::heap();
    S::leaving(address.cast());
    if bytes == 0 {
        // As glibc does: free, and null.
        // SAFETY: the contract of realloc.
        unsafe { free::<S>(address) };
        return ptr::null_mut();
    }
    let Some(old_bytes) = heap.usable_bytes(address.cast()) else {
        if heap.covers(address.cast()) {
            not_a_block("realloc()");
        }
        // SAFETY: not in our memory, although between it: a block of the allocator behind.
        return unsafe { S::realloc(address, bytes) };
    };
    // A block that grows stays placed even when placing was switched off meanwhile: moving it out would be the surprise. One that is
    // locked stays, because what it would be moved to is not.
    if heap.keeps(bytes)
        || bytes >= old_bytes
        || heap.is_locked(address as usize..address as usize + old_bytes)
    {
        // SAFETY: the contract of realloc: the block is the caller's alone during the call.
        if let Resized::To(target) = unsafe { heap.resize(address.cast(), bytes) } {
            return target.cast();
        }
    }
    // SAFETY: an ordinary allocation.
    let target = behind::<S>(|| unsafe { S::malloc(bytes) });
    if target.is_null() {
        // The old block is untouched, and errno set by the allocator behind.
        return target;
    }
    // SAFETY: both blocks have that many bytes.
    unsafe { ptr::copy_nonoverlapping(address.cast::<u8>(), target.cast(), old_bytes.min(bytes)) };
    heap.free(address.cast());
    target
}

/// The bytes of an array, or `None` and errno set as reallocarray(3) does.
#[inline]
pub fn array_bytes(count: usize, bytes: usize) -> Option<usize> {
    let total = count.checked_mul(bytes);
    if total.is_none() {
        set_errno(libc::ENOMEM);
    }
    total
}

/// memalign(3), and aligned_alloc(3), which is the same in glibc.
///
/// # Safety
/// As in C.
#[inline(always)]
pub unsafe fn memalign<S: Interposer>(alignment: usize, bytes: usize) -> *mut c_void {
    if S::heap().concerns(bytes) {
        return memalign_large::<S>(alignment, bytes);
    }
    // SAFETY: the same call; the allocator behind rounds odd alignments up, and answers impossible ones.
    unsafe { S::memalign(alignment, bytes) }
}

#[cold]
#[inline(never)]
fn memalign_large<S: Interposer>(alignment: usize, bytes: usize) -> *mut c_void {
    let address =
        if alignment.is_power_of_two() { place::<S>(bytes, alignment, false) } else { ptr::null_mut() };
    if address.is_null() {
        // SAFETY: an ordinary allocation.
        return behind::<S>(|| unsafe { S::memalign(alignment, bytes) });
    }
    address
}

/// posix_memalign(3): the result is left alone on failure. errno is what the allocator behind makes it, as in glibc.
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn posix_memalign<S: Interposer>(
    result: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    // SAFETY: an ordinary allocation.
    let address = unsafe { memalign::<S>(alignment, bytes) };
    if address.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's pointer, by the contract of posix_memalign.
    unsafe { *result = address };
    0
}

/// pvalloc(3).
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn pvalloc<S: Interposer>(bytes: usize) -> *mut c_void {
    match bytes.checked_next_multiple_of(BASE) {
        // SAFETY: the same contract.
        Some(whole) if S::heap().concerns(whole) => unsafe { memalign::<S>(BASE, whole) },
        // SAFETY: the same call.
        _ => unsafe { S::pvalloc(bytes) },
    }
}

/// malloc_usable_size(3).
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn usable_size<S: Interposer>(address: *mut c_void) -> usize {
    if S::heap().owns(address.cast())
        && let Some(bytes) = S::heap().usable_bytes(address.cast())
    {
        return bytes;
    }
    if address.is_null() {
        return 0;
    }
    // SAFETY: a live block of the allocator behind, by contract.
    unsafe { S::usable_size(address) }.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};

    static HEAP: Heap = Heap::new();
    static FREED: AtomicUsize = AtomicUsize::new(0);

    struct Mock;

    // SAFETY: nothing is allocated, and what is freed is no memory.
    unsafe impl Interposer for Mock {
        fn heap() -> &'static Heap {
            &HEAP
        }
        fn placed(_: *mut u8, _: usize) {}
        fn asked_behind() {}
        fn leaving(_: *mut u8) {}
        fn leaving_range(_: usize, _: usize) {}
        unsafe fn malloc(_: usize) -> *mut c_void {
            ptr::null_mut()
        }
        unsafe fn calloc(_: usize, _: usize) -> *mut c_void {
            ptr::null_mut()
        }
        unsafe fn realloc(_: *mut c_void, _: usize) -> *mut c_void {
            ptr::null_mut()
        }
        unsafe fn free(address: *mut c_void) {
            FREED.store(address as usize, Ordering::Relaxed);
        }
        unsafe fn memalign(_: usize, _: usize) -> *mut c_void {
            ptr::null_mut()
        }
        unsafe fn pvalloc(_: usize) -> *mut c_void {
            ptr::null_mut()
        }
        unsafe fn usable_size(_: *mut c_void) -> Option<usize> {
            None
        }
    }

    /// Who comes to the heap does what others have left to be done.
    #[test]
    fn blocks_of_others_are_freed_without_the_heap() {
        let others = (32_usize << 40) as *mut c_void;
        assert!(may_be_placed(others.cast()) && !HEAP.owns(others.cast()));
        HEAP.create_thread();
        // SAFETY: as if it were a block of the allocator behind.
        unsafe { free::<Mock>(others) };
        assert!(FREED.load(Ordering::Relaxed) == others as usize && HEAP.deferred.any());
        assert!(!HEAP.covers(others.cast()) && !HEAP.deferred.any());
    }
}
