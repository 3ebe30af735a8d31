//! What is held while the program grows by blocks that are not placed.
//!
//! What may be held depends on what the program has by itself ([`Footprint`](crate::footprint::Footprint)). When that becomes more by large
//! blocks, the heap knows; of small ones the allocator behind makes its memory larger without a word. So as long as more is held than may
//! be in any case, small blocks take the way of large ones (some nanoseconds each), and one in so many pages has the kernel's count
//! read: what is held too much goes back. Nothing is counted, which threads would share a line of the cache for: the place of a block tells,
//! since memory that grows has such pages as often as others.

use crate::footprint::Why;
use crate::heap::Heap;
use crate::pages::BASE;
use crate::settings::MAPPED_BYTES;
use crate::state::Inner;
use core::sync::atomic::Ordering;

/// Of so many pages, a block in one has the program looked at: of 256 KiB that are new.
const PAGES_APART: usize = 64;

impl Heap {
    /// Watches the program's growth from now on, or no more. To be called when more may be held, or less.
    pub(crate) fn watch_growth(&self, inner: &mut Inner) {
        let watches = inner.settings.recycle_bytes.is_none()
            && !inner.is_confined()
            && inner.footprint.is_much_held(inner.placed());
        if watches != inner.watches_growth {
            inner.watches_growth = watches;
            let from = if watches { 0 } else { inner.settings.asked_from() };
            self.asked_from.store(from, Ordering::Relaxed);
        }
    }

    /// Whether an allocation of that size concerns the heap only where growth is watched.
    #[inline(always)]
    pub(crate) fn is_small(&self, bytes: usize) -> bool {
        bytes < MAPPED_BYTES && bytes < self.least.load(Ordering::Relaxed)
    }

    /// To be called with each block that the allocator behind gave to who asked it by way of the heap.
    #[inline]
    pub(crate) fn saw_behind(&self, address: usize) {
        if (address / BASE).is_multiple_of(PAGES_APART) {
            self.look_if_watching();
        }
    }

    /// Looks at growth, if that is due.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_if_watching(&self) {
        let watches = self.asked_from.load(Ordering::Relaxed) == 0;
        if !watches || self.is_confined() || !self.growth.has_ticked() {
            return;
        }
        if let Some(mut inner) = self.enter_to_look() {
            inner.give_back_idle();
            self.look_at_growth(&mut inner);
        }
    }

    /// Gives back what is held too much: by what the program has now, which may have grown by what is no block.
    pub(crate) fn look_at_growth(&self, inner: &mut Inner) {
        if inner.watches_growth && !inner.has_threads && inner.footprint.look_is_due(false) {
            let placed = inner.placed();
            inner.footprint.learn(Why::Grown, placed, placed.read_resident(), 0);
        }
        inner.hold_less();
        self.watch_growth(inner);
    }
}
