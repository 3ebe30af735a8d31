//! `--dry-run`: the memory that a search would take, and what there is.

use crate::output::{self, Outcome};
use firsttouch_graph::Need;
use firsttouch_machine::{Machine, Root};
use firsttouch_placement::{SCHEMA_VERSION, format_bytes};
use serde::Serialize;

/// The document of `--dry-run --json`.
#[derive(Debug, Serialize)]
struct Document {
    schema_version: u32,
    need: Need,
    /// What can be had without swapping.
    available_bytes: Option<u64>,
}

/// Tells it.
pub(crate) fn tell(need: Need, as_json: bool) -> Outcome {
    let available_bytes = Machine::read(&Root::live())?.memory_available_bytes;
    if as_json {
        let document = Document { schema_version: SCHEMA_VERSION, need, available_bytes };
        output::data(&format!("{}\n", serde_json::to_string_pretty(&document)?))?;
        return Ok(0);
    }
    let verdict = match available_bytes {
        Some(available) if available >= need.bytes => format!("{}: enough", format_bytes(available)),
        Some(available) => format!("{}: not enough", format_bytes(available)),
        None => "unknown".to_owned(),
    };
    output::data(&format!("{need}available   {verdict}\n"))?;
    Ok(0)
}
