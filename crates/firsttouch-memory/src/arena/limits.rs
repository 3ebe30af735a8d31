//! What an arena gives up for a program whose address space or data is limited.

use super::{Arena, Grain, NOWHERE};
use crate::extents::Extents;
use crate::pages::{BASE, Page};
use firsttouch_linux::sys;

/// So many free pages at least are worth a mapping's end and another's beginning.
const LEAST_RETIRED_PAGES: u32 = (64 << 10) / BASE as u32;

/// Mappings are few in number (`vm.max_map_count`), and each retired run makes one more of them.
const MOST_RETIRED_RUNS: u32 = 8192;

impl Arena {
    /// Gives up all address space that holds no block: from now on it is taken when a block comes, and nothing is held. For a
    /// program that limits its address space.
    pub(crate) fn ration(&mut self) {
        self.tables.cut();
        self.trim_idle(u64::MAX, 0, Grain::Chunks);
        self.unreserve_free_chunks();
        self.reserved = false;
        // What trimming only emptied is mapped still: unmapped now.
        self.unmap_free_chunks();
        // The first chunk is there for looks at others only.
        if Extents::live_at(self.table(), 0).is_some_and(|(_, block)| block.is_retired()) {
            self.unmap_chunks(0, self.chunk_pages());
        }
        // Of so many pages as there once were the tables are memory, too, which counts against limits of data and of what is locked.
        if Extents::runs(self.table()).all(|(_, _, block)| block.is_none_or(|block| block.is_retired())) {
            self.tables.close();
            self.extents = Extents::new();
            (self.used_to, self.recycled_pages, self.retired_runs) = (0, 0, 0);
            (self.unoffered_pages, self.unoffered) = (0, NOWHERE);
        }
    }

    /// Gives up what its tables have not come to use, in a copy of the process in which they never will. One that is being made
    /// describes nothing yet, and is left as it is.
    pub(crate) fn abandon(&self) {
        if self.tables.pages() > 0 {
            self.tables.unmap_closed();
        }
    }

    /// Gives up the address space of free chunks that are not mapped; where the program has mapped something, nothing is free.
    fn unreserve_free_chunks(&self) {
        let (chunk, bytes) = (self.chunk_pages(), self.backing.chunk_bytes());
        for (start, length, _) in Extents::runs(self.table()).filter(|(_, _, block)| block.is_none()) {
            let Some((from, until)) = self.whole_chunks(start, start + length) else { continue };
            for page in (from..until).step_by(chunk as usize).filter(|page| !self.is_mapped_page(*page)) {
                // SAFETY: the chunk is reserved for us and holds nothing.
                let _ = unsafe { sys::unmap(self.address(page), bytes) };
            }
        }
    }

    /// Retires what is free in chunks that blocks share: it counts against the limit, and serves nobody who needs more than any one of
    /// these places has. Glibc, which maps such blocks one by one, has no such places. For the moment at which there is no room: what is
    /// retired stays so.
    pub(crate) fn retire_between(&mut self) {
        if self.backing.is_reserved_pool() {
            return;
        }
        self.unmap_free_chunks();
        let mut at = 0;
        loop {
            let Some((start, length, block)) = Extents::runs_from(self.table(), at).next() else { return };
            at = start + length;
            if block.is_none() {
                self.retire_ends(start, length);
            }
        }
    }

    /// Retires the ends of a free run that lie in chunks which others share.
    fn retire_ends(&mut self, start: Page, length: u32) {
        let (chunk, end) = (self.chunk_pages(), start + length);
        let head = start.checked_next_multiple_of(chunk).map_or(end, |head| head.min(end));
        let tail = (end / chunk * chunk).max(head);
        let (extents, mut table, _) = self.parts();
        if !extents.extend(&mut table, start, length) {
            return;
        }
        // From the front: what is given back joins only what is behind it.
        for (from, until) in [(start, head), (head, tail), (tail, end)] {
            let pages = until - from;
            let is_shared = (from, until) != (head, tail);
            if is_shared
                && pages >= LEAST_RETIRED_PAGES
                && self.is_mapped_page(from)
                && self.retired_runs < MOST_RETIRED_RUNS
            {
                let (_, _, mut bits) = self.parts();
                self.recycled_pages -= u64::from(bits.count(from, pages));
                self.retired_runs += 1;
                self.set_fresh(from, pages);
                self.retire(from, pages);
                self.note_cuts(from, pages);
            } else if pages > 0 {
                let (extents, mut table, _) = self.parts();
                extents.give_back(&mut table, from, pages);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::Backing;
    use crate::extents::Block;
    use crate::pages::GIGANTIC;
    use crate::shares::Shares;
    use std::vec::Vec;

    /// Of each block; chunks hold whole blocks.
    const PAGES: u32 = 64;

    fn bytes_at(address: usize) -> &'static mut [u8] {
        // SAFETY: mapped by the test, which alone knows of it.
        unsafe { core::slice::from_raw_parts_mut(address as *mut u8, PAGES as usize * BASE) }
    }

    /// What others map where something was given back stays theirs, whatever becomes of the blocks around.
    #[test]
    fn what_is_free_between_blocks_is_given_to_others() {
        let flags = libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let room = unsafe { sys::map_anonymous(0, 2 * GIGANTIC, libc::PROT_NONE, flags) }.unwrap();
        let base = room.next_multiple_of(GIGANTIC);
        let mut arena = Arena::new(Backing::Base, base, GIGANTIC, true, Shares::NONE).unwrap();
        let starts: Vec<Page> = (1..=60)
            .map(|id| {
                let start = arena.take(PAGES, 1, 0, 0).unwrap().start;
                arena.set_live(start, PAGES, Block { id, ..Block::RETIRED });
                bytes_at(arena.address(start)).fill(id as u8);
                start
            })
            .collect();
        let (kept, freed): (Vec<Page>, Vec<Page>) =
            starts.iter().partition(|start| (*start / PAGES).is_multiple_of(2));
        for start in &freed {
            arena.give_back(*start, PAGES);
        }
        arena.retire_between();

        let mut others = Vec::new();
        for address in freed.iter().map(|start| arena.address(*start)) {
            assert!(!arena.covers(address) && !arena.covers(address + BASE));
            let (bytes, access) = (PAGES as usize * BASE, libc::PROT_READ | libc::PROT_WRITE);
            // SAFETY: takes only what is free.
            let mapped = unsafe { sys::map_anonymous(address, bytes, access, libc::MAP_FIXED_NOREPLACE) };
            assert_eq!(mapped, Ok(address));
            bytes_at(address).fill(255);
            others.push(address);
        }
        assert_eq!(others.len(), 30);
        for start in &kept {
            let (address, id) =
                (arena.address(*start), Extents::live_at(arena.table(), *start).unwrap().1.id);
            assert!(arena.covers(address) && bytes_at(address).iter().all(|byte| u32::from(*byte) == id));
            arena.give_back(*start, PAGES);
        }
        arena.retire_between();
        arena.trim_idle(u64::MAX, 0, Grain::Chunks);
        assert_eq!(arena.recycled_pages, 0);
        let again = arena.take(10 * PAGES, 1, 0, 0).unwrap().start;
        let address = arena.address(again);
        assert!(
            others.iter().all(|other| *other < address || *other >= address + 10 * PAGES as usize * BASE)
        );
        assert!(others.iter().all(|other| bytes_at(*other).iter().all(|byte| *byte == 255)));
    }
}
