//! Huge pages inside a running session: on, off, status, the list of live blocks.

use crate::heap::HEAP;
use crate::prepare::{has_sanitizer, prepare};
use crate::process::FUNCTIONS;
use crate::provider::Provider;
use crate::result::FirsttouchResult;
use crate::session;
use crate::status::{FirsttouchBlock, FirsttouchIsmStatus, FirsttouchVia};
use core::ffi::{CStr, c_char};
use core::ptr;
use firsttouch_memory::{AgentBlock, AgentStatus, Pages, Settings, forbidden};

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
            if !prepare() {
                return FirsttouchResult::Unsupported;
            }
            let Some((mut session, _)) = session::enter() else { return FirsttouchResult::Busy };
            let pages = pages.map_or(HEAP.settings().pages, |(_, kind)| kind);
            session.place(&FUNCTIONS, pages, min_bytes as usize, max_bytes as usize)
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
        Provider::Own => session.end(&FUNCTIONS),
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
            // SAFETY: the structure that the agent fills, and its size.
            unsafe { (agent.status)(&raw mut seen, size_of::<AgentStatus>()) };
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
    let can = refused.is_none() && (status.via != FirsttouchVia::Nothing as u32 || !has_sanitizer());
    status.support = u32::from(can);
    if let Some(reason) = refused {
        (status.reason, status.remedy) = crate::receipt::words(reason);
    }
    status
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

/// Gives all memory that is held for reuse back to the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_ism_trim() {
    if let Some((_session, provider)) = session::enter() {
        match provider {
            Provider::Agent(agent) => (agent.trim)(),
            Provider::Copy(copy) => (copy.trim)(),
            Provider::Own => {
                HEAP.trim();
            }
        }
    }
}
