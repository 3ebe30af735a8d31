//! What this program was started with and no longer shows: signals that its caller ignores, and standard streams that it closed.
//! Also the one signal that would end it where the program that it stands in for goes on.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The signals that are the caller's to ignore.
pub(crate) const CALLERS: [i32; 2] = [libc::SIGPIPE, libc::SIGCHLD];

/// The Rust runtime ignores SIGPIPE before `main`, whoever started us.
static PIPE: AtomicBool = AtomicBool::new(false);
/// Where it is ignored children are collected by the kernel, and nobody learns how they ended (`wait(2)`, NOTES).
static CHILD: AtomicBool = AtomicBool::new(false);

/// The Rust runtime opens /dev/null in place of standard streams that are closed; a bit each.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Called by the loader before the runtime begins.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

unsafe extern "C" {
    /// Where the executable or library that this code is part of begins; the linker's.
    static __ehdr_start: u8;
}

extern "C" fn note() {
    /// Where a 64-bit ELF header tells where the program headers are (`e_phoff`, elf(5)).
    const HEADERS: usize = 32;
    // SAFETY: the header of what is loaded is readable; the rest is calls with live locals.
    unsafe {
        let begin = &raw const __ehdr_start;
        let headers = begin.add(HEADERS).cast::<usize>().read_unaligned();
        // In a library that is loaded later, the program around it has already made of its signals what it wants.
        if begin as usize + headers != libc::getauxval(libc::AT_PHDR) as usize {
            return;
        }
        PIPE.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
        if is_ignored(libc::SIGCHLD) {
            CHILD.store(true, Ordering::Relaxed);
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
        if !is_ignored(libc::SIGXFSZ) {
            libc::signal(libc::SIGXFSZ, too_large as *const () as libc::sighandler_t);
        }
        for stream in 0..3 {
            if libc::fcntl(stream, libc::F_GETFD) < 0 {
                CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
            }
        }
    }
}

/// A file of ours that becomes larger than the limit (`ulimit -f`) is an error of writing it, as on a full disk. A handler, which
/// no program inherits: what is ignored would stay ignored in what we start.
extern "C" fn too_large(_signal: libc::c_int) {}

/// Whether our caller closed a standard stream, 0 to 2, which a program that gets it from our caller then has closed, too.
pub fn is_closed(stream: usize) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << stream) != 0
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks, with a live local.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// What a program that we start, or become, is to do about a signal, where the caller decided and not we: `None` for other signals.
pub(crate) fn inherited(signal: i32) -> Option<libc::sighandler_t> {
    let ignored = match signal {
        libc::SIGPIPE => PIPE.load(Ordering::Relaxed),
        libc::SIGCHLD => CHILD.load(Ordering::Relaxed),
        _ => return None,
    };
    Some(if ignored { libc::SIG_IGN } else { libc::SIG_DFL })
}
