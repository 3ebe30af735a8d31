//! What a person sees of a document: text for every kind, and Markdown, CSV, one-file HTML and SVG where they say more; and
//! the way back from JSON and HTML to the document.
//!
//! - [`text`]: the terminal, with or without colour;
//! - [`markdown`], [`csv`], [`json`]: the exports;
//! - [`html`]: one file with inline SVG plots, that holds the document too, so that it can be re-opened;
//! - [`picture`]: a machine drawn as text and as SVG;
//! - [`live`]: a process as it runs, in the terminal;
//! - [`open`]: any document from its JSON or our HTML; [`show`]: it in any [`Format`] that it has;
//! - [`measured`]: values that were measured elsewhere, read from files of many tools and decided.
//!
//! The number that is printed large comes from the confirmation phase only; what the search recommends and was not
//! confirmed is named, never praised. What is unknown is shown as unknown, never as 0.
//!
//! Architecture invariant: this crate does no I/O and measures nothing. It takes a document and gives back text.
//! Every string of a document may come from a stranger: it is escaped for the place it goes to, control
//! characters and all ([`visible`], which the command line uses for what it prints by itself). The HTML holds no script that runs and refers to nothing outside itself.

#![forbid(unsafe_code)]

mod account;
mod articles;
mod bench;
mod cells;
pub mod csv;
mod decision;
mod error;
mod escape;
mod heat;
mod hosts;
pub mod html;
pub mod json;
mod judged;
pub mod live;
pub mod markdown;
pub mod measured;
mod number;
pub mod picture;
mod plots;
mod remarks;
mod scale;
mod sentence;
mod series;
mod sheet;
pub mod shell;
mod show;
mod style;
mod summary;
mod svg;
pub mod text;
mod verdict;
mod visible;

pub use error::OpenError;
pub use judged::amount;
pub use number::{seconds, span};
pub use show::{Format, formats, show};
pub use style::Style;
pub use visible::{shortened, visible, wrapped};

use firsttouch_documents::{Account, AnyDocument};

/// Reads a document of any kind from the text of a file: JSON, the lines of a recording, or a page of ours that holds it.
///
/// # Errors
/// A text that is neither.
pub fn open(text: &str) -> Result<AnyDocument, OpenError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let document = if text.starts_with('<') { html::block(text)? } else { text };
    Ok(firsttouch_documents::open(document)?)
}

/// What the workers of a runtime did over time, and the efficiency of each step, as one SVG for light and dark.
pub fn workers_figure(account: &Account, title: &str) -> String {
    plots::workers::figure(account, title)
}
