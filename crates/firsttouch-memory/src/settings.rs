//! What is asked of a heap, and its totals.

use crate::pages::Pages;
use crate::shares::Shares;

/// Blocks of so many bytes and more glibc maps one by one, as long as it has freed none of them (`M_MMAP_THRESHOLD`, mallopt(3)).
pub(crate) const MAPPED_BYTES: usize = 128 << 10;

/// How large allocations are placed from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The kind of pages.
    pub pages: Pages,
    /// Allocations below this many bytes are not placed.
    pub min_bytes: usize,
    /// Allocations above this many bytes are not placed.
    pub max_bytes: usize,
    /// Freed bytes that are kept for reuse; `None` for half of the machine's memory. What is kept is offered to the
    /// kernel, which takes it back when it runs short (hugetlb pages excepted).
    pub recycle_bytes: Option<usize>,
    /// Kept bytes that nobody needed for this long are given back.
    pub idle_ns: u64,
    /// Blocks hold zeroes when they are made, also on recycled pages.
    pub zero: bool,
    /// The program may touch little of what it allocates: that is found out, and then left on small pages. For programs that know
    /// nothing of the heap; who asks for huge pages gets them.
    pub may_be_sparse: bool,
    /// The kernel may be asked which pages are in memory (mincore(2)): a filter of system calls may kill who does.
    pub may_ask_for_residency: bool,
    /// The program may allocate more than there is memory, on the machine or in its control groups: what is not touched by then is left on
    /// small pages, because it cannot be used as a whole.
    pub may_exceed_memory: bool,
    /// How placed memory is laid out over nodes, if not as the memory policy says.
    pub shares: Shares,
}

impl Settings {
    /// Transparent huge pages from 1 MiB up, idle memory given back after 10 seconds.
    pub const STANDARD: Settings = Settings {
        pages: Pages::Transparent,
        min_bytes: 1 << 20,
        max_bytes: usize::MAX,
        recycle_bytes: None,
        idle_ns: 10_000_000_000,
        zero: false,
        may_be_sparse: false,
        may_ask_for_residency: true,
        may_exceed_memory: false,
        shares: Shares::NONE,
    };

    /// From this size on the allocator behind is asked by way of the heap.
    pub(crate) fn asked_from(&self) -> usize {
        self.min_bytes.min(MAPPED_BYTES)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::STANDARD
    }
}

/// Totals of a heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes in live blocks.
    pub live_bytes: usize,
    /// The most bytes in live blocks at any time.
    pub peak_bytes: usize,
    /// Live blocks.
    pub live_blocks: usize,
    /// Blocks placed over the life of the process.
    pub placed_blocks: u64,
    /// Bytes served from recycled pages over the life of the process.
    pub recycled_bytes: u64,
    /// Blocks that were served from recycled pages, at least in part.
    pub recycled_blocks: u64,
    /// Freed bytes held for reuse now.
    pub held_bytes: usize,
    /// The most of them at any time.
    pub most_held_bytes: usize,
}

impl Totals {
    pub(crate) const ZERO: Totals = Totals {
        live_bytes: 0,
        peak_bytes: 0,
        live_blocks: 0,
        placed_blocks: 0,
        recycled_bytes: 0,
        recycled_blocks: 0,
        held_bytes: 0,
        most_held_bytes: 0,
    };
}
