//! The functions that calls are redirected to: the heap in front of the process's own allocator.

use crate::function::Function;
use crate::heap::HEAP;
use crate::session;
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use core::mem::transmute;
use core::ptr;
use firsttouch_memory::{
    BASE, Heap, Interposer, changes, function_syscall, functions_that_change_memory, interposer,
};

const LEAVE: *const () = ptr::null();

/// Every function whose calls are redirected. What makes blocks is redirected in chosen libraries; what takes them,
/// everywhere, because any library may be given a placed block; likewise what changes the memory of one.
pub(crate) static FUNCTIONS: [Function; 38] = [
    Function::new(c"free", free as *const (), free as *const ()),
    Function::new(c"realloc", realloc as *const (), realloc_given as *const ()),
    Function::new(c"reallocarray", reallocarray as *const (), reallocarray_given as *const ()),
    Function::new(c"malloc_usable_size", usable_size as *const (), usable_size as *const ()),
    Function::new(c"cfree", free as *const (), free as *const ()),
    Function::new(c"free_sized", free_sized as *const (), free_sized as *const ()),
    Function::new(c"free_aligned_sized", free_aligned_sized as *const (), free_aligned_sized as *const ()),
    Function::new(c"malloc", malloc as *const (), LEAVE),
    Function::new(c"calloc", calloc as *const (), LEAVE),
    Function::new(c"memalign", memalign as *const (), LEAVE),
    Function::new(c"aligned_alloc", memalign as *const (), LEAVE),
    Function::new(c"posix_memalign", posix_memalign as *const (), LEAVE),
    Function::new(c"valloc", valloc as *const (), LEAVE),
    Function::new(c"pvalloc", pvalloc as *const (), LEAVE),
    Function::new(c"dlsym", dlsym as *const (), dlsym as *const ()),
    Function::new(c"dlvsym", dlvsym as *const (), dlvsym as *const ()),
    Function::new(c"mprotect", mprotect as *const (), mprotect as *const ()),
    Function::new(c"pkey_mprotect", pkey_mprotect as *const (), pkey_mprotect as *const ()),
    Function::new(c"madvise", madvise as *const (), madvise as *const ()),
    Function::new(c"prlimit", prlimit as *const (), prlimit as *const ()),
    Function::new(c"prlimit64", prlimit as *const (), prlimit as *const ()),
    Function::new(c"setrlimit", setrlimit as *const (), setrlimit as *const ()),
    Function::new(c"setrlimit64", setrlimit as *const (), setrlimit as *const ()),
    Function::new(c"mmap", mmap as *const (), mmap as *const ()),
    Function::new(c"mmap64", mmap as *const (), mmap as *const ()),
    Function::new(c"munmap", munmap as *const (), munmap as *const ()),
    Function::new(c"mremap", mremap as *const (), mremap as *const ()),
    Function::new(c"mlock", mlock as *const (), mlock as *const ()),
    Function::new(c"mlock2", mlock2 as *const (), mlock2 as *const ()),
    Function::new(c"munlock", munlock as *const (), munlock as *const ()),
    Function::new(c"mlockall", mlockall as *const (), mlockall as *const ()),
    Function::new(c"remap_file_pages", remap_file_pages as *const (), remap_file_pages as *const ()),
    Function::new(c"shmget", shmget as *const (), shmget as *const ()),
    Function::new(c"shmat", shmat as *const (), shmat as *const ()),
    Function::new(c"mbind", mbind as *const (), mbind as *const ()),
    Function::new(c"ioctl", ioctl as *const (), ioctl as *const ()),
    Function::new(c"prctl", prctl as *const (), prctl as *const ()),
    Function::new(c"syscall", syscall as *const (), syscall as *const ()),
];

const FREE: usize = 0;
const REALLOC: usize = 1;
const USABLE_SIZE: usize = 3;
const MALLOC: usize = 7;
const CALLOC: usize = 8;
const MEMALIGN: usize = 9;
const PVALLOC: usize = 13;
const DLSYM: usize = 14;
const DLVSYM: usize = 15;
const SYSCALL: usize = 37;

/// Finds the process's functions; false if one that cannot be done without is missing.
pub(crate) fn resolve() -> bool {
    for function in &FUNCTIONS {
        function.resolve();
    }
    [FREE, REALLOC, USABLE_SIZE, MALLOC, CALLOC, MEMALIGN, PVALLOC, DLSYM, DLVSYM]
        .iter()
        .all(|index| FUNCTIONS[*index].real() != 0)
}

/// The heap in front of whatever allocator the process has.
struct Process;

// SAFETY: the functions are those that the process would call without us, by their own addresses.
unsafe impl Interposer for Process {
    #[inline(always)]
    fn heap() -> &'static Heap {
        &HEAP
    }

    #[inline(always)]
    fn placed(_: *mut u8, _: usize) {}

    fn asked_behind() {}

    fn leaving(_: *mut u8) {}

    fn leaving_range(_: usize, _: usize) {}

    #[inline(always)]
    unsafe fn malloc(bytes: usize) -> *mut c_void {
        // SAFETY: the process's malloc; calls are redirected only after it was found.
        let real: unsafe extern "C" fn(usize) -> *mut c_void = unsafe { transmute(FUNCTIONS[MALLOC].real()) };
        // SAFETY: the same call.
        unsafe { real(bytes) }
    }

    #[inline(always)]
    unsafe fn calloc(count: usize, bytes: usize) -> *mut c_void {
        // SAFETY: as in `malloc`.
        let real: unsafe extern "C" fn(usize, usize) -> *mut c_void =
            unsafe { transmute(FUNCTIONS[CALLOC].real()) };
        // SAFETY: the same call.
        unsafe { real(count, bytes) }
    }

    #[inline(always)]
    unsafe fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: as in `malloc`.
        let real: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void =
            unsafe { transmute(FUNCTIONS[REALLOC].real()) };
        // SAFETY: the same call.
        unsafe { real(address, bytes) }
    }

    #[inline(always)]
    unsafe fn free(address: *mut c_void) {
        // SAFETY: as in `malloc`.
        let real: unsafe extern "C" fn(*mut c_void) = unsafe { transmute(FUNCTIONS[FREE].real()) };
        // SAFETY: the same call.
        unsafe { real(address) }
    }

    #[inline(always)]
    unsafe fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
        // SAFETY: as in `malloc`.
        let real: unsafe extern "C" fn(usize, usize) -> *mut c_void =
            unsafe { transmute(FUNCTIONS[MEMALIGN].real()) };
        // SAFETY: the same call.
        unsafe { real(alignment, bytes) }
    }

    #[inline(always)]
    unsafe fn pvalloc(bytes: usize) -> *mut c_void {
        // SAFETY: as in `malloc`.
        let real: unsafe extern "C" fn(usize) -> *mut c_void =
            unsafe { transmute(FUNCTIONS[PVALLOC].real()) };
        // SAFETY: the same call.
        unsafe { real(bytes) }
    }

    #[inline(always)]
    unsafe fn usable_size(address: *mut c_void) -> Option<usize> {
        // SAFETY: as in `malloc`.
        let real: unsafe extern "C" fn(*mut c_void) -> usize =
            unsafe { transmute(FUNCTIONS[USABLE_SIZE].real()) };
        // SAFETY: the same call.
        Some(unsafe { real(address) })
    }
}

unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::malloc::<Process>(bytes) }
}

unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::calloc::<Process>(count, bytes) }
}

unsafe extern "C" fn free(address: *mut c_void) {
    // SAFETY: the same contract.
    unsafe { interposer::free::<Process>(address) }
}

unsafe extern "C" fn free_sized(address: *mut c_void, _bytes: usize) {
    // SAFETY: the same contract.
    unsafe { interposer::free::<Process>(address) }
}

unsafe extern "C" fn free_aligned_sized(address: *mut c_void, _alignment: usize, _bytes: usize) {
    // SAFETY: the same contract.
    unsafe { interposer::free::<Process>(address) }
}

unsafe extern "C" fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::realloc::<Process>(address, bytes) }
}

unsafe extern "C" fn realloc_given(address: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::realloc_given::<Process>(address, bytes) }
}

unsafe extern "C" fn reallocarray(address: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(total) = interposer::array_bytes(count, bytes) else { return ptr::null_mut() };
    // SAFETY: the same contract.
    unsafe { realloc(address, total) }
}

unsafe extern "C" fn reallocarray_given(address: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(total) = interposer::array_bytes(count, bytes) else { return ptr::null_mut() };
    // SAFETY: the same contract.
    unsafe { realloc_given(address, total) }
}

unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::memalign::<Process>(alignment, bytes) }
}

unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    // SAFETY: the same contract.
    unsafe { interposer::posix_memalign::<Process>(result, alignment, bytes) }
}

unsafe extern "C" fn valloc(bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { memalign(BASE, bytes) }
}

unsafe extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { interposer::pvalloc::<Process>(bytes) }
}

unsafe extern "C" fn usable_size(address: *mut c_void) -> usize {
    // SAFETY: the same contract.
    unsafe { interposer::usable_size::<Process>(address) }
}

functions_that_change_memory!(Process, {});

unsafe extern "C" fn mmap(
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
    unsafe { changes::call_c::<Process>(libc::SYS_mmap, arguments) as *mut c_void }
}

/// With as many arguments as there may be.
unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    let arguments = [option as usize, second as usize, third as usize, fourth as usize, fifth as usize, 0];
    // SAFETY: the same call.
    unsafe { changes::call_c::<Process>(libc::SYS_prctl, arguments) as c_int }
}

/// What is done before a system call by its number; answers the real function that makes it.
extern "C" fn before_syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize) -> usize {
    // SAFETY: the arguments of the call that follows; none that is looked at has six.
    unsafe { changes::note::<Process>(number, &[a, b, c, d, e, 0]) };
    FUNCTIONS[SYSCALL].real()
}

function_syscall!(before_syscall, {});

unsafe extern "C" fn pkey_mprotect(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::pkey_mprotect::<Process>(address, bytes, protection, key) }
}

unsafe extern "C" fn prlimit(
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::prlimit::<Process>(process, resource, new, old) }
}

unsafe extern "C" fn setrlimit(resource: c_int, limit: *const libc::rlimit) -> c_int {
    // SAFETY: the same contract.
    unsafe { prlimit(0, resource, limit, ptr::null_mut()) }
}

/// What is done before a name is looked up; answers the real function of that index.
extern "C" fn before_lookup(index: usize) -> usize {
    session::catch_up(&FUNCTIONS);
    FUNCTIONS[index].real()
}

/// dlsym(3): a library that was loaded meanwhile is redirected before anybody learns an address in it. (dlopen itself is
/// left alone: it looks for libraries in places that depend on who calls.) What is looked up also depends on the
/// caller, so the process's own function is jumped to, with its arguments and on the stack of the caller.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn dlsym() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "mov edi, {index}",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        index = const DLSYM,
        before = sym before_lookup,
    )
}

/// dlvsym(3), likewise.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn dlvsym() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "mov edi, {index}",
        "call {before}",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        index = const DLVSYM,
        before = sym before_lookup,
    )
}

/// dlsym(3): a library that was loaded meanwhile is redirected before anybody learns an address in it. (dlopen itself is
/// left alone: it looks for libraries in places that depend on who calls.) What is looked up also depends on the
/// caller, so the process's own function is jumped to, with its arguments and on the stack of the caller.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn dlsym() {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "mov x0, {index}",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        index = const DLSYM,
        before = sym before_lookup,
    )
}

/// dlvsym(3), likewise.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn dlvsym() {
    naked_asm!(
        "stp x29, x30, [sp, #-48]!",
        "stp x0, x1, [sp, #16]",
        "str x2, [sp, #32]",
        "mov x0, {index}",
        "bl {before}",
        "mov x16, x0",
        "ldr x2, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #48",
        "br x16",
        index = const DLVSYM,
        before = sym before_lookup,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::is_entry;

    #[test]
    fn the_functions_are_where_they_are_called() {
        let names = [
            (FREE, c"free"),
            (REALLOC, c"realloc"),
            (USABLE_SIZE, c"malloc_usable_size"),
            (MALLOC, c"malloc"),
            (CALLOC, c"calloc"),
            (MEMALIGN, c"memalign"),
            (PVALLOC, c"pvalloc"),
            (DLSYM, c"dlsym"),
            (DLVSYM, c"dlvsym"),
            (SYSCALL, c"syscall"),
        ];
        for (index, name) in names {
            assert_eq!(FUNCTIONS[index].name, name);
        }
        assert!(resolve());
        assert!(names.iter().all(|(index, _)| FUNCTIONS[*index].real() != 0));
        // Some are not everywhere: libnuma's, and those of newer versions of C.
        let mut found = FUNCTIONS.iter().filter(|function| function.real() != 0);
        assert!(found.all(|function| !is_entry(function.real())));
    }
}
