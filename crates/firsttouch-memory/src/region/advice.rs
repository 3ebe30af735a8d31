//! What a program may tell the kernel about parts of a region; see madvise(2).

use super::{Region, RegionError};
use crate::pages::BASE;
use core::ops::Range;
use firsttouch_linux::sys;

/// Advice about a range of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Huge pages, from now on.
    HugePages,
    /// No huge pages, from now on.
    SmallPages,
    /// Huge pages for what is there, now (Linux 6.1). What it achieved, the receipt tells.
    Collapse,
    /// Will be read from front to back.
    Sequential,
    /// Will be read here and there.
    Random,
    /// Nothing of the two any more.
    Normal,
    /// Will be used soon: what was swapped out is fetched.
    Soon,
    /// Will not be used for a while: taken first when memory is short (Linux 5.4).
    Cold,
    /// Will not be used for long: swapped out now, where there is swap (Linux 5.4).
    PageOut,
    /// Is not to be in core dumps.
    NoDump,
    /// A child made by fork does not get it; touching it there ends the child.
    NoFork,
    /// A child made by fork gets zeroes in its place (Linux 4.14).
    WipeOnFork,
    /// Equal pages may become one (KSM).
    Merge,
}

impl Advice {
    fn number(self) -> i32 {
        match self {
            Advice::HugePages => libc::MADV_HUGEPAGE,
            Advice::SmallPages => libc::MADV_NOHUGEPAGE,
            Advice::Collapse => libc::MADV_COLLAPSE,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
            Advice::Random => libc::MADV_RANDOM,
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Soon => libc::MADV_WILLNEED,
            Advice::Cold => libc::MADV_COLD,
            Advice::PageOut => libc::MADV_PAGEOUT,
            Advice::NoDump => libc::MADV_DONTDUMP,
            Advice::NoFork => libc::MADV_DONTFORK,
            Advice::WipeOnFork => libc::MADV_WIPEONFORK,
            Advice::Merge => libc::MADV_MERGEABLE,
        }
    }
}

impl Region {
    /// Tells the kernel about a range of bytes, which must begin with a page; the kernel takes the page that it ends in whole.
    /// Contents stay as they are.
    pub fn advise(&mut self, range: Range<usize>, advice: Advice) -> Result<(), RegionError> {
        let wrong = |errno| RegionError::Advise { advice, errno };
        self.check(&range).map_err(wrong)?;
        // SAFETY: the range lies in this region, which is borrowed from its only owner; the advice changes no contents.
        unsafe { sys::advise(self.address + range.start, range.len(), advice.number()) }
            .map(drop)
            .map_err(wrong)
    }

    /// Gives the whole pages of a range, which must begin with a page, back to the kernel; they read as zero from then on, and the
    /// kernel creates and clears them anew when they are written. A page that the range ends in keeps its contents. Pages of a pool,
    /// too, leave the region, and may not be there again.
    pub fn discard(&mut self, range: Range<usize>) -> Result<(), RegionError> {
        let wrong = |errno| RegionError::Resize { bytes: self.bytes, errno };
        self.check(&range).map_err(wrong)?;
        // The kernel would take the last page whole, with what lies behind the range.
        let page_bytes = self.backing.pool_page().unwrap_or(BASE);
        let whole = range.start..range.end / page_bytes * page_bytes;
        if whole.is_empty() {
            return Ok(());
        }
        // SAFETY: whole pages of this region, which is borrowed from its only owner.
        unsafe { sys::advise(self.address + whole.start, whole.len(), libc::MADV_DONTNEED) }
            .map(drop)
            .map_err(wrong)
    }

    /// Whether a range begins with a page and lies in the region.
    fn check(&self, range: &Range<usize>) -> Result<(), i32> {
        let fits = range.start <= range.end && range.end <= self.bytes && range.start.is_multiple_of(BASE);
        fits.then_some(()).ok_or(libc::EINVAL)
    }
}
