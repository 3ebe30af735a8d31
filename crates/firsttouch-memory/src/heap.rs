//! Placed blocks: allocation, freeing, resizing, over one arena per kind of page.
//!
//! Blocks are recognised by address alone. Everything that is not in the span is somebody else's.

use crate::arena::{Reach, Taken};
use crate::backing::Backing;
use crate::clear::Clearer;
use crate::deferred::Deferred;
use crate::extents::Block;
use crate::failures::{Failures, Of};
use crate::footprint::GrowthClock;
use crate::forks::Forks;
use crate::header::{self, Place};
use crate::lock::{Guard, Lock};
use crate::locks::Locks;
use crate::mark::Mark;
use crate::nodes::Nodes;
use crate::pages::{BASE, Page, Pages, base_pages_fit};
use crate::patience::Patience;
use crate::reason::Reason;
use crate::settings::{MAPPED_BYTES, Settings};
use crate::span::{Room, Span};
use crate::state::Inner;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use firsttouch_linux::sys;

/// A heap of placed blocks. One per process is enough; it holds address space and so is never dropped.
#[derive(Debug)]
pub struct Heap {
    /// The sizes that are placed. Off: from `usize::MAX`, which no block has, to none.
    pub(crate) least: AtomicUsize,
    most: AtomicUsize,
    /// From this size on the allocator behind is asked by way of the heap, which makes room where there is none: also for blocks
    /// that are not placed, and for as long as the heap may hold address space. All sizes while growth is watched.
    pub(crate) asked_from: AtomicUsize,
    pub(crate) growth: GrowthClock,
    span_base: AtomicUsize,
    span_bytes: AtomicUsize,
    /// The process that the memory belongs to: a child of vfork(2) uses it as well.
    process: AtomicU32,
    /// The program has confined itself to some system calls.
    is_confined: AtomicBool,
    asks_for_policies: AtomicBool,
    /// How often the program has set a memory policy itself.
    pub(crate) own_policies: AtomicU32,
    /// What came with a copy of that process is taken over by whoever comes here first.
    pub(crate) mark: Mark,
    clearer: Clearer,
    pub(crate) locks: Locks,
    /// What those left to be done whom the lock turned away.
    pub(crate) deferred: Deferred,
    pub(crate) forks: Forks,
    /// This is a copy that does without the heap, and what was reserved has been given up.
    pub(crate) is_abandoned: AtomicBool,
    inner: Lock<Inner>,
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
            asked_from: AtomicUsize::new(usize::MAX),
            growth: GrowthClock::new(),
            span_base: AtomicUsize::new(0),
            span_bytes: AtomicUsize::new(0),
            process: AtomicU32::new(0),
            is_confined: AtomicBool::new(false),
            asks_for_policies: AtomicBool::new(false),
            own_policies: AtomicU32::new(0),
            mark: Mark::new(),
            clearer: Clearer::new(),
            locks: Locks::new(),
            deferred: Deferred::new(),
            forks: Forks::new(),
            is_abandoned: AtomicBool::new(false),
            inner: Lock::new(Inner::NEW),
        }
    }

    /// The state, with what was left to be done done; `None` where the lock turns this thread away ([`Lock::enter`]).
    /// Nobody may wait for a fork here: the fork may wait for what the caller's caller holds.
    pub(crate) fn enter(&self) -> Option<Guard<'_, Inner>> {
        self.enter_with(self.patience())
    }

    /// The same for who would have to copy a block of so many bytes: waits for forks, too, as long as copying would take.
    pub(crate) fn enter_to_save(&self, bytes: usize) -> Option<Guard<'_, Inner>> {
        self.enter_with(self.patience().to_copy(bytes))
    }

    /// The same, but waits for forks and for threads that were stopped: for those who ask, and hold nothing that a fork waits for.
    /// `None` in a handler of a signal that interrupted the heap.
    pub(crate) fn wait(&self) -> Option<Guard<'_, Inner>> {
        self.enter_with(Patience::ENDLESS)
    }

    pub(crate) fn enter_with(&self, patience: Patience) -> Option<Guard<'_, Inner>> {
        if !self.is_whole() {
            return None;
        }
        self.inner.acquire(patience).map(|inner| self.caught_up(inner))
    }

    fn patience(&self) -> Patience {
        if self.is_confined() { Patience::CONFINED } else { Patience::SHORT }
    }

    pub(crate) fn patience_of_fork(&self) -> Patience {
        if self.is_confined() { Patience::OF_CONFINED_FORKS } else { Patience::OF_FORKS }
    }

    /// Whether the state is this process's own and in order. That of a copy is taken over here, if nobody has done it; it is in
    /// order unless another thread was changing it when the copy was made.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.mark.stands() || self.take_over()
    }

    #[cold]
    fn take_over(&self) -> bool {
        self.after_fork_in_child();
        self.mark.stands()
    }

    /// The lock itself, for forks.
    pub(crate) fn lock(&self) -> &Lock<Inner> {
        &self.inner
    }

    pub(crate) fn caught_up<'a>(&'a self, mut inner: Guard<'a, Inner>) -> Guard<'a, Inner> {
        if self.deferred.any() {
            self.catch_up(&mut inner);
        }
        inner
    }

    #[cold]
    fn catch_up(&self, inner: &mut Inner) {
        self.deferred.begin();
        if let Some((address, end)) = self.deferred.take_changed() {
            inner.set_altered(address, end, Reach::All);
        }
        if let Some((address, end)) = self.deferred.take_replaced() {
            inner.set_replaced(address, end, false);
        }
        for address in self.deferred.take_frees() {
            inner.free(address as *const u8);
        }
        if self.deferred.take_ration() {
            inner.ration();
        }
        if self.deferred.take_confine() {
            inner.confine();
        }
        if self.deferred.take_thread() {
            inner.has_threads = true;
            inner.nodes.before_thread();
        }
    }

    /// From now on, places allocations as the settings say.
    pub fn enable(&self, settings: Settings) {
        if self.process() == 0 {
            self.prepare();
        }
        let Some(mut inner) = self.wait().filter(|inner| !inner.has_stood_down()) else { return };
        inner.settings = settings;
        inner.watches_growth = false;
        for arena in inner.arenas.iter_mut().flatten() {
            arena.shares = settings.shares;
        }
        drop(inner);
        self.most.store(settings.max_bytes, Ordering::Relaxed);
        self.least.store(settings.min_bytes, Ordering::Relaxed);
        self.asked_from.store(settings.asked_from(), Ordering::Relaxed);
    }

    /// From now on large allocations concern the heap, whether it places any or not.
    pub fn heed_large(&self) {
        self.asked_from.fetch_min(MAPPED_BYTES, Ordering::Relaxed);
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
        self.wait().map_or(Settings::STANDARD, |inner| inner.settings)
    }

    /// The kind of pages that blocks are placed on; `None` while a fork is going on.
    pub fn pages(&self) -> Option<Pages> {
        self.enter().map(|inner| inner.settings.pages)
    }

    /// Asks the kernel what the first block will need to be known: a program may by then be confined to what its C library
    /// asks (seccomp).
    pub fn prepare(&self) {
        self.mark.make();
        self.process.store(sys::process_id(), Ordering::Relaxed);
        if let Some(mut inner) = self.wait() {
            if !base_pages_fit() {
                inner.stand_down(Reason::BasePageSize);
            }
            inner.room = Some(Room::ask());
            inner.nodes = Nodes::ask();
            self.asks_for_policies.store(inner.nodes.may_ask(), Ordering::Relaxed);
        }
    }

    /// Whether memory policies make a difference, and the kernel may be asked for them.
    pub fn asks_for_policies(&self) -> bool {
        self.asks_for_policies.load(Ordering::Relaxed)
    }

    /// The process that the memory belongs to; 0 as long as there may be none.
    pub fn process(&self) -> u32 {
        self.is_whole();
        self.process.load(Ordering::Relaxed)
    }

    /// Whether it is the caller's own: a child of vfork(2) has the memory of its parent. No answer is asked for where the program
    /// [has confined itself](Self::is_confined): then it counts as another's, and is left as it is.
    pub fn is_of_this_process(&self) -> bool {
        !self.is_confined() && self.process() == sys::process_id()
    }

    /// Whether the program has confined itself to some system calls (seccomp): then ours are not made any more.
    pub fn is_confined(&self) -> bool {
        self.is_confined.load(Ordering::Relaxed)
    }

    pub(crate) fn set_process(&self) {
        self.process.store(sys::process_id(), Ordering::Relaxed);
    }

    /// The program is about to create a thread: one may count on the next number of a file, so the heap reads elsewhere from then on.
    pub fn create_thread(&self) {
        self.deferred.create_thread();
    }

    /// From now on, and for good, places nothing; live blocks stay where they are. The record says why.
    pub fn stand_down(&self, reason: Reason) {
        self.disable();
        if let Some(mut inner) = self.wait() {
            inner.stand_down(reason);
        }
    }

    /// To be called before the program confines itself to some system calls (seccomp). What is live stays as it is, and from now
    /// on the heap asks the kernel for nothing but what allocators do at any time: it places nothing, and gives
    /// nothing back.
    pub fn confine(&self) {
        // A child of vfork(2) confines itself, and not us.
        if !self.is_of_this_process() {
            return;
        }
        self.is_confined.store(true, Ordering::Relaxed);
        self.inner.hold_no_signals();
        self.disable();
        match self.enter() {
            Some(mut inner) => inner.confine(),
            None => self.deferred.confine(),
        }
    }

    /// Whether an allocation of that size concerns the heap: it is to be placed, or may need room that the heap has to make.
    /// This is the question to ask for every small allocation: one comparison.
    #[inline(always)]
    pub fn concerns(&self, bytes: usize) -> bool {
        bytes >= self.asked_from.load(Ordering::Relaxed)
    }

    /// Whether an allocation of that size is to be placed.
    pub fn wants(&self, bytes: usize) -> bool {
        bytes >= self.least.load(Ordering::Relaxed) && bytes <= self.most.load(Ordering::Relaxed)
    }

    /// Whether a block that is placed, and is to have that size, stays placed: where it becomes a little smaller than what is placed it would
    /// be copied at every turn of a size that goes up and down.
    pub fn keeps(&self, bytes: usize) -> bool {
        bytes >= self.least.load(Ordering::Relaxed) / 2 && bytes <= self.most.load(Ordering::Relaxed)
    }

    /// Whether an address lies in the span, so that only this heap can own it.
    pub fn owns(&self, address: *const u8) -> bool {
        let offset = (address as usize).wrapping_sub(self.span_base.load(Ordering::Relaxed));
        offset < self.span_bytes.load(Ordering::Relaxed)
            && (!self.is_abandoned.load(Ordering::Relaxed) || self.has_left(address as usize))
    }

    /// Whether an arena had come to an address before the heap was abandoned: the rest of the span is anybody's.
    #[cold]
    fn has_left(&self, address: usize) -> bool {
        // SAFETY: nothing changes any more.
        unsafe { self.inner.closed() }.arena_over(address).is_some()
    }

    /// A block of at least `bytes` at a multiple of `alignment` (a power of two), with zeroes if `zeroed`; null when
    /// it cannot be placed, which is no error: the caller's own allocator takes it.
    pub fn allocate(&self, bytes: usize, alignment: usize, zeroed: bool) -> *mut u8 {
        self.allocate_on(None, bytes, alignment, zeroed)
    }

    /// The same on pages of this kind; `None` is the kind of the settings.
    pub fn allocate_on(&self, kind: Option<Pages>, bytes: usize, alignment: usize, zeroed: bool) -> *mut u8 {
        let Some(place) = Place::of(alignment) else { return core::ptr::null_mut() };
        let bytes = bytes.max(LEAST_BYTES);
        let Some(pages) = page_count(bytes, place.offset.into()) else { return core::ptr::null_mut() };
        let Some(mut inner) = self.enter_to_take(bytes) else { return core::ptr::null_mut() };
        if !self.open_span(&mut inner) {
            return core::ptr::null_mut();
        }
        inner.give_back_idle();
        let kind = kind.unwrap_or(inner.settings.pages);
        let Some((slot, taken, fallback)) = inner.take(kind, pages, place.alignment, place.phase, 0) else {
            inner.refuse(Reason::AddressSpaceLimit, bytes);
            self.heed(&mut inner);
            return core::ptr::null_mut();
        };
        let id = inner.new_id();
        inner.totals.placed_blocks += 1;
        inner.totals.live_blocks += 1;
        inner.count_taken(&taken, bytes);
        let Some(arena) = &mut inner.arenas[slot] else { return core::ptr::null_mut() };
        arena.set_live(
            taken.start,
            pages,
            Block { id, bytes, offset: place.offset, fallback, altered: false },
        );
        let run = arena.address(taken.start);
        let base = arena.base;
        self.look_at_growth(&mut inner);
        let restore = inner.restore_is_due();
        let zeroed = zeroed || inner.settings.zero;
        let looks = inner.watches_growth && inner.has_threads;
        drop(inner);
        if looks {
            self.look_if_watching();
        }
        if zeroed {
            // SAFETY: the pages belong to the new block, which nobody knows yet.
            unsafe { self.clear(base, &taken, taken.start) };
        }
        // SAFETY: as above.
        unsafe { header::write(run, pages as usize * BASE, place.offset) };
        if restore {
            self.restore_after_fork();
        }
        (run + usize::from(place.offset)) as *mut u8
    }

    /// Clears what may not be zero of pages that were taken, from one of them on, in an arena at `base`.
    ///
    /// # Safety
    /// Nobody else may know these pages yet.
    pub(crate) unsafe fn clear(&self, base: usize, taken: &Taken, from: Page) {
        for (start, length) in taken.dirty {
            let (first, end) = (start.max(from), start + length);
            if first < end {
                let address = (base + first as usize * BASE) as *mut u8;
                // SAFETY: the caller's duty.
                unsafe { self.clearer.clear(address, (end - first) as usize * BASE) };
            }
        }
    }

    /// Frees a block; false if there is none at that address.
    pub fn free(&self, address: *mut u8) -> bool {
        let Some(mut inner) = self.enter_to_free(address) else {
            let owns = self.owns(address);
            if owns {
                self.deferred.free(address as usize);
            }
            return owns;
        };
        if !inner.free(address) {
            return false;
        }
        self.heed(&mut inner);
        let restore = inner.restore_is_due();
        drop(inner);
        if restore {
            self.restore_after_fork();
        }
        true
    }

    /// Places nothing any more, if the state says so, and watches growth if it has to be.
    pub(crate) fn heed(&self, inner: &mut Inner) {
        if inner.has_stood_down() {
            self.disable();
        }
        self.watch_growth(inner);
    }

    /// Whether an address lies in memory of this heap. Without a reservation (limited address space) the span may hold
    /// mappings of others, which [`Heap::owns`] cannot tell.
    pub fn covers(&self, address: *const u8) -> bool {
        self.enter().is_some_and(|inner| inner.covers(address as usize))
    }

    /// Notes that the program changed the mapping of a range: the memory is made anew before it serves again.
    pub(crate) fn set_altered(&self, address: *const u8, bytes: usize, reach: Reach) {
        let end = (address as usize).saturating_add(bytes);
        match self.enter() {
            Some(mut inner) => inner.set_altered(address as usize, end, reach),
            None => self.deferred.change(address as usize, end),
        }
    }

    /// Whether huge pages, which the program asks for in a range, are asked for there already, and of which kind.
    pub(crate) fn asks_huge(&self, address: usize, end: usize) -> Option<Backing> {
        if !self.owns(address as *const u8) {
            return None;
        }
        self.enter()?.asks_huge(address, end)
    }

    /// Notes that the program sets a memory policy itself.
    pub(crate) fn note_policy(&self) {
        // That of a child of vfork(2) is not this program's.
        if self.is_of_this_process() {
            self.own_policies.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that the program discards a range, or has it paged out: huge pages of which it has a part are split.
    pub(crate) fn note_split(&self, address: usize, bytes: usize) {
        if let Some(mut inner) = self.enter() {
            let end = address.saturating_add(bytes);
            inner.arenas.iter_mut().flatten().for_each(|arena| arena.note_split(address, end));
        }
    }

    /// Notes that the program is about to map something of its own at a range, so that no block comes there.
    pub fn set_replaced(&self, address: *const u8, bytes: usize) {
        let end = (address as usize).saturating_add(bytes);
        match self.enter() {
            Some(mut inner) => inner.set_replaced(address as usize, end, true),
            None => self.deferred.replace(address as usize, end),
        }
    }

    /// To be called before the program limits its address space: a reservation would count against the limit. Blocks stay;
    /// new ones are placed only where there is room already.
    pub fn ration(&self) {
        match self.enter() {
            Some(mut inner) => inner.ration(),
            None => self.deferred.ration(),
        }
    }

    /// To be called before the program locks memory (mlock(2)): `on_fault` if page by page, when it is touched.
    pub fn note_lock(&self, on_fault: bool) {
        self.locks.note(on_fault);
    }

    /// As [`Heap::ration`], for a program that is about to lock all of its memory (mlockall(2)), also if it has no block yet.
    pub fn ration_locked(&self) {
        match self.enter() {
            Some(mut inner) => inner.ration_locked(),
            None => self.deferred.ration(),
        }
    }

    /// The bytes that may be used at a block's address; `None` if there is no block.
    pub fn usable_bytes(&self, address: *const u8) -> Option<usize> {
        let of_table = |inner: &Inner| {
            let (_, _, pages, block) = inner.find(address)?;
            let offset = usize::from(block.offset);
            Some(pages as usize * BASE - offset - header::unusable_bytes(offset))
        };
        if let Some(inner) = self.enter() {
            return of_table(&inner);
        }
        if header::is_before(address as usize) {
            // SAFETY: the caller takes it for a block, and those with such an address have their words.
            return self.owns(address).then(|| unsafe { header::usable_bytes(address as usize) })?;
        }
        // A block aligned to huge pages: only the table knows its size.
        self.read_without_waiting(of_table)
    }

    /// Whether a range of whole pages lies in one block on reserved pages, all of which may be written.
    pub(crate) fn is_on_reserved_pages(&self, address: usize, end: usize) -> bool {
        if !self.owns(address as *const u8) {
            return false;
        }
        let find = |inner: &Inner| inner.reserved_block_over(address, end);
        let block = match self.enter() {
            Some(inner) => find(&inner),
            None => self.read_without_waiting(find),
        };
        // SAFETY: the owner of the block does without what is there; where the byte cannot be written the kernel says so.
        let may_write = |at: usize| unsafe { sys::copy_readable(at, at, 1) } == Ok(1);
        let mut parts = (address..end).step_by(BASE);
        block.is_some_and(|block| !block.altered || parts.all(may_write))
    }

    /// Reads the state where the lock has turned this thread away, which may be in a handler of the fork that has closed it.
    fn read_without_waiting<T>(&self, read: impl FnOnce(&Inner) -> Option<T>) -> Option<T> {
        let closed = self.is_whole() && self.inner.close(self.patience());
        // SAFETY: closed just now; or held by a thread that changes nothing meanwhile: by this one, which a signal has
        // interrupted, by one that was stopped so, or by one that this copy of its process does not have. Of the block, nothing was
        // being changed.
        let answer = read(unsafe { self.inner.closed() });
        if closed {
            drop(self.inner.open().map(|inner| self.caught_up(inner)));
        }
        answer
    }

    /// Gives every held byte back to the kernel; whether there were any. For a program that confined itself nothing is given back.
    pub fn trim(&self) -> bool {
        let Some(mut inner) = self.enter().filter(|inner| !inner.is_confined()) else { return false };
        let before = inner.held_pages();
        inner.give_back_all();
        inner.held_pages() < before
    }

    /// The means of clearing and their rates, as learnt so far.
    pub fn clearer(&self) -> &Clearer {
        &self.clearer
    }

    /// Whether there is a span, which stays as it is from then on.
    pub(crate) fn has_span(&self) -> bool {
        self.span_bytes.load(Ordering::Acquire) > 0
    }

    fn open_span(&self, inner: &mut Inner) -> bool {
        if inner.span.is_none() && !inner.span_refused {
            let room = match inner.locks_all {
                true => Room::rationed(),
                false => inner.room.take().unwrap_or_else(Room::ask),
            };
            inner.span = Span::reserve(Backing::ALL.len(), room);
            inner.span_refused = inner.span.is_none();
            if let Some(span) = &inner.span {
                self.span_base.store(span.base, Ordering::Relaxed);
                self.span_bytes.store(span.bytes(), Ordering::Release);
            }
            if !inner.has_threads {
                inner.failures_before = Failures::read(Of::Anonymous);
            }
        }
        inner.span.is_some()
    }
}

/// Of the smallest block: what has none is told apart as pages that a block has moved out of.
pub(crate) const LEAST_BYTES: usize = 1;

/// Pages for that many bytes behind an offset.
pub(crate) fn page_count(bytes: usize, offset: usize) -> Option<u32> {
    if bytes > isize::MAX as usize {
        return None;
    }
    u32::try_from((bytes + offset + header::unusable_bytes(offset)).div_ceil(BASE).max(1)).ok()
}
