//! A mark that no copy of a process has.
//!
//! The child of fork(3) is told by its handlers that it is a process of its own, that of clone(2) and of `_Fork` by nobody;
//! the child of vfork(2) is none, for it has the very memory of its parent. So the mark lies in a page that the kernel
//! wipes in copies (`MADV_WIPEONFORK`, Linux 4.14), and a look at it costs two loads.

use crate::pages::BASE;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use firsttouch_linux::sys;

/// What a copy finds.
const WIPED: u32 = 0;
/// A thread of the copy sees to what came with it, or has found that it cannot be used.
const CLAIMED: u32 = 1;
const STANDS: u32 = 2;

/// The mark of a process; where the kernel has no such page, one that stands everywhere.
#[derive(Debug)]
pub struct Mark(AtomicPtr<AtomicU32>);

impl Mark {
    /// One that stands everywhere until it is made.
    pub const fn new() -> Mark {
        Mark(AtomicPtr::new(ptr::null_mut()))
    }

    /// From now on it stands in this process, and in no copy.
    pub fn make(&self) {
        if self.word().is_some() {
            return;
        }
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = unsafe { sys::map_anonymous(0, BASE, libc::PROT_READ | libc::PROT_WRITE, 0) };
        let Ok(page) = mapped else { return };
        let word = page as *mut AtomicU32;
        // SAFETY: the page was mapped just now, and only this thread knows of it.
        let is_wiped = unsafe {
            (*word).store(STANDS, Ordering::Relaxed);
            sys::advise(page, BASE, libc::MADV_WIPEONFORK).is_ok()
        };
        let publish =
            || self.0.compare_exchange(ptr::null_mut(), word, Ordering::Release, Ordering::Relaxed).is_ok();
        if !is_wiped || !publish() {
            // SAFETY: nobody has learnt of it.
            let _ = unsafe { sys::unmap(page, BASE) };
        }
    }

    fn word(&self) -> Option<&AtomicU32> {
        // SAFETY: null, or a page that stays mapped.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Whether it stands: what came with it, if this is a copy, has been seen to.
    #[inline]
    pub fn stands(&self) -> bool {
        self.word().is_none_or(|word| word.load(Ordering::Acquire) == STANDS)
    }

    /// Whether it stands, in a copy after this thread, unless another does or did, has seen to what came with it.
    #[inline]
    pub fn stands_after(&self, see_to: impl FnOnce()) -> bool {
        if !self.stands() {
            self.once_in_copy(see_to);
        }
        self.stands()
    }

    /// In a copy: sees to what came with it, unless another thread does or did.
    pub fn once_in_copy(&self, see_to: impl FnOnce()) {
        if self.claim() {
            see_to();
            self.renew();
        }
    }

    /// In a copy: whether this thread, and no other, is to see to what came with it.
    pub(crate) fn claim(&self) -> bool {
        let claim =
            |word: &AtomicU32| word.compare_exchange(WIPED, CLAIMED, Ordering::Relaxed, Ordering::Relaxed);
        self.word().is_none_or(|word| claim(word).is_ok())
    }

    /// In a copy, by who has claimed it: what came with it has been seen to.
    pub(crate) fn renew(&self) {
        if let Some(word) = self.word() {
            word.store(STANDS, Ordering::Release);
        }
    }
}

impl Default for Mark {
    fn default() -> Self {
        Mark::new()
    }
}

/// What `act` says in a child that clone(2) makes with these flags, which allocates nothing.
#[cfg(test)]
pub(crate) fn in_child(flags: i32, act: impl FnOnce() -> bool) -> bool {
    // SAFETY: without a stack of its own the child goes on here, in a copy of the memory.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    assert!(child >= 0);
    if child == 0 {
        sys::exit_now(i32::from(act()));
    }
    let mut status = 0;
    // SAFETY: fills the number.
    assert_eq!(unsafe { libc::waitpid(child as i32, &raw mut status, 0) }, child as i32);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_finds_it_wiped_and_one_thread_of_it_claims_it() {
        let mark = Mark::new();
        assert!(mark.stands() && in_child(0, || mark.stands() && mark.claim()));
        mark.make();
        assert!(mark.stands() && !mark.claim());
        assert!(in_child(0, || !mark.stands() && mark.claim() && !mark.claim() && !mark.stands()));
        assert!(in_child(0, || {
            mark.renew();
            mark.stands() && in_child(0, || !mark.stands())
        }));
        assert!(in_child(0, || {
            let mut seen_to = 0;
            let stands = [0; 2].map(|_| mark.stands_after(|| seen_to += 1));
            stands == [true; 2] && seen_to == 1
        }));
        assert!(mark.stands());
    }
}
