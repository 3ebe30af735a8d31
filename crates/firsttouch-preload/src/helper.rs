//! Threads of our own, for what was asked for when the settings were read: they are neither counted nor bound, and take
//! none of the program's signals. Those that somebody waits for are the C library's; those that go their own ways are apart from
//! the program in all that a thread can be apart in.

use crate::HEAP;
use crate::next::CREATE;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use firsttouch_linux::thread::{self, Number};
use firsttouch_linux::{socket, sys};
use firsttouch_memory::Mark;

pub(crate) type Function = extern "C" fn(*mut c_void) -> *mut c_void;
pub(crate) type Create =
    unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Function, *mut c_void) -> c_int;

/// Creates a thread of our own, which is neither counted nor bound.
///
/// # Safety
/// As for pthread_create(3).
pub(crate) unsafe fn create_helper(
    handle: &mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let Some(found) = CREATE.find() else { return libc::EAGAIN };
    // SAFETY: the address is that of the C library's function of this name, which has this type.
    let real: Create = unsafe { core::mem::transmute(found) };
    // SAFETY: the caller's attributes, function and argument.
    unsafe { real(handle, attributes, function, argument) }
}

/// So many go their own ways at a time: that of the channel, and one after another in the background, of which one may be ending.
const MOST: usize = 4;

/// Their numbers, which the kernel takes away again.
static NUMBERS: [Number; MOST] = [const { Number::new() }; MOST];
/// While it is not 0, no such thread starts, and those that there are end.
static BARRED: AtomicUsize = AtomicUsize::new(0);
/// None starts any more, nor does one in a fork.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// A copy of the process has these numbers, and no such thread.
static MARK: Mark = Mark::new();

/// Starts a thread of our own for which nobody waits, and of which the C library knows nothing: who ends as its last thread ends the
/// process, and a change of users is not for it. Answers whether it could be.
///
/// # Safety
/// As for [`thread::start`].
pub(crate) unsafe fn start_apart(function: thread::Function) -> bool {
    if !is_own() {
        return false;
    }
    MARK.make();
    // SAFETY: the caller's duty.
    NUMBERS.iter().any(|number| unsafe { thread::start(function, 0, number, || !is_barred()) }.is_ok())
}

/// The first thing that such a thread does: it gives up all rights that are a thread's, and a priority that may hold up the program's,
/// and has a table of files of its own, so that none of the program's is held open, and what it opens is nowhere among the program's,
/// which may count on the next number or close all that there are. Whether the kernel could do that (Linux 5.9).
pub(crate) fn step_apart() -> bool {
    sys::leave_real_time();
    // SAFETY: the thread has used no descriptor yet.
    socket::leave_capabilities().and_then(|_| unsafe { socket::leave_files() }).is_ok()
}

/// Whether such threads are to end.
pub(crate) fn is_barred() -> bool {
    IS_OVER.load(SeqCst) || BARRED.load(SeqCst) > 0
}

/// Does something while there is no such thread: all that there are end before, and none starts until it is done. One that has read for
/// the calling thread has ended, but the kernel may count it still.
pub(crate) fn without_any<T>(act: impl FnOnce() -> T) -> T {
    if HEAP.is_of_this_process() {
        thread::await_apart();
    }
    if !may_be() {
        return act();
    }
    BARRED.fetch_add(1, SeqCst);
    NUMBERS.iter().for_each(thread::await_end);
    let answer = act();
    // Another thread of a copy that nobody has told of may have begun anew meanwhile.
    let _ = BARRED.fetch_update(SeqCst, SeqCst, |count| count.checked_sub(1));
    answer
}

/// Has all such threads end, and waits for that; none starts any more.
pub(crate) fn end_all() {
    if may_be() {
        IS_OVER.store(true, SeqCst);
        NUMBERS.iter().for_each(thread::await_end);
    }
}

/// Whether such threads may be this process's. A child of vfork(2) has our memory, and what it does to its rights is its own affair.
/// The kernel is not asked where they have ended for good: the program may be confined by then.
fn may_be() -> bool {
    !IS_OVER.load(SeqCst) && HEAP.is_of_this_process() && is_own()
}

/// Whether the numbers are this process's own. The child of clone(2), or `_Fork`, makes them so when it first comes here.
fn is_own() -> bool {
    MARK.stands_after(forget)
}

/// In the child of a fork.
pub(crate) fn after_fork_in_child() {
    MARK.once_in_copy(forget);
}

/// There is none, nor anybody who bars them.
fn forget() {
    NUMBERS.iter().for_each(Number::forget);
    BARRED.store(0, SeqCst);
}

/// Does something with all signals blocked: threads that it creates take none of the program's.
pub(crate) fn without_signals<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: plain signal sets; the mask of this thread is restored below.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let answer = act();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut());
        answer
    }
}
