//! The control channel: a thread that listens for those who want to place a program that already runs, from inside a
//! container, say, where nobody may do it from outside. Its words are those of [`firsttouch_linux::channel`].
//!
//! Only when asked for, because a thread can be noticed: by programs that must have one only (unshare(2) of users,
//! setns(2)), by Python, which warns of forks, and by the C library, which locks more from the second thread on.
//!
//! The thread keeps out of everything of the program's. It has a table of open files of its own, so that no file is
//! held open, none that the program closes wholesale is ours, and a fork inherits none; it takes no signals, allocates
//! nothing, holds no lock. A change of users reaches it by the C library, as every thread, and it gives up all other
//! privileges, so that a program which drops its own leaves none behind. It ends when the main thread does, because the
//! last thread of a program that ends by pthread_exit(3) must not be ours. A fork has no such thread; a program that is
//! executed has its own, where it is placed.
//!
//! Who asks must be the user that the program runs as, by the kernel's word (`SO_PEERCRED`), and the program must let
//! that user look into it; nobody else gets more than a refusal. What can be asked for moves pages and threads, and
//! changes no contents. A program that filters its own calls (seccomp) may not survive being asked: it is not one to ask
//! this for.

use crate::{helper, threads};
use core::ffi::{CStr, c_void};
use core::fmt::Write;
use core::ptr;
use firsttouch_linux::channel::{self, Line, MOST_LINE_BYTES, MOST_PAGES, Name, Request, VERSION};
use firsttouch_linux::numa;
use firsttouch_linux::socket;
use firsttouch_linux::sys::{self, Answer, Descriptor};

/// Somebody who says nothing for so long is left.
const PATIENCE_S: u32 = 30;
/// How often the main thread is looked for. The kernel tells nobody of its end while others run on: a pidfd becomes
/// ready only when all have ended.
const LOOK_S: u32 = 1;
/// The user whom the kernel names for all that have no number here (`overflowuid`): anybody.
const NO_USER: u32 = 65534;
/// CAP_SETGID and CAP_SETUID. When the program changes its user or groups, the C library has every thread do the same,
/// and ends the program if one of them may not.
const TO_CHANGE_USERS: u64 = 1 << 6 | 1 << 7;

/// Starts the thread; without it the program runs as it would.
pub(crate) fn open() {
    helper::start_detached(listen);
}

extern "C" fn listen(_: *mut c_void) -> *mut c_void {
    socket::name_thread(channel::THREAD);
    threads::roam();
    // SAFETY: the thread has used no descriptor yet.
    let apart = unsafe { socket::leave_files() }.and_then(|_| socket::keep_capabilities(TO_CHANGE_USERS));
    if let (Ok(_), Some(name)) = (apart, own_name())
        && let Ok(listening) = socket::listen(name.bytes())
    {
        attend(&listening);
    }
    ptr::null_mut()
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

/// Waits until there is something to do on a socket, for some seconds or for ever; false if that did not happen, or the
/// main thread has ended.
fn wait(socket: &Descriptor, patience_s: Option<u32>) -> bool {
    let mut waited_s = 0;
    while patience_s.is_none_or(|patience_s| waited_s < patience_s) {
        match socket::wait(socket, LOOK_S) {
            Ok(true) => return true,
            Ok(false) if !main_thread_ended() => waited_s = LOOK_S.saturating_add(waited_s),
            _ => return false,
        }
    }
    false
}

/// Serves one after another until the main thread has ended.
fn attend(listening: &Descriptor) {
    while wait(listening, None) {
        match socket::accept(listening, PATIENCE_S) {
            Ok(connection) if may_ask(&connection) => serve(&connection),
            Ok(connection) => refuse(&connection, libc::EACCES),
            Err(libc::ECONNABORTED | libc::EINTR | libc::EAGAIN) => {}
            // Most likely the program has limited its files. Asking again would be answered the same, for ever.
            Err(_) => return,
        }
    }
}

fn may_ask(connection: &Descriptor) -> bool {
    let user = socket::effective_user();
    user != NO_USER && socket::peer(connection).is_ok_and(|peer| peer.user == user) && socket::is_dumpable()
}

/// Answers requests until there are no more.
fn serve(connection: &Descriptor) {
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
        if !wait(connection, Some(PATIENCE_S)) {
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
