//! `--dry-run`: the memory that a search would take, and what there is.

use crate::output::{self, Outcome};
use firsttouch_documents::{MemoryEstimate, MemoryEstimateReport, to_json};
use firsttouch_machine::{Machine, Root};
use firsttouch_report::text;

/// Tells it.
pub(crate) fn tell(need: MemoryEstimate, as_json: bool) -> Outcome {
    let available_bytes = Machine::read(&Root::live())?.memory_for_us_bytes();
    let report = MemoryEstimateReport { need, available_bytes };
    output::data(&if as_json { to_json(&report) } else { text::memory_estimate(&report) })?;
    Ok(0)
}
