//! What a machine is meant for: how much findings matter there, and which values its settings are to have.

mod expect;

use crate::rules::machine::entry;
use crate::{Finding, MachineEvidence, Weight};
use firsttouch_documents::Quantity;
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Where evidence stands that a profile brings.
pub(crate) const PROFILE: &str = "profile";

/// The shipped ones, by name.
const SHIPPED: [(&str, &str); 5] = [
    ("hpc", include_str!("../profiles/hpc.toml")),
    ("database", include_str!("../profiles/database.toml")),
    ("data-science", include_str!("../profiles/data-science.toml")),
    ("low-latency", include_str!("../profiles/low-latency.toml")),
    ("container", include_str!("../profiles/container.toml")),
];

/// Weights of findings and expected values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    weights: SortedMap<String, Option<Weight>>,
    expected: Table,
    measured: BTreeMap<String, u64>,
}

/// A text that is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not TOML.
    #[error("not TOML: {0}")]
    Toml(String),
    /// A word that means nothing here.
    #[error("there is no {what} `{word}`")]
    Unknown {
        /// What it is in the place of.
        what: &'static str,
        /// The word.
        word: String,
        /// The words that mean something there.
        known: String,
    },
    /// A value of the wrong kind.
    #[error("`{key}` is to be {wanted}")]
    Value {
        /// The key.
        key: String,
        /// What it may be.
        wanted: &'static str,
    },
}

impl ProfileError {
    /// The line that helps.
    pub fn hint(&self) -> Option<String> {
        match self {
            ProfileError::Unknown { known, .. } => Some(format!("known: {known}")),
            ProfileError::Toml(_) => Some(
                "a profile has about = \"…\", and the tables [findings] (thp-always = \"weakens\") and [expect] (thp = \"madvise\")"
                    .to_owned(),
            ),
            ProfileError::Value { .. } => None,
        }
    }
}

impl Profile {
    /// The names of the shipped ones.
    pub const NAMES: [&str; 5] = [SHIPPED[0].0, SHIPPED[1].0, SHIPPED[2].0, SHIPPED[3].0, SHIPPED[4].0];

    /// The text of a shipped one.
    pub fn shipped(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(one, _)| *one == name).map(|(_, text)| *text)
    }

    /// Reads one.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| ProfileError::Toml(error.to_string()))?;
        let mut profile = Profile::default();
        for (key, value) in table {
            match (key.as_str(), value) {
                ("about", Value::String(_)) => {}
                ("about", _) => return Err(ProfileError::Value { key, wanted: "a text" }),
                ("findings", Value::Table(weights)) => {
                    for (id, value) in weights {
                        let weight = weight_of(&id, &value)?;
                        profile.weights.insert(id, weight);
                    }
                }
                ("expect", Value::Table(expected)) => {
                    expect::validate(&expected)?;
                    profile.expected = expected;
                }
                ("measured", Value::Table(values)) => {
                    for (word, value) in values {
                        profile.measured.insert(word.clone(), measured(word, &value)?);
                    }
                }
                ("findings" | "expect" | "measured", _) => {
                    return Err(ProfileError::Value { key, wanted: "a table" });
                }
                _ => {
                    let known = "about, findings, expect, measured".to_owned();
                    return Err(ProfileError::Unknown { what: "key", word: key, known });
                }
            }
        }
        Ok(profile)
    }

    /// The weight of a finding: `Some(None)` where the profile ignores it, `None` where it says nothing.
    pub(crate) fn weight(&self, id: &str) -> Option<Option<Weight>> {
        self.weights.get(id).copied()
    }

    /// What is expected to be measured, by the words of `Quantity`.
    pub fn measured(&self) -> &BTreeMap<String, u64> {
        &self.measured
    }

    /// Compares settings with what is expected of them.
    pub(crate) fn check(&self, evidence: &MachineEvidence, findings: &mut Vec<Finding>) {
        for (key, value) in &self.expected {
            expect::check(key, value, evidence, findings);
        }
    }
}

fn measured(word: String, value: &Value) -> Result<u64, ProfileError> {
    if Quantity::of(&word).is_none() {
        let known = Quantity::ALL.map(|quantity| quantity.word).join(", ");
        return Err(ProfileError::Unknown {
            what: "quantity",
            word,
            known: format!("{known}, node0_… of one node"),
        });
    }
    let number = value.as_integer().and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
    number.ok_or(ProfileError::Value {
        key: word,
        wanted: "a whole number above 0, in the unit that ends its name",
    })
}

fn weight_of(id: &str, value: &Value) -> Result<Option<Weight>, ProfileError> {
    const WORDS: [(&str, Option<Weight>); 4] = [
        ("overrides", Some(Weight::Overrides)),
        ("weakens", Some(Weight::Weakens)),
        ("remark", Some(Weight::Remark)),
        ("ignore", None),
    ];
    let key = id.strip_prefix("expected-");
    if entry(id).is_none() && key.is_none_or(|key| !expect::is_known(key)) {
        let known = crate::catalog().map(|(id, _)| id).collect::<Vec<_>>().join(", ");
        return Err(ProfileError::Unknown { what: "finding", word: id.to_owned(), known });
    }
    let word = value.as_str().and_then(|word| WORDS.iter().find(|(one, _)| *one == word));
    word.map(|(_, weight)| *weight).ok_or_else(|| ProfileError::Value {
        key: id.to_owned(),
        wanted: "\"overrides\", \"weakens\", \"remark\" or \"ignore\"",
    })
}
