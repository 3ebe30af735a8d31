//! What of a freed run is held where not all of it may be.
//!
//! Programs use little of large buffers. Of one of 16 MiB with one byte written two huge pages are there, that byte's and the
//! first, and to clear these anew costs more than all else that is done with it. So what is there is held where that is little. Where
//! it is nothing but the first page, or too much, the kernel is not asked each time.

use super::{Arena, DIRTY_RUNS};
use crate::backing::Backing;
use crate::pages::Page;

/// What is there of more chunks than these (128 MiB) is not asked.
const MOST_CHUNKS: u32 = u64::BITS;
/// As many pieces of it, and the edges of a block, are told apart when it is cleared.
const MOST_RUNS: u32 = DIRTY_RUNS as u32 - 2;
/// Where asking was in vain, it is asked again after so many.
const UNASKED: u32 = 16;

impl Arena {
    /// Holds the chunks of `[from, until)`, which are free, that are there as a whole, if these are more than the first and no more than
    /// so many pages together, and returns the others to the kernel. False where that is not so, or not known.
    pub(crate) fn hold_what_is_there(&mut self, from: Page, until: Page, most: u32) -> bool {
        let chunk = self.chunk_pages();
        let is_huge = self.backing == Backing::Transparent && !self.is_small() && most >= 2 * chunk;
        let Some((from, until)) = self.whole_chunks(from, until.min(self.used_to)).filter(|_| is_huge) else {
            return false;
        };
        let count = (until - from) / chunk;
        if count > MOST_CHUNKS {
            return false;
        }
        if (1..UNASKED).contains(&self.unasked) {
            self.unasked += 1;
            return false;
        }
        self.unasked = 1;
        let mut held = 0_u64;
        for index in 0..count {
            if self.touched_pages(from + index * chunk) == Some(chunk) {
                held |= 1 << index;
                if held.count_ones() * chunk > most {
                    return false;
                }
            }
        }
        let runs = (held & !(held << 1)).count_ones();
        if held.count_ones() < 2 || runs > MOST_RUNS {
            return false;
        }
        self.unasked = 0;
        let mut at = from;
        for index in (0..count).filter(|index| held >> index & 1 == 1) {
            let held = from + index * chunk;
            self.trim(at, held);
            at = held + chunk;
        }
        self.trim(at, until);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::Block;
    use crate::pages::{BASE, GIGANTIC, HUGE};
    use crate::shares::Shares;
    use firsttouch_linux::sys;
    use std::vec;
    use std::vec::Vec;

    const CHUNK: Page = (HUGE / BASE) as Page;

    /// The chunks of a block of eight that are held when it is freed, with room for so many, after these were touched.
    fn held(arena: &mut Arena, touched: &[Page], most: u32) -> Option<Vec<Page>> {
        let start = arena.take(8 * CHUNK, CHUNK, 0, 0).unwrap().start;
        arena.set_live(start, 8 * CHUNK, Block { id: 1, ..Block::RETIRED });
        for chunk in touched {
            for page in start + chunk * CHUNK..start + (chunk + 1) * CHUNK {
                // SAFETY: mapped by the arena; the test alone knows of it.
                unsafe { *(arena.address(page) as *mut u8) = 1 };
            }
        }
        let (from, until) = arena.give_back(start, 8 * CHUNK);
        let is_held = arena.hold_what_is_there(from, until, most * CHUNK);
        let (_, _, mut bits) = arena.parts();
        let held = (0..8).filter(|chunk| bits.count(start + chunk * CHUNK, CHUNK) > 0).collect();
        arena.trim(from, until);
        is_held.then_some(held)
    }

    #[test]
    fn what_is_there_is_held_if_it_is_little_and_asked_again_now_and_then_if_not() {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let room =
            unsafe { sys::map_anonymous(0, 2 * GIGANTIC, libc::PROT_NONE, libc::MAP_NORESERVE) }.unwrap();
        let base = room.next_multiple_of(GIGANTIC);
        let mut arena = Arena::new(Backing::Transparent, base, GIGANTIC, true, Shares::NONE).unwrap();
        assert_eq!(held(&mut arena, &[0, 3], 1), None);
        assert_eq!(held(&mut arena, &[0, 3, 4, 7], 4), Some(vec![0, 3, 4, 7]));
        assert_eq!(held(&mut arena, &[5, 6], 4), Some(vec![5, 6]));
        assert_eq!(held(&mut arena, &[0], 4), None);
        for _ in 1..UNASKED {
            assert_eq!(held(&mut arena, &[0, 3], 4), None);
        }
        assert_eq!(held(&mut arena, &[0, 3], 4), Some(vec![0, 3]));
        assert_eq!(held(&mut arena, &[0, 1, 2, 3], 3), None);
    }
}
