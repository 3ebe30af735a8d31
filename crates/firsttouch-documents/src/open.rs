//! From the text of a file to the document that it is.

use crate::{AnyDocument, Kind, Recording, SCHEMA_VERSION};
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;

/// Why a text is no document.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing but white space.
    #[error("the file is empty: most commands write a document when they end")]
    Empty,
    /// The text stops in the middle of the document.
    #[error("the document ends early (line {line}): the copy or the command that wrote it was cut short")]
    Truncated {
        /// The last line, from 1.
        line: usize,
    },
    /// Not JSON at all.
    #[error("neither JSON nor an HTML report of firsttouch")]
    NotJson(#[source] serde_json::Error),
    /// JSON that does not say what it is.
    #[error("JSON without the key `{key}`, which every document of firsttouch begins with")]
    NoHead {
        /// The key: `kind` or `schema_version`.
        key: &'static str,
    },
    /// A kind that is not on the list.
    #[error("there is no kind of document `{found}`")]
    UnknownKind {
        /// What the document says that it is.
        found: String,
    },
    /// Written by another version.
    #[error(
        "the {kind} document has schema_version {found}; this version of firsttouch reads {SCHEMA_VERSION}"
    )]
    Version {
        /// Its kind.
        kind: Kind,
        /// The version found.
        found: u64,
    },
    /// The right kind with a key missing or of the wrong type.
    #[error("the {kind} document does not read")]
    Shape {
        /// Its kind.
        kind: Kind,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
    /// A line in the middle of a recording is something else.
    #[error("line {line} of the recording does not read")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
    /// A journal, which is there to be taken back.
    #[error("the {kind} document tells how to take changes back, and is no report")]
    Journal {
        /// Whose it is.
        kind: Kind,
    },
    /// A line of a recording without the first one, which says what was watched.
    #[error("a {kind} line without the recording's first line")]
    LineAlone {
        /// Its kind.
        kind: Kind,
    },
}

impl OpenError {
    /// The line that helps.
    pub fn hint(&self) -> String {
        match self {
            OpenError::Version { kind, .. } | OpenError::Shape { kind, .. } => {
                format!("{}   # writes it anew", kind.written_by())
            }
            OpenError::Line { .. } | OpenError::LineAlone { .. } => {
                "firsttouch watch PID --record FILE   # writes a whole recording".to_owned()
            }
            OpenError::Journal { kind: Kind::SetupJournal } => {
                "firsttouch setup   # what can be taken back; firsttouch setup --undo takes it back"
                    .to_owned()
            }
            OpenError::Journal { .. } => {
                "firsttouch attach --list   # the journals; firsttouch attach PID --undo takes one back"
                    .to_owned()
            }
            OpenError::NoHead { .. } | OpenError::UnknownKind { .. } => {
                "firsttouch report --schema list   # the kinds that are known, and what writes each; --decide FILE reads what other tools measured"
                    .to_owned()
            }
            OpenError::Empty | OpenError::Truncated { .. } | OpenError::NotJson(_) => {
                "firsttouch tune --export-json FILE -- PROGRAM writes a document".to_owned()
            }
        }
    }
}

/// What tells of a document what it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    kind: Value,
    schema_version: Value,
}

/// Reads a document of any kind from its JSON, or a recording from its lines. A byte order mark is no obstacle.
pub fn open(text: &str) -> Result<AnyDocument, OpenError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        return Err(OpenError::Empty);
    }
    let kind = kind_of(text)?;
    match kind {
        Kind::Watch => Recording::parse(text).map(|recording| AnyDocument::Recording(Box::new(recording))),
        Kind::AttachJournal | Kind::SetupJournal => Err(OpenError::Journal { kind }),
        _ => AnyDocument::read(kind, text),
    }
}

/// The kind of the first JSON value of a text, if it is of our version and whole.
fn kind_of(text: &str) -> Result<Kind, OpenError> {
    let broken = |error: serde_json::Error| match error.classify() {
        Category::Eof => OpenError::Truncated { line: text.lines().count() },
        _ => OpenError::NotJson(error),
    };
    if !text.starts_with('{') {
        serde_json::from_str::<Value>(text).map_err(broken)?;
        return Err(OpenError::NoHead { key: "kind" });
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Head>();
    let head = values.next().transpose().map_err(broken)?.unwrap_or_default();
    let word = head.kind.as_str().ok_or(OpenError::NoHead { key: "kind" })?;
    let kind = Kind::parse(word).ok_or_else(|| OpenError::UnknownKind { found: word.to_owned() })?;
    match head.schema_version.as_u64() {
        None => Err(OpenError::NoHead { key: "schema_version" }),
        Some(found) if found != u64::from(SCHEMA_VERSION) => Err(OpenError::Version { kind, found }),
        Some(_) => Ok(kind),
    }
}
