//! Placed blocks: allocation, freeing, resizing, over one arena per kind of page.
//!
//! Blocks are recognised by address alone. Everything that is not in the span is somebody else's.

use crate::arena::{Arena, Backing};
use crate::clear::Clearer;
use crate::coverage::Reader;
use crate::extents::{Block, Extents};
use crate::lock::Lock;
use crate::pages::{BASE, HUGE, Pages};
use crate::reason::Reason;
use crate::remap;
use crate::settings::{Settings, Totals};
use crate::snapshot::{BlockInfo, why_small};
use crate::span::Span;
use crate::state::Inner;
use core::ffi::CStr;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Offset of a block from the start of its page: that of glibc's own large blocks, so that vector code sees the
/// alignment it sees without us and results stay equal to the last bit.
const HEADER_BYTES: usize = 16;
/// Blocks whose whole chunks are fewer than this are copied when they move; more are moved by the kernel.
const MOVE_BYTES: usize = 2 * HUGE;
/// Every block moved by the kernel may split a mapping, and a process has 65,530 of them for everybody.
const MOST_MOVES: u32 = 8192;

/// How long the way out of a process waits for the lock, in looks at it (some milliseconds).
const TRIES_AT_EXIT: u32 = 10_000_000;

/// What became of a block that was to be resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resized {
    /// It has the new size at this address, which may be the old one.
    To(*mut u8),
    /// There is no room for it here; it is as it was.
    NoRoom,
}

/// A heap of placed blocks. One per process is enough; it holds address space and so is never dropped.
#[derive(Debug)]
pub struct Heap {
    /// The sizes that are placed. Off: from `usize::MAX`, which no block has, to none.
    least: AtomicUsize,
    most: AtomicUsize,
    span_base: AtomicUsize,
    span_bytes: AtomicUsize,
    clearer: Clearer,
    pub(crate) inner: Lock<Inner>,
}

impl Default for Heap {
    fn default() -> Self {
        Heap::new()
    }
}

impl Heap {
    /// A heap that places nothing until [`Heap::enable`].
    pub const fn new() -> Self {
        Heap {
            least: AtomicUsize::new(usize::MAX),
            most: AtomicUsize::new(0),
            span_base: AtomicUsize::new(0),
            span_bytes: AtomicUsize::new(0),
            clearer: Clearer::new(),
            inner: Lock::new(Inner::NEW),
        }
    }

    /// From now on, places allocations as the settings say.
    pub fn enable(&self, settings: Settings) {
        let mut inner = self.inner.lock();
        inner.settings = settings;
        for arena in inner.arenas.iter_mut().flatten() {
            arena.shares = settings.shares;
        }
        drop(inner);
        self.most.store(settings.max_bytes, Ordering::Relaxed);
        self.least.store(settings.min_bytes, Ordering::Relaxed);
    }

    /// From now on, places nothing. Live blocks stay where they are.
    pub fn disable(&self) {
        self.least.store(usize::MAX, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }

    /// Whether allocations are placed now.
    pub fn is_enabled(&self) -> bool {
        self.least.load(Ordering::Relaxed) != usize::MAX
    }

    /// The settings last given.
    pub fn settings(&self) -> Settings {
        self.inner.lock().settings
    }

    /// Whether an allocation of that size is large enough to be placed; it may be too large. This is the question to
    /// ask for every small allocation: one comparison.
    #[inline(always)]
    pub fn may_want(&self, bytes: usize) -> bool {
        bytes >= self.least.load(Ordering::Relaxed)
    }

    /// Whether an allocation of that size is to be placed.
    pub fn wants(&self, bytes: usize) -> bool {
        self.may_want(bytes) && bytes <= self.most.load(Ordering::Relaxed)
    }

    /// Whether an address lies in the span, so that only this heap can own it.
    pub fn owns(&self, address: *const u8) -> bool {
        (address as usize).wrapping_sub(self.span_base.load(Ordering::Relaxed))
            < self.span_bytes.load(Ordering::Relaxed)
    }

    /// A block of at least `bytes` at a multiple of `alignment` (a power of two), with zeroes if `zeroed`; null when
    /// it cannot be placed, which is no error: the caller's own allocator takes it.
    pub fn allocate(&self, bytes: usize, alignment: usize, zeroed: bool) -> *mut u8 {
        self.allocate_on(None, bytes, alignment, zeroed)
    }

    /// The same on pages of this kind; `None` is the kind of the settings.
    pub fn allocate_on(&self, kind: Option<Pages>, bytes: usize, alignment: usize, zeroed: bool) -> *mut u8 {
        let Some((pages, offset, page_alignment)) = shape(bytes, alignment) else {
            return core::ptr::null_mut();
        };
        let mut inner = self.inner.lock();
        if !self.open_span(&mut inner) {
            return core::ptr::null_mut();
        }
        inner.give_back_idle();
        let kind = kind.unwrap_or(inner.settings.pages);
        let Some((slot, taken, fallback)) = inner.take(kind, pages, page_alignment, 0) else {
            inner.refuse(bytes);
            return core::ptr::null_mut();
        };
        let id = inner.next_id;
        inner.next_id = inner.next_id.wrapping_add(1);
        inner.totals.placed_blocks += 1;
        inner.totals.live_blocks += 1;
        inner.count_taken(&taken, bytes);
        let Some(arena) = &mut inner.arenas[slot] else { return core::ptr::null_mut() };
        arena.set_live(taken.start, pages, Block { id, bytes, offset, fallback, altered: false });
        let address = arena.address(taken.start);
        let base = arena.base;
        let restore = inner.restore_is_due();
        drop(inner);
        if zeroed {
            for (start, length) in taken.dirty {
                // SAFETY: the pages belong to the new block, which nobody knows yet.
                unsafe {
                    self.clearer.clear((base + start as usize * BASE) as *mut u8, length as usize * BASE)
                };
            }
        }
        if restore {
            self.restore_after_fork();
        }
        (address + offset as usize) as *mut u8
    }

    /// Frees a block; false if there is none at that address.
    pub fn free(&self, address: *mut u8) -> bool {
        let mut inner = self.inner.lock();
        let Some((slot, start, pages, block)) = inner.find(address) else { return false };
        inner.look_before_less();
        inner.totals.live_bytes -= block.bytes;
        inner.totals.live_blocks -= 1;
        inner.give_back(slot, start, pages, block.altered);
        inner.give_back_idle();
        let restore = inner.restore_is_due();
        drop(inner);
        if restore {
            self.restore_after_fork();
        }
        true
    }

    /// Whether an address lies in memory of this heap. Without a reservation (limited address space) the span may hold
    /// mappings of others, which [`Heap::owns`] cannot tell.
    pub fn covers(&self, address: *const u8) -> bool {
        self.inner.lock().covers(address as usize)
    }

    /// Notes that the program changed the mapping of a range (its protection, or by advice that outlives a block), so
    /// that the memory is made anew before it serves again.
    pub fn set_altered(&self, address: *const u8, bytes: usize) {
        self.inner.lock().set_altered(address as usize, (address as usize).saturating_add(bytes));
    }

    /// To be called before the program limits its address space: a reservation would count against the limit. Blocks stay;
    /// new ones are placed only where there is room already.
    pub fn ration(&self) {
        self.inner.lock().ration();
    }

    /// The bytes that may be used at a block's address; `None` if there is no block.
    pub fn usable_bytes(&self, address: *const u8) -> Option<usize> {
        let (_, _, pages, block) = self.inner.lock().find(address)?;
        Some(pages as usize * BASE - block.offset as usize)
    }

    /// Why a block has other pages than were asked for when it was made; `None` if it has them, or there is no block.
    pub fn fallback(&self, address: *const u8) -> Option<Reason> {
        self.inner.lock().find(address)?.3.fallback
    }

    /// Why pages of this kind are smaller than that in live blocks, if they are.
    pub fn why_small(&self, kind: Pages) -> Reason {
        why_small(kind, self.inner.lock().forks)
    }

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
        let mut inner = self.inner.lock();
        let Some((slot, start, pages, block)) = inner.find(address) else { return Resized::NoRoom };
        let offset = block.offset as usize;
        let Some(wanted) = page_count(bytes, offset) else { return Resized::NoRoom };
        if wanted <= pages {
            inner.look_before_less();
            inner.totals.live_bytes = inner.totals.live_bytes - block.bytes + bytes;
            inner.totals.peak_bytes = inner.totals.peak_bytes.max(inner.totals.live_bytes);
            if let Some(arena) = &mut inner.arenas[slot] {
                arena.set_live(start, wanted, Block { bytes, ..block });
            }
            if wanted < pages {
                inner.give_back(slot, start + wanted, pages - wanted, block.altered);
            }
            return Resized::To(address);
        }
        if let Some(taken) =
            inner.arenas[slot].as_mut().and_then(|arena| arena.extend(start + pages, wanted - pages))
        {
            inner.totals.live_bytes -= block.bytes;
            inner.count_taken(&taken, bytes);
            if let Some(arena) = &mut inner.arenas[slot] {
                arena.set_live(start, wanted, Block { bytes, ..block });
            }
            return Resized::To(address);
        }
        // Somewhere else, at an address congruent to this one.
        let chunk = (HUGE / BASE) as u32;
        let kind = kind.unwrap_or(inner.settings.pages);
        let phase = (chunk - start % chunk) % chunk;
        let Some((new_slot, taken, fallback)) = inner.take(kind, wanted, chunk, phase) else {
            return Resized::NoRoom;
        };
        inner.look_before_less();
        inner.totals.live_bytes -= block.bytes;
        inner.count_taken(&taken, bytes);
        let is_same_arena = slot == new_slot;
        let Some(arena) = &mut inner.arenas[new_slot] else { return Resized::NoRoom };
        let by_kernel = is_same_arena && !arena.backing.is_reserved_pool();
        let target = arena.address(taken.start);
        // What the program has changed of its mappings moves with them.
        let altered = by_kernel && block.altered;
        arena.set_live(taken.start, wanted, Block { bytes, fallback, altered, ..block });
        let by_kernel = by_kernel && inner.moves < MOST_MOVES;
        drop(inner);

        let source = address as usize - offset;
        let bytes_before = pages as usize * BASE;
        let part = if by_kernel { part_to_move(source, bytes_before, block.altered) } else { source..source };
        // SAFETY: both ranges are blocks of ours that only the caller knows, and the new one is not smaller.
        let moved = unsafe { self.move_part(slot, source, target, part.clone()) };
        if moved {
            for rest in [source..part.start, part.end..source + bytes_before] {
                // SAFETY: parts of the same ranges.
                unsafe { copy(rest.start, target + (rest.start - source), rest.len()) };
            }
        }
        let mut inner = self.inner.lock();
        if !moved {
            // The block is where it was. The target is made anew, as the kernel may have cleared it.
            inner.totals.live_bytes = inner.totals.live_bytes - bytes + block.bytes;
            inner.give_back(new_slot, taken.start, wanted, true);
            return Resized::NoRoom;
        }
        inner.give_back(slot, start, pages, block.altered);
        Resized::To((target + offset) as *mut u8)
    }

    /// Moves a part of a block (addresses, whole pages) to another block's place by the kernel; what the kernel does not
    /// move is copied. False if it cannot be done; then the part is where it was.
    ///
    /// # Safety
    /// As for [`remap::move_pages`]; the blocks lie in that arena.
    unsafe fn move_part(&self, slot: usize, source: usize, target: usize, part: Range<usize>) -> bool {
        let with_arena =
            |act: &dyn Fn(&mut Arena) -> bool| self.inner.lock().arenas[slot].as_mut().is_some_and(act);
        let moved = |from: usize, bytes: usize| {
            with_arena(&|arena| {
                arena.set_fresh(arena.page(from), (bytes / BASE) as u32);
                true
            });
            self.inner.lock().moves += 1;
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
        unsafe { remap::move_pages(part.start, to, part.len(), moved, otherwise) }
    }

    /// The totals now.
    pub fn totals(&self) -> Totals {
        let inner = self.inner.lock();
        Totals { held_bytes: inner.held_pages() as usize * BASE, ..inner.totals }
    }

    /// Gives every held byte back to the kernel.
    pub fn trim(&self) {
        self.inner.lock().give_back_all();
    }

    /// The means of clearing and their rates, as learnt so far.
    pub fn clearer(&self) -> &Clearer {
        &self.clearer
    }

    /// Fills `blocks` with the live blocks in order of address, leaving out the first `skip`; answers how many there
    /// are altogether.
    pub fn blocks_from(&self, skip: usize, blocks: &mut [BlockInfo]) -> usize {
        let inner = self.inner.lock();
        let reader = Reader::open().filter(Reader::sees_blocks);
        let mut count = 0_usize;
        for arena in inner.arenas.iter().flatten() {
            for (start, pages, block) in Extents::runs(arena.table()) {
                let Some(block) = block else { continue };
                if let Some(slot) = count.checked_sub(skip).and_then(|index| blocks.get_mut(index)) {
                    let from = arena.address(start);
                    let seen =
                        reader.as_ref().and_then(|reader| reader.read(from, from + pages as usize * BASE));
                    *slot = BlockInfo {
                        id: block.id,
                        address: from + block.offset as usize,
                        bytes: block.bytes,
                        huge_bytes: seen.map_or(0, |seen| seen.huge.min(block.bytes)),
                    };
                }
                count += 1;
            }
        }
        count
    }

    /// From now on, keeps the reading of the peak and writes it to that file.
    pub fn record_to(&self, path: &'static CStr) {
        self.inner.lock().record_path = Some(path);
    }

    /// Writes the record of a program that ends now, if one is wanted, with the lines that `more` adds.
    pub fn finish_record(&self, more: &dyn Fn(&mut dyn fmt::Write) -> fmt::Result) {
        if let Some(mut inner) = self.inner.try_lock(TRIES_AT_EXIT) {
            inner.finish_record(more);
        }
    }

    fn open_span(&self, inner: &mut Inner) -> bool {
        if inner.span.is_none() && !inner.span_refused {
            inner.span = Span::reserve(Backing::ALL.len());
            inner.span_refused = inner.span.is_none();
            if let Some(span) = &inner.span {
                self.span_base.store(span.base, Ordering::Relaxed);
                self.span_bytes.store(span.bytes(), Ordering::Relaxed);
            }
        }
        inner.span.is_some()
    }
}

/// Pages for that many bytes behind an offset.
fn page_count(bytes: usize, offset: usize) -> Option<u32> {
    if bytes > isize::MAX as usize {
        return None;
    }
    u32::try_from((bytes + offset).div_ceil(BASE).max(1)).ok()
}

/// Pages, offset in the first page, and alignment in pages of an allocation.
fn shape(bytes: usize, alignment: usize) -> Option<(u32, u16, u32)> {
    let offset = if alignment <= HEADER_BYTES { HEADER_BYTES } else { 0 };
    Some((page_count(bytes, offset)?, offset as u16, u32::try_from((alignment / BASE).max(1)).ok()?))
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

/// Copies between two blocks.
///
/// # Safety
/// Both ranges must be mapped, must not overlap, and nobody may use them meanwhile.
unsafe fn copy(from: usize, to: usize, bytes: usize) {
    // SAFETY: the caller's duty.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
}
