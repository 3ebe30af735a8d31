//! The functions of the libraries behind this one, by name: the C library's, or those of another preload library.
//!
//! They are looked up by the constructor, and by whoever comes before it: a library that the program is linked with may
//! call us from its own constructor.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

// Before glibc 2.34 dlsym and dladdr1 are in a library of their own, which not every program has.
#[link(name = "dl")]
unsafe extern "C" {}

/// A function behind this library.
pub(crate) struct Next {
    name: &'static CStr,
    is_in_front: bool,
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next { name, is_in_front: false, address: AtomicUsize::new(0) }
    }

    /// The one that the program itself calls by that name: this library's, unless it brings its own, or a library before this one.
    pub(crate) const fn in_front(name: &'static CStr) -> Next {
        Next { is_in_front: true, ..Next::new(name) }
    }

    /// Its address, looked up the first time; `None` if there is none. Not in an allocation path.
    pub(crate) fn find(&self) -> Option<usize> {
        if self.address.load(Ordering::Relaxed) == 0 {
            let from = if self.is_in_front { libc::RTLD_DEFAULT } else { libc::RTLD_NEXT };
            // SAFETY: looks up a function of the program and its libraries, or of those behind this one.
            let found = unsafe { libc::dlsym(from, self.name.as_ptr()) };
            self.address.store(found as usize, Ordering::Relaxed);
        }
        Some(self.address.load(Ordering::Relaxed)).filter(|address| *address != 0)
    }
}

pub(crate) static MALLOC_IN_FRONT: Next = Next::in_front(c"malloc");
pub(crate) static REALLOC_IN_FRONT: Next = Next::in_front(c"realloc");
pub(crate) static FREE_IN_FRONT: Next = Next::in_front(c"free");
pub(crate) static ALIGNED_ALLOC: Next = Next::new(c"aligned_alloc");
pub(crate) static MALLOC_TRIM: Next = Next::new(c"malloc_trim");
pub(crate) static CREATE: Next = Next::new(c"pthread_create");
pub(crate) static CREATE_C11: Next = Next::new(c"thrd_create");
pub(crate) static JOIN: Next = Next::new(c"pthread_join");
pub(crate) static GET_AFFINITY: Next = Next::new(c"pthread_getaffinity_np");
pub(crate) static SET_AFFINITY: Next = Next::new(c"pthread_setaffinity_np");
pub(crate) static ATTRIBUTE_AFFINITY: Next = Next::new(c"pthread_attr_getaffinity_np");
pub(crate) static SYSTEM: Next = Next::new(c"system");
pub(crate) static POPEN: Next = Next::new(c"popen");
pub(crate) static EXECVPE: Next = Next::new(c"execvpe");
pub(crate) static FEXECVE: Next = Next::new(c"fexecve");
pub(crate) static SPAWN: Next = Next::new(c"posix_spawn");
pub(crate) static SPAWNP: Next = Next::new(c"posix_spawnp");
// Of glibc 2.39: found when it is called.
pub(crate) static PIDFD_SPAWN: Next = Next::new(c"pidfd_spawn");
pub(crate) static PIDFD_SPAWNP: Next = Next::new(c"pidfd_spawnp");
pub(crate) static SPAWN_CHDIR: Next = Next::new(c"posix_spawn_file_actions_addchdir_np");
pub(crate) static SPAWN_FCHDIR: Next = Next::new(c"posix_spawn_file_actions_addfchdir_np");
pub(crate) static SYSCALL: Next = Next::new(c"syscall");
pub(crate) static VMSPLICE: Next = Next::new(c"vmsplice");
pub(crate) static FALLOCATE: Next = Next::new(c"fallocate");
pub(crate) static POSIX_FALLOCATE: Next = Next::new(c"posix_fallocate");
pub(crate) static SETUID: Next = Next::new(c"setuid");
pub(crate) static SETGID: Next = Next::new(c"setgid");
pub(crate) static SETEUID: Next = Next::new(c"seteuid");
pub(crate) static SETEGID: Next = Next::new(c"setegid");
pub(crate) static SETREUID: Next = Next::new(c"setreuid");
pub(crate) static SETREGID: Next = Next::new(c"setregid");
pub(crate) static SETRESUID: Next = Next::new(c"setresuid");
pub(crate) static SETRESGID: Next = Next::new(c"setresgid");
pub(crate) static SETGROUPS: Next = Next::new(c"setgroups");
pub(crate) static INITGROUPS: Next = Next::new(c"initgroups");
pub(crate) static UNSHARE: Next = Next::new(c"unshare");
pub(crate) static SETNS: Next = Next::new(c"setns");

/// Looks up all that every C library has of those that the agent runs with; done by the constructor. For a name that is nowhere the C library
/// makes words of what is wrong, in memory that it has from the program's own malloc, where that has one: before the program has begun.
pub(crate) fn find_all() {
    let all = [
        &MALLOC_IN_FRONT,
        &REALLOC_IN_FRONT,
        &FREE_IN_FRONT,
        &ALIGNED_ALLOC,
        &MALLOC_TRIM,
        &CREATE,
        &CREATE_C11,
        &JOIN,
        &GET_AFFINITY,
        &SET_AFFINITY,
        &ATTRIBUTE_AFFINITY,
        &SYSTEM,
        &POPEN,
        &EXECVPE,
        &FEXECVE,
        &SPAWN,
        &SPAWNP,
        &SPAWN_CHDIR,
        &SPAWN_FCHDIR,
        &SYSCALL,
        &VMSPLICE,
        &FALLOCATE,
        &POSIX_FALLOCATE,
        &SETUID,
        &SETGID,
        &SETEUID,
        &SETEGID,
        &SETREUID,
        &SETREGID,
        &SETRESUID,
        &SETRESGID,
        &SETGROUPS,
        &INITGROUPS,
        &UNSHARE,
        &SETNS,
    ];
    all.iter().for_each(|function| {
        function.find();
    });
}
