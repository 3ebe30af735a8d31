//! What a program does to its own mappings and limits, under the names of C: see [`changes`] for what it means to placed
//! memory.

use crate::behind::Behind;
use crate::binding::{self, with_errno};
use crate::next::{FALLOCATE, POSIX_FALLOCATE, SYSCALL, VMSPLICE};
use crate::setup::found;
use crate::{HEAP, prefault, rights};
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use core::ptr;
use firsttouch_linux::sys;
use firsttouch_memory::changes;
use firsttouch_memory::{BASE, HUGE, function_syscall, functions_that_change_memory};

/// `MAP_32BIT`, which only this processor has.
#[cfg(target_arch = "x86_64")]
const BELOW_2G: c_int = libc::MAP_32BIT;
#[cfg(not(target_arch = "x86_64"))]
const BELOW_2G: c_int = 0;

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
    let is_shared = flags & libc::MAP_TYPE == libc::MAP_SHARED && flags & libc::MAP_ANONYMOUS != 0;
    let is_reserved_only = flags & libc::MAP_NORESERVE != 0 || protection & libc::PROT_WRITE == 0;
    let wanted = is_shared && !is_reserved_only && prefault::is_enabled() && HEAP.wants(bytes);
    // Pages that the program asked to be huge already are left to it.
    let collapse = wanted && flags & libc::MAP_HUGETLB == 0 && prefault::collapses_shared();
    const PLACES: c_int = BELOW_2G | libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
    let may_be_anywhere = address.is_null() && flags & PLACES == 0;
    let place = if collapse && may_be_anywhere { room_for_huge_pages(bytes) } else { None };
    let arguments = |address: usize, flags: c_int| {
        [address, bytes, protection as usize, flags as usize, file as usize, offset as usize]
    };
    let mapped = match place {
        // SAFETY: the same call, at an address that is reserved for it.
        Some(place) => unsafe {
            changes::call::<Behind>(libc::SYS_mmap, arguments(place, flags | libc::MAP_FIXED))
        },
        // SAFETY: the same call.
        None => unsafe { changes::call::<Behind>(libc::SYS_mmap, arguments(address as usize, flags)) },
    };
    match mapped {
        Ok(mapped) => {
            if wanted {
                prefault::shared(mapped as *mut u8, bytes, collapse);
            }
            mapped as *mut c_void
        }
        Err(error) => {
            if let Some(place) = place {
                // SAFETY: the reservation, which nobody knows of.
                let _ = unsafe { sys::unmap(place, bytes.next_multiple_of(BASE)) };
            }
            // SAFETY: the thread's errno.
            unsafe { *libc::__errno_location() = error };
            libc::MAP_FAILED
        }
    }
}

/// Reserves so many bytes at a multiple of a huge page's size: pages of shared memory can become huge only where their
/// place in the mapping and their address agree.
fn room_for_huge_pages(bytes: usize) -> Option<usize> {
    let bytes = bytes.checked_next_multiple_of(BASE)?;
    let all = bytes.checked_add(HUGE)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    let start = unsafe { sys::map_anonymous(0, all, libc::PROT_NONE, flags) }.ok()?;
    let place = start.next_multiple_of(HUGE);
    // What is in front of the place, and behind it.
    for (from, to) in [(start, place), (place + bytes, start + all)] {
        if from < to {
            // SAFETY: parts of the new mapping, which nobody uses.
            let _ = unsafe { sys::unmap(from, to - from) };
        }
    }
    Some(place)
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

functions_that_change_memory!(Behind, { #[unsafe(no_mangle)] pub });

/// pkey_mprotect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pkey_mprotect(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::pkey_mprotect::<Behind>(address, bytes, protection, key) }
}

/// prctl(2), with as many arguments as there may be: a program may confine itself here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    let arguments = [option as usize, second as usize, third as usize, fourth as usize, fifth as usize, 0];
    rights::note(libc::SYS_prctl, &arguments);
    // SAFETY: the same call.
    unsafe { changes::call_c::<Behind>(libc::SYS_prctl, arguments) as c_int }
}

/// process_madvise(2), which may be about the process itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn process_madvise(
    process: c_int,
    vectors: *const libc::iovec,
    count: usize,
    advice: c_int,
    flags: c_uint,
) -> isize {
    let arguments = [process as usize, vectors as usize, count, advice as usize, flags as usize, 0];
    // SAFETY: the same call.
    unsafe { changes::call_c::<Behind>(libc::SYS_process_madvise, arguments) }
}

/// vmsplice(2), in which a thread may be cancelled: the C library's own makes the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmsplice(
    file: c_int,
    vectors: *const libc::iovec,
    count: usize,
    flags: c_uint,
) -> isize {
    type Vmsplice = unsafe extern "C" fn(c_int, *const libc::iovec, usize, c_uint) -> isize;
    let Some(found) = found(&VMSPLICE) else { return with_errno(Err(libc::ENOSYS)) as isize };
    let arguments = [file as usize, vectors as usize, count, flags as usize, 0, 0];
    // SAFETY: the arguments of the call that follows.
    unsafe { changes::note::<Behind>(libc::SYS_vmsplice, &arguments) };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Vmsplice = unsafe { core::mem::transmute(found) };
    // SAFETY: the same call.
    unsafe { real(file, vectors, count, flags) }
}

/// fallocate(2), in which a thread may be cancelled: the C library's own makes the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fallocate(
    file: c_int,
    mode: c_int,
    offset: libc::off_t,
    bytes: libc::off_t,
) -> c_int {
    type Fallocate = unsafe extern "C" fn(c_int, c_int, libc::off_t, libc::off_t) -> c_int;
    let Some(found) = found(&FALLOCATE) else { return with_errno(Err(libc::ENOSYS)) };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Fallocate = unsafe { core::mem::transmute(found) };
    // SAFETY: the same call.
    let allocate = || unsafe { real(file, mode, offset, bytes) };
    let answer = allocate();
    // SAFETY: the thread's errno.
    let is_full = || unsafe { *libc::__errno_location() } == libc::ENOSPC;
    if answer == -1 && is_full() && changes::make_room_in_file::<Behind>(file) { allocate() } else { answer }
}

/// posix_fallocate(3), which answers with the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_fallocate(file: c_int, offset: libc::off_t, bytes: libc::off_t) -> c_int {
    type Allocate = unsafe extern "C" fn(c_int, libc::off_t, libc::off_t) -> c_int;
    let Some(found) = found(&POSIX_FALLOCATE) else { return libc::ENOSYS };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Allocate = unsafe { core::mem::transmute(found) };
    // SAFETY: the same call.
    let allocate = || unsafe { real(file, offset, bytes) };
    let answer = allocate();
    if answer == libc::ENOSPC && changes::make_room_in_file::<Behind>(file) { allocate() } else { answer }
}

/// fallocate64: the same, on 64-bit machines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fallocate64(
    file: c_int,
    mode: c_int,
    offset: libc::off_t,
    bytes: libc::off_t,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { fallocate(file, mode, offset, bytes) }
}

/// posix_fallocate64: the same, on 64-bit machines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_fallocate64(file: c_int, offset: libc::off_t, bytes: libc::off_t) -> c_int {
    // SAFETY: the same contract.
    unsafe { posix_fallocate(file, offset, bytes) }
}

/// What is done before any system call that is made by its number; answers where to go on.
extern "C" fn before_syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize) -> usize {
    let arguments = [a, b, c, d, e, 0];
    rights::note(number, &arguments);
    // SAFETY: the arguments of the call that follows; none that is looked at has six.
    unsafe { changes::note::<Behind>(number, &arguments) };
    binding::by_number(number).or_else(|| SYSCALL.find()).unwrap_or(0)
}

function_syscall!(before_syscall, { #[unsafe(no_mangle)] pub });

/// prlimit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prlimit(
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { changes::prlimit::<Behind>(process, resource, new, old) }
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
