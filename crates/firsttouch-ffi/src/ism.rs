//! Huge pages inside a running session: on, off, status, the list of live blocks.

use crate::process::HEAP;
use crate::provider::Provider;
use crate::result::FirsttouchResult;
use crate::session;
use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use firsttouch_memory::{AgentBlock, AgentStatus, HUGE, Pages, Settings, UNKNOWN_BYTES, forbidden};

/// Who places the blocks of a process.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirsttouchVia {
    /// Nobody yet.
    Nothing = 0,
    /// The agent, which was preloaded by `firsttouch run`.
    Agent = 1,
    /// This library: calls of C's allocation functions are redirected to it.
    Redirection = 2,
    /// Another copy of this library in the same process.
    OtherCopy = 3,
}

/// How a session stands. Sizes are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchIsmStatus {
    /// 1 if huge pages can be had by this process.
    pub support: u32,
    /// 1 if large allocations are placed now.
    pub enabled: u32,
    /// Who places them, a `FirsttouchVia`.
    pub via: u32,
    /// Places in loaded programs and libraries that lead to this library; 0 with the agent.
    pub redirected_slots: u32,
    /// Loaded programs and libraries that have such places.
    pub redirected_objects: u32,
    /// Of these, chosen ones, whose allocations are placed.
    pub chosen_objects: u32,
    /// Size of the pages asked for.
    pub page_bytes: u64,
    /// Smallest allocation that is placed.
    pub min_bytes: u64,
    /// Largest allocation that is placed.
    pub max_bytes: u64,
    /// Bytes in live placed blocks.
    pub live_bytes: u64,
    /// Live placed blocks.
    pub live_blocks: u64,
    /// The most bytes in placed blocks at any time.
    pub peak_bytes: u64,
    /// Blocks placed over the life of the process.
    pub placed_blocks: u64,
    /// Bytes served from recycled memory over the life of the process.
    pub recycled_bytes: u64,
    /// Freed bytes held for reuse.
    pub held_bytes: u64,
    /// Why huge pages cannot be had, one word of the list of reasons; null where they can.
    pub reason: *const c_char,
    /// One line that mends it; null where nothing needs to.
    pub remedy: *const c_char,
}

impl Default for FirsttouchIsmStatus {
    fn default() -> Self {
        FirsttouchIsmStatus {
            support: 0,
            enabled: 0,
            via: FirsttouchVia::Nothing as u32,
            redirected_slots: 0,
            redirected_objects: 0,
            chosen_objects: 0,
            page_bytes: HUGE as u64,
            min_bytes: LEAST,
            max_bytes: MOST,
            live_bytes: 0,
            live_blocks: 0,
            peak_bytes: 0,
            placed_blocks: 0,
            recycled_bytes: 0,
            held_bytes: 0,
            reason: ptr::null(),
            remedy: ptr::null(),
        }
    }
}

/// What stands for a number of bytes that is not known.
pub const FIRSTTOUCH_UNKNOWN_BYTES: u64 = u64::MAX;
const _: () = assert!(FIRSTTOUCH_UNKNOWN_BYTES == UNKNOWN_BYTES);

/// A live placed block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirsttouchBlock {
    /// Running number in the process, from 1.
    pub id: u64,
    /// Address of the first byte.
    pub address: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Of these, bytes on huge pages now; `FIRSTTOUCH_UNKNOWN_BYTES` where the kernel does not tell (before Linux 6.7).
    pub huge_bytes: u64,
}

impl From<AgentBlock> for FirsttouchBlock {
    fn from(block: AgentBlock) -> Self {
        let AgentBlock { id, address, bytes, huge_bytes } = block;
        FirsttouchBlock { id, address, bytes, huge_bytes }
    }
}

/// The range of sizes before anybody chose one: 1 MiB to 4 GiB.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 4 << 30;

/// The word of a C string; `None` for null.
///
/// # Safety
/// Null or a C string.
pub(crate) unsafe fn word<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: by contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// A kind of pages that blocks can be placed on.
pub(crate) fn kind(word: &CStr) -> Option<Pages> {
    word.to_str().ok().and_then(Pages::parse).filter(|pages| *pages != Pages::Plain)
}

/// Names libraries whose allocations are to be placed: those whose file name begins with `prefix` (of the program, the
/// name of its file), loaded now or later. Several may be named, one call each; without any, and with an empty prefix,
/// all are. An agent places what everybody allocates and has no such choice.
///
/// # Safety
/// `prefix` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_ism_choose(prefix: *const c_char) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(prefix) = (unsafe { word(prefix) }) else { return FirsttouchResult::BadArgument };
    let Some((mut session, provider)) = session::enter() else { return FirsttouchResult::Busy };
    match provider {
        Provider::Agent(_) => FirsttouchResult::Ok,
        // SAFETY: a C string.
        Provider::Copy(copy) => unsafe { (copy.choose)(prefix.as_ptr()) }.into(),
        Provider::Own if session.chosen.add(prefix.to_bytes()) => FirsttouchResult::Ok,
        Provider::Own => FirsttouchResult::TooMany,
    }
}

/// Places allocations of `min_bytes` to `max_bytes` on pages of a kind (`"thp" "2m" "1g" "auto" "4k" "64k"` …; null keeps
/// the present kind, `"thp"` at first) from now on. May be called again at any time with other values, and should be
/// after libraries were loaded.
///
/// # Safety
/// `pages` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_ism_on(
    pages: *const c_char,
    min_bytes: u64,
    max_bytes: u64,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let pages = match unsafe { word(pages) }.map(|word| (word, kind(word))) {
        None => None,
        Some((word, Some(kind))) => Some((word, kind)),
        Some((_, None)) => return FirsttouchResult::BadPages,
    };
    if min_bytes == 0 || min_bytes > max_bytes {
        return FirsttouchResult::BadArgument;
    }
    let text = pages.map_or(ptr::null(), |(word, _)| word.as_ptr());
    let Some((session, provider)) = session::enter() else { return FirsttouchResult::Busy };
    match provider {
        // SAFETY: null or a C string.
        Provider::Agent(agent) => match unsafe { (agent.enable)(text, min_bytes, max_bytes) } {
            0 => FirsttouchResult::Ok,
            // An agent that places nothing has no kind of pages yet.
            // SAFETY: a C string.
            _ if text.is_null() => match unsafe { (agent.enable)(c"thp".as_ptr(), min_bytes, max_bytes) } {
                0 => FirsttouchResult::Ok,
                _ => FirsttouchResult::BadArgument,
            },
            _ => FirsttouchResult::BadPages,
        },
        // SAFETY: null or a C string.
        Provider::Copy(copy) => unsafe { (copy.on)(text, min_bytes, max_bytes) }.into(),
        Provider::Own => {
            drop(session);
            if !session::prepare() {
                return FirsttouchResult::Unsupported;
            }
            let Some((mut session, _)) = session::enter() else { return FirsttouchResult::Busy };
            let pages = pages.map_or(HEAP.settings().pages, |(_, kind)| kind);
            session.place(pages, min_bytes as usize, max_bytes as usize)
        }
    }
}

/// Places nothing from now on; live blocks stay where they are.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_ism_off() {
    if let Some((_session, provider)) = session::enter() {
        match provider {
            Provider::Agent(agent) => (agent.disable)(),
            Provider::Copy(copy) => (copy.off)(),
            Provider::Own => HEAP.disable(),
        }
    }
}

/// Places nothing from now on, and gives the calls that were redirected back to the process's own functions, if no placed
/// block is live; otherwise `Busy`: whoever frees such a block must find us. To be called before this library is unloaded.
/// Once it has redirected calls its code stays in memory in any case, because another thread may be on its way into it.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_ism_end() -> FirsttouchResult {
    let Some((mut session, provider)) = session::enter() else { return FirsttouchResult::Busy };
    match provider {
        // Somebody else's redirection is theirs to end.
        Provider::Agent(_) | Provider::Copy(_) => FirsttouchResult::Ok,
        Provider::Own => session.end(),
    }
}

/// Fills in how the session stands, at most `bytes` bytes of the structure: its size as the caller knows it.
///
/// # Safety
/// `status` has room for that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_ism_status(
    status: *mut FirsttouchIsmStatus,
    bytes: usize,
) -> FirsttouchResult {
    if status.is_null() {
        return FirsttouchResult::BadArgument;
    }
    let now = status_now();
    let bytes = bytes.min(size_of::<FirsttouchIsmStatus>());
    // SAFETY: the caller's structure, by contract; a plain copy of its first bytes.
    unsafe { ptr::copy_nonoverlapping((&raw const now).cast::<u8>(), status.cast(), bytes) };
    FirsttouchResult::Ok
}

fn status_now() -> FirsttouchIsmStatus {
    let mut status = FirsttouchIsmStatus::default();
    let Some((session, provider)) = session::enter() else { return status };
    match provider {
        Provider::Agent(agent) => {
            let mut seen = AgentStatus::default();
            // SAFETY: the structure that the agent fills.
            unsafe { (agent.status)(&raw mut seen) };
            status.take(FirsttouchVia::Agent, seen);
        }
        Provider::Copy(copy) => {
            // SAFETY: the structure and its size.
            let _ = unsafe { (copy.status)(&raw mut status, size_of::<FirsttouchIsmStatus>()) };
            status.via = FirsttouchVia::OtherCopy as u32;
        }
        Provider::Own => {
            if let Some(done) = session.redirected {
                status.redirected_slots = done.slots;
                status.redirected_objects = done.objects;
                status.chosen_objects = done.chosen;
                status.take(FirsttouchVia::Redirection, AgentStatus::of(&HEAP));
            }
        }
    }
    let asked = if session.redirected.is_some() { HEAP.settings().pages } else { Settings::STANDARD.pages };
    let refused = forbidden(asked);
    let can = refused.is_none() && (status.via != FirsttouchVia::Nothing as u32 || !session::has_sanitizer());
    status.support = u32::from(can);
    if let Some(reason) = refused {
        (status.reason, status.remedy) = crate::receipt::words(reason);
    }
    status
}

impl FirsttouchIsmStatus {
    fn take(&mut self, via: FirsttouchVia, seen: AgentStatus) {
        self.via = via as u32;
        self.enabled = seen.enabled;
        self.page_bytes = seen.page_bytes;
        self.min_bytes = seen.min_bytes;
        self.max_bytes = seen.max_bytes;
        self.live_bytes = seen.live_bytes;
        self.live_blocks = seen.live_blocks;
        self.peak_bytes = seen.peak_bytes;
        self.placed_blocks = seen.placed_blocks;
        self.recycled_bytes = seen.recycled_bytes;
        self.held_bytes = seen.held_bytes;
    }
}

/// Fills `blocks` with at most `room` live placed blocks, in order of address; answers how many there are altogether.
///
/// # Safety
/// `blocks` has `room` rows; it may be null if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_ism_list(blocks: *mut FirsttouchBlock, room: usize) -> usize {
    let Some((_session, provider)) = session::enter() else { return 0 };
    match provider {
        Provider::Agent(agent) => {
            let mut seen = vec![AgentBlock::default(); room];
            // SAFETY: an array of that many rows.
            let total = unsafe { (agent.list)(seen.as_mut_ptr(), room) };
            for (index, block) in seen.into_iter().take(total).enumerate() {
                // SAFETY: the caller's array has `room` rows.
                unsafe { *blocks.add(index) = block.into() };
            }
            total
        }
        // SAFETY: the same contract.
        Provider::Copy(copy) => unsafe { (copy.list)(blocks, room) },
        Provider::Own => AgentBlock::list(&HEAP, room, |index, block| {
            // SAFETY: the caller's array has `room` rows.
            unsafe { *blocks.add(index) = block.into() };
        }),
    }
}

/// 1 if this copy of the library redirects calls now, 0 otherwise. By this the copies that several bindings bring into one
/// process agree which one serves it.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_ism_serves() -> c_int {
    c_int::from(session::serves())
}

/// Gives all memory that is held for reuse back to the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_ism_trim() {
    if let Some((_session, provider)) = session::enter() {
        match provider {
            Provider::Agent(agent) => (agent.trim)(),
            Provider::Copy(copy) => (copy.trim)(),
            Provider::Own => HEAP.trim(),
        }
    }
}
