//! When pages are created: the words for it, and its form in documents, which is a yes or no but for the background.

pub use firsttouch_memory::agent_settings::Prefault;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What `--prefault=` may be followed by; the option alone is the first.
pub const PREFAULT_WORDS: [(&str, Prefault); 2] =
    [("at-once", Prefault::AtOnce), ("background", Prefault::Background)];

/// The option that asks for it.
pub(crate) fn option(prefault: Prefault) -> Option<&'static str> {
    match prefault {
        Prefault::No => None,
        Prefault::AtOnce => Some("--prefault"),
        Prefault::Background => Some("--prefault=background"),
    }
}

/// As documents have it.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "when pages are created is true, false or \"background\"")]
pub(crate) enum InDocuments {
    /// Whether all pages are created with their block.
    IsAtOnce(bool),
    /// Another time.
    At(Time),
}

/// See [`InDocuments`].
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Time {
    /// By a thread, while the program runs.
    Background,
}

pub(crate) fn serialize<S: Serializer>(prefault: &Prefault, serializer: S) -> Result<S::Ok, S::Error> {
    match prefault {
        Prefault::No => InDocuments::IsAtOnce(false),
        Prefault::AtOnce => InDocuments::IsAtOnce(true),
        Prefault::Background => InDocuments::At(Time::Background),
    }
    .serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Prefault, D::Error> {
    Ok(match InDocuments::deserialize(deserializer)? {
        InDocuments::IsAtOnce(false) => Prefault::No,
        InDocuments::IsAtOnce(true) => Prefault::AtOnce,
        InDocuments::At(Time::Background) => Prefault::Background,
    })
}
