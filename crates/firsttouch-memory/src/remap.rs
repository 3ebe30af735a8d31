//! Moving pages to another address by the kernel's tables instead of byte by byte (mremap(2)).
//!
//! The kernel moves one mapping at a time, and a block of ours may be several: what was added to a moved block never
//! becomes one mapping with it, memory laid out over nodes is one mapping a node, pages below 2 MiB one a mebibyte. Up to
//! Linux 6.16 a call that spans two mappings unmaps the target first and then fails (EFAULT); from 6.17 it moves several,
//! and what fails midway stays moved. So the mappings are told apart first, by a question that changes nothing, and
//! moved one by one: each is moved whole, or not at all.

use crate::pages::{BASE, GIGANTIC};
use firsttouch_linux::sys::{self, Answer};

/// Whether `[start, start + bytes)`, whole pages, lies in one mapping, so that nobody has unmapped a part of it, mapped
/// something else there, or changed its protection, policy or locks.
///
/// The question is whether the range can become a page longer where it is. The kernel looks first whether the range is
/// one mapping (EFAULT if not), then whether there is room behind it: there is none (ENOMEM), because what follows is
/// ours too.
pub(crate) fn is_one_mapping(start: usize, bytes: usize) -> bool {
    // SAFETY: grows a range of ours, if anything, into addresses that nobody has.
    match unsafe { sys::call(libc::SYS_mremap, [start, bytes, bytes + BASE, 0, 0, 0]) } {
        Ok(_) => {
            // SAFETY: the page that was added just now.
            let _ = unsafe { sys::unmap(start + bytes, BASE) };
            true
        }
        Err(error) => error != libc::EFAULT,
    }
}

/// How much of `[start, start + bytes)` from its front on is one mapping; 0 if nothing is mapped at its start.
fn first_mapping(start: usize, bytes: usize) -> usize {
    if is_one_mapping(start, bytes) {
        return bytes;
    }
    // Of these many pages it is known that they are one mapping, and that they are not.
    let (mut one, mut several) = (0, bytes / BASE);
    while several - one > 1 {
        let middle = one + (several - one) / 2;
        if is_one_mapping(start, middle * BASE) {
            one = middle;
        } else {
            several = middle;
        }
    }
    one * BASE
}

/// How the kernel is to move pages: source, bytes, target.
type Move = unsafe fn(usize, usize, usize) -> Answer;

/// Moves whole pages from `source` to `target`, mapping by mapping, and leaves the source mapped and empty, or nothing there if it
/// `is_left`. Huge pages stay whole where both addresses are congruent modulo their size.
///
/// What the kernel does not move is handed to `otherwise` (source, target, bytes): the source holds it still, and the
/// target may be unmapped by then; it answers whether it has seen to it. `moved` is told what the kernel has moved
/// (source, bytes). False when `otherwise` refused: then everything is where it was, and the target may have holes.
///
/// # Safety
/// Both ranges must be the caller's, must not overlap, and nobody may use them meanwhile.
pub(crate) unsafe fn move_pages(
    source: usize,
    target: usize,
    bytes: usize,
    is_left: bool,
    mut moved: impl FnMut(usize, usize),
    mut otherwise: impl FnMut(usize, usize, usize) -> bool,
) -> bool {
    let call: Move = if is_left { sys::move_mapping_to } else { sys::move_pages_to };
    let mut done = 0;
    while done < bytes {
        // SAFETY: parts of the two ranges.
        let (length, is_moved) = unsafe { move_first(call, source + done, target + done, bytes - done) };
        if is_moved {
            moved(source + done, length);
        } else if !otherwise(source + done, target + done, length) {
            // SAFETY: the same ranges, the other way.
            unsafe { move_back(call, source, target, done) };
            return false;
        }
        done += length;
    }
    true
}

/// Moves the first mapping of a range, or a piece of it where the kernel refuses the whole, because it is more than the machine has
/// (`vm.overcommit_memory` 0): how many bytes were to be moved, and whether they were.
///
/// # Safety
/// As for [`move_pages`].
unsafe fn move_first(call: Move, source: usize, target: usize, bytes: usize) -> (usize, bool) {
    let length = first_mapping(source, bytes);
    // SAFETY: parts of the two ranges.
    let is_moved = |length: usize| unsafe { call(source, length, target) }.is_ok();
    if length == 0 || is_moved(length) {
        return (length.max(BASE), length > 0);
    }
    let piece = length.min(GIGANTIC);
    if piece < length && is_moved(piece) { (piece, true) } else { (length, false) }
}

/// Moves `bytes` that were moved to `target` back to the source.
///
/// # Safety
/// As for [`move_pages`].
unsafe fn move_back(call: Move, source: usize, target: usize, bytes: usize) {
    let mut at = 0;
    while at < bytes {
        // SAFETY: parts of the two ranges.
        let (length, is_moved) = unsafe { move_first(call, target + at, source + at, bytes - at) };
        if !is_moved {
            cannot_move_back();
        }
        at += length;
    }
}

/// Half of a program's data is where nobody looks for it: worse than an end.
pub(crate) fn cannot_move_back() -> ! {
    sys::complain(b"firsttouch: the kernel moved memory and cannot move it back\n");
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::HUGE;
    use std::vec::Vec;

    const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

    /// Two ranges of so many bytes, aligned to huge pages, in one reservation that stays.
    fn ranges(bytes: usize) -> (usize, usize) {
        let all = 2 * bytes + 2 * HUGE;
        // SAFETY: a new mapping.
        let start = unsafe { sys::map_anonymous(0, all, libc::PROT_NONE, libc::MAP_NORESERVE) }.unwrap();
        let source = start.next_multiple_of(HUGE);
        for at in [source, source + bytes] {
            // SAFETY: inside the new mapping.
            unsafe { sys::map_anonymous(at, bytes, READ_WRITE, libc::MAP_FIXED) }.unwrap();
        }
        (source, source + bytes)
    }

    fn mark(start: usize, bytes: usize) {
        for page in 0..bytes / BASE {
            // SAFETY: mapped by the test.
            unsafe { *((start + page * BASE) as *mut u64) = page as u64 + 1 };
        }
    }

    fn is_marked(start: usize, bytes: usize) -> bool {
        // SAFETY: mapped by the test.
        (0..bytes / BASE).all(|page| unsafe { *((start + page * BASE) as *const u64) } == page as u64 + 1)
    }

    #[test]
    fn mappings_are_told_apart() {
        let (source, target) = ranges(4 * HUGE);
        assert!(is_one_mapping(source, 4 * HUGE));
        // SAFETY: memory of the test's.
        unsafe { sys::protect(source + HUGE, BASE, libc::PROT_READ) }.unwrap();
        assert!(!is_one_mapping(source, 4 * HUGE));
        assert_eq!(first_mapping(source, 4 * HUGE), HUGE);
        assert_eq!(first_mapping(source + HUGE, 3 * HUGE), BASE);
        // SAFETY: likewise.
        unsafe { sys::unmap(source, BASE) }.unwrap();
        assert_eq!(first_mapping(source, HUGE), 0);
        // Nothing grew.
        assert!(is_one_mapping(target, 4 * HUGE));
    }

    #[test]
    fn what_grew_after_a_move_moves_again() {
        let (source, target) = ranges(8 * HUGE);
        mark(source, 2 * HUGE);
        // SAFETY: both ranges are the test's.
        assert!(unsafe { move_pages(source, target, 2 * HUGE, false, |_, _| {}, |_, _, _| false) });
        assert!(is_marked(target, 2 * HUGE));
        // The rest was mapped at another time, and is another mapping.
        mark(target, 8 * HUGE);
        assert!(!is_one_mapping(target, 8 * HUGE));
        let mut moved = Vec::new();
        // SAFETY: likewise, the other way.
        assert!(unsafe {
            move_pages(
                target,
                source,
                8 * HUGE,
                false,
                |from, bytes| moved.push((from, bytes)),
                |_, _, _| false,
            )
        });
        assert!(is_marked(source, 8 * HUGE));
        assert_eq!(moved.iter().map(|(_, bytes)| bytes).sum::<usize>(), 8 * HUGE);
        assert!(moved.len() >= 2, "{moved:?}");
    }

    #[test]
    fn what_fails_midway_is_where_it_was() {
        let (source, target) = ranges(4 * HUGE);
        mark(source, 4 * HUGE);
        // A hole in the source cannot be moved.
        // SAFETY: memory of the test's.
        unsafe { sys::unmap(source + 3 * HUGE, BASE) }.unwrap();
        // SAFETY: likewise.
        assert!(!unsafe { move_pages(source, target, 4 * HUGE, false, |_, _| {}, |_, _, _| false) });
        assert!(is_marked(source, 3 * HUGE));
        let mut refused = Vec::new();
        // SAFETY: likewise; where the target was moved back from there is nothing now.
        unsafe { sys::map_anonymous(target, 4 * HUGE, READ_WRITE, libc::MAP_FIXED) }.unwrap();
        let see_to = |from, _, bytes| {
            refused.push((from, bytes));
            true
        };
        // SAFETY: likewise.
        assert!(unsafe { move_pages(source, target, 4 * HUGE, false, |_, _| {}, see_to) });
        assert!(is_marked(target, 3 * HUGE));
        assert_eq!(refused, [(source + 3 * HUGE, BASE)]);
    }
}
