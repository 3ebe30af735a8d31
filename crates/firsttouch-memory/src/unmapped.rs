//! Blocks that are gone without a word: the C library's own `free` and `realloc` unmap what is no part of its heap, and a library that
//! was opened with RTLD_DEEPBIND calls these past us. To who never looks they would be live for ever.

use crate::arena::Reach;
use crate::extents::{Block, Extents};
use crate::pages::BASE;
use crate::span::reserve_at;
use crate::state::Inner;

impl Inner {
    /// Before blocks have so many bytes: frees those that somebody has unmapped as a whole, if otherwise there would be more than memory.
    pub(crate) fn free_unmapped_before(&mut self, bytes: usize) {
        if !self.is_confined() && self.sparse.would_be_beyond(bytes) {
            (0..self.arenas.len()).for_each(|slot| self.free_unmapped(slot));
        }
    }

    fn free_unmapped(&mut self, slot: usize) {
        // Runs before this one have been asked for. It starts a run whatever becomes of those behind it.
        let mut seen = 0;
        while let Some(arena) = &self.arenas[slot] {
            let gone = Extents::runs_from(arena.table(), seen).find_map(|(start, pages, block)| {
                // Where a block is moving out, nothing may be there for a moment.
                let block = block.filter(Block::is_in_use)?;
                let (address, bytes) = (arena.address(start), pages as usize * BASE);
                // Nothing is replaced: the kernel refuses where there is anything.
                if reserve_at(address, bytes) {
                    return Some((address, bytes, block.offset));
                }
                seen = start;
                None
            });
            let Some((address, bytes, offset)) = gone else { return };
            self.set_altered(address, address + bytes, Reach::Ends);
            self.free((address + usize::from(offset)) as *const u8);
        }
    }
}
