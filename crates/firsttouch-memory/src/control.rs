//! The control interface of the agent: the forms in which it and those who talk to it agree.
//!
//! Found by `dlsym(RTLD_DEFAULT, "firsttouch_agent_…")`: a null answer means that the agent is not there. Sizes are
//! bytes. The status grows at the end only, and who asks for it says how much of it is known; rows of the list stay as they are.

use crate::heap::Heap;
use crate::snapshot::BlockInfo;

/// What stands for a number of bytes that is not known.
pub const UNKNOWN_BYTES: u64 = u64::MAX;

/// Version of the interface.
const VERSION: u32 = 1;

/// What `firsttouch_agent_status` fills in.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentStatus {
    /// Version of this structure.
    pub version: u32,
    /// 1 if large allocations are placed now.
    pub enabled: u32,
    /// Size of the pages asked for.
    pub page_bytes: u64,
    /// Smallest allocation that is placed.
    pub min_bytes: u64,
    /// Largest allocation that is placed.
    pub max_bytes: u64,
    /// Bytes in live placed blocks.
    pub live_bytes: u64,
    /// Live placed blocks.
    pub live_blocks: u64,
    /// The most bytes in placed blocks at any time.
    pub peak_bytes: u64,
    /// Blocks placed over the life of the process.
    pub placed_blocks: u64,
    /// Bytes served from recycled memory over the life of the process.
    pub recycled_bytes: u64,
    /// Freed bytes held for reuse.
    pub held_bytes: u64,
}

impl AgentStatus {
    /// The status of a heap now.
    pub fn of(heap: &Heap) -> AgentStatus {
        let (settings, totals) = (heap.settings(), heap.totals());
        AgentStatus {
            version: VERSION,
            enabled: u32::from(heap.is_enabled()),
            page_bytes: settings.pages.bytes() as u64,
            min_bytes: settings.min_bytes as u64,
            max_bytes: settings.max_bytes as u64,
            live_bytes: totals.live_bytes as u64,
            live_blocks: totals.live_blocks as u64,
            peak_bytes: totals.peak_bytes as u64,
            placed_blocks: totals.placed_blocks,
            recycled_bytes: totals.recycled_bytes,
            held_bytes: totals.held_bytes as u64,
        }
    }
}

/// One row of `firsttouch_agent_list`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentBlock {
    /// Running number in the process, from 1.
    pub id: u64,
    /// Address of the first byte.
    pub address: u64,
    /// Bytes the program asked for.
    pub bytes: u64,
    /// Of these, bytes on huge pages now; [`UNKNOWN_BYTES`] where the kernel does not tell (before Linux 6.7).
    pub huge_bytes: u64,
}

impl Heap {
    /// Where the live block begins that holds the byte at an address, by whatever part of it somebody knows it.
    pub fn begin_of_block_over(&self, address: *const u8) -> Option<usize> {
        self.wait()?.begin_of_block_over(address as usize)
    }
}

impl AgentBlock {
    /// Hands the live blocks of a heap to `row`, at most `room` of them, in order of address; answers how many there are
    /// altogether.
    pub fn list(heap: &Heap, room: usize, mut row: impl FnMut(usize, AgentBlock)) -> usize {
        const AT_ONCE: usize = 32;
        let mut blocks = [BlockInfo::default(); AT_ONCE];
        let mut done = 0;
        loop {
            let total = heap.blocks_from(done, &mut blocks);
            let count = total.saturating_sub(done).min(AT_ONCE);
            for (index, block) in blocks.iter().enumerate().take(count.min(room - done)) {
                row(
                    done + index,
                    AgentBlock {
                        id: u64::from(block.id),
                        address: block.address as u64,
                        bytes: block.bytes as u64,
                        huge_bytes: block.huge_bytes.map_or(UNKNOWN_BYTES, |bytes| bytes as u64),
                    },
                );
            }
            done += count;
            if count < AT_ONCE || done >= room {
                return total;
            }
        }
    }
}
