//! What every document begins with, and how it is written.

use crate::{Kind, SCHEMA_VERSION};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What can be written as a document, or as a line of one.
pub trait Document: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: Kind;
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    kind: &'static str,
    schema_version: u32,
    #[serde(flatten)]
    document: &'a T,
}

impl<'a, T: Document> Envelope<'a, T> {
    fn of(document: &'a T) -> Envelope<'a, T> {
        Envelope { kind: T::KIND.word(), schema_version: SCHEMA_VERSION, document }
    }
}

const ALWAYS_JSON: &str = "documents hold strings, numbers and maps with string or integer keys only";

/// A document as indented JSON, ending in a newline.
pub fn to_json<T: Document>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(&Envelope::of(document)).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A document as one line of JSON, ending in a newline.
pub fn to_line<T: Document>(document: &T) -> String {
    let mut text = serde_json::to_string(&Envelope::of(document)).expect(ALWAYS_JSON);
    text.push('\n');
    text
}
