//! The environment that carries the agent: what it says, who keeps it, and the same without the agent.

use crate::HEAP;
use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use firsttouch_linux::libraries::AGENT;
use firsttouch_linux::{stack, sys};
use firsttouch_memory::BASE;
use firsttouch_memory::agent_settings::ENTRY;

pub(crate) type Strings = *const *const c_char;

const PRELOAD: &[u8] = b"LD_PRELOAD=";
/// Environments of as many variables are passed on as they are.
const MOST_VARIABLES: usize = 4096;
/// Likewise with an LD_PRELOAD of as many bytes.
const MOST_PRELOAD_BYTES: usize = 4096;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

static FOLLOW: AtomicBool = AtomicBool::new(true);
static PLACED_PROCESS: AtomicU32 = AtomicU32::new(0);
/// See [`sum_of`].
static OWN_SETTINGS: AtomicU64 = AtomicU64::new(0);

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

/// Whether children are followed, which process is the placed one, and the settings that say so.
pub(crate) fn set_policy(follow: bool, placed_process: u32, settings: &[u8]) {
    OWN_SETTINGS.store(sum_of(settings), Ordering::Relaxed);
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

/// What separates the libraries of `LD_PRELOAD`.
fn is_separator(byte: &u8) -> bool {
    matches!(byte, b':' | b' ')
}

/// Removes the agent from a list of libraries, in place; answers the new length.
fn without_agent(libraries: &mut [u8]) -> usize {
    let (mut read, mut write) = (0, 0);
    while read < libraries.len() {
        let rest = &libraries[read..];
        let length = rest.iter().position(is_separator).unwrap_or(rest.len());
        if !is_agent(&rest[..length]) && length > 0 {
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

/// Calls `start` with the environment that the new program is to have: without the agent, if that `leave`s, or where its file is not to be had,
/// as in another root folder, where the loader would complain. One whose settings are not this process's own was made by somebody who
/// starts a placed program, and stays as it is.
///
/// # Safety
/// `environment` must be a null-terminated array of C strings, or null.
pub(crate) unsafe fn with_environment<T>(
    environment: Strings,
    leave: bool,
    start: impl FnOnce(Strings) -> T,
) -> T {
    if environment.is_null() {
        return start(environment);
    }
    // SAFETY: the caller's environment.
    let Some(extent) = (unsafe { Extent::of(environment) }) else { return start(environment) };
    let Extent { variables, preload_bytes, has_other_settings, agent } = extent;
    let stays = !leave && agent.is_none_or(is_there);
    if stays || has_other_settings || variables >= MOST_VARIABLES || preload_bytes >= MOST_PRELOAD_BYTES {
        return start(environment);
    }
    let preload_words = (preload_bytes + 1).div_ceil(size_of::<usize>());
    stack::with_words(variables + 1 + preload_words, |words| {
        let (pointers, preload) = words.split_at_mut(variables + 1);
        // SAFETY: the environment has so many variables, and the longest LD_PRELOAD so many bytes.
        unsafe { copy_without_agent(environment, variables, pointers, preload) };
        start(pointers.as_ptr().cast())
    })
}

/// What there is in an environment.
struct Extent {
    variables: usize,
    /// Of the longest LD_PRELOAD, without its zero byte.
    preload_bytes: usize,
    has_other_settings: bool,
    /// The path of the agent's file.
    agent: Option<&'static [u8]>,
}

/// Whether the program that is started could read a preload library; of one without a path, or whose name is too long for a small stack,
/// that is taken for granted.
fn is_there(library: &[u8]) -> bool {
    const MOST_BYTES: usize = 512;
    let mut name = [0; MOST_BYTES];
    match name.get_mut(..library.len()) {
        Some(room) if library.len() < MOST_BYTES && library.contains(&b'/') => room.copy_from_slice(library),
        _ => return true,
    }
    CStr::from_bytes_until_nul(&name).is_ok_and(|name| sys::open_to_read(name).is_ok())
}

/// Whether a preload library is the agent.
fn is_agent(library: &[u8]) -> bool {
    library.rsplit(|byte| *byte == b'/').next().unwrap_or(library).starts_with(AGENT.as_bytes())
}

impl Extent {
    /// `None` where the array or a string is no memory: the kernel answers for that.
    ///
    /// # Safety
    /// What is memory must be a null-terminated array of C strings.
    unsafe fn of(environment: Strings) -> Option<Extent> {
        let mut extent = Extent { variables: 0, preload_bytes: 0, has_other_settings: false, agent: None };
        let (mut array, mut strings) = (Readable::NOTHING, Readable::NOTHING);
        loop {
            let place = environment.wrapping_add(extent.variables);
            if !array.has(place as usize) {
                return None;
            }
            // SAFETY: readable, and within the array.
            let entry = unsafe { *place };
            if entry.is_null() {
                return Some(extent);
            }
            if !strings.has(entry as usize) {
                return None;
            }
            // SAFETY: a C string.
            let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
            if let Some(libraries) = text.strip_prefix(PRELOAD) {
                extent.preload_bytes = extent.preload_bytes.max(text.len());
                extent.agent = libraries.split(is_separator).find(|library| is_agent(library));
            } else if let Some(settings) = text.strip_prefix(ENTRY) {
                extent.has_other_settings |= sum_of(settings) != OWN_SETTINGS.load(Ordering::Relaxed);
            }
            extent.variables += 1;
        }
    }
}

/// The page that was looked at last, and found readable.
struct Readable {
    page: usize,
}

impl Readable {
    const NOTHING: Readable = Readable { page: usize::MAX };

    /// Whether a byte is, by the kernel's word where it is on another page than the one before. It is not asked once the program has
    /// confined itself: then it is taken for granted.
    fn has(&mut self, address: usize) -> bool {
        let page = address / BASE;
        let has = page == self.page || HEAP.is_confined() || sys::is_readable(address);
        self.page = page;
        has
    }
}

/// Copies what an environment has without the agent: pointers, zero at first, and the text of the variable of the preload libraries.
///
/// # Safety
/// `environment` must have so many variables, all C strings.
unsafe fn copy_without_agent(
    environment: Strings,
    variables: usize,
    pointers: &mut [usize],
    preload: &mut [usize],
) {
    // SAFETY: the same memory, as bytes.
    let preload =
        unsafe { core::slice::from_raw_parts_mut(preload.as_mut_ptr().cast::<u8>(), size_of_val(preload)) };
    let mut places = pointers.iter_mut();
    for index in 0..variables {
        // SAFETY: by contract.
        let entry = unsafe { *environment.add(index) };
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        let mut kept = entry as usize;
        if text.starts_with(ENTRY) {
            kept = 0;
        } else if text.starts_with(PRELOAD)
            && let Some(copy) = preload.get_mut(..text.len())
        {
            copy.copy_from_slice(text);
            let length = without_agent(&mut copy[PRELOAD.len()..]);
            preload[PRELOAD.len() + length] = 0;
            kept = if length > 0 { preload.as_ptr() as usize } else { 0 };
        }
        if kept != 0
            && let Some(place) = places.next()
        {
            *place = kept;
        }
    }
}

/// What tells settings from others (FNV-1a): the program may write over its own, which the loader has left there.
fn sum_of(settings: &[u8]) -> u64 {
    settings
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
