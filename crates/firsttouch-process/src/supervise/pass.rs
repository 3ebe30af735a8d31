//! What a pass goes through, and what it did.

use firsttouch_memory::Reason;
use std::collections::BTreeMap;

/// Which mappings are asked for, by their size. The kernel joins neighbouring allocations into one mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuperviseRange {
    /// Mappings below this many bytes are left alone.
    pub min_size: u64,
    /// Mappings above this many bytes are left alone; `None` is no upper limit.
    pub max_size: Option<u64>,
}

/// What one pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The process has ended; there is nothing more to do.
    pub ended: bool,
    /// Resident bytes of the mappings in the range.
    pub eligible_bytes: u64,
    /// Of these, bytes on huge pages before the pass.
    pub huge_before_bytes: u64,
    /// Bytes the kernel was asked to collapse.
    pub asked_bytes: u64,
    /// Bytes that are on huge pages since, by reading before and after.
    pub collapsed_bytes: u64,
    /// Bytes that were refused or passed over, by reason.
    pub refused: BTreeMap<Reason, u64>,
    /// Its time was up before everything was asked for; the next pass goes on from there.
    pub unfinished: bool,
}
