//! Keeping the agent out of programs that the placed program starts.
//!
//! The environment that carries the agent is inherited. The placed process needs it, because it may execute another
//! program and still be the one that was meant (Rscript becomes sh becomes R); a child does not, and one built with a
//! sanitizer would refuse to start. So the functions of the exec family, when called in another process than the
//! placed one, and posix_spawn in any, pass an environment without the agent, unless children are to be followed. So
//! they do, wherever they are called, for a program that must not have it (see `target`).
//!
//! A thread that we have bound to a CPU hands on all that the program may use; but for `execl` and its relatives, after
//! which the agent in the new program sees to it, and a program without the agent stays on that CPU.
//!
//! What glibc starts by itself (system(3), popen(3)) is a shell: there the agent loads, stands down and leaves the
//! shell's environment before the shell reads it. The same happens after `execl` and its relatives, which take any
//! number of arguments and so cannot be replaced from Rust.

use crate::next::Next;
use crate::target::refuses_agent;
use crate::{VARIABLE, threads};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::libraries::AGENT;
use firsttouch_linux::sys;

type Strings = *const *const c_char;
type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

const PRELOAD: &[u8] = b"LD_PRELOAD=";
/// Environments of as many variables are passed on as they are.
const MOST_VARIABLES: usize = 4096;
/// Likewise with an LD_PRELOAD of as many bytes.
const MOST_PRELOAD_BYTES: usize = 4096;
/// Nearly every environment is smaller, and then its copy fits on the smallest stack a thread may have (16 KiB).
const USUAL_VARIABLES: usize = 256;
const USUAL_PRELOAD_BYTES: usize = 512;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

static FOLLOW: AtomicBool = AtomicBool::new(true);
static PLACED_PROCESS: AtomicU32 = AtomicU32::new(0);
static EXECVPE: Next = Next::new(c"execvpe");
static SPAWN: Next = Next::new(c"posix_spawn");
static SPAWNP: Next = Next::new(c"posix_spawnp");

/// Looks up the functions that search PATH or start processes; done by the constructor.
pub(crate) fn resolve() {
    [&EXECVPE, &SPAWN, &SPAWNP].iter().for_each(|function| {
        function.find();
    });
}

/// A function behind this library. Whoever asks before the constructor has the settings read first: they say which
/// programs have the agent.
fn found(function: &Next) -> Option<usize> {
    crate::setup::construct();
    function.find()
}

/// Whether children are followed, and which process is the placed one.
pub(crate) fn set_policy(follow: bool, placed_process: u32) {
    FOLLOW.store(follow, Ordering::Relaxed);
    PLACED_PROCESS.store(placed_process, Ordering::Relaxed);
}

/// Takes the agent out of this process's environment. For the constructor only: later the array may be the program's
/// own, with a length that it remembers (bash keeps one).
pub(crate) fn leave_environment() {
    // SAFETY: environ is the loader's null-terminated array, and no other thread exists yet. Entries are moved within
    // the array; strings are changed only by shortening.
    unsafe {
        let mut to = environ;
        let mut from = environ;
        while !from.is_null() && !(*from).is_null() {
            let entry = CStr::from_ptr(*from).to_bytes();
            let keep = if entry.starts_with(VARIABLE) {
                false
            } else if let Some(libraries) = entry.strip_prefix(PRELOAD) {
                let at = (*from).add(PRELOAD.len());
                let room = core::slice::from_raw_parts_mut(at.cast::<u8>(), libraries.len());
                let length = without_agent(room);
                *at.add(length) = 0;
                length > 0
            } else {
                true
            };
            if keep {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        if !to.is_null() {
            *to = ptr::null_mut();
        }
    }
}

/// Removes the agent from a list of libraries (separated by colons or spaces), in place; answers the new length.
fn without_agent(libraries: &mut [u8]) -> usize {
    let (mut read, mut write) = (0, 0);
    while read < libraries.len() {
        let rest = &libraries[read..];
        let length = rest.iter().position(|byte| matches!(byte, b':' | b' ')).unwrap_or(rest.len());
        let name = &rest[..length];
        let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        if !file.starts_with(AGENT.as_bytes()) && length > 0 {
            if write > 0 {
                libraries[write] = b':';
                write += 1;
            }
            libraries.copy_within(read..read + length, write);
            write += length;
        }
        read += length + 1;
    }
    write
}

/// Calls `start` with the environment that the new program is to have.
///
/// # Safety
/// `environment` must be a null-terminated array of C strings, or null.
unsafe fn with_environment<T>(environment: Strings, leave: bool, start: impl FnOnce(Strings) -> T) -> T {
    if !leave || environment.is_null() {
        return start(environment);
    }
    // SAFETY: the caller's environment.
    let (variables, preload_bytes) = unsafe { extent(environment) };
    if variables < USUAL_VARIABLES && preload_bytes < USUAL_PRELOAD_BYTES {
        // SAFETY: the copy has room for it.
        unsafe { with_copy::<T, USUAL_VARIABLES, USUAL_PRELOAD_BYTES>(environment, start) }
    } else if variables < MOST_VARIABLES && preload_bytes < MOST_PRELOAD_BYTES {
        // SAFETY: as above.
        unsafe { with_copy::<T, MOST_VARIABLES, MOST_PRELOAD_BYTES>(environment, start) }
    } else {
        start(environment)
    }
}

/// How many variables there are, and the bytes of that of the preload libraries.
///
/// # Safety
/// `environment` must be a null-terminated array of C strings.
unsafe fn extent(environment: Strings) -> (usize, usize) {
    let (mut count, mut preload_bytes) = (0, 0);
    // SAFETY: the array ends with null; every entry is a C string.
    while let Some(entry) = unsafe { (*environment.add(count)).as_ref() } {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if text.starts_with(PRELOAD) {
            preload_bytes = preload_bytes.max(text.len());
        }
        count += 1;
    }
    (count, preload_bytes)
}

/// Calls `start` with a copy of the environment without the agent. Never inlined, so that only the call that needs the
/// larger copy pays for it with its stack.
///
/// # Safety
/// `environment` must be a null-terminated array of fewer than `VARIABLES` C strings, its LD_PRELOAD of fewer than
/// `BYTES` bytes.
#[inline(never)]
unsafe fn with_copy<T, const VARIABLES: usize, const BYTES: usize>(
    environment: Strings,
    start: impl FnOnce(Strings) -> T,
) -> T {
    let mut variables = [ptr::null::<c_char>(); VARIABLES];
    let mut preload = [0_u8; BYTES];
    let mut count = 0;
    let mut at = environment;
    // SAFETY: the array ends with null; every entry is a C string.
    while let Some(entry) = unsafe { (*at).as_ref() } {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        let mut kept: *const c_char = entry;
        if text.starts_with(VARIABLE) {
            kept = ptr::null();
        } else if let Some(libraries) = text.strip_prefix(PRELOAD) {
            preload[..text.len()].copy_from_slice(text);
            let length = without_agent(&mut preload[PRELOAD.len()..PRELOAD.len() + libraries.len()]);
            preload[PRELOAD.len() + length] = 0;
            kept = if length > 0 { preload.as_ptr().cast() } else { ptr::null() };
        }
        if !kept.is_null() {
            variables[count] = kept;
            count += 1;
        }
        // SAFETY: the null entry was not reached yet.
        at = unsafe { at.add(1) };
    }
    start(variables.as_ptr())
}

/// Whether a program executed by this process must not have the agent.
///
/// # Safety
/// `path` must be a C string.
unsafe fn leaves(path: *const c_char) -> bool {
    let is_child = PLACED_PROCESS.load(Ordering::Relaxed) != sys::process_id();
    // SAFETY: the caller's duty.
    is_child && !FOLLOW.load(Ordering::Relaxed) || refuses_agent(unsafe { CStr::from_ptr(path) })
}

/// Whether a program started as a child must not have the agent.
///
/// # Safety
/// `path` must be a C string.
unsafe fn child_leaves(path: *const c_char) -> bool {
    // SAFETY: the caller's duty.
    !FOLLOW.load(Ordering::Relaxed) || refuses_agent(unsafe { CStr::from_ptr(path) })
}

/// Calls `decide` with the file that a name stands for: found along PATH if there is no slash in it, as execvp(3)
/// does. Names too long for a small stack are passed on as they are.
///
/// # Safety
/// `name` must be a C string.
unsafe fn with_file<T>(name: *const c_char, decide: impl FnOnce(*const c_char) -> T) -> T {
    const MOST_BYTES: usize = 512;
    // SAFETY: the caller's duty.
    let bare = unsafe { CStr::from_ptr(name) }.to_bytes();
    if !bare.contains(&b'/') {
        let path = crate::setup::variable(b"PATH=").unwrap_or(b"/bin:/usr/bin");
        let mut file = [0_u8; MOST_BYTES];
        for folder in path.split(|byte| *byte == b':') {
            let length = folder.len() + 1 + bare.len();
            if length >= MOST_BYTES {
                continue;
            }
            file[..folder.len()].copy_from_slice(folder);
            file[folder.len()] = b'/';
            file[folder.len() + 1..length].copy_from_slice(bare);
            file[length] = 0;
            // SAFETY: the buffer ends with a zero.
            if unsafe { libc::access(file.as_ptr().cast(), libc::X_OK) } == 0 {
                return decide(file.as_ptr().cast());
            }
        }
    }
    decide(name)
}

/// execve(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    crate::setup::construct();
    let start = |environment: Strings| {
        // SAFETY: the caller's path and arguments, and an environment of the same form.
        let error = threads::with_all_cpus(|| unsafe {
            sys::execute(path.cast(), arguments.cast(), environment.cast())
        });
        // SAFETY: the thread's errno.
        unsafe { *libc::__errno_location() = error };
        -1
    };
    // SAFETY: the contract of execve.
    unsafe { with_environment(environment, leaves(path), start) }
}

/// execv(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the same contract, with this process's environment.
    unsafe { execve(path, arguments, environ.cast_const().cast()) }
}

/// execvpe(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    type Execvpe = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
    let Some(found) = found(&EXECVPE) else {
        // SAFETY: the thread's errno.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
        return -1;
    };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Execvpe = unsafe { core::mem::transmute(found) };
    // SAFETY: the contract of execvpe.
    unsafe {
        let leave = with_file(file, |path| leaves(path));
        with_environment(environment, leave, |environment| {
            threads::with_all_cpus(|| real(file, arguments, environment))
        })
    }
}

/// execvp(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the same contract, with this process's environment.
    unsafe { execvpe(file, arguments, environ.cast_const().cast()) }
}

/// posix_spawn(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    process: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { spawn_by(&SPAWN, process, path, actions, attributes, arguments, environment) }
}

/// posix_spawnp(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    process: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { spawn_by(&SPAWNP, process, file, actions, attributes, arguments, environment) }
}

unsafe fn spawn_by(
    real: &Next,
    process: *mut libc::pid_t,
    program: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let Some(found) = found(real) else { return libc::ENOSYS };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Spawn = unsafe { core::mem::transmute(found) };
    let start = |environment| {
        // SAFETY: the caller's values, and an environment of the same form.
        threads::with_all_cpus(|| unsafe {
            real(process, program, actions, attributes, arguments, environment)
        })
    };
    // SAFETY: the contract of posix_spawn.
    unsafe { with_environment(environment, with_file(program, |path| child_leaves(path)), start) }
}
