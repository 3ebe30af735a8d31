//! The allocator behind this library, which gets all that is not placed.
//!
//! It is nearly always glibc's, whose functions are linked by names that nobody interposes. Another preload library may bring
//! one of its own (jemalloc, a profiler). Then everything is handed on to that, and nothing is placed: its parts call each
//! other past us, and what they are given must be theirs.

use crate::{HEAP, background, channel, prefault};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_memory::{Heap, Interposer};

type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Memalign = unsafe extern "C" fn(usize, usize) -> *mut c_void;
type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(address: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(address: *mut c_void);
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_pvalloc(bytes: usize) -> *mut c_void;
}

/// A function of the allocator behind.
///
/// It leads to the `first_…` of its name until the first call of any of them: a library's constructor may allocate before
/// ours runs, and what it gets must go back to where it came from. From then on it is one jump through memory, as a call
/// of a linked function is; an atomic load would be an instruction more.
struct Function(UnsafeCell<*mut ()>);

// SAFETY: written by the first call of any of them, when no other thread exists: to create one, memory is allocated.
unsafe impl Sync for Function {}

impl Function {
    const fn new(first: *mut ()) -> Function {
        Function(UnsafeCell::new(first))
    }

    #[inline(always)]
    fn get(&self) -> *mut () {
        // SAFETY: see above.
        unsafe { *self.0.get() }
    }

    fn set(&self, found: *mut ()) {
        // SAFETY: see above.
        unsafe { *self.0.get() = found };
    }
}

static MALLOC: Function = Function::new(first_malloc as *mut ());
static CALLOC: Function = Function::new(first_calloc as *mut ());
static REALLOC: Function = Function::new(first_realloc as *mut ());
static FREE: Function = Function::new(first_free as *mut ());
static MEMALIGN: Function = Function::new(first_memalign as *mut ());
static PVALLOC: Function = Function::new(first_pvalloc as *mut ());
/// Null where there is none.
static USABLE_SIZE: Function = Function::new(ptr::null_mut());
/// The allocator is not glibc's.
static IS_FOREIGN: AtomicBool = AtomicBool::new(false);

/// Whether another allocator than glibc's stands behind.
pub(crate) fn is_foreign() -> bool {
    resolve();
    IS_FOREIGN.load(Ordering::Relaxed)
}

/// Finds the functions, once. What the lookup itself allocates comes from glibc.
#[cold]
fn resolve() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: looks up a function of the libraries behind this one.
    let next = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.cast::<()>();
    let malloc = next(c"malloc");
    // In glibc both names are the same function.
    let is_foreign = !malloc.is_null() && malloc != __libc_malloc as *mut ();
    IS_FOREIGN.store(is_foreign, Ordering::Relaxed);
    let functions: [(&Function, &CStr, *mut ()); 6] = [
        (&MALLOC, c"malloc", __libc_malloc as *mut ()),
        (&CALLOC, c"calloc", __libc_calloc as *mut ()),
        (&REALLOC, c"realloc", __libc_realloc as *mut ()),
        (&FREE, c"free", __libc_free as *mut ()),
        (&MEMALIGN, c"memalign", __libc_memalign as *mut ()),
        (&PVALLOC, c"pvalloc", __libc_pvalloc as *mut ()),
    ];
    for (function, name, of_glibc) in functions {
        let found = if is_foreign { next(name) } else { ptr::null_mut() };
        function.set(if found.is_null() { of_glibc } else { found });
    }
    USABLE_SIZE.set(next(c"malloc_usable_size"));
}

/// Has glibc's allocator begin, once: with the program's first block, though that is ours. It asks the kernel for random numbers then,
/// which the program may not count on any more when it wants its next (seccomp).
#[inline(always)]
fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if !BEGUN.load(Ordering::Relaxed) {
        BEGUN.store(true, Ordering::Relaxed);
        // SAFETY: a new block, which nobody uses.
        unsafe { __libc_free(__libc_malloc(1)) };
    }
}

/// The function after the first call; while it is being looked up, glibc's.
fn after_first(function: &Function, first: *mut (), of_glibc: *mut ()) -> *mut () {
    resolve();
    let now = function.get();
    if now == first { of_glibc } else { now }
}

unsafe extern "C" fn first_malloc(bytes: usize) -> *mut c_void {
    let now = after_first(&MALLOC, first_malloc as *mut (), __libc_malloc as *mut ());
    // SAFETY: a malloc.
    unsafe { transmute::<*mut (), Malloc>(now)(bytes) }
}

unsafe extern "C" fn first_calloc(count: usize, bytes: usize) -> *mut c_void {
    let now = after_first(&CALLOC, first_calloc as *mut (), __libc_calloc as *mut ());
    // SAFETY: a calloc.
    unsafe { transmute::<*mut (), Calloc>(now)(count, bytes) }
}

unsafe extern "C" fn first_realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
    let now = after_first(&REALLOC, first_realloc as *mut (), __libc_realloc as *mut ());
    // SAFETY: a realloc.
    unsafe { transmute::<*mut (), Realloc>(now)(address, bytes) }
}

unsafe extern "C" fn first_free(address: *mut c_void) {
    let now = after_first(&FREE, first_free as *mut (), __libc_free as *mut ());
    // SAFETY: a free.
    unsafe { transmute::<*mut (), Free>(now)(address) }
}

unsafe extern "C" fn first_memalign(alignment: usize, bytes: usize) -> *mut c_void {
    let now = after_first(&MEMALIGN, first_memalign as *mut (), __libc_memalign as *mut ());
    // SAFETY: a memalign.
    unsafe { transmute::<*mut (), Memalign>(now)(alignment, bytes) }
}

unsafe extern "C" fn first_pvalloc(bytes: usize) -> *mut c_void {
    let now = after_first(&PVALLOC, first_pvalloc as *mut (), __libc_pvalloc as *mut ());
    // SAFETY: a pvalloc.
    unsafe { transmute::<*mut (), Malloc>(now)(bytes) }
}

/// The heap of the process in front of the allocator behind.
pub(crate) struct Behind;

// SAFETY: the functions are those of one allocator, which knows nothing of this library.
unsafe impl Interposer for Behind {
    #[inline(always)]
    fn heap() -> &'static Heap {
        &HEAP
    }

    #[inline(always)]
    fn placed(address: *mut u8, bytes: usize) {
        begin();
        prefault::block(address, bytes);
        channel::open_if_waiting();
    }

    fn asked_behind() {
        channel::open_if_waiting();
    }

    #[inline(always)]
    fn leaving(address: *mut u8) {
        background::leaving(address);
    }

    fn leaving_range(address: usize, bytes: usize) {
        background::leaving_range(address, bytes);
    }

    #[inline(always)]
    unsafe fn malloc(bytes: usize) -> *mut c_void {
        // SAFETY: a malloc, and the same call.
        unsafe { transmute::<*mut (), Malloc>(MALLOC.get())(bytes) }
    }

    #[inline(always)]
    unsafe fn calloc(count: usize, bytes: usize) -> *mut c_void {
        // SAFETY: a calloc, and the same call.
        unsafe { transmute::<*mut (), Calloc>(CALLOC.get())(count, bytes) }
    }

    #[inline(always)]
    unsafe fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: a realloc, and the same call.
        unsafe { transmute::<*mut (), Realloc>(REALLOC.get())(address, bytes) }
    }

    #[inline(always)]
    unsafe fn free(address: *mut c_void) {
        // SAFETY: a free, and the same call.
        unsafe { transmute::<*mut (), Free>(FREE.get())(address) }
    }

    #[inline(always)]
    unsafe fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
        // SAFETY: a memalign, and the same call.
        unsafe { transmute::<*mut (), Memalign>(MEMALIGN.get())(alignment, bytes) }
    }

    #[inline(always)]
    unsafe fn pvalloc(bytes: usize) -> *mut c_void {
        // SAFETY: a pvalloc, and the same call.
        unsafe { transmute::<*mut (), Malloc>(PVALLOC.get())(bytes) }
    }

    unsafe fn usable_size(address: *mut c_void) -> Option<usize> {
        resolve();
        let found = USABLE_SIZE.get();
        // SAFETY: a malloc_usable_size, of a live block of its allocator, by the contract of our caller.
        (!found.is_null()).then(|| unsafe { transmute::<*mut (), UsableSize>(found)(address) })
    }
}
