//! Moving a block that grows where there is no room for it twice.
//!
//! With a limit on address space or on data, glibc's realloc takes room for what is added and for nothing else (mremap(2)). So
//! the chunks of the block move one after the other, and each leaves nothing where it was.

use super::chunks::reserve;
use super::{Arena, Taken};
use crate::pages::Page;
use crate::remap;
use firsttouch_linux::sys;

impl Arena {
    /// Moves the contents of a live run to a new one of `wanted` pages, which are more, at an address that is congruent modulo
    /// the size of a chunk. Whole chunks of the old run are not mapped afterwards; the run is still live in the table. `None` where
    /// that cannot be done, and then nothing has changed but what is free.
    ///
    /// Only where nothing is reserved: what is mapped then is what serves, and free chunks are not.
    pub(crate) fn relocate(&mut self, start: Page, pages: u32, wanted: u32) -> Option<Taken> {
        if self.reserved || self.backing.is_reserved_pool() {
            return None;
        }
        let chunk = self.chunk_pages();
        let (first, last) = self.whole_chunks(start, start + pages)?;
        let target = self.find_free(wanted, chunk, (chunk - start % chunk) % chunk)?;
        let to = |page: Page| target + (page - start);
        // The chunks at both ends are others' as well, or have nothing to be moved into them.
        let is_ready = self.make_fit(target, to(first) - target, 0) == Ok(true)
            && self.make_fit(to(last), target + wanted - to(last), 0) == Ok(true)
            && self.move_chunks(first, last, to(first));
        if !is_ready {
            if let Some((from, until)) = self.whole_chunks(target, target + wanted) {
                self.unmap_chunks(from, until);
            }
            self.put_back(target, wanted);
            return None;
        }
        for (from, until) in [(start, first), (last, start + pages)] {
            let (source, bytes) = (self.address(from), self.address(until) - self.address(from));
            // SAFETY: parts of the two runs, both mapped.
            unsafe {
                core::ptr::copy_nonoverlapping(source as *const u8, self.address(to(from)) as *mut u8, bytes)
            };
        }
        Some(self.use_pages(target, wanted))
    }

    /// Moves the chunks of `[first, last)` to free ones at `target`; all of them, or none.
    fn move_chunks(&mut self, first: Page, last: Page, target: Page) -> bool {
        let chunk = self.chunk_pages();
        self.unmap_chunks(target, target + (last - first));
        let moves = (first..last).step_by(chunk as usize).map(|page| (page, target + (page - first)));
        for (done, (from, to)) in moves.clone().enumerate() {
            if self.move_chunk(from, to) {
                continue;
            }
            for (from, to) in moves.take(done) {
                if !self.move_chunk(to, from) {
                    remap::cannot_move_back();
                }
            }
            return false;
        }
        self.set_fresh(first, last - first);
        // Chunks that were moved one by one are one mapping again where the kernel joins them.
        moves.for_each(|(_, to)| self.note_cuts(to, chunk));
        true
    }

    fn move_chunk(&mut self, from: Page, to: Page) -> bool {
        let (source, target, bytes) = (self.address(from), self.address(to), self.backing.chunk_bytes());
        // Nothing of somebody else's may be there.
        if !reserve(target, bytes) {
            return false;
        }
        // SAFETY: chunks of ours, of a block that only its owner knows, and of a free run.
        if !unsafe { remap::move_pages(source, target, bytes, true, |_, _| {}, |_, _, _| false) } {
            // SAFETY: what was reserved just now.
            let _ = unsafe { sys::unmap(target, bytes) };
            return false;
        }
        let chunk = self.chunk_pages();
        self.tables.set_mapped(from / chunk, false);
        self.tables.set_mapped(to / chunk, true);
        true
    }
}
