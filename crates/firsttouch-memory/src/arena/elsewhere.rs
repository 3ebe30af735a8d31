//! Recycled pages that do not lie where their next owner would get new ones.

use super::Arena;
use crate::pages::{BASE, Page};
use firsttouch_linux::numa::{self, NodeBits};
use firsttouch_linux::sys;

/// Which recycled pages may serve a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Wherever they lie.
    All,
    /// Those on these nodes.
    On(NodeBits),
    /// None: the block is to be new.
    Nothing,
}

/// Of a chunk so many pages are asked about, one in each part of it: a huge page lies on one node.
const PROBES: usize = 4;
/// Chunks that the kernel is asked about in one call.
const CHUNKS: usize = 8;

impl Arena {
    /// Returns recycled pages that may not serve to the kernel, of a run that was taken just now, in whole chunks. What blocks
    /// share stays, and so do pages of a pool, whose nodes the pool has chosen, and what we lay out ourselves.
    pub(super) fn leave_elsewhere(&mut self, start: Page, pages: u32) {
        let is_ours_to_ask = !self.backing.is_reserved_pool() && self.shares.are_none();
        if !matches!(self.wanted, Wanted::All)
            && is_ours_to_ask
            && let Some((from, until)) = self.whole_chunks(start, start + pages)
        {
            self.leave_chunks(from, until);
        }
    }

    /// The same in whole chunks. It takes stack only where there are several nodes.
    #[inline(never)]
    fn leave_chunks(&mut self, mut at: Page, until: Page) {
        let chunk = self.chunk_pages();
        while at < until {
            let next = until.min(at + CHUNKS as u32 * chunk);
            let nodes = match &self.wanted {
                Wanted::On(nodes) => self.lie_on(at, next, nodes),
                _ => [false; CHUNKS],
            };
            for (from, lies_there) in (at..next).step_by(chunk as usize).zip(nodes) {
                let (_, _, mut bits) = self.parts();
                if lies_there || bits.count(from, chunk) == 0 {
                    continue;
                }
                // SAFETY: pages of a run that nobody knows of yet.
                let advice =
                    unsafe { sys::advise(self.address(from), chunk as usize * BASE, libc::MADV_DONTNEED) };
                // The kernel keeps what is locked.
                if advice.is_ok() {
                    self.set_fresh(from, chunk);
                }
            }
            at = next;
        }
    }

    /// Of the chunks of `[from, until)`, at most [`CHUNKS`], whether all pages that they have lie on these nodes; true where the kernel
    /// does not say.
    fn lie_on(&self, from: Page, until: Page, nodes: &NodeBits) -> [bool; CHUNKS] {
        let step = self.chunk_pages() / PROBES as u32;
        let mut addresses = [0; CHUNKS * PROBES];
        let mut answers = [-1; CHUNKS * PROBES];
        let mut count = 0;
        for (place, page) in addresses.iter_mut().zip((from..until).step_by(step as usize)) {
            *place = self.address(page);
            count += 1;
        }
        let _ = numa::nodes_of(&addresses[..count], &mut answers[..count]);
        let is_wanted = |answer: &i32| u32::try_from(*answer).is_ok_and(|node| nodes.contains(node));
        // A number below zero says that there is no page.
        core::array::from_fn(|chunk| {
            answers[chunk * PROBES..][..PROBES].iter().all(|answer| *answer < 0 || is_wanted(answer))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::Backing;
    use crate::extents::Block;
    use crate::pages::{GIGANTIC, HUGE};
    use crate::shares::Shares;

    #[test]
    fn what_lies_elsewhere_is_new() {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let room =
            unsafe { sys::map_anonymous(0, 2 * GIGANTIC, libc::PROT_NONE, libc::MAP_NORESERVE) }.unwrap();
        let base = room.next_multiple_of(GIGANTIC);
        let mut arena = Arena::new(Backing::Base, base, GIGANTIC, true, Shares::NONE).unwrap();
        let chunk = (HUGE / BASE) as u32;
        // More chunks than one question has, and a part of one, which others may share.
        let pages = (CHUNKS as u32 + 3) * chunk + 1;
        let [here, there] = [0, 1].map(|node| Wanted::On(NodeBits::of(&[node]).unwrap()));
        for (wanted, recycled) in
            [(Wanted::All, 0), (Wanted::All, pages), (here, pages), (there, 1), (Wanted::Nothing, 1)]
        {
            arena.wanted = wanted;
            let taken = arena.take(pages, chunk, 0, 0).unwrap();
            assert_eq!(taken.recycled, recycled, "{wanted:?}");
            for page in taken.start..taken.start + pages {
                // SAFETY: mapped by the arena; the test alone knows of it.
                let byte = unsafe { &mut *(arena.address(page) as *mut u8) };
                assert_eq!(*byte == 0, recycled == 0 || recycled == 1 && page < taken.start + pages - 1);
                *byte = 1;
            }
            arena.set_live(taken.start, pages, Block { id: 1, ..Block::RETIRED });
            arena.give_back(taken.start, pages);
        }
    }
}
