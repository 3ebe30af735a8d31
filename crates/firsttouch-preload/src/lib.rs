//! The agent: a preload library that places the large allocations of an unmodified program.
//!
//! It stands in front of the C library's allocation functions. Allocations within the asked range of sizes go to a
//! [`firsttouch_memory::Heap`]; everything else, and every pointer that is not ours, goes to glibc untouched.
//!
//! Where it is asked to, it also binds threads to CPUs as the program creates them (`threads`, `binding`), and listens
//! for those who want to place the program later, while it runs (`channel`).
//!
//! Architecture invariants: whatever happens in here fails towards "as if we were not there". No lookup by name in any
//! allocation path but the very first (glibc's own `__libc_malloc` and relatives are linked directly); no thread-local storage; no
//! thread but for prefaulting and the control channel, which are asked for, and to read beside the files of several threads; no signal handler; the environment is read
//! by our own parser; nothing is printed but a message before an abort that glibc would have made as well. The prelude
//! is `core`'s, so that nothing allocates by accident; with the feature `freestanding`, the form in which the agent is
//! used, the standard library is not even linked, and with it goes the unwinder's library: loading that would cost
//! every program more than all of the agent.

#![no_std]
#![allow(unreachable_pub, reason = "the functions are exported to C by their names, whatever Rust can reach")]

// Only for its panic handler, where the workspace is built and checked as a whole.
#[cfg(not(feature = "freestanding"))]
extern crate std;

mod background;
mod behind;
mod binding;
mod channel;
mod control;
mod eligible;
mod environment;
mod exec;
mod execl;
mod forks;
mod helper;
mod hooks;
mod mapping;
mod next;
mod populate;
mod prefault;
mod record;
mod rights;
mod room;
mod setup;
mod threads;

use firsttouch_memory::Heap;

/// The one heap of the process: interposed functions have no other place to find it.
static HEAP: Heap = Heap::new();

/// A defect of ours: end the program where it happens, with a word.
#[cfg(feature = "freestanding")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    firsttouch_linux::sys::complain(b"firsttouch: the agent has failed\n");
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
