//! The functions of C by which threads are created and bound, as glibc documents them (pthread_create(3), thrd_create(3),
//! sched_setaffinity(2), pthread_setaffinity_np(3), and system(3) and popen(3), which hand on what the thread has).
//!
//! A new thread binds itself, before anything else of it runs. The other ways are worse: an attribute with CPUs would
//! have to be allocated in a copy of the program's attributes, whose form only glibc knows; and the creator learns the
//! number of the thread, which the kernel wants, from nobody. The function that it begins with binds it and then jumps
//! to the program's own, so that no frame of ours is on its stack: stack traces, cancellation and C++ exceptions see what
//! they see without us.
//!
//! What the program decides counts more: a thread that is created with CPUs in its attributes, or by a thread that the
//! program has bound, is passed on untouched; and what it binds later stays as it wants. Threads made by clone(2) without
//! the C library are not seen.

use crate::helper::{Create, Function};
use crate::next::{
    ATTRIBUTE_AFFINITY, CREATE, CREATE_C11, GET_AFFINITY, JOIN, Next, POPEN, SET_AFFINITY, SYSTEM,
};
use crate::setup::found;
use crate::threads::{self, Start, enter};
use crate::{HEAP, channel};
use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_linux::sys;

type CreateC11 = unsafe extern "C" fn(*mut libc::pthread_t, Function, *mut c_void) -> c_int;
type Affinity = unsafe extern "C" fn(libc::pthread_t, usize, *mut libc::cpu_set_t) -> c_int;
type AttributeAffinity =
    unsafe extern "C" fn(*const libc::pthread_attr_t, usize, *mut libc::cpu_set_t) -> c_int;

/// C11's answers for no memory, and for a failure without a better name (threads.h).
const THRD_NO_MEMORY: c_int = 3;
const THRD_ERROR: c_int = 2;

/// Begins in a new thread: binds it, and jumps to what it was created for. The stack is as it was found.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn begin(slot: *mut c_void) -> *mut c_void {
    // The two words of the answer come in rax and rdx.
    naked_asm!(
        "sub rsp, 8",
        "call {enter}",
        "add rsp, 8",
        "mov rdi, rdx",
        "jmp rax",
        enter = sym enter,
    )
}

/// Begins in a new thread: binds it, and jumps to what it was created for. The stack is as it was found.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn begin(slot: *mut c_void) -> *mut c_void {
    // The two words of the answer come in x0 and x1; x16 may be jumped through where branches are guarded.
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {enter}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0",
        "mov x0, x1",
        "br x16",
        enter = sym enter,
    )
}

/// Creates a thread. Where that fails there may have been no room for its stack, which the C library maps past us: what is held
/// and reserved is given up, and it is tried once more.
fn with_room(create: impl Fn() -> c_int) -> c_int {
    // SAFETY: the thread's errno.
    let errno_before = unsafe { *libc::__errno_location() };
    match create() {
        libc::EAGAIN | THRD_NO_MEMORY | THRD_ERROR if HEAP.make_room() => {
            // SAFETY: the thread's errno, as if it had been tried once.
            unsafe { *libc::__errno_location() = errno_before };
            create()
        }
        answer => answer,
    }
}

/// Creates a thread by `real`, which is given the function it begins with and its argument, and fills `handle`.
unsafe fn create(
    handle: *const libc::pthread_t,
    function: Function,
    argument: *mut c_void,
    real: impl Fn(Function, *mut c_void) -> c_int,
) -> c_int {
    let start = Start { function: function as usize, argument: argument as usize };
    let Some(slot) = threads::prepare(&start) else { return real(function, argument) };
    let answer = real(begin, slot as *mut c_void);
    if answer == 0 {
        // SAFETY: filled in by a call that succeeded.
        threads::known_as(slot, unsafe { *handle } as usize);
    } else {
        threads::cancel(slot);
    }
    answer
}

/// Whether the attributes name CPUs. Without, the C library answers with every bit set.
unsafe fn names_cpus(attributes: *const libc::pthread_attr_t) -> bool {
    if attributes.is_null() {
        return false;
    }
    let Some(found) = ATTRIBUTE_AFFINITY.find() else { return false };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let ask: AttributeAffinity = unsafe { core::mem::transmute(found) };
    let mut cpus = [0_u64; CpuBits::END as usize / 64];
    // SAFETY: the caller's attributes; the set has the length named. A set of more CPUs than that is an error.
    let answer = unsafe { ask(attributes, size_of_val(&cpus), cpus.as_mut_ptr().cast()) };
    answer != 0 || cpus.iter().any(|word| *word != u64::MAX)
}

/// Whether threads are bound. A library whose constructor runs before ours may ask for its CPUs and create threads
/// already: then we begin before it.
fn is_active() -> bool {
    crate::setup::construct();
    threads::is_active()
}

/// Takes note that the program creates a thread.
fn note_thread() {
    threads::note_other();
    channel::open_if_waiting();
}

/// glibc's pthread_create.
fn real_create() -> Option<Create> {
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    found(&CREATE).map(|found| unsafe { core::mem::transmute::<usize, Create>(found) })
}

/// pthread_create(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    handle: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let Some(real) = real_create() else { return libc::EAGAIN };
    note_thread();
    // SAFETY: the caller's values, or a function and an argument that lead to them.
    let real = |function, argument| with_room(|| unsafe { real(handle, attributes, function, argument) });
    if !threads::is_active() {
        return real(function, argument);
    }
    // SAFETY: the caller's attributes.
    if unsafe { names_cpus(attributes) } || !threads::creator_is_ours() {
        threads::pass_over();
        return real(function, argument);
    }
    // SAFETY: the caller's place for the handle, by contract.
    unsafe { create(handle, function, argument, real) }
}

/// thrd_create(3): C11's, whose function answers with a number, which passes through a pointer's register as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    handle: *mut libc::pthread_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let Some(found) = found(&CREATE_C11) else { return THRD_ERROR };
    note_thread();
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: CreateC11 = unsafe { core::mem::transmute(found) };
    // SAFETY: the caller's values, or a function and an argument that lead to them.
    let real = |function, argument| with_room(|| unsafe { real(handle, function, argument) });
    if !threads::is_active() || !threads::creator_is_ours() {
        return real(function, argument);
    }
    // SAFETY: the caller's place for the handle, by contract.
    unsafe { create(handle, function, argument, real) }
}

/// pthread_join(3). The kernel shows a thread for a moment longer than it takes to be joined; its CPU is free at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(handle: libc::pthread_t, answer: *mut *mut c_void) -> c_int {
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    let Some(found) = found(&JOIN) else { return libc::EINVAL };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Join = unsafe { core::mem::transmute(found) };
    let ending = threads::slot_to_join(handle as usize);
    // SAFETY: the same contract.
    let error = unsafe { real(handle, answer) };
    if let Some((slot, number)) = ending.filter(|_| error == 0) {
        threads::joined(slot, number);
    }
    error
}

/// The kernel's answer to a question for CPUs, the bytes that it filled, with what the program is to see of it; a positive error number
/// otherwise.
unsafe fn ask(thread: u32, bytes: usize, set: *mut libc::cpu_set_t) -> Result<usize, i32> {
    let active = is_active();
    let arguments = [thread as usize, bytes, set as usize, 0, 0, 0];
    // SAFETY: the caller's set, of the length that it names.
    let filled = unsafe { sys::call(libc::SYS_sched_getaffinity, arguments) }?;
    if active {
        // SAFETY: the part of the same set that the kernel has filled.
        let set = unsafe { core::slice::from_raw_parts_mut(set.cast::<u8>(), filled) };
        let thread = if thread == 0 { numa::thread_id() } else { thread };
        let shown = numa::affinity(thread).ok().and_then(|cpus| threads::shown_instead(thread, &cpus));
        let words = shown.map(|cpus| cpus.words().iter()).into_iter().flatten();
        for (to, word) in set.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
    }
    Ok(filled)
}

/// The same as the C library's functions answer it: what the kernel has no CPUs for is zero.
unsafe fn ask_whole(thread: u32, bytes: usize, set: *mut libc::cpu_set_t) -> Result<(), i32> {
    let bytes = bytes.min(c_int::MAX as usize);
    // SAFETY: the same contract.
    let filled = unsafe { ask(thread, bytes, set) }?;
    // SAFETY: the caller's set, of the length that it names, of which the kernel filled no more.
    unsafe { set.cast::<u8>().add(filled).write_bytes(0, bytes - filled) };
    Ok(())
}

/// The kernel's answer to a wish for CPUs; a thread that is bound so is the program's business from now on.
unsafe fn set(thread: u32, bytes: usize, set: *const libc::cpu_set_t) -> Result<(), i32> {
    let active = is_active();
    let arguments = [thread as usize, bytes, set as usize, 0, 0, 0];
    // SAFETY: the caller's set, of the length that it names.
    unsafe { sys::call(libc::SYS_sched_setaffinity, arguments) }?;
    if active {
        threads::leave_to_program(if thread == 0 { numa::thread_id() } else { thread });
    }
    Ok(())
}

/// The answer the way of most functions: -1 and errno.
pub(crate) fn with_errno(answer: Result<(), i32>) -> c_int {
    match answer {
        Ok(()) => 0,
        Err(error) => {
            // SAFETY: the thread's errno.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

/// sched_getaffinity(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(
    thread: libc::pid_t,
    bytes: usize,
    cpus: *mut libc::cpu_set_t,
) -> c_int {
    // SAFETY: the same contract.
    with_errno(unsafe { ask_whole(thread as u32, bytes, cpus) })
}

/// sched_setaffinity(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setaffinity(
    thread: libc::pid_t,
    bytes: usize,
    cpus: *const libc::cpu_set_t,
) -> c_int {
    // SAFETY: the same contract.
    with_errno(unsafe { set(thread as u32, bytes, cpus) })
}

/// Where `syscall`(2) goes with a number of these calls: LLVM's OpenMP makes them so, and is answered as by their own functions.
pub(crate) fn by_number(number: c_long) -> Option<usize> {
    match number {
        libc::SYS_sched_getaffinity => Some(getaffinity_by_number as *const () as usize),
        libc::SYS_sched_setaffinity => Some(setaffinity_by_number as *const () as usize),
        _ => None,
    }
}

/// The call itself answers with the bytes that it filled, and leaves the others as they are.
unsafe extern "C" fn getaffinity_by_number(
    _number: c_long,
    thread: libc::pid_t,
    bytes: c_uint,
    cpus: *mut libc::cpu_set_t,
) -> c_long {
    // SAFETY: the same contract.
    match unsafe { ask(thread as u32, bytes as usize, cpus) } {
        Ok(filled) => filled as c_long,
        Err(error) => c_long::from(with_errno(Err(error))),
    }
}

unsafe extern "C" fn setaffinity_by_number(
    _number: c_long,
    thread: libc::pid_t,
    bytes: c_uint,
    cpus: *const libc::cpu_set_t,
) -> c_long {
    // SAFETY: the same contract.
    c_long::from(with_errno(unsafe { set(thread as u32, bytes as usize, cpus) }))
}

/// pthread_getaffinity_np(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getaffinity_np(
    handle: libc::pthread_t,
    bytes: usize,
    cpus: *mut libc::cpu_set_t,
) -> c_int {
    if is_active()
        && let Some(thread) = threads::thread_of(handle as usize)
    {
        // SAFETY: the same contract.
        return unsafe { ask_whole(thread, bytes, cpus) }.err().unwrap_or(0);
    }
    // SAFETY: the same contract.
    unsafe { by_library(&GET_AFFINITY, handle, bytes, cpus) }
}

/// pthread_setaffinity_np(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setaffinity_np(
    handle: libc::pthread_t,
    bytes: usize,
    cpus: *const libc::cpu_set_t,
) -> c_int {
    if is_active()
        && let Some(thread) = threads::thread_of(handle as usize)
    {
        // SAFETY: the same contract.
        return unsafe { set(thread, bytes, cpus) }.err().unwrap_or(0);
    }
    // SAFETY: the same contract.
    unsafe { by_library(&SET_AFFINITY, handle, bytes, cpus.cast_mut()) }
}

unsafe fn by_library(
    real: &Next,
    handle: libc::pthread_t,
    bytes: usize,
    cpus: *mut libc::cpu_set_t,
) -> c_int {
    let Some(found) = real.find() else { return libc::ENOSYS };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Affinity = unsafe { core::mem::transmute(found) };
    // SAFETY: the caller's values.
    unsafe { real(handle, bytes, cpus) }
}

/// system(3), which starts its shell past `posix_spawn`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    type System = unsafe extern "C" fn(*const c_char) -> c_int;
    let Some(found) = found(&SYSTEM) else { return with_errno(Err(libc::ENOSYS)) };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: System = unsafe { core::mem::transmute(found) };
    // SAFETY: the same contract.
    threads::with_all_cpus(|| unsafe { real(command) })
}

/// popen(3), likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    type Popen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
    let Some(found) = found(&POPEN) else {
        with_errno(Err(libc::ENOSYS));
        return core::ptr::null_mut();
    };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Popen = unsafe { core::mem::transmute(found) };
    // SAFETY: the same contract.
    threads::with_all_cpus(|| unsafe { real(command, mode) })
}
