//! Coming to life inside a program: reading the settings, deciding whether to stand down, and the way out.

use crate::next::Next;
use crate::{HEAP, behind, channel, environment, forks, hooks, next, prefault, record, threads};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::agent_settings::{AgentSettings, ENTRY};
use firsttouch_memory::{Pages, Reason, is_emulated};

unsafe extern "C" {
    /// What at_quick_exit(3), which each program brings itself, calls in the C library.
    fn __cxa_at_quick_exit(act: extern "C" fn(*mut c_void), library: *mut c_void) -> c_int;
}

/// Reads the settings and begins, once: by the loader, or before it by a library that needs us earlier; no other thread
/// exists then.
pub(crate) extern "C" fn construct() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.load(Ordering::Relaxed) || BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let is_foreign = behind::is_foreign() || !hooks::are_in_front();
    next::find_all();
    forks::follow();
    // The loader keeps preload libraries from setuid programs; should one come in all the same, stand down. What an emulator runs has its
    // environment and the number of its process, and would speak for it.
    // SAFETY: reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 || is_emulated() {
        return;
    }
    let Some(settings) = environment::variable(ENTRY) else { return };
    let Some(asked) = AgentSettings::parse(settings) else { return };
    let Some(binding_order) = threads::Asked::of(asked.cpus, asked.skip) else { return };
    let process = sys::process_id();
    let chosen = asked.process == 0 || asked.process == process;
    let placed_process = if asked.process == 0 { process } else { asked.process };
    environment::set_policy(asked.follow, placed_process, settings);
    if !chosen && !asked.follow {
        environment::leave();
        return;
    }
    // A program that the chosen one started has a record of its own: the name ends in the number of its process.
    if let Some(path) = asked.record {
        record::begin(path, process, chosen);
        // The first to be told is the last to be called. Without room for it there is no record of that end.
        // SAFETY: a function that is there for as long as the process.
        unsafe { __cxa_at_quick_exit(end_quickly, ptr::null_mut()) };
    }
    prefault::set(asked.prefault);
    if is_foreign {
        HEAP.stand_down(Reason::ForeignAllocator);
    }
    if asked.memory.pages != Pages::Plain {
        HEAP.enable(asked.memory);
    }
    if chosen {
        // SAFETY: no other thread exists yet.
        unsafe { threads::begin(&binding_order) };
    }
    match (asked.attachable, chosen) {
        (true, true) => channel::open(),
        (true, false) => channel::open_later(),
        (false, _) => {}
    }
}

/// A function behind this library. Whoever asks before the constructor has the settings read first: they say what it is to do.
pub(crate) fn found(function: &Next) -> Option<usize> {
    construct();
    function.find()
}

extern "C" fn destruct() {
    record::finish();
}

/// quick_exit(3): it runs no destructor either, and ends past our `_exit`.
extern "C" fn end_quickly(_: *mut c_void) {
    record::finish();
}

/// _exit(2): the way out that runs no destructor, taken by shells and by Python's `os._exit`.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    record::finish_and_exit(status)
}

/// _Exit of C99, the same.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCT: extern "C" fn() = construct;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCT: extern "C" fn() = destruct;
