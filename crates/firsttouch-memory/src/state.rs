//! The state of a heap behind its lock: arenas, what is asked, totals, and the decisions that need all of them.

use crate::arena::{Arena, Grain, Reach, Taken, Wanted};
use crate::backing::Backing;
use crate::capacity::Capacity;
use crate::coverage::Reader;
use crate::evidence::{Evidence, Reasons};
use crate::extents::{Block, Extents};
use crate::failures::Failures;
use crate::footprint::{Footprint, Placed};
use crate::nodes::Nodes;
use crate::pages::{BASE, Page, Pages};
use crate::reason::Reason;
use crate::record::RecordFile;
use crate::restore::Restore;
use crate::settings::{Settings, Totals};
use crate::snapshot::{self, Snapshot};
use crate::span::{Room, Span};
use crate::sparse::Sparse;
use core::ops::Range;
use firsttouch_linux::sys;

/// The state behind the lock.
#[derive(Debug)]
pub(crate) struct Inner {
    /// Asked ahead of the first block.
    pub(crate) room: Option<Room>,
    pub(crate) span: Option<Span>,
    pub(crate) arenas: [Option<Arena>; Backing::ALL.len()],
    pub(crate) settings: Settings,
    pub(crate) totals: Totals,
    /// Bytes that could not be placed at all and went to the C library, by reason.
    pub(crate) refused: [usize; Reason::ALL.len()],
    /// Why nothing is placed any more.
    pub(crate) stood_down: Option<Reason>,
    /// Where memory may lie.
    pub(crate) nodes: Nodes,
    /// Where the record goes, if one is wanted.
    pub(crate) record_file: Option<RecordFile>,
    /// A record that would tell of no memory is left out.
    pub(crate) records_memory_only: bool,
    /// The reading at the peak, if a record is wanted.
    pub(crate) snapshot: Snapshot,
    /// No further reading before this time, so that readings stay a small part of the program's time.
    pub(crate) next_look_ns: u64,
    /// Processor time that looks have taken.
    pub(crate) looks_ns: u64,
    /// What the kernel had counted before the first block.
    pub(crate) failures_before: Option<Failures>,
    /// After a fork, huge pages that a write split are put together again.
    pub(crate) restore: Restore,
    next_id: u32,
    pub(crate) moves: u32,
    pub(crate) span_refused: bool,
    /// The program limited its address space, or locked its memory, while it ran.
    rationed: bool,
    /// The program locks all of its memory.
    pub(crate) locks_all: bool,
    /// The program confined itself to some system calls.
    confined: bool,
    period_start_ns: u64,
    /// What the program has by itself, as a bound for what is held.
    pub(crate) footprint: Footprint,
    /// More is held than may be if the program grows by small blocks.
    pub(crate) watches_growth: bool,
    /// The program has created threads, which have their files in common.
    pub(crate) has_threads: bool,
    /// How densely the program uses it.
    pub(crate) sparse: Sparse,
    /// Least pages held since the period began: nobody needed those.
    low_water_pages: u64,
    /// Pages held of which the kernel takes none (of pools, locked ones), as far as was found out: nobody goes through them again.
    stuck_pages: u64,
}

impl Inner {
    /// Nothing reserved yet.
    pub(crate) const NEW: Inner = Inner {
        room: None,
        span: None,
        arenas: [const { None }; Backing::ALL.len()],
        settings: Settings::STANDARD,
        totals: Totals::ZERO,
        refused: [0; Reason::ALL.len()],
        stood_down: None,
        nodes: Nodes::ONE,
        record_file: None,
        records_memory_only: false,
        snapshot: Snapshot::EMPTY,
        next_look_ns: 0,
        looks_ns: 0,
        failures_before: None,
        restore: Restore::NOTHING,
        next_id: 1,
        moves: 0,
        span_refused: false,
        rationed: false,
        locks_all: false,
        confined: false,
        period_start_ns: 0,
        low_water_pages: 0,
        stuck_pages: 0,
        footprint: Footprint::UNKNOWN,
        watches_growth: false,
        has_threads: false,
        sparse: Sparse::UNKNOWN,
    };

    /// The live block at an address: arena, first page, pages, block.
    pub(crate) fn find(&self, address: *const u8) -> Option<(usize, u32, u32, Block)> {
        let address = address as usize;
        let (slot, arena) = self.arenas.iter().enumerate().find_map(|(slot, arena)| {
            let arena = arena.as_ref()?;
            (arena.base..arena.end()).contains(&address).then_some((slot, arena))
        })?;
        // The run begins with the block's page, or, where the block is aligned to pages, one before.
        let page = arena.page(address);
        [Some(page), page.checked_sub(1)].into_iter().flatten().find_map(|start| {
            let (pages, block) = Extents::live_at(arena.table(), start)?;
            let is_it = arena.address(start) + usize::from(block.offset) == address && !block.is_retired();
            is_it.then_some((slot, start, pages, block))
        })
    }

    /// The arena that has grown as far as an address.
    pub(crate) fn arena_over(&self, address: usize) -> Option<&Arena> {
        self.arenas.iter().flatten().find(|arena| (arena.base..arena.end()).contains(&address))
    }

    /// Where the live block begins that holds the byte at an address.
    pub(crate) fn begin_of_block_over(&self, address: usize) -> Option<usize> {
        let arena = self.arena_over(address)?;
        let (start, _, block) = arena.run_at(arena.page(address))?;
        let begin = arena.address(start) + usize::from(block.filter(|block| !block.is_retired())?.offset);
        (begin <= address).then_some(begin)
    }

    /// Frees a block; false if there is none at that address.
    pub(crate) fn free(&mut self, address: *const u8) -> bool {
        let Some((slot, start, pages, block)) = self.find(address) else { return false };
        self.totals.live_bytes -= block.bytes;
        self.totals.live_blocks -= usize::from(block.is_in_use());
        if !self.confined {
            self.nodes.before_free(address as usize / BASE * BASE, pages as usize * BASE);
        }
        self.give_back(slot, start, pages, block.altered);
        self.give_back_idle();
        true
    }

    /// A number for a new block.
    pub(crate) fn new_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1).max(1);
        id
    }

    /// Whether nothing is to be placed any more.
    pub(crate) fn has_stood_down(&self) -> bool {
        self.stood_down.is_some()
    }

    /// Takes pages from the first arena of the kind's chain that has them; the first `moved` are for what is in a block already.
    pub(crate) fn take(
        &mut self,
        kind: Pages,
        pages: u32,
        alignment: u32,
        phase: u32,
        moved: u32,
    ) -> Option<(usize, Taken, Option<Reason>)> {
        let mut first_reason = None;
        for backing in Backing::chain(kind) {
            let slot = *backing as usize;
            self.make_arena(*backing);
            self.before_growth(slot, pages);
            let Some(arena) = self.arenas[slot].as_mut() else { continue };
            let used_to = arena.used_to();
            let mut taken = arena.take(pages, alignment, phase, moved);
            if matches!(taken, Err(Reason::MappingChanged)) && self.gave_up_in_limit() {
                taken = self.arenas[slot].as_mut()?.take(pages, alignment, phase, moved);
            }
            match taken {
                Ok(taken) => {
                    self.after_growth(slot, used_to);
                    // `auto` takes what there is: that is no shortfall.
                    let reason = if kind == Pages::Auto { None } else { first_reason };
                    return Some((slot, taken, reason));
                }
                Err(reason) => {
                    if reason == Reason::MappingChanged {
                        self.stand_down(reason);
                        return None;
                    }
                    first_reason.get_or_insert(reason);
                }
            }
        }
        None
    }

    /// The block on reserved pages that `[address, end)` lies in, if the kernel may be asked about it.
    pub(crate) fn reserved_block_over(&self, address: usize, end: usize) -> Option<Block> {
        let mut arenas = Backing::pools().filter_map(|backing| self.arenas[backing as usize].as_ref());
        let block = arenas.find_map(|arena| arena.block_over(address, end))?;
        (!block.altered || !self.confined).then_some(block)
    }

    /// Makes the arena of a kind, where there is none and can be one.
    fn make_arena(&mut self, backing: Backing) {
        let slot = backing as usize;
        if let Some(span) = &self.span
            && self.arenas[slot].is_none()
            && !self.rationed
        {
            let (base, bytes) = (span.part(slot), span.part_bytes);
            self.arenas[slot] = Arena::new(backing, base, bytes, span.reserved, self.settings.shares);
        }
    }

    /// The arena, if how densely it is used is to be found out, and what is known of that.
    pub(crate) fn watched(&mut self, slot: usize) -> Option<(&mut Arena, &mut Sparse)> {
        let is_watched = slot == Backing::Transparent as usize && self.settings.may_exceed_memory;
        let arena = self.arenas[slot].as_mut().filter(|_| is_watched && !self.confined)?;
        Some((arena, &mut self.sparse))
    }

    /// To be called before pages are taken from an arena: so many more, if they are for a block that is there already.
    fn before_growth(&mut self, slot: usize, pages: u32) {
        let more = pages as usize * BASE;
        self.free_unmapped_before(self.totals.live_bytes + more);
        let is_of_pool = Backing::ALL[slot].is_reserved_pool();
        if self.settings.may_exceed_memory && !self.confined && !is_of_pool {
            if !self.has_threads && self.asks_for_capacity(more) {
                self.learn_capacity(more, 0, Capacity::read());
            }
            self.sparse.before_blocks(self.totals.live_bytes + more);
        }
        if let Some((arena, sparse)) = self.watched(slot) {
            sparse.before_growth(arena);
        }
        if self.nodes.are_several() && !self.confined {
            self.set_wanted(slot, more);
        }
    }

    #[inline(never)]
    fn set_wanted(&mut self, slot: usize, bytes: usize) {
        if let Some(arena) = self.arenas[slot].as_mut() {
            // Of what is new the kernel need not be asked.
            arena.wanted = if arena.recycled_pages > 0 { self.nodes.wanted(bytes) } else { Wanted::All };
        }
    }

    /// To be called after pages were taken from an arena, of which those up to `used_to` had been used before.
    fn after_growth(&mut self, slot: usize, used_to: Page) {
        let may_be_sparse = self.settings.may_be_sparse;
        if let Some((arena, sparse)) = self.watched(slot).filter(|_| may_be_sparse) {
            sparse.set_probes(arena, used_to);
        }
    }

    /// The kernel has moved so many bytes of an arena from one address to another.
    pub(crate) fn note_move(&mut self, slot: usize, from: usize, to: usize, bytes: usize) {
        if let Some(arena) = &mut self.arenas[slot] {
            let (from, to, pages) = (arena.page(from), arena.page(to), (bytes / BASE) as u32);
            arena.set_moved(from, to, pages);
            if slot == Backing::Transparent as usize {
                self.sparse.moved(arena, from, to, pages);
            }
        }
    }

    /// From now on nothing is placed, and what is live stays as it is; the first reason counts.
    pub(crate) fn stand_down(&mut self, reason: Reason) {
        self.stood_down.get_or_insert(reason);
    }

    /// Takes pages right behind a run of an arena, if they are free and can be mapped.
    pub(crate) fn extend(&mut self, slot: usize, after: Page, extra: u32) -> Option<Taken> {
        self.before_growth(slot, extra);
        let arena = self.arenas[slot].as_mut()?;
        let used_to = arena.used_to();
        let taken = arena.extend(after, extra)?;
        self.after_growth(slot, used_to);
        Some(taken)
    }

    /// Moves a block that is to have `wanted` pages within its arena, where a limit may have no room for it twice.
    pub(crate) fn relocate(&mut self, slot: usize, start: Page, pages: u32, wanted: u32) -> Option<Taken> {
        self.give_up();
        self.before_growth(slot, wanted);
        let arena = self.arenas[slot].as_mut()?;
        let used_to = arena.used_to();
        let taken = arena.relocate(start, pages, wanted)?;
        if slot == Backing::Transparent as usize {
            self.sparse.moved(arena, start, taken.start, pages);
        }
        self.after_growth(slot, used_to);
        Some(taken)
    }

    pub(crate) fn count_taken(&mut self, taken: &Taken, bytes: usize) {
        self.totals.recycled_bytes += u64::from(taken.recycled) * BASE as u64;
        self.totals.live_bytes += bytes;
        self.totals.peak_bytes = self.totals.peak_bytes.max(self.totals.live_bytes);
        if taken.recycled > 0 {
            self.totals.recycled_blocks += 1;
        }
        let held = self.held_pages();
        self.low_water_pages = self.low_water_pages.min(held);
        self.stuck_pages = self.stuck_pages.min(held);
    }

    /// Blocks have become more: gives back what is held beyond what may be, whole chunks first. Every run must be free or a block's.
    pub(crate) fn hold_less(&mut self) {
        if self.settings.recycle_bytes.is_some() || self.confined {
            return;
        }
        let placed = self.placed();
        let capacity = if placed.has_pool { usize::MAX } else { self.sparse.capacity() };
        let excess = (self.footprint.excess(placed, capacity) / BASE) as u64;
        if excess == 0 || self.held_pages() <= self.stuck_pages {
            return;
        }
        let more = (self.footprint.tenth_now(placed) / 2 / BASE) as u64;
        let rest = self.trim(excess, more, Grain::Chunks);
        let rest = self.trim(rest, more, Grain::Pages);
        self.stuck_pages = if rest > 0 { self.held_pages() } else { 0 };
    }

    /// Returns up to `pages` recycled pages to the kernel ([`Arena::trim_idle`]), and answers how many it did not get.
    fn trim(&mut self, pages: u64, more: u64, grain: Grain) -> u64 {
        let mut rest = pages;
        for arena in self.arenas.iter_mut().flatten() {
            let before = arena.recycled_pages;
            arena.trim_idle(rest, more, grain);
            rest = rest.saturating_sub(before - arena.recycled_pages);
        }
        rest
    }

    pub(crate) fn placed(&self) -> Placed {
        Placed {
            live_bytes: self.totals.live_bytes,
            held_bytes: self.held_pages() as usize * BASE,
            has_pool: self.arenas.iter().flatten().any(|arena| arena.backing.is_reserved_pool()),
        }
    }

    /// Notes that so many bytes were not placed.
    pub(crate) fn refuse(&mut self, reason: Reason, bytes: usize) {
        let sum = &mut self.refused[reason as usize];
        *sum = sum.saturating_add(bytes);
    }

    /// Gives pages of a block back to their arena; `altered` if the program changed the mapping.
    pub(crate) fn give_back(&mut self, slot: usize, start: u32, pages: u32, altered: bool) {
        let is_as_it_was = !self.confined && (!altered || self.renew(slot, start, pages));
        if !is_as_it_was {
            if let Some(arena) = &mut self.arenas[slot] {
                arena.retire(start, pages);
            }
            if !self.confined {
                self.stand_down(Reason::MappingChanged);
            }
            return;
        }
        let bytes = pages as usize * BASE;
        let placed = self.placed();
        let held = placed.held_bytes + bytes;
        let budget = self.recycle_budget();
        let is_free_to_hold = self.settings.recycle_bytes.is_none();
        let holds = held as u64 <= budget
            && (!is_free_to_hold || self.footprint.may_hold(placed, bytes, self.has_threads));
        let room = if is_free_to_hold {
            self.footprint.room(placed).min((budget as usize).saturating_sub(placed.held_bytes))
        } else {
            0
        };
        let Some(arena) = &mut self.arenas[slot] else { return };
        let (from, until) = arena.give_back(start, pages);
        arena.renew_split(from, until);
        let may_ask = self.settings.may_ask_for_residency;
        let holds = holds || may_ask && arena.hold_what_is_there(from, until, (room / BASE) as u32);
        if !holds {
            // The words before the block have created its first page, which would be cleared anew for the next block: of one that nobody
            // has touched it is all there is.
            let may_hold_first = room >= arena.backing.chunk_bytes();
            arena.trim(if may_hold_first { arena.chunk_after(start) } else { from }, until);
        }
        if self.nodes.allow_offers() {
            arena.offer_held((start, pages), (from, until));
        }
        self.totals.most_held_bytes = self.totals.most_held_bytes.max(self.held_pages() as usize * BASE);
    }

    /// Makes pages that the program changed what they were when they were handed out; false if the kernel refuses.
    fn renew(&mut self, slot: usize, start: u32, pages: u32) -> bool {
        let renew =
            |inner: &mut Inner| inner.arenas[slot].as_mut().is_some_and(|arena| arena.renew(start, pages));
        renew(self) || self.gave_up_in_limit() && renew(self)
    }

    /// From now on, asks the kernel for nothing but what allocators do at any time.
    pub(crate) fn confine(&mut self) {
        self.confined = true;
        self.stand_down(Reason::Confined);
    }

    /// Whether the program has confined itself.
    pub(crate) fn is_confined(&self) -> bool {
        self.confined
    }

    fn recycle_budget(&self) -> u64 {
        match (&self.span, self.settings.recycle_bytes) {
            // Where address space is rationed, holding some back could make the program's own mappings fail.
            (Some(span), _) if !span.reserved => 0,
            (_, Some(bytes)) => bytes as u64,
            (Some(span), None) => span.machine_bytes as u64 / 2,
            (None, None) => 0,
        }
    }

    pub(crate) fn held_pages(&self) -> u64 {
        self.arenas.iter().flatten().map(|arena| arena.recycled_pages).sum()
    }

    /// Once a period, gives back what nobody needed during it (the low-water mark, as in tcmalloc's and Go's
    /// scavengers). Huge pages that blocks have a part of are split for it only where much lies in them.
    pub(crate) fn give_back_idle(&mut self) {
        let now = sys::coarse_ns();
        if self.confined || now.wrapping_sub(self.period_start_ns) < self.settings.idle_ns {
            return;
        }
        if self.period_start_ns != 0 {
            let rest = self.trim(self.low_water_pages, 0, Grain::Chunks);
            let may_stay = (self.footprint.tenth_now(self.placed()) / BASE) as u64;
            self.trim(rest.saturating_sub(may_stay), 0, Grain::Pages);
        }
        self.period_start_ns = now;
        self.low_water_pages = self.held_pages();
    }

    /// Gives back all that is held.
    pub(crate) fn give_back_all(&mut self) {
        self.trim(u64::MAX, 0, Grain::Chunks);
        self.trim(u64::MAX, 0, Grain::Pages);
        self.low_water_pages = 0;
    }

    /// Notes that the program changed the mapping of `[address, end)`.
    pub(crate) fn set_altered(&mut self, address: usize, end: usize, reach: Reach) {
        self.arenas.iter_mut().flatten().for_each(|arena| arena.set_altered(address, end, reach));
    }

    /// Whether huge pages are asked for in all of a range already, which lies in a block whose mapping the program has not changed. As the
    /// program wants them itself, nothing is watched there any more.
    pub(crate) fn asks_huge(&mut self, address: usize, end: usize) -> Option<Backing> {
        let is_asked = |arena: &Arena| {
            let block = arena.block_over(address, end).filter(|block| !block.altered);
            block.is_some() && arena.advice() == libc::MADV_HUGEPAGE
        };
        let slot = self.arenas.iter().position(|arena| arena.as_ref().is_some_and(is_asked))?;
        if let Some((arena, sparse)) = self.watched(slot) {
            sparse.end_in(arena, arena.page(address)..arena.page(end));
        }
        Some(Backing::ALL[slot])
    }

    /// Notes that the program puts something of its own into `[address, end)`, or is about to (`is_ahead`): what is free there is
    /// left to it.
    pub(crate) fn set_replaced(&mut self, address: usize, end: usize, is_ahead: bool) {
        self.set_altered(address, end, Reach::Ends);
        for backing in Backing::ALL {
            let slot = backing as usize;
            let is_part = |span: &Span| address < span.part(slot + 1) && span.part(slot) < end;
            if !self.span.as_ref().is_some_and(is_part) {
                continue;
            }
            self.make_arena(backing);
            match &mut self.arenas[slot] {
                Some(arena) => arena.cede(address, end, is_ahead),
                // One that is made later would know nothing of it.
                None if !self.rationed => self.stand_down(Reason::MappingChanged),
                None => {}
            }
        }
    }

    /// Gives up all address space without blocks, from now on.
    pub(crate) fn ration(&mut self) {
        // The limit is asked for anew when there is a first block.
        self.room = None;
        let Some(span) = self.span.as_mut().filter(|span| span.reserved) else { return };
        span.reserved = false;
        self.rationed = true;
        self.unreserve_ahead();
        self.arenas.iter_mut().flatten().for_each(Arena::ration);
    }

    /// Gives up the address space of the span that no arena has grown into.
    pub(crate) fn unreserve_ahead(&self) {
        let Some(span) = &self.span else { return };
        for (slot, arena) in self.arenas.iter().enumerate() {
            let reach = |arena: &Arena| (arena.end() - arena.base, arena.most_end() - arena.base);
            let (own, most) = arena.as_ref().map_or((0, span.part_bytes), reach);
            // SAFETY: the rest of the part is our reservation, and no arena will grow into it.
            let _ = unsafe { sys::unmap(span.part(slot) + own, most.saturating_sub(own)) };
        }
    }

    /// The same for a program that locks all of its memory: a first block that comes later finds nothing reserved either.
    pub(crate) fn ration_locked(&mut self) {
        self.locks_all = true;
        self.ration();
    }

    /// Whether an address lies in memory of ours.
    pub(crate) fn covers(&self, address: usize) -> bool {
        self.arenas.iter().flatten().any(|arena| arena.covers(address))
    }

    /// Adds why a range of whole pages is on smaller ones than of this kind.
    pub(crate) fn why_small(&self, reader: &Reader, range: Range<usize>, kind: Pages, reasons: &mut Reasons) {
        let mut arenas = self.arenas.iter().flatten();
        let holds = |arena: &&Arena| arena.base <= range.start && range.end <= arena.end();
        if let Some(arena) = arenas.find(holds) {
            snapshot::why_small(arena, reader, range, kind, Evidence::since(self.failures_before), reasons);
        }
    }
}
