//! Blocks that become larger and smaller.

use crate::arena::{Arena, Reach};
use crate::extents::Block;
use crate::header;
use crate::heap::{Heap, LEAST_BYTES, page_count};
use crate::lock::Guard;
use crate::locks::Locked;
use crate::pages::{BASE, HUGE, Pages};
use crate::remap;
use crate::state::Inner;
use core::ops::Range;

/// Blocks whose whole chunks are fewer than this are copied when they move; more are moved by the kernel.
const MOVE_BYTES: usize = 2 * HUGE;
/// Every block moved by the kernel may split a mapping, and a process has 65,530 of them for everybody.
const MOST_MOVES: u32 = 8192;

/// What became of a block that was to be resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resized {
    /// It has the new size at this address, which may be the old one.
    To(*mut u8),
    /// There is no room for it here; it is as it was.
    NoRoom,
}

impl Heap {
    /// Changes the size of a block, in place or by moving it; huge pages are kept: they are moved by the kernel to an
    /// address that is congruent modulo 2 MiB (any other would split them).
    ///
    /// # Safety
    /// The block must be live and nobody may use it during the call.
    pub unsafe fn resize(&self, address: *mut u8, bytes: usize) -> Resized {
        // SAFETY: the same contract.
        unsafe { self.resize_on(None, address, bytes) }
    }

    /// The same, to pages of this kind if it has to move; `None` is the kind of the settings.
    ///
    /// # Safety
    /// The block must be live and nobody may use it during the call.
    pub unsafe fn resize_on(&self, kind: Option<Pages>, address: *mut u8, bytes: usize) -> Resized {
        let bytes = bytes.max(LEAST_BYTES);
        // Without the heap the block would have to be copied out of it.
        let again = || self.enter_to_save(self.usable_bytes(address)?);
        let inner = self.enter_to_take(bytes).or_else(again);
        let Some(mut inner) = inner else { return Resized::NoRoom };
        let Some((slot, start, pages, block)) = inner.find(address) else { return Resized::NoRoom };
        let run = address as usize - usize::from(block.offset);
        let Some(wanted) = page_count(bytes, block.offset.into()) else { return Resized::NoRoom };
        if inner.is_confined() && wanted > pages {
            return Resized::NoRoom;
        }
        if wanted <= pages {
            let Some(mut inner) = self.looked(inner, again) else { return Resized::NoRoom };
            let Some((.., block)) = inner.find(address) else { return Resized::NoRoom };
            inner.totals.live_bytes = inner.totals.live_bytes - block.bytes + bytes;
            inner.totals.peak_bytes = inner.totals.peak_bytes.max(inner.totals.live_bytes);
            if let Some(arena) = &mut inner.arenas[slot] {
                arena.set_live(start, wanted, Block { bytes, ..block });
            }
            if wanted < pages {
                inner.give_back(slot, start + wanted, pages - wanted, block.altered);
            }
            drop(inner);
            // SAFETY: a block of ours that only the caller knows.
            unsafe { header::write(run, wanted as usize * BASE, block.offset) };
            return Resized::To(address);
        }
        let locked = self.locks.of(run..run + pages as usize * BASE);
        if let Some(taken) = inner.extend(slot, start + pages, wanted - pages) {
            inner.totals.live_bytes -= block.bytes;
            inner.count_taken(&taken, bytes);
            if let Some(arena) = &mut inner.arenas[slot] {
                arena.set_live(start, wanted, Block { bytes, ..block });
            }
            inner.hold_less();
            let zero = inner.settings.zero;
            drop(inner);
            if zero {
                // SAFETY: the pages behind the block, which are its own now.
                unsafe { self.clear(run - start as usize * BASE, &taken, taken.start) };
            }
            // SAFETY: as above.
            unsafe { header::write(run, wanted as usize * BASE, block.offset) };
            if locked == Locked::Wholly {
                self.locks.lock(run + pages as usize * BASE..run + wanted as usize * BASE);
            }
            return Resized::To(address);
        }
        if inner.mappings_are_limited() || inner.locks_all {
            let resized = self.relocate(inner, address, bytes, locked);
            let (Resized::NoRoom, Some(again)) = (resized, self.enter()) else { return resized };
            inner = again;
        }
        // Somewhere else, at an address congruent to this one.
        let chunk = (HUGE / BASE) as u32;
        let kind = kind.unwrap_or(inner.settings.pages);
        let phase = (chunk - start % chunk) % chunk;
        let Some((new_slot, taken, fallback)) = inner.take(kind, wanted, chunk, phase, pages) else {
            return Resized::NoRoom;
        };
        // The old run is what a block has moved out of from now on, and is freed when the contents are elsewhere.
        inner.totals.live_bytes -= block.bytes;
        inner.count_taken(&taken, bytes);
        if let Some(arena) = &mut inner.arenas[slot] {
            // What is moved with its locks leaves nothing: the run is made anew before it serves again.
            let altered = block.altered || locked != Locked::Not;
            arena.set_live(start, pages, Block { altered, ..block.moved_out() });
        }
        let locks_all = inner.locks_all;
        let Some(arena) = &mut inner.arenas[new_slot] else { return Resized::NoRoom };
        let by_kernel = slot == new_slot && !arena.backing.is_reserved_pool();
        let (base, target) = (arena.base, arena.address(taken.start));
        // What the program has changed of its mappings moves with them, and what was locked is locked again.
        let altered = by_kernel && block.altered || locked == Locked::Wholly && !locks_all;
        arena.set_live(taken.start, wanted, Block { bytes, fallback, altered, ..block });
        let by_kernel = by_kernel && inner.moves < MOST_MOVES;
        inner.hold_less();
        let zero = inner.settings.zero;
        drop(inner);

        let bytes_before = pages as usize * BASE;
        let part = if by_kernel { part_to_move(run, bytes_before, block.altered) } else { run..run };
        // SAFETY: both ranges are blocks of ours that only the caller knows, and the new one is not smaller.
        if unsafe { self.move_part(slot, run, target, part.clone(), locked != Locked::Not) } {
            for rest in [run..part.start, part.end..run + bytes_before] {
                // SAFETY: parts of the same ranges.
                unsafe { copy(rest.start, target + (rest.start - run), rest.len()) };
            }
            if zero {
                // SAFETY: the new block, which only the caller will know; behind what it held before.
                unsafe { self.clear(base, &taken, taken.start + pages) };
            }
            // SAFETY: as above.
            unsafe { header::write(target, wanted as usize * BASE, block.offset) };
            if locked == Locked::Wholly {
                let [from, until] = [part.start, part.end].map(|at| target + (at - run));
                self.locks.lock(target..from);
                self.locks.lock(until..target + wanted as usize * BASE);
            }
            self.free(address);
            return Resized::To((target + usize::from(block.offset)) as *mut u8);
        }
        // The block is where it was. The kernel may have cleared its target, which is made anew before it serves again.
        if let Some(mut inner) = self.enter() {
            inner.totals.live_bytes = inner.totals.live_bytes - bytes + block.bytes;
            inner.totals.peak_bytes = inner.totals.peak_bytes.max(inner.totals.live_bytes);
            if let Some(arena) = &mut inner.arenas[slot] {
                arena.set_live(start, pages, block);
            }
            if let Some(arena) = &mut inner.arenas[new_slot] {
                arena.set_live(taken.start, wanted, Block { altered: true, ..block.moved_out() });
            }
        }
        self.free((target + usize::from(block.offset)) as *mut u8);
        Resized::NoRoom
    }

    /// Whether something of a block is locked. For who confined itself the kernel is not asked.
    pub(crate) fn is_locked(&self, block: Range<usize>) -> bool {
        !self.is_confined() && self.locks.of(whole_pages(block)) != Locked::Not
    }

    /// Locks a placed block if the one that it takes the place of, of the allocator behind, is a mapping of its own and locked: the kernel
    /// would have moved that with its locks.
    pub(crate) fn lock_as_mapping(&self, before: Range<usize>, address: *const u8) {
        // It begins with glibc's words before the block, and ends where the block does, or with what is not the block's.
        let offset = before.start % BASE;
        let end = before.end + header::unusable_bytes(header::BYTES);
        let is_mapping = (offset == 0 || offset.is_power_of_two()) && end.is_multiple_of(BASE);
        let mapping = whole_pages(before.start - header::BYTES..end);
        if !is_mapping || self.is_confined() || self.locks.of(mapping) != Locked::Wholly {
            return;
        }
        let Some(bytes) = self.usable_bytes(address) else { return };
        let pages = whole_pages(address as usize..address as usize + bytes);
        if self.enter().is_none_or(|inner| !inner.locks_all) {
            self.set_altered(address, pages.end - address as usize, Reach::Ends);
        }
        self.locks.lock(pages);
    }

    /// Makes a block larger elsewhere in its arena, without being in two places at once.
    fn relocate(
        &self,
        mut inner: Guard<'_, Inner>,
        address: *mut u8,
        bytes: usize,
        locked: Locked,
    ) -> Resized {
        let Some((slot, start, pages, block)) = inner.find(address) else { return Resized::NoRoom };
        let Some(wanted) = page_count(bytes, block.offset.into()) else { return Resized::NoRoom };
        // The parts at the ends that are copied would lose what the program has changed of them.
        if block.altered {
            return Resized::NoRoom;
        }
        let Some(taken) = inner.relocate(slot, start, pages, wanted) else { return Resized::NoRoom };
        inner.totals.live_bytes -= block.bytes;
        inner.count_taken(&taken, bytes);
        let Some(arena) = &mut inner.arenas[slot] else { return Resized::NoRoom };
        arena.set_live(taken.start, wanted, Block { bytes, ..block });
        let (base, target) = (arena.base, arena.address(taken.start));
        inner.give_back(slot, start, pages, false);
        let zero = inner.settings.zero;
        drop(inner);
        if zero {
            // SAFETY: the new block, which only the caller will know; behind what it held before.
            unsafe { self.clear(base, &taken, taken.start + pages) };
        }
        // SAFETY: as above.
        unsafe { header::write(target, wanted as usize * BASE, block.offset) };
        if locked == Locked::Wholly {
            self.locks.lock(target..target + wanted as usize * BASE);
        }
        Resized::To((target + usize::from(block.offset)) as *mut u8)
    }

    /// Moves a part of a block (addresses, whole pages) to another block's place by the kernel; what the kernel does not
    /// move is copied. Of what `is_locked` nothing is left: the kernel would go on counting it as locked (seen up to Linux 6.18).
    /// False if it cannot be done; then the part is where it was.
    ///
    /// # Safety
    /// As for [`remap::move_pages`]; the blocks lie in that arena.
    unsafe fn move_part(
        &self,
        slot: usize,
        source: usize,
        target: usize,
        part: Range<usize>,
        is_locked: bool,
    ) -> bool {
        let with_arena = |act: &dyn Fn(&mut Arena) -> bool| {
            let inner = self.enter_to_save(part.len());
            inner.is_some_and(|mut inner| inner.arenas[slot].as_mut().is_some_and(act))
        };
        // Where a fork keeps it from being noted, the pages count as not zero, which is no harm.
        let moved = |from: usize, bytes: usize| {
            if let Some(mut inner) = self.enter() {
                inner.moves += 1;
                inner.note_move(slot, from, from - source + target, bytes);
            }
        };
        let otherwise = |from: usize, to: usize, bytes: usize| {
            let restored = with_arena(&|arena| arena.make_anew(arena.page(to), (bytes / BASE) as u32));
            if restored {
                // SAFETY: parts of the two blocks; the target was mapped just now.
                unsafe { copy(from, to, bytes) };
            }
            restored
        };
        let to = target + (part.start - source);
        // SAFETY: the caller's duty.
        unsafe { remap::move_pages(part.start, to, part.len(), is_locked, moved, otherwise) }
    }
}

/// The part of a block that the kernel is to move: whole chunks, if there are enough of them, because the huge pages at the
/// edges are shared with others; all of it where the program has changed its mappings, which only so come with it.
fn part_to_move(source: usize, bytes: usize, altered: bool) -> Range<usize> {
    let (first, end) = (source.next_multiple_of(HUGE), (source + bytes) / HUGE * HUGE);
    if altered {
        source..source + bytes
    } else if first < end && end - first >= MOVE_BYTES {
        first..end
    } else {
        source..source
    }
}

/// The pages that a range has a part of.
fn whole_pages(range: Range<usize>) -> Range<usize> {
    range.start / BASE * BASE..range.end.next_multiple_of(BASE)
}

/// Copies between two blocks.
///
/// # Safety
/// Both ranges must be mapped, must not overlap, and nobody may use them meanwhile.
unsafe fn copy(from: usize, to: usize, bytes: usize) {
    // SAFETY: the caller's duty.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
}
