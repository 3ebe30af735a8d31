//! What the heap tells of itself: blocks, totals, why pages are small, and the record of a program.

use crate::coverage::Reader;
use crate::evidence::Reasons;
use crate::extents::{Block, Extents};
use crate::heap::Heap;
use crate::lines::apart_from;
use crate::lock::Guard;
use crate::pages::{BASE, Pages};
use crate::reason::Reason;
use crate::record::{More, RecordFile};
use crate::settings::Totals;
use crate::snapshot::BlockInfo;
use crate::state::Inner;
use core::ops::Range;
use core::sync::atomic::Ordering;

/// How long the way out of a process waits for the lock, in looks at it (up to about a second).
const TRIES_AT_EXIT: u32 = 10_000_000;

impl Heap {
    /// Why a block has other pages than were asked for when it was made; `None` if it has them, or there is no block.
    pub fn fallback(&self, address: *const u8) -> Option<Reason> {
        self.wait()?.find(address)?.3.fallback
    }

    /// Notes for the record that so many bytes of other memory, which the program asked the kernel for, are not as asked.
    pub fn refuse(&self, reason: Reason, bytes: usize) {
        if let Some(mut inner) = self.enter() {
            inner.refuse(reason, bytes);
        }
    }

    /// Why pages of a block, or of a part of one, are smaller than of this kind, each reason with its bytes, as far as the kernel tells.
    pub fn why_small(
        &self,
        range: Range<usize>,
        kind: Pages,
    ) -> impl Iterator<Item = (Reason, usize)> + use<> {
        let mut reasons = Reasons::default();
        let reader = Reader::open().filter(Reader::sees_blocks);
        if let Some((inner, reader)) = self.wait().zip(reader) {
            inner.why_small(&reader, range, kind, &mut reasons);
        }
        reasons.iter()
    }

    /// The totals now.
    pub fn totals(&self) -> Totals {
        let Some(inner) = self.wait() else { return Totals::ZERO };
        Totals { held_bytes: inner.held_pages() as usize * BASE, ..inner.totals }
    }

    /// How often the program has set a memory policy itself, by set_mempolicy(2) or mbind(2).
    pub fn own_policies(&self) -> u32 {
        self.own_policies.load(Ordering::Relaxed)
    }

    /// Fills `blocks` with the live blocks in order of address, leaving out the first `skip`; answers how many there
    /// are altogether.
    pub fn blocks_from(&self, skip: usize, blocks: &mut [BlockInfo]) -> usize {
        let Some(inner) = self.wait() else { return 0 };
        let reader = Reader::open().filter(Reader::sees_blocks);
        let mut count = 0_usize;
        for arena in inner.arenas.iter().flatten() {
            for (start, pages, block) in Extents::runs(arena.table()) {
                let Some(block) = block.filter(Block::is_in_use) else { continue };
                if let Some(slot) = count.checked_sub(skip).and_then(|index| blocks.get_mut(index)) {
                    let from = arena.address(start);
                    let seen =
                        reader.as_ref().and_then(|reader| reader.read(from, from + pages as usize * BASE));
                    *slot = BlockInfo {
                        id: block.id,
                        address: from + block.offset as usize,
                        bytes: block.bytes,
                        huge_bytes: seen.map(|seen| seen.huge.min(block.bytes)),
                    };
                }
                count += 1;
            }
        }
        count
    }

    /// From now on, keeps the reading of the peak and writes it there; with `memory_only` no record where there would be
    /// nothing to tell of memory.
    pub fn record_to(&self, file: RecordFile, memory_only: bool) {
        if let Some(mut inner) = self.wait() {
            inner.record_file = Some(file);
            inner.records_memory_only = memory_only;
        }
    }

    /// Writes the record of a program that ends now, if one is wanted, with the lines that `more` adds.
    pub fn finish_record(&self, more: More<'_>) {
        if !self.is_whole() {
            return;
        }
        let enter = || self.lock().try_lock(TRIES_AT_EXIT);
        let Some(inner) = enter() else { return };
        let finish = |mut inner: Guard<'_, Inner>| inner.finish_record(more);
        if !inner.has_threads {
            return finish(inner);
        }
        drop(inner);
        // Where there can be no thread for it, the record is worth more than the numbers of files of a program that ends.
        if apart_from(true, || enter().map(finish)).is_none() {
            enter().map(finish);
        }
    }
}
