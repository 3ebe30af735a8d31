//! Keeping the agent out of programs that the placed program starts.
//!
//! The environment that carries the agent is inherited. The placed process needs it, because it may execute another
//! program and still be the one that was meant (Rscript becomes sh becomes R); a child does not, and one built with a
//! sanitizer would refuse to start. So the functions of the exec family, when called in another process than the
//! placed one, and posix_spawn in any, pass an environment without the agent, unless children are to be followed. So
//! they do, wherever they are called, for a program that must not have it (`eligible`), and for any once the program has
//! confined itself: the filter is inherited, and the agent asks the kernel for more than the C library when it begins.
//!
//! A thread that we have bound to a CPU hands on all that the program may use.
//!
//! What glibc starts by itself (system(3), popen(3)) is a shell: there the agent loads, stands down and leaves the
//! shell's environment before the shell reads it. The same happens after system calls of the program's own.

use crate::binding::with_errno;
use crate::eligible::refuses_agent;
use crate::environment::{self, Strings, with_environment};
use crate::next::{EXECVPE, FEXECVE, Next, SPAWN, SPAWNP};
use crate::setup::found;
use crate::{HEAP, threads};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::Write;
use firsttouch_linux::channel::Line;
use firsttouch_linux::sys;

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Whether a program executed by this process must not have the agent. After a program has confined itself nobody looks.
fn leaves(path: *const c_char) -> bool {
    let is_child = || environment::placed_process() != sys::process_id();
    HEAP.is_confined() || !environment::follows() && is_child() || refuses_agent(path)
}

/// Whether a program started as a child must not have the agent.
fn child_leaves(path: *const c_char) -> bool {
    HEAP.is_confined() || !environment::follows() || refuses_agent(path)
}

/// Calls `decide` with the file that a name stands for: found along PATH if there is no slash in it, as execvp(3)
/// does. Names too long for a small stack are passed on as they are, and so are all after a program has confined itself.
///
/// # Safety
/// `name` must be a C string.
unsafe fn with_file<T>(name: *const c_char, decide: impl FnOnce(*const c_char) -> T) -> T {
    const MOST_BYTES: usize = 512;
    // SAFETY: the caller's duty.
    let bare = unsafe { CStr::from_ptr(name) }.to_bytes();
    if !bare.contains(&b'/') && !HEAP.is_confined() {
        let path = environment::variable(b"PATH=").unwrap_or(b"/bin:/usr/bin");
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
        with_errno(Err(error))
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
    let Some(found) = found(&EXECVPE) else { return with_errno(Err(libc::ENOSYS)) };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Execvpe = unsafe { core::mem::transmute(found) };
    // SAFETY: the contract of execvpe.
    unsafe {
        let leave = with_file(file, leaves);
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

/// fexecve(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(file: c_int, arguments: Strings, environment: Strings) -> c_int {
    type Fexecve = unsafe extern "C" fn(c_int, Strings, Strings) -> c_int;
    let Some(found) = found(&FEXECVE) else { return with_errno(Err(libc::ENOSYS)) };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Fexecve = unsafe { core::mem::transmute(found) };
    let mut path = Line::<32>::EMPTY;
    // A number has ten digits at most.
    let _ = write!(path, "/proc/self/fd/{file}\0");
    let leave = leaves(path.bytes().as_ptr().cast());
    // SAFETY: the contract of fexecve.
    unsafe {
        with_environment(environment, leave, |environment| {
            threads::with_all_cpus(|| real(file, arguments, environment))
        })
    }
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
    crate::setup::construct();
    // SAFETY: the same contract.
    unsafe {
        spawn_by(&SPAWN, child_leaves(path), process, path, actions, attributes, arguments, environment)
    }
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
    crate::setup::construct();
    // SAFETY: the same contract.
    unsafe {
        let leave = with_file(file, child_leaves);
        spawn_by(&SPAWNP, leave, process, file, actions, attributes, arguments, environment)
    }
}

#[expect(clippy::too_many_arguments, reason = "posix_spawn has as many")]
unsafe fn spawn_by(
    real: &Next,
    leave: bool,
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
    unsafe { with_environment(environment, leave, start) }
}
