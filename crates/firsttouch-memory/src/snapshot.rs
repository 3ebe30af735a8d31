//! What placed memory had obtained when there was most of it.
//!
//! A program may free everything before it ends, so coverage is read before memory becomes less, whenever there is
//! more of it than at the last reading. Only done when a record is wanted: a reading takes the lock for as long as
//! `PAGEMAP_SCAN` needs (about 0.5 ms for a gigabyte of huge pages).

use crate::arena::{Arena, Backing};
use crate::coverage::{self, Coverage, NODES, Reader};
use crate::extents::Extents;
use crate::heap::{Heap, Inner};
use crate::pages::{BASE, Pages};
use crate::reason::Reason;
use core::ffi::CStr;
use firsttouch_linux::sys;

/// The largest blocks are named one by one, so many of them.
pub(crate) const NAMED_BLOCKS: usize = 64;

/// One live block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockInfo {
    /// Running number in the process, from 1.
    pub id: u32,
    /// Address of the first byte.
    pub address: usize,
    /// Bytes the program asked for.
    pub bytes: usize,
    /// Of these, bytes on huge pages now.
    pub huge_bytes: usize,
}

/// A reading.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) placed_bytes: usize,
    pub(crate) small_bytes: usize,
    /// On multi-size pages, whose size is that of the settings; `None` without the right to see them.
    pub(crate) multi_bytes: Option<usize>,
    pub(crate) huge_bytes: usize,
    pub(crate) gigantic_bytes: usize,
    pub(crate) nodes: Option<[usize; NODES]>,
    /// Bytes by reason, in the order of [`Reason::ALL`].
    pub(crate) reasons: [usize; Reason::ALL.len()],
    pub(crate) blocks: [BlockInfo; NAMED_BLOCKS],
    /// Coverage could not be read (no /proc).
    pub(crate) unreadable: bool,
    /// No further reading before this time, so that readings stay a small part of the program's time.
    next_ns: u64,
}

impl Snapshot {
    pub(crate) const EMPTY: Snapshot = Snapshot {
        placed_bytes: 0,
        small_bytes: 0,
        multi_bytes: None,
        huge_bytes: 0,
        gigantic_bytes: 0,
        nodes: None,
        reasons: [0; Reason::ALL.len()],
        blocks: [BlockInfo { id: 0, address: 0, bytes: 0, huge_bytes: 0 }; NAMED_BLOCKS],
        unreadable: false,
        next_ns: 0,
    };

    pub(crate) fn resident_bytes(&self) -> usize {
        self.small_bytes + self.multi_bytes.unwrap_or(0) + self.huge_bytes + self.gigantic_bytes
    }

    fn name(&mut self, block: BlockInfo) {
        if let Some(smallest) = self.blocks.iter_mut().min_by_key(|named| named.bytes)
            && smallest.bytes < block.bytes
        {
            *smallest = block;
        }
    }

    fn short(&mut self, reason: Reason, bytes: usize) {
        self.reasons[reason as usize] += bytes;
    }
}

impl Inner {
    /// Called before placed memory becomes less: reads it if there is more than the last reading saw.
    pub(crate) fn look_before_less(&mut self) {
        if self.record_path.is_none() || self.totals.live_bytes / 33 * 32 < self.snapshot.resident_bytes() {
            return;
        }
        let before = sys::now_ns();
        if before < self.snapshot.next_ns {
            return;
        }
        self.look();
        let after = sys::now_ns();
        self.snapshot.next_ns = after + 20 * (after - before);
    }

    /// Reads placed memory and keeps the reading if more is resident than at the last.
    pub(crate) fn look(&mut self) {
        let mut now = Snapshot {
            placed_bytes: self.totals.live_bytes,
            next_ns: self.snapshot.next_ns,
            ..Snapshot::EMPTY
        };
        let reader = Reader::open();
        now.unreadable = reader.is_none();
        let small_reason = self.why_small();
        for arena in self.arenas.iter().flatten() {
            read_arena(arena, reader.as_ref(), self.settings.pages, small_reason, &mut now);
        }
        if let Some(span) = &self.span {
            now.nodes = coverage::nodes(span.base, span.base + span.bytes());
        }
        if now.resident_bytes() >= self.snapshot.resident_bytes() {
            self.snapshot = now;
            self.write_record(false);
        }
    }

    /// Why pages of a huge-page arena would be small.
    fn why_small(&self) -> Reason {
        const ENABLED: &CStr = c"/sys/kernel/mm/transparent_hugepage/enabled";
        let of_size: &CStr = match self.settings.pages {
            Pages::Multi(0x4000) => c"/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled",
            Pages::Multi(0x8000) => c"/sys/kernel/mm/transparent_hugepage/hugepages-32kB/enabled",
            Pages::Multi(0x1_0000) => c"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
            Pages::Multi(0x2_0000) => c"/sys/kernel/mm/transparent_hugepage/hugepages-128kB/enabled",
            Pages::Multi(0x4_0000) => c"/sys/kernel/mm/transparent_hugepage/hugepages-256kB/enabled",
            Pages::Multi(0x8_0000) => c"/sys/kernel/mm/transparent_hugepage/hugepages-512kB/enabled",
            Pages::Multi(_) => c"/sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled",
            _ => c"/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
        };
        let never = |path| coverage::is_selected(path, b"never");
        let inherits = coverage::is_selected(of_size, b"inherit").unwrap_or(true);
        if never(of_size) == Some(true) || inherits && never(ENABLED) == Some(true) {
            Reason::ThpNever
        } else if sys::thp_disabled_by_prctl() == Some(true) {
            Reason::ThpDisabledByPrctl
        } else if self.forks > 0 {
            Reason::LostAfterFork
        } else {
            Reason::NoContiguousMemory
        }
    }
}

fn read_arena(
    arena: &Arena,
    reader: Option<&Reader>,
    asked: Pages,
    small_reason: Reason,
    now: &mut Snapshot,
) {
    let mut whole = Coverage::default();
    let sees_blocks = reader.is_some_and(Reader::sees_blocks);
    if let Some(reader @ Reader::Smaps) = reader {
        whole = reader.read(arena.base, arena.end()).unwrap_or_default();
    }
    for (start, pages, block) in Extents::runs(arena.table()) {
        let Some(block) = block else { continue };
        let (from, bytes) = (arena.address(start), pages as usize * BASE);
        let seen = reader.filter(|_| sees_blocks).and_then(|reader| reader.read(from, from + bytes));
        if let Some(seen) = seen {
            whole.huge += seen.huge;
            whole.small += seen.small;
            now.short(Reason::Untouched, (bytes - seen.huge - seen.small).min(block.bytes));
        }
        if let Some(reason) = block.fallback {
            now.short(reason, block.bytes);
        }
        if arena.backing == Backing::Multi
            && let Some(multi) = coverage::compound_bytes(from, from + bytes, asked.bytes())
        {
            whole.small = whole.small.saturating_sub(multi);
            *now.multi_bytes.get_or_insert(0) += multi;
        }
        let huge_bytes = seen.map_or(0, |seen| seen.huge.min(block.bytes));
        now.name(BlockInfo {
            id: block.id,
            address: from + block.offset as usize,
            bytes: block.bytes,
            huge_bytes,
        });
    }
    now.small_bytes += whole.small;
    if arena.backing == Backing::Huge1G {
        now.gigantic_bytes += whole.huge;
    } else {
        now.huge_bytes += whole.huge;
    }
    let unseen =
        arena.backing == Backing::Multi && now.multi_bytes.is_none() && small_reason != Reason::ThpNever;
    if arena.backing != Backing::Base && whole.small > 0 {
        now.short(if unseen { Reason::NoCapability } else { small_reason }, whole.small);
    }
}

impl Heap {
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
}
