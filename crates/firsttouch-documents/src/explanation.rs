//! What `explain` finds out.

use firsttouch_placement::Placement;
use serde::{Deserialize, Serialize};

/// Who will override a placement, told before the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// What is asked.
    pub asked: Placement,
    /// What decides over it, the weightiest first.
    pub findings: Vec<Finding>,
}

/// How much a finding matters to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// What was asked will not happen, or something else decides it.
    Overrides,
    /// It happens in part, or something works against it.
    Weakens,
    /// It happens; this is good to know.
    Remark,
}

impl Weight {
    /// The word of texts and documents.
    pub fn word(self) -> &'static str {
        match self {
            Weight::Overrides => "overrides",
            Weight::Weakens => "weakens",
            Weight::Remark => "remark",
        }
    }
}

/// A line of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Proof {
    /// Where it stands: a file, `environment`, or the call that was tried.
    pub source: String,
    /// What stands there.
    pub text: String,
}

/// One thing that decides over the placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Finding {
    /// A word for it, the same in every version.
    pub id: String,
    /// How much it matters.
    pub weight: Weight,
    /// What it is.
    pub what: String,
    /// Where that is written.
    pub evidence: Vec<Proof>,
    /// What it does to what was asked.
    pub effect: String,
    /// The command or setting that mends it, where there is one.
    pub remedy: Option<String>,
}

impl Finding {
    /// One without evidence.
    pub fn new(id: &str, weight: Weight, what: impl Into<String>, effect: impl Into<String>) -> Finding {
        Finding {
            id: id.to_owned(),
            weight,
            what: what.into(),
            evidence: Vec::new(),
            effect: effect.into(),
            remedy: None,
        }
    }

    /// Adds a line of evidence.
    #[must_use]
    pub fn proof(mut self, source: impl Into<String>, text: impl Into<String>) -> Finding {
        self.evidence.push(Proof { source: source.into(), text: text.into() });
        self
    }

    /// Says what mends it.
    #[must_use]
    pub fn remedy(mut self, command: impl Into<String>) -> Finding {
        self.remedy = Some(command.into());
        self
    }
}
