//! Memory that the program has locked (mlock(2), mlockall(2)): what is added to a block that grows is locked as well, as glibc's
//! realloc has it from the kernel, and what it leaves is locked no more.
//!
//! Nobody is asked before the program has locked anything.

use crate::pages::BASE;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};
use firsttouch_linux::sys;

/// The program has locked memory.
const ANY: u8 = 1;
/// Some of it page by page, when it is touched. What is added is locked so from then on: to create all of a block that is used
/// sparsely would be worse than to create a page later.
const ON_FAULT: u8 = 2;

/// How the program locks memory.
#[derive(Debug)]
pub(crate) struct Locks(AtomicU8);

/// Whether a block is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locked {
    Not,
    /// A part of it, which is the program's to know.
    Partly,
    Wholly,
}

impl Locks {
    pub(crate) const fn new() -> Locks {
        Locks(AtomicU8::new(0))
    }

    /// The program is about to lock memory.
    pub(crate) fn note(&self, on_fault: bool) {
        self.0.fetch_or(ANY | if on_fault { ON_FAULT } else { 0 }, Ordering::Relaxed);
    }

    /// Whether a range of whole pages is locked: as a whole, if both its ends are.
    pub(crate) fn of(&self, range: Range<usize>) -> Locked {
        if self.0.load(Ordering::Relaxed) == 0 || !is_locked(range.start, range.len()) {
            return Locked::Not;
        }
        let ends = [range.start, range.end - BASE];
        match ends.into_iter().all(|page| is_locked(page, BASE)) {
            true => Locked::Wholly,
            false => Locked::Partly,
        }
    }

    /// Locks a range. What the kernel refuses stays as it is: beyond the limit glibc's realloc copies to what is not locked.
    pub(crate) fn lock(&self, range: Range<usize>) {
        let on_fault = self.0.load(Ordering::Relaxed) & ON_FAULT != 0;
        let flags = if on_fault { libc::MLOCK_ONFAULT as usize } else { 0 };
        // SAFETY: locks memory of the program's; no contents change.
        let _ = unsafe { sys::call(libc::SYS_mlock2, [range.start, range.len(), flags, 0, 0, 0]) };
    }
}

/// Whether something of a range is locked: then the kernel refuses to invalidate it, which for memory that is no file's means nothing.
fn is_locked(start: usize, bytes: usize) -> bool {
    // SAFETY: changes nothing.
    let answer = unsafe { sys::call(libc::SYS_msync, [start, bytes, libc::MS_INVALIDATE as usize, 0, 0, 0]) };
    answer == Err(libc::EBUSY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_what_is_locked() {
        let bytes = 8 * BASE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let start = unsafe { sys::map_anonymous(0, bytes, access, 0) }.unwrap();
        let range = start..start + bytes;
        let locks = Locks::new();
        let lock = |at: usize, bytes: usize| {
            // SAFETY: memory of the test's.
            unsafe { sys::call(libc::SYS_mlock, [at, bytes, 0, 0, 0, 0]) }.unwrap();
        };
        lock(start, BASE);
        assert_eq!(locks.of(range.clone()), Locked::Not, "nobody has said so");
        locks.note(false);
        assert_eq!(locks.of(range.clone()), Locked::Partly);
        assert_eq!(locks.of(start + BASE..range.end), Locked::Not);
        locks.lock(start + BASE..range.end);
        assert_eq!(locks.of(range), Locked::Wholly);
    }
}
