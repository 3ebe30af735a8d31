//! Creating pages by `MADV_POPULATE_WRITE` (Linux 5.14), which changes no contents; a kernel that cannot is told of in the record.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::HUGE;
use firsttouch_memory::record_line::RecordLine;

/// The kernel knows nothing of it.
static CANNOT: AtomicBool = AtomicBool::new(false);

/// Creates the pages of a range, and answers whether that is done. By huge pages: who maps or unmaps memory meanwhile waits for the call
/// that is going on, and other threads for the heap if they do so for it.
///
/// # Safety
/// The range is memory of ours that stays until this returns. Its contents do not change.
pub(crate) unsafe fn create_pages(start: usize, bytes: usize) -> bool {
    let end = start + bytes;
    let mut at = start;
    while at < end {
        let to = ((at + HUGE) / HUGE * HUGE).min(end);
        // SAFETY: the caller's duty.
        if !unsafe { create(at, to - at) } {
            return false;
        }
        at = to;
    }
    true
}

/// # Safety
/// As for [`create_pages`].
unsafe fn create(start: usize, bytes: usize) -> bool {
    // SAFETY: the caller's duty.
    match unsafe { sys::advise(start, bytes, sys::MADV_POPULATE_WRITE) } {
        Ok(_) => true,
        Err(error) => {
            if error == libc::EINVAL {
                CANNOT.store(true, Ordering::Relaxed);
            }
            false
        }
    }
}

/// Writes the line of the record, if there is something to be told.
pub(crate) fn report(line: &mut dyn FnMut(RecordLine<'_>) -> fmt::Result) -> fmt::Result {
    match CANNOT.load(Ordering::Relaxed) {
        true => line(RecordLine::Note(
            "no pages were created ahead of the program: the kernel cannot (Linux 5.14)",
        )),
        false => Ok(()),
    }
}
