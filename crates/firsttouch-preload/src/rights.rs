//! What the program does to its own rights, by the functions of C or by system calls of its own: no thread of ours has others than it.
//!
//! glibc's functions change the user and the groups of all threads that it knows of, which ours are not. So ours end before, and that
//! of the channel begins anew, as the new user. Where the program does it by system calls, thread by thread, it does not begin again.

use crate::binding::with_errno;
use crate::next;
use crate::setup::found;
use crate::{HEAP, channel, helper, record, threads};
use core::ffi::{c_char, c_int, c_long};
use firsttouch_memory::changes::{self, Arguments};

/// Takes note of a system call that the program is about to make by itself.
pub(crate) fn note(number: c_long, arguments: &Arguments) {
    // A child of vfork(2) confines itself, and not us.
    if changes::confines(number, arguments) && HEAP.is_of_this_process() {
        helper::end_all();
        HEAP.confine();
        // It cannot be written by a program that may not open files any more, and tells of bound threads.
        record::finish();
        threads::confine();
    } else if is_of_one_thread(number) {
        helper::end_all();
    } else if needs_one_thread(number, arguments) {
        // What follows the call is not ours to do: the channel's begins again with the program's next large block or thread.
        helper::without_any(channel::reopen_later);
    }
}

/// Whether a system call changes rights of the calling thread alone, and ours would keep them. Capabilities are none of these: ours
/// have none.
fn is_of_one_thread(number: c_long) -> bool {
    const SYS_LANDLOCK_RESTRICT_SELF: c_long = 446;
    matches!(
        number,
        libc::SYS_setuid
            | libc::SYS_setgid
            | libc::SYS_setreuid
            | libc::SYS_setregid
            | libc::SYS_setresuid
            | libc::SYS_setresgid
            | libc::SYS_setgroups
            | SYS_LANDLOCK_RESTRICT_SELF
    )
}

/// Whether a system call fails in a process of several threads: those that leave for another user namespace, or leave threads.
fn needs_one_thread(number: c_long, arguments: &Arguments) -> bool {
    const TOGETHER: c_int = libc::CLONE_NEWUSER | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_VM;
    match number {
        libc::SYS_unshare => arguments[0] as c_int & TOGETHER != 0,
        // Any kind of namespace may be one of users.
        libc::SYS_setns => arguments[1] == 0 || arguments[1] as c_int & libc::CLONE_NEWUSER != 0,
        _ => false,
    }
}

/// Does something that changes the user, the groups or the namespaces of the program.
fn changing(change: impl FnOnce() -> c_int) -> c_int {
    let answer = helper::without_any(change);
    channel::reopen();
    answer
}

macro_rules! functions_that_change_users {
    ($($next:ident: $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[doc = concat!(stringify!($name), "(2).")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            type Real = unsafe extern "C" fn($($kind),*) -> c_int;
            let Some(found) = found(&next::$next) else { return with_errno(Err(libc::ENOSYS)) };
            // SAFETY: the address is that of the C library's function of this name, which has this type.
            let real: Real = unsafe { core::mem::transmute(found) };
            // SAFETY: the same contract.
            changing(|| unsafe { real($($argument),*) })
        }
    )*};
}

functions_that_change_users! {
    SETUID: setuid(user: libc::uid_t);
    SETGID: setgid(group: libc::gid_t);
    SETEUID: seteuid(user: libc::uid_t);
    SETEGID: setegid(group: libc::gid_t);
    SETREUID: setreuid(user: libc::uid_t, effective: libc::uid_t);
    SETREGID: setregid(group: libc::gid_t, effective: libc::gid_t);
    SETRESUID: setresuid(user: libc::uid_t, effective: libc::uid_t, saved: libc::uid_t);
    SETRESGID: setresgid(group: libc::gid_t, effective: libc::gid_t, saved: libc::gid_t);
    SETGROUPS: setgroups(count: usize, groups: *const libc::gid_t);
    INITGROUPS: initgroups(user: *const c_char, group: libc::gid_t);
    UNSHARE: unshare(flags: c_int);
    SETNS: setns(namespace: c_int, kind: c_int);
}
