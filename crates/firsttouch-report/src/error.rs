//! Why a text is not a document that can be shown.

use firsttouch_placement::SCHEMA_VERSION;

/// A text that is not a `tune` document.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing but white space.
    #[error("the file is empty: `tune --export-json FILE` writes one when the session ends")]
    Empty,
    /// The text stops in the middle of the document.
    #[error("the document ends early (line {line}): the copy or the session that wrote it was cut short")]
    Truncated {
        /// The last line, from 1.
        line: usize,
    },
    /// Not JSON at all.
    #[error("neither JSON nor an HTML report of firsttouch")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but something else.
    #[error(
        "not a tune document but {found}; `report` shows what `tune --export-json` or `--export-html` wrote"
    )]
    OtherDocument {
        /// What it looks like.
        found: &'static str,
    },
    /// Written by another version.
    #[error("the document has schema_version {found}; this version of firsttouch reads {SCHEMA_VERSION}")]
    Version {
        /// The version found.
        found: u64,
    },
    /// The right kind of document with a key missing or of the wrong type.
    #[error("the tune document does not read")]
    Shape(#[source] serde_json::Error),
    /// HTML without our data block.
    #[error("an HTML file, but not a report of firsttouch: it holds no `firsttouch-data` block")]
    NoData,
}
