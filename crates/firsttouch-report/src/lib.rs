//! What a person sees of a session: `tune` documents, receipts, measurements, recordings and machines as text, Markdown,
//! CSV, JSON and one-file HTML, and the way back from JSON and HTML to the document.
//!
//! - [`text`]: the terminal, with or without colour;
//! - [`markdown`], [`csv`], [`json`]: the exports;
//! - [`html`]: one file with inline SVG plots, that holds the document too, so that it can be re-opened;
//! - [`picture`]: a machine drawn as text and as SVG;
//! - [`live`]: a process as it runs, in the terminal;
//! - [`open`], [`open_measurement`] and [`open_recording`]: read either of JSON and our HTML.
//!
//! The number that is printed large comes from the confirmation phase only; a winner of the search that was not
//! confirmed is named, never praised. What is unknown is shown as unknown, never as 0.
//!
//! Architecture invariant: this crate does no I/O and measures nothing. It takes a document and gives back text.
//! Every string of a document may come from a stranger: it is escaped for the place it goes to, control
//! characters and all ([`visible`], which the command line uses for what it prints by itself). The HTML holds no script that runs and refers to nothing outside itself.

#![forbid(unsafe_code)]

mod account;
mod cells;
pub mod csv;
mod error;
mod heat;
pub mod html;
pub mod json;
pub mod live;
pub mod markdown;
mod number;
pub mod picture;
mod plots;
mod remarks;
mod scale;
mod sentence;
mod series;
pub mod shell;
mod style;
mod summary;
mod svg;
pub mod text;
mod verdict;
mod visible;

pub use error::OpenError;
pub use style::Style;
pub use visible::visible;

use firsttouch_machine::Measurement;
use firsttouch_placement::{Recording, RecordingError, SCHEMA_VERSION, TuneReport};
use firsttouch_runtime::Account;

/// Reads a measurement from JSON or from our HTML; `None` if it is something else.
pub fn open_measurement(text: &str) -> Option<Measurement> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let document = if text.starts_with('<') { html::block(text).ok()? } else { text };
    serde_json::from_str(document).ok()
}

/// Reads a recording from its lines, from JSON or from our HTML; `None` if it is something else.
pub fn open_recording(text: &str) -> Option<Result<Recording, RecordingError>> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let document = if text.starts_with('<') { html::block(text).ok()? } else { text };
    // One document, or lines of them.
    match serde_json::from_str::<Recording>(document) {
        Ok(recording) => Some(match recording.header.schema_version {
            SCHEMA_VERSION => Ok(recording),
            found => Err(RecordingError::Version { found }),
        }),
        Err(_) => Recording::parse(document),
    }
}

/// A recording as one SVG: a figure for each kind of value over time, below each other.
pub fn recording_figure(recording: &Recording) -> String {
    let label = format!("Process {} over time", recording.header.pid);
    plots::timeline::figure(recording, &label)
}

/// What the workers of a runtime did over time, and the efficiency of each step, as one SVG for light and dark.
pub fn workers_figure(account: &Account, title: &str) -> String {
    plots::workers::figure(account, title)
}

/// Reads a `tune` document from the text of a file: JSON (`--export-json`) or our HTML (`--export-html`).
pub fn open(text: &str) -> Result<TuneReport, OpenError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') { html::data(text) } else { json::read(text) }
}
