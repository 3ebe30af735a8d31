//! Regions that become larger and smaller.
//!
//! Invariant: whatever fails, the contents of what was there are where they were. Huge pages stay whole: a region grows
//! where it is, or moves to an address that lies alike in its huge page, so that the kernel moves tables and not bytes.

use super::{READ_WRITE, Region, RegionError, map_pool, reserve_guarded};
use crate::pages::{BASE, HUGE};
use crate::remap;
use core::ops::Range;
use firsttouch_linux::sys::{self, open_to_read};

/// How a region became larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It has the addresses it had, and more; or it was large enough.
    InPlace,
    /// It has other addresses; its pages are the same.
    Moved,
    /// It has other addresses and other pages, and the bytes were copied: pages of a pool that had no more next to them,
    /// regions that are shared out anew ([`crate::NodePolicy::Blocks`]), and kernels before 5.7.
    Copied,
}

impl Region {
    /// Makes it at least so many bytes; the new ones are zero. Slices taken before are gone, addresses may be others.
    ///
    /// ```
    /// use firsttouch_memory::Region;
    /// let mut region = Region::of(2 << 20).map()?;
    /// region.as_mut_slice()[77] = 7;
    /// region.grow(64 << 20)?;
    /// assert_eq!((region.as_slice().len(), region.as_slice()[77]), (64 << 20, 7));
    /// # Ok::<(), firsttouch_memory::RegionError>(())
    /// ```
    pub fn grow(&mut self, bytes: usize) -> Result<Growth, RegionError> {
        let whole = self.backing.whole(bytes).ok_or(RegionError::Resize { bytes, errno: libc::ENOMEM })?;
        if whole <= self.bytes {
            return Ok(Growth::InPlace);
        }
        let before = self.bytes;
        let growth = if self.extend(whole)? {
            Growth::InPlace
        } else if self.move_and_extend(whole)? {
            Growth::Moved
        } else {
            self.copy_to(
                self.asked
                    .sized(bytes)
                    .map()
                    .map_err(|error| RegionError::Resize { bytes, errno: error.errno() })?,
            );
            return Ok(Growth::Copied);
        };
        self.asked = self.asked.sized(bytes);
        if self.asked.prefault {
            self.create(before..self.bytes)?;
        }
        Ok(growth)
    }

    /// Makes it no larger than the whole pages that hold so many bytes, at least one; the rest goes back to the kernel.
    pub fn shrink(&mut self, bytes: usize) -> Result<(), RegionError> {
        let wrong = |errno| RegionError::Resize { bytes, errno };
        let whole = self.backing.whole(bytes).ok_or(wrong(libc::ENOMEM))?;
        if whole >= self.bytes {
            return Ok(());
        }
        let (end, guard) = (self.address + whole, self.guard_bytes());
        // SAFETY: what is cut off is ours, with the guard behind it, and nobody borrows it.
        unsafe { sys::unmap(end + guard, self.bytes - whole) }.map_err(wrong)?;
        self.bytes = whole;
        self.asked = self.asked.sized(bytes);
        if guard > 0 {
            // The page after the new end becomes the guard. Where that fails it is a page too many, which nobody sees.
            // SAFETY: the page was the region's and belongs to nobody now.
            let _ = unsafe { sys::map_anonymous(end, guard, libc::PROT_NONE, libc::MAP_FIXED) };
        }
        Ok(())
    }

    /// Takes the addresses behind it, if nobody has them; false if somebody has.
    fn extend(&mut self, whole: usize) -> Result<bool, RegionError> {
        if !self.asked.policy.is_kept_by_growth() {
            return Ok(false);
        }
        let (end, more) = (self.address + self.bytes, whole - self.bytes);
        let part = end..end + more;
        if self.backing.is_reserved_pool() {
            // SAFETY: addresses that nobody has, or an error.
            let mapped = unsafe { map_pool(self.backing, end, more, libc::MAP_FIXED_NOREPLACE) };
            if !is_at(mapped, end, more) {
                return Ok(false);
            }
            // A page that the pool promised can still be refused at first touch: it is created now, or the part goes.
            let placed = self.place(part.clone());
            // SAFETY: the new part is ours.
            let created = unsafe { sys::advise(end, more, libc::MADV_POPULATE_WRITE) };
            if placed.is_err() || created.is_err() {
                // SAFETY: nobody knows the new part yet.
                let _ = unsafe { sys::unmap(end, more) };
                return placed.map(|()| false);
            }
            self.bytes = whole;
            return Ok(true);
        }
        // What is added becomes guard first, so that nobody takes the page where the new guard is.
        // SAFETY: addresses that nobody has, or an error.
        let mapped =
            unsafe { sys::map_anonymous(end + BASE, more, libc::PROT_NONE, libc::MAP_FIXED_NOREPLACE) };
        if !is_at(mapped, end + BASE, more) {
            return Ok(false);
        }
        if let Err(error) = self.open(part) {
            // SAFETY: what was added just now, and holds nothing.
            let _ = unsafe { sys::unmap(end + BASE, more) };
            return Err(error);
        }
        self.bytes = whole;
        Ok(true)
    }

    /// Finds addresses with room behind, and moves all pages there; false if that is not to be had.
    fn move_and_extend(&mut self, whole: usize) -> Result<bool, RegionError> {
        if self.backing.is_reserved_pool() || !self.asked.policy.is_kept_by_growth() {
            return Ok(false);
        }
        let target = reserve_guarded(whole, self.asked.alignment())
            .map_err(|errno| RegionError::Resize { bytes: whole, errno })?;
        let (source, before) = (self.address, self.bytes);
        // SAFETY: the source is borrowed from its only owner; the target was reserved just now.
        if !unsafe { remap::move_pages(source, target, before, false, |_, _| {}, |_, _, _| false) } {
            // The kernel may have cleared the target before it refused, and others may have taken it since: only the
            // guards are certainly still ours.
            // SAFETY: the guard before the target.
            let _ = unsafe { sys::unmap(target - BASE, BASE) };
            // SAFETY: the guard behind it.
            let _ = unsafe { sys::unmap(target + whole, BASE) };
            return Ok(false);
        }
        self.address = target;
        let opened = self.open(target + before..target + whole);
        // One of the two is the region from now on; the other, with its guards, nobody uses.
        let (left, bytes) = if opened.is_ok() { (source, before) } else { (target, whole) };
        if opened.is_ok() {
            self.bytes = whole;
        } else {
            self.address = source;
            // SAFETY: the same ranges, the other way.
            if !unsafe { remap::move_pages(target, source, before, false, |_, _| {}, |_, _, _| false) } {
                // It has moved and is no larger, which is right as well.
                self.address = target;
                return opened.map(|()| false);
            }
        }
        // SAFETY: what is left over.
        let _ = unsafe { sys::unmap(left - BASE, bytes + 2 * BASE) };
        opened.map(|()| true)
    }

    /// Makes memory of guarded addresses; on an error they are guard again.
    fn open(&mut self, part: Range<usize>) -> Result<(), RegionError> {
        let more = part.len();
        let wrong = |errno| RegionError::Resize { bytes: self.bytes + more, errno };
        // SAFETY: addresses of ours that hold nothing.
        unsafe { sys::protect(part.start, more, READ_WRITE) }.map_err(wrong)?;
        if let Err(error) = self.place(part.clone()) {
            // SAFETY: as above.
            let _ = unsafe { sys::protect(part.start, more, libc::PROT_NONE) };
            return Err(error);
        }
        self.advise_pages(part);
        Ok(())
    }

    /// Copies what is there into a larger region and becomes it.
    fn copy_to(&mut self, mut larger: Region) {
        let pagemap = open_to_read(c"/proc/thread-self/pagemap").ok();
        for (index, piece) in self.as_slice().chunks(HUGE).enumerate() {
            let has_contents = pagemap.as_ref().is_none_or(|pagemap| {
                let mut entries = [0_u8; HUGE / BASE * 8];
                let wanted = &mut entries[..piece.len() / BASE * 8];
                let at = piece.as_ptr() as usize / BASE * 8;
                // Present, or swapped out; what cannot be read may be anything.
                pagemap.read_at(at as u64, wanted) != Ok(wanted.len())
                    || wanted.as_chunks::<8>().0.iter().any(|entry| u64::from_ne_bytes(*entry) >> 62 != 0)
            });
            if has_contents {
                larger.as_mut_slice()[index * HUGE..][..piece.len()].copy_from_slice(piece);
            }
        }
        *self = larger;
    }
}

/// Whether a mapping came to lie where it was to; elsewhere (before Linux 4.17, which knows no `MAP_FIXED_NOREPLACE`) it
/// is taken back.
fn is_at(mapped: Result<usize, i32>, wanted: usize, bytes: usize) -> bool {
    let Ok(address) = mapped else { return false };
    if address != wanted {
        // SAFETY: a new mapping that nobody knows.
        let _ = unsafe { sys::unmap(address, bytes) };
    }
    address == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Pages;
    use std::vec::Vec;

    /// Marks every page that the region has by now, or checks the marks.
    fn mark(region: &mut Region) {
        for (page, bytes) in region.as_mut_slice().chunks_mut(BASE).enumerate() {
            bytes[..8].copy_from_slice(&(page as u64 * 3 + 1).to_ne_bytes());
        }
    }

    fn assert_marked(region: &Region, bytes: usize) {
        for (page, bytes) in region.as_slice()[..bytes].chunks(BASE).enumerate() {
            assert_eq!(bytes[..8], (page as u64 * 3 + 1).to_ne_bytes(), "page {page}");
        }
        assert!(region.as_slice()[bytes..].chunks(BASE).all(|page| page == [0; BASE]));
    }

    #[test]
    fn regions_grow_and_shrink_and_keep_what_they_hold() {
        for pages in [Pages::Base, Pages::Transparent, Pages::Multi(64 << 10), Pages::Huge2M] {
            let mut region = Region::of(4 << 20).pages(pages).name("grows").map().unwrap();
            let mut ways = Vec::new();
            for mib in [5, 6, 40, 41, 80] {
                mark(&mut region);
                let before = region.as_slice().len();
                // Takes the addresses behind it away, now and then.
                let _neighbour = (mib % 2 == 0).then(|| Region::of(64 << 10).pages(Pages::Base).map());
                ways.push(region.grow(mib << 20).unwrap());
                assert!(region.as_slice().len() >= mib << 20);
                assert_eq!(region.as_slice().as_ptr() as usize % HUGE, 0);
                assert_marked(&region, before);
            }
            mark(&mut region);
            region.shrink(3 << 20).unwrap();
            let kept = region.as_slice().len();
            assert!((3 << 20..=4 << 20).contains(&kept), "{pages}: {kept}");
            assert_marked(&region, kept);
            region.grow(8 << 20).unwrap();
            assert_marked(&region, kept);
            assert!(!ways.contains(&Growth::Copied) || pages == Pages::Huge2M, "{pages}: {ways:?}");
        }
    }

    #[test]
    fn a_move_keeps_huge_pages() {
        let mut region = Region::of(8 << 20).prefault().map().unwrap();
        let before = region.coverage();
        mark(&mut region);
        // The second time it is two mappings: what was moved, and what was added.
        for mib in [64, 128] {
            let end = region.as_slice().as_ptr_range().end as usize;
            // Somebody sits behind it.
            // SAFETY: addresses that nobody has, or an error.
            let neighbour =
                unsafe { sys::map_anonymous(end + BASE, BASE, libc::PROT_NONE, libc::MAP_FIXED_NOREPLACE) };
            assert_eq!(region.grow(mib << 20), Ok(Growth::Moved));
            assert_ne!(region.as_slice().as_ptr_range().end as usize, end);
            assert_marked(&region, 8 << 20);
            if let Ok(address) = neighbour {
                // SAFETY: mapped above.
                let _ = unsafe { sys::unmap(address, BASE) };
            }
        }
        let (before, after) = (before.unwrap(), region.receipt_of(0..8 << 20).coverage);
        assert!(after.is_none_or(|after| after.huge == before.huge), "{before:?} {after:?}");
    }

    #[test]
    fn what_cannot_grow_stays_as_it_is() {
        let mut region = Region::of(2 << 20).map().unwrap();
        mark(&mut region);
        for bytes in [usize::MAX, 1 << 62, 1 << 50] {
            assert!(matches!(region.grow(bytes), Err(RegionError::Resize { .. })), "{bytes}");
            assert_eq!(region.as_slice().len(), 2 << 20);
            assert_marked(&region, 2 << 20);
        }
        region.shrink(0).unwrap();
        assert_marked(&region, 2 << 20);
    }
}
