//! What was found out.

use serde::Serialize;

/// How much a finding matters to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Where it stands: a file, `environment`, or the call that was tried.
    pub source: String,
    /// What stands there.
    pub text: String,
}

/// One thing that decides over the placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A word for it, the same in every version.
    pub id: &'static str,
    /// How much it matters.
    pub weight: Weight,
    /// What it is.
    pub what: String,
    /// Where that is written.
    pub evidence: Vec<Proof>,
    /// What it does to what was asked.
    pub effect: String,
    /// The command or setting that mends it, where there is one.
    pub mend: Option<String>,
}

impl Finding {
    pub(crate) fn new(
        id: &'static str,
        weight: Weight,
        what: impl Into<String>,
        effect: impl Into<String>,
    ) -> Finding {
        Finding { id, weight, what: what.into(), evidence: Vec::new(), effect: effect.into(), mend: None }
    }

    pub(crate) fn proof(mut self, source: impl Into<String>, text: impl Into<String>) -> Finding {
        self.evidence.push(Proof { source: source.into(), text: text.into() });
        self
    }

    pub(crate) fn mend(mut self, command: impl Into<String>) -> Finding {
        self.mend = Some(command.into());
        self
    }
}
