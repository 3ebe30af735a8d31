//! Keeping the agent out of programs that the placed program starts.
//!
//! The environment that carries the agent is inherited. The placed process needs it, because it may execute another
//! program and still be the one that was meant (Rscript becomes sh becomes R); a child does not, and one built with a
//! sanitizer would refuse to start. So the functions of the exec family, when called in another process than the
//! placed one, and posix_spawn and pidfd_spawn in any, pass an environment without the agent, unless children are to be followed. So
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
use crate::next::{
    EXECVPE, FEXECVE, Next, PIDFD_SPAWN, PIDFD_SPAWNP, SPAWN, SPAWN_CHDIR, SPAWN_FCHDIR, SPAWNP,
};
use crate::setup::found;
use crate::{HEAP, threads};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_linux::channel::Line;
use firsttouch_linux::sys;

/// The number of the process is put into the first, or a descriptor of it.
type Spawn =
    unsafe extern "C" fn(*mut c_int, *const c_char, *const c_void, *const c_void, Strings, Strings) -> c_int;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Whether a program executed by this process must not have the agent. After a program has confined itself nobody looks.
fn leaves(path: *const c_char, arguments: Strings) -> bool {
    let is_child = || environment::placed_process() != sys::process_id();
    HEAP.is_confined() || !environment::follows() && is_child() || refuses_agent(path, arguments)
}

/// Whether the program that execveat(2) finds in a folder must not have the agent.
fn leaves_in(folder: c_int, path: *const c_char, arguments: Strings) -> bool {
    // Any pointer may come here.
    if folder == libc::AT_FDCWD || HEAP.is_confined() || !sys::is_readable(path as usize) {
        return leaves(path, arguments);
    }
    // SAFETY: a C string.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    if name.starts_with(b"/") {
        return leaves(path, arguments);
    }
    let mut place = Line::<32>::EMPTY;
    // A number has ten digits at most.
    let _ = write!(place, "/proc/self/fd/{folder}");
    let mut file = [0; MOST_BYTES];
    leaves(joined(&mut file, place.bytes(), name).unwrap_or(path), arguments)
}

/// Whether a program started as a child, with these file actions, must not have the agent.
fn child_leaves(path: *const c_char, arguments: Strings, actions: *const c_void) -> bool {
    HEAP.is_confined()
        || !environment::follows()
        || is_elsewhere(path, actions)
        || refuses_agent(path, arguments)
}

/// The same of a program that is found along PATH.
///
/// # Safety
/// As for [`with_file`].
unsafe fn named_child_leaves(name: *const c_char, arguments: Strings, actions: *const c_void) -> bool {
    // SAFETY: the same contract.
    unsafe { with_file(name, |path| child_leaves(path, arguments, actions)) }
}

/// The program has made file actions that change the folder.
static CHANGES_FOLDERS: AtomicBool = AtomicBool::new(false);

/// Whether a name may be that of another file where the child is: which actions change the folder is not told.
fn is_elsewhere(path: *const c_char, actions: *const c_void) -> bool {
    // SAFETY: a C string.
    let is_relative = || unsafe { *path } != b'/' as c_char;
    CHANGES_FOLDERS.load(Ordering::Relaxed) && !actions.is_null() && is_relative()
}

/// Longer names are not put together: there may be little stack.
const MOST_BYTES: usize = 512;

/// The path of a name in a folder, or of the folder if the name is empty; `None` where that is too long.
fn joined(path: &mut [u8; MOST_BYTES], folder: &[u8], name: &[u8]) -> Option<*const c_char> {
    let separator: &[u8] = if name.is_empty() { b"" } else { b"/" };
    let mut length = 0;
    for part in [folder, separator, name, b"\0"] {
        path.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    Some(path.as_ptr().cast())
}

/// Calls `decide` with the file that a name stands for: found along PATH if there is no slash in it, as execvp(3)
/// does. Names too long for a small stack are passed on as they are, and so are all after a program has confined itself.
///
/// # Safety
/// `name` must be a C string.
unsafe fn with_file<T>(name: *const c_char, decide: impl FnOnce(*const c_char) -> T) -> T {
    // SAFETY: the caller's duty.
    let bare = unsafe { CStr::from_ptr(name) }.to_bytes();
    if !bare.contains(&b'/') && !HEAP.is_confined() {
        let path = environment::variable(b"PATH=").unwrap_or(b"/bin:/usr/bin");
        let mut file = [0; MOST_BYTES];
        for folder in path.split(|byte| *byte == b':') {
            let Some(file) = joined(&mut file, folder, bare) else { continue };
            // SAFETY: a C string.
            if unsafe { libc::access(file, libc::X_OK) } == 0 {
                return decide(file);
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
    unsafe { with_environment(environment, leaves(path, arguments), start) }
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
        let leave = with_file(file, |path| leaves(path, arguments));
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
    // SAFETY: the contract of fexecve.
    unsafe {
        with_environment(environment, leaves_in(file, c"".as_ptr(), arguments), |environment| {
            threads::with_all_cpus(|| real(file, arguments, environment))
        })
    }
}

/// execveat(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    crate::setup::construct();
    let start = |environment: Strings| {
        let all =
            [folder as usize, path as usize, arguments as usize, environment as usize, flags as usize, 0];
        // SAFETY: the caller's values, and an environment of the same form.
        let answer = threads::with_all_cpus(|| unsafe { sys::call(libc::SYS_execveat, all) });
        with_errno(answer.map(|_| ()))
    };
    // SAFETY: the contract of execveat.
    unsafe { with_environment(environment, leaves_in(folder, path, arguments), start) }
}

#[expect(clippy::too_many_arguments, reason = "posix_spawn has as many")]
unsafe fn spawn_by(
    real: &Next,
    leave: bool,
    process: *mut c_int,
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

macro_rules! functions_that_spawn {
    ($($next:ident: $name:ident where $leaves:ident;)*) => {$(
        #[doc = concat!(stringify!($name), "(3).")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            process: *mut c_int,
            program: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: Strings,
            environment: Strings,
        ) -> c_int {
            crate::setup::construct();
            // SAFETY: the same contract.
            unsafe {
                let leave = $leaves(program, arguments, actions);
                spawn_by(&$next, leave, process, program, actions, attributes, arguments, environment)
            }
        }
    )*};
}

// Those that answer with a descriptor of the process are of glibc 2.39. Behind an older one they answer what they do on a kernel that
// cannot do it, and whoever calls them knows another way.
functions_that_spawn! {
    SPAWN: posix_spawn where child_leaves;
    SPAWNP: posix_spawnp where named_child_leaves;
    PIDFD_SPAWN: pidfd_spawn where child_leaves;
    PIDFD_SPAWNP: pidfd_spawnp where named_child_leaves;
}

macro_rules! functions_that_change_folders {
    ($($next:ident: $name:ident($place:ident: $kind:ty);)*) => {$(
        #[doc = concat!(stringify!($name), "(3).")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(actions: *mut c_void, $place: $kind) -> c_int {
            type Real = unsafe extern "C" fn(*mut c_void, $kind) -> c_int;
            let Some(found) = found(&$next) else { return libc::ENOSYS };
            CHANGES_FOLDERS.store(true, Ordering::Relaxed);
            // SAFETY: the address is that of the C library's function of this name, which has this type.
            let real: Real = unsafe { core::mem::transmute(found) };
            // SAFETY: the same call.
            unsafe { real(actions, $place) }
        }
    )*};
}

functions_that_change_folders! {
    SPAWN_CHDIR: posix_spawn_file_actions_addchdir_np(path: *const c_char);
    SPAWN_FCHDIR: posix_spawn_file_actions_addfchdir_np(folder: c_int);
}
