//! The environment that carries the agent: what it says, who keeps it, and the same without the agent.

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::libraries::AGENT;
use firsttouch_memory::agent_settings::ENTRY;

pub(crate) type Strings = *const *const c_char;

const PRELOAD: &[u8] = b"LD_PRELOAD=";
/// Environments of as many variables are passed on as they are.
const MOST_VARIABLES: usize = 4096;
/// Likewise with an LD_PRELOAD of as many bytes.
const MOST_PRELOAD_BYTES: usize = 4096;
/// Nearly every environment is smaller, and then its copy fits on the smallest stack a thread may have (16 KiB).
const USUAL_VARIABLES: usize = 256;
const USUAL_PRELOAD_BYTES: usize = 512;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

static FOLLOW: AtomicBool = AtomicBool::new(true);
static PLACED_PROCESS: AtomicU32 = AtomicU32::new(0);

/// The value of a variable of the environment.
pub(crate) fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: environ is a null-terminated array of C strings, set up by the loader.
    unsafe {
        let mut at = environ.cast_const();
        while !at.is_null() && !(*at).is_null() {
            if let Some(value) = CStr::from_ptr(*at).to_bytes().strip_prefix(name) {
                return Some(value);
            }
            at = at.add(1);
        }
    }
    None
}

/// Whether children are followed, and which process is the placed one.
pub(crate) fn set_policy(follow: bool, placed_process: u32) {
    FOLLOW.store(follow, Ordering::Relaxed);
    PLACED_PROCESS.store(placed_process, Ordering::Relaxed);
}

/// Whether children are followed.
pub(crate) fn follows() -> bool {
    FOLLOW.load(Ordering::Relaxed)
}

/// Which process is the placed one.
pub(crate) fn placed_process() -> u32 {
    PLACED_PROCESS.load(Ordering::Relaxed)
}

/// Takes the agent out of this process's environment. For the constructor only: later the array may be the program's
/// own, with a length that it remembers (bash keeps one).
pub(crate) fn leave() {
    // SAFETY: environ is the loader's null-terminated array, and no other thread exists yet. Entries are moved within
    // the array; strings are changed only by shortening.
    unsafe {
        let mut to = environ;
        let mut from = environ;
        while !from.is_null() && !(*from).is_null() {
            let entry = CStr::from_ptr(*from).to_bytes();
            let keep = if entry.starts_with(ENTRY) {
                false
            } else if let Some(libraries) = entry.strip_prefix(PRELOAD) {
                let at = (*from).add(PRELOAD.len());
                let room = core::slice::from_raw_parts_mut(at.cast::<u8>(), libraries.len());
                let length = without_agent(room);
                *at.add(length) = 0;
                length > 0
            } else {
                true
            };
            if keep {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        if !to.is_null() {
            *to = ptr::null_mut();
        }
    }
}

/// Removes the agent from a list of libraries (separated by colons or spaces), in place; answers the new length.
fn without_agent(libraries: &mut [u8]) -> usize {
    let (mut read, mut write) = (0, 0);
    while read < libraries.len() {
        let rest = &libraries[read..];
        let length = rest.iter().position(|byte| matches!(byte, b':' | b' ')).unwrap_or(rest.len());
        let name = &rest[..length];
        let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        if !file.starts_with(AGENT.as_bytes()) && length > 0 {
            if write > 0 {
                libraries[write] = b':';
                write += 1;
            }
            libraries.copy_within(read..read + length, write);
            write += length;
        }
        read += length + 1;
    }
    write
}

/// Calls `start` with the environment that the new program is to have.
///
/// # Safety
/// `environment` must be a null-terminated array of C strings, or null.
pub(crate) unsafe fn with_environment<T>(
    environment: Strings,
    leave: bool,
    start: impl FnOnce(Strings) -> T,
) -> T {
    if !leave || environment.is_null() {
        return start(environment);
    }
    // SAFETY: the caller's environment.
    let (variables, preload_bytes) = unsafe { extent(environment) };
    if variables < USUAL_VARIABLES && preload_bytes < USUAL_PRELOAD_BYTES {
        // SAFETY: the copy has room for it.
        unsafe { with_copy::<T, USUAL_VARIABLES, USUAL_PRELOAD_BYTES>(environment, start) }
    } else if variables < MOST_VARIABLES && preload_bytes < MOST_PRELOAD_BYTES {
        // SAFETY: as above.
        unsafe { with_copy::<T, MOST_VARIABLES, MOST_PRELOAD_BYTES>(environment, start) }
    } else {
        start(environment)
    }
}

/// How many variables there are, and the bytes of that of the preload libraries.
///
/// # Safety
/// `environment` must be a null-terminated array of C strings.
unsafe fn extent(environment: Strings) -> (usize, usize) {
    let (mut count, mut preload_bytes) = (0, 0);
    // SAFETY: the array ends with null; every entry is a C string.
    while let Some(entry) = unsafe { (*environment.add(count)).as_ref() } {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if text.starts_with(PRELOAD) {
            preload_bytes = preload_bytes.max(text.len());
        }
        count += 1;
    }
    (count, preload_bytes)
}

/// Calls `start` with a copy of the environment without the agent. Never inlined, so that only the call that needs the
/// larger copy pays for it with its stack.
///
/// # Safety
/// `environment` must be a null-terminated array of fewer than `VARIABLES` C strings, its LD_PRELOAD of fewer than
/// `BYTES` bytes.
#[inline(never)]
unsafe fn with_copy<T, const VARIABLES: usize, const BYTES: usize>(
    environment: Strings,
    start: impl FnOnce(Strings) -> T,
) -> T {
    let mut variables = [ptr::null::<c_char>(); VARIABLES];
    let mut preload = [0_u8; BYTES];
    let mut count = 0;
    let mut at = environment;
    // SAFETY: the array ends with null; every entry is a C string.
    while let Some(entry) = unsafe { (*at).as_ref() } {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        let mut kept: *const c_char = entry;
        if text.starts_with(ENTRY) {
            kept = ptr::null();
        } else if let Some(libraries) = text.strip_prefix(PRELOAD) {
            preload[..text.len()].copy_from_slice(text);
            let length = without_agent(&mut preload[PRELOAD.len()..PRELOAD.len() + libraries.len()]);
            preload[PRELOAD.len() + length] = 0;
            kept = if length > 0 { preload.as_ptr().cast() } else { ptr::null() };
        }
        if !kept.is_null() {
            variables[count] = kept;
            count += 1;
        }
        // SAFETY: the null entry was not reached yet.
        at = unsafe { at.add(1) };
    }
    start(variables.as_ptr())
}
