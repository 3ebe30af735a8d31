//! What placed memory had obtained when there was most of it.
//!
//! A program may free everything before it ends, so coverage is read before memory becomes less, whenever there is
//! more of it than at the last reading. Only done when a record is wanted: a reading takes the lock for as long as
//! `PAGEMAP_SCAN` needs (about 0.5 ms for a gigabyte of huge pages).

use crate::arena::{Arena, Caused};
use crate::backing::Backing;
use crate::coverage::{self, ByNode, Coverage, Reader};
use crate::evidence::{Evidence, Reasons};
use crate::extents::Extents;
use crate::pages::{BASE, Pages};
use crate::reason::Reason;
use crate::span::Span;
use crate::sparse::Sparse;
use core::ffi::CStr;
use core::ops::Range;
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
    /// Of these, bytes on huge pages now; `None` where the kernel does not tell (before Linux 6.7).
    pub huge_bytes: Option<usize>,
}

/// A reading.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) placed_bytes: usize,
    pub(crate) small_bytes: usize,
    /// On multi-size pages, whose size is that of the settings; `None` without the right to see them.
    pub(crate) multi_bytes: Option<usize>,
    /// On huge pages, by what backs them.
    pub(crate) huge_bytes: [usize; Backing::ALL.len()],
    pub(crate) nodes: Option<ByNode>,
    /// Bytes by reason, in the order of [`Reason::ALL`].
    pub(crate) reasons: [usize; Reason::ALL.len()],
    pub(crate) blocks: [BlockInfo; NAMED_BLOCKS],
    /// Coverage could not be read (no /proc).
    pub(crate) unreadable: bool,
}

impl Snapshot {
    pub(crate) const EMPTY: Snapshot = Snapshot {
        placed_bytes: 0,
        small_bytes: 0,
        multi_bytes: None,
        huge_bytes: [0; Backing::ALL.len()],
        nodes: None,
        reasons: [0; Reason::ALL.len()],
        blocks: [BlockInfo { id: 0, address: 0, bytes: 0, huge_bytes: None }; NAMED_BLOCKS],
        unreadable: false,
    };

    /// Reads all placed memory into an empty one: `live_bytes` of it in arenas of `span`, for which `asked` was asked. It is not answered,
    /// because it would be twice on the stack, of which threads have as little as 16 KiB.
    pub(crate) fn read(
        &mut self,
        arenas: &[Option<Arena>],
        sparse: &Sparse,
        span: Option<&Span>,
        asked: Pages,
        evidence: Evidence,
        live_bytes: usize,
    ) {
        let reader = Reader::open();
        (self.placed_bytes, self.unreadable) = (live_bytes, reader.is_none());
        let forbidden = forbidden(asked);
        let mut unexplained = 0;
        for arena in arenas.iter().flatten() {
            unexplained += read_arena(arena, sparse, reader.as_ref(), asked, forbidden, self);
        }
        if unexplained > 0 {
            evidence.explain(unexplained, asked, |reason, bytes| self.short(reason, bytes));
        }
        if let Some(span) = span {
            self.nodes = coverage::nodes(span.base, span.base + span.bytes());
        }
    }

    /// Resident bytes in blocks. Where whole arenas are read (before Linux 6.7) what is held for reuse is among what was
    /// seen.
    pub(crate) fn resident_bytes(&self) -> usize {
        let huge_bytes: usize = self.huge_bytes.iter().sum();
        (self.small_bytes + self.multi_bytes.unwrap_or(0) + huge_bytes).min(self.placed_bytes)
    }

    /// Bytes on pages of the hugetlb pools.
    pub(crate) fn pool_bytes(&self) -> usize {
        Backing::pools().map(|backing| self.huge_bytes[backing as usize]).sum()
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

/// Whether it is a setting of the machine by which there are no transparent huge pages of a size.
fn is_switched_off(reason: Reason) -> bool {
    matches!(reason, Reason::ThpNever | Reason::ThpSizeNever)
}

/// Why this process gets no pages of a kind, whatever memory there is; `None` if nothing forbids them.
pub fn forbidden(asked: Pages) -> Option<Reason> {
    const ENABLED: &CStr = c"/sys/kernel/mm/transparent_hugepage/enabled";
    let of_size: &CStr = match asked {
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
    if never(of_size) == Some(true) {
        Some(Reason::ThpSizeNever)
    } else if inherits && never(ENABLED) == Some(true) {
        Some(Reason::ThpNever)
    } else {
        (sys::thp_disabled_by_prctl() == Some(true)).then_some(Reason::ThpDisabledByPrctl)
    }
}

/// Reads one arena; answers the bytes on small pages that are yet to be explained. Out of line, as what is read after it needs stack, too.
#[inline(never)]
fn read_arena(
    arena: &Arena,
    sparse: &Sparse,
    reader: Option<&Reader>,
    asked: Pages,
    forbidden: Option<Reason>,
    now: &mut Snapshot,
) -> usize {
    let mut caused = Caused::default();
    let mut whole = Coverage::default();
    let sees_blocks = reader.is_some_and(Reader::sees_blocks);
    if let Some(reader @ Reader::Smaps) = reader {
        whole = reader.read(arena.base, arena.end()).unwrap_or_default();
    }
    for (start, pages, block) in Extents::runs(arena.table()) {
        let Some(block) = block.filter(|block| !block.is_retired()) else { continue };
        let (from, bytes) = (arena.address(start), pages as usize * BASE);
        let seen = look(arena, reader.filter(|_| sees_blocks), from..from + bytes, &mut caused);
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
        let huge_bytes = seen.map(|seen| seen.huge.min(block.bytes));
        now.name(BlockInfo {
            id: block.id,
            address: from + block.offset as usize,
            bytes: block.bytes,
            huge_bytes,
        });
    }
    now.small_bytes += whole.small;
    now.huge_bytes[arena.backing as usize] += whole.huge;
    let unseen = arena.backing == Backing::Multi
        && now.multi_bytes.is_none()
        && !forbidden.is_some_and(is_switched_off);
    let left_small = match arena.backing {
        Backing::Transparent if arena.has_been_small() => whole.small,
        Backing::Transparent => sparse.probed_bytes(arena).min(whole.small),
        _ => 0,
    };
    whole.small -= left_small;
    now.short(Reason::SparseUse, left_small);
    if arena.backing == Backing::Base {
        return 0;
    }
    if let Some(reason) = if unseen { Some(Reason::NoCapability) } else { forbidden } {
        now.short(reason, whole.small);
        return 0;
    }
    tell_caused(caused, whole.small, |reason, bytes| now.short(reason, bytes))
}

/// Tells of bytes on small pages what was caused; answers how many are left.
fn tell_caused(caused: Caused, small: usize, mut short: impl FnMut(Reason, usize)) -> usize {
    let mut left = small;
    for (reason, bytes) in [
        (Reason::LostAfterMprotect, caused.changed),
        (Reason::Split, caused.discarded),
        (Reason::LostAfterFork, caused.forked),
    ] {
        let bytes = bytes.min(left);
        left -= bytes;
        if bytes > 0 {
            short(reason, bytes);
        }
    }
    left
}

/// Adds why a range of whole pages of an arena is on small ones.
pub(crate) fn why_small(
    arena: &Arena,
    reader: &Reader,
    range: Range<usize>,
    kind: Pages,
    evidence: Evidence,
    reasons: &mut Reasons,
) {
    let mut caused = Caused::default();
    let Some(seen) = look(arena, Some(reader), range, &mut caused) else { return };
    let whole = if arena.has_been_small() { Some(Reason::SparseUse) } else { forbidden(kind) };
    if let Some(reason) = whole {
        return reasons.add(reason, seen.small);
    }
    let left = tell_caused(caused, seen.small, |reason, bytes| reasons.add(reason, bytes));
    evidence.explain(left, kind, |reason, bytes| reasons.add(reason, bytes));
}

/// What a range of an arena has, and what may have put its small pages there: of all of it, where the kernel does not tell.
pub(crate) fn look(
    arena: &Arena,
    reader: Option<&Reader>,
    range: Range<usize>,
    caused: &mut Caused,
) -> Option<Coverage> {
    let before = *caused;
    let mut add = |small: Range<usize>| arena.add_causes(small, caused);
    let seen = reader.and_then(|reader| reader.read_with(range.start, range.end, &mut add));
    if seen.is_none() {
        *caused = before;
        arena.add_causes(range, caused);
    }
    seen
}
