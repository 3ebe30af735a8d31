//! The control channel: a thread that listens for those who want to place a program that already runs, from inside a
//! container, say, where nobody may do it from outside. Its words are those of [`firsttouch_linux::channel`].
//!
//! Only when asked for, because a thread can be noticed: by programs that count theirs and want one, and by Python, which warns of forks.
//! A program that the asked one starts has it from its own first thread or its first large block on. Before that there is next to
//! nothing to place, and who sets up a sandbox, with one thread as the kernel wants it, does so by then.
//!
//! The thread keeps out of everything of the program's. It has a table of open files of its own, so that no file is
//! held open, none that the program closes wholesale is ours, and a fork inherits none; it takes no signals, allocates
//! nothing, holds no lock, and the C library does not know of it. It has no privileges, and where the program changes its user
//! or groups it ends before, and begins anew as the new user (`rights`), so that a program which drops its rights leaves none
//! behind. It ends when the main thread does, because the last thread of a program whose threads end by system calls of their
//! own must not be ours. A fork has no such thread; a program that is executed has its own, where it is placed.
//!
//! Who asks must be the user that the program runs as, by the kernel's word (`SO_PEERCRED`), and the program must let
//! that user look into it; nobody else gets more than a refusal. What can be asked for moves pages and threads, and
//! changes no contents. A program that filters its own calls (seccomp) has no such thread from then on.

use crate::{HEAP, helper, threads};
use core::ffi::CStr;
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::channel::{self, Line, MOST_LINE_BYTES, MOST_PAGES, Name, Request, VERSION};
use firsttouch_linux::sys::{self, Answer, Descriptor};
use firsttouch_linux::{numa, socket, thread};

/// Somebody who says nothing for so long is left.
const PATIENCE_S: u32 = 30;
/// Somebody who does not take an answer for so long, likewise: the program may wait for the thread to end.
const TO_TAKE_S: u32 = 1;
/// How often the main thread is looked for. The kernel tells nobody of its end while others run on: a pidfd becomes
/// ready only when all have ended.
const LOOK_S: u32 = 1;
/// The user whom the kernel names for all that have no number here (`overflowuid`): anybody.
const NO_USER: u32 = 65534;

/// The thread has ended because it was to, and not for good.
static WAS_BARRED: AtomicBool = AtomicBool::new(false);
/// The process that is to have the thread with its next one of its own, or large block; 0 is none. Its number tells it from its copies,
/// and from children of vfork(2), which share this.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// Starts the thread; without it the program runs as it would.
pub(crate) fn open() {
    // SAFETY: the thread makes system calls only.
    unsafe { helper::start_apart(listen) };
}

/// Has [`open_if_waiting`] start the thread.
pub(crate) fn open_later() {
    WAITING.store(sys::process_id(), Ordering::Relaxed);
    HEAP.heed_large();
}

/// Called before the program creates a thread, and where it asks for a large block.
#[inline(always)]
pub(crate) fn open_if_waiting() {
    if WAITING.load(Ordering::Relaxed) != 0 {
        open_if_own();
    }
}

#[cold]
fn open_if_own() {
    // Who confined itself is asked nothing, and where threads are barred the next block or thread will do.
    if HEAP.is_confined() || helper::is_barred() {
        return;
    }
    let process = sys::process_id();
    if WAITING.compare_exchange(process, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        open();
    }
}

/// Starts the thread again, if it has ended because [it had to](helper::without_any).
pub(crate) fn reopen() {
    if WAS_BARRED.swap(false, Ordering::Relaxed) {
        open();
    }
}

/// Has [`open_if_waiting`] start the thread again, if it has ended because [it had to](helper::without_any).
pub(crate) fn reopen_later() {
    if WAS_BARRED.swap(false, Ordering::Relaxed) {
        open_later();
    }
}

/// The child of a fork has none that could be started, or started again.
pub(crate) fn after_fork_in_child() {
    WAITING.store(0, Ordering::Relaxed);
    WAS_BARRED.store(false, Ordering::Relaxed);
}

extern "C" fn listen(_: usize) {
    socket::name_thread(channel::THREAD);
    threads::roam();
    if helper::step_apart()
        && let (Some(name), Ok(woken)) = (own_name(), thread::wakings())
        && let Ok(listening) = socket::listen(name.bytes())
    {
        attend(&listening, &woken);
    }
    WAS_BARRED.store(helper::is_barred(), Ordering::Relaxed);
}

fn own_name() -> Option<Name> {
    let mut text = [0; 1024];
    let length = sys::open_to_read(c"/proc/self/stat").ok()?.read(&mut text).ok()?;
    Some(channel::name(sys::process_id(), channel::start_ticks(text.get(..length)?)?))
}

/// Whether the main thread has ended, while others run on.
fn main_thread_ended() -> bool {
    let mut path = Line::<64>::EMPTY;
    let process = sys::process_id();
    // Of the thread alone: that of the process adds up what all threads have used.
    let _ = write!(path, "/proc/self/task/{process}/stat\0");
    let mut text = [0; 1024];
    let read = CStr::from_bytes_until_nul(path.bytes()).ok().and_then(|path| {
        let file = sys::open_to_read(path).ok()?;
        file.read(&mut text).ok()
    });
    let text = &text[..read.unwrap_or(0)];
    let state = text.iter().rposition(|byte| *byte == b')').and_then(|end| text.get(end + 2));
    matches!(state, Some(b'Z' | b'X'))
}

/// Waits until there is something to do on a socket, for some seconds or for ever; false if that did not happen, this thread is to
/// end, or the main thread has ended.
fn wait(socket: &Descriptor, woken: &Descriptor, patience_s: Option<u32>) -> bool {
    let mut waited_s = 0;
    while !helper::is_barred() && patience_s.is_none_or(|patience_s| waited_s < patience_s) {
        match socket::wait(socket, woken, LOOK_S) {
            Ok(true) => return true,
            Ok(false) if !main_thread_ended() => waited_s = LOOK_S.saturating_add(waited_s),
            _ => return false,
        }
    }
    false
}

/// Serves one after another until this thread is to end, or the main thread has ended.
fn attend(listening: &Descriptor, woken: &Descriptor) {
    while wait(listening, woken, None) {
        match socket::accept(listening, TO_TAKE_S) {
            Ok(connection) if may_ask(&connection) => serve(&connection, woken),
            Ok(connection) => refuse(&connection, libc::EACCES),
            Err(libc::ECONNABORTED | libc::EINTR | libc::EAGAIN) => {}
            // Most likely the program has limited its files. Asking again would be answered the same, for ever.
            Err(_) => return,
        }
    }
}

fn may_ask(connection: &Descriptor) -> bool {
    let user = sys::effective_user();
    user != NO_USER && socket::peer(connection).is_ok_and(|peer| peer.user == user) && socket::is_dumpable()
}

/// Answers requests until there are no more.
fn serve(connection: &Descriptor, woken: &Descriptor) {
    let mut text = [0; MOST_LINE_BYTES];
    let mut filled = 0;
    loop {
        while let Some(length) = text[..filled].iter().position(|byte| *byte == b'\n') {
            let mut line = Line::EMPTY;
            // The longest answer fits.
            let _ = answer(&text[..length], &mut line);
            if send(connection, line.bytes()).is_err() {
                return;
            }
            text.copy_within(length + 1..filled, 0);
            filled -= length + 1;
        }
        if filled == text.len() {
            return refuse(connection, libc::EMSGSIZE);
        }
        if !wait(connection, woken, Some(PATIENCE_S)) {
            return;
        }
        match connection.read(&mut text[filled..]) {
            Ok(read) if read > 0 => filled += read,
            _ => return,
        }
    }
}

fn send(connection: &Descriptor, bytes: &[u8]) -> Result<(), i32> {
    connection.send_memory(bytes.as_ptr() as usize, bytes.len())
}

fn refuse(connection: &Descriptor, error: i32) {
    let mut line = Line::<32>::EMPTY;
    let _ = writeln!(line, "error {error}");
    let _ = send(connection, line.bytes());
}

/// Does what is asked and writes what the kernel said to it.
fn answer(request: &[u8], line: &mut Line<MOST_LINE_BYTES>) -> core::fmt::Result {
    let done = match Request::parse(request) {
        None => Err(libc::EINVAL),
        Some(Request::Version) => return writeln!(line, "ok {VERSION} {}", numa::thread_id()),
        // SAFETY: the contents of memory stay as they are, and where there is none the kernel says so.
        Some(Request::Collapse { start, bytes }) => unsafe { sys::advise(start, bytes, sys::MADV_COLLAPSE) },
        Some(Request::Move { node, pages }) => {
            return with_states(pages, line, |addresses, states| {
                numa::move_own_pages(addresses, &[node; MOST_PAGES][..addresses.len()], states)
            });
        }
        Some(Request::Nodes { pages }) => return with_states(pages, line, numa::nodes_of),
        // Threads of others are none of our business, even where the kernel would let us.
        Some(Request::Affinity { thread, cpus }) if numa::is_alive(sys::process_id(), thread) => {
            numa::set_affinity(thread, &cpus)
        }
        Some(Request::Affinity { .. }) => Err(libc::ESRCH),
    };
    match done {
        Ok(_) => writeln!(line, "ok"),
        Err(error) => writeln!(line, "error {error}"),
    }
}

/// Does something with pages, and writes their states.
fn with_states(
    pages: &str,
    line: &mut Line<MOST_LINE_BYTES>,
    act: impl FnOnce(&[usize], &mut [i32]) -> Answer,
) -> core::fmt::Result {
    let (mut addresses, mut states) = ([0; MOST_PAGES], [0; MOST_PAGES]);
    let Some(count) = channel::addresses(pages, &mut addresses) else {
        return writeln!(line, "error {}", libc::EINVAL);
    };
    match act(&addresses[..count], &mut states[..count]) {
        Ok(_) => channel::write_states(line, &states[..count]),
        Err(error) => writeln!(line, "error {error}"),
    }
}
