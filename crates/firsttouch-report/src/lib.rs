//! What a person sees of a session: `tune` documents, receipts, measurements and machines as text, Markdown, CSV, JSON
//! and one-file HTML, and the way back from JSON and HTML to the document.
//!
//! - [`text`]: the terminal, with or without colour;
//! - [`markdown`], [`csv`], [`json`]: the exports;
//! - [`html`]: one file with inline SVG plots, that holds the document too, so that it can be re-opened;
//! - [`picture`]: a machine drawn as text and as SVG;
//! - [`open`] and [`open_measurement`]: read either of JSON and our HTML.
//!
//! The number that is printed large comes from the confirmation phase only; a winner of the search that was not
//! confirmed is named, never praised. What is unknown is shown as unknown, never as 0.
//!
//! Architecture invariant: this crate does no I/O and measures nothing. It takes a document and gives back text.
//! Every string of a document may come from a stranger: it is escaped for the place it goes to, control
//! characters and all. The HTML holds no script that runs and refers to nothing outside itself.

#![forbid(unsafe_code)]

mod cells;
pub mod csv;
mod error;
mod heat;
pub mod html;
pub mod json;
pub mod markdown;
mod number;
pub mod picture;
mod plots;
mod remarks;
mod scale;
mod sentence;
pub mod shell;
mod style;
mod summary;
mod svg;
pub mod text;
mod verdict;
mod visible;

pub use error::OpenError;
pub use style::Style;

use firsttouch_machine::Measurement;
use firsttouch_placement::TuneReport;

/// Reads a measurement from JSON or from our HTML; `None` if it is something else.
pub fn open_measurement(text: &str) -> Option<Measurement> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let document = if text.starts_with('<') { html::block(text).ok()? } else { text };
    serde_json::from_str(document).ok()
}

/// Reads a `tune` document from the text of a file: JSON (`--export-json`) or our HTML (`--export-html`).
pub fn open(text: &str) -> Result<TuneReport, OpenError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') { html::data(text) } else { json::read(text) }
}
