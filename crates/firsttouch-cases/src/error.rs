//! Why a case cannot be made.

use firsttouch_memory::RegionError;

/// A case that cannot be made as asked.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// No parameter of the case has this name.
    #[error("`{case}` has no parameter `{name}`")]
    NoParameter {
        /// The case.
        case: &'static str,
        /// What was asked for.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// A value that the parameter cannot have.
    #[error("`{name}` cannot be `{text}`: expected {expected}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// What was asked for.
        text: String,
        /// What it can be.
        expected: String,
    },
    /// Values that do not go together.
    #[error("{0}")]
    Together(String),
    /// What the case works on cannot be had.
    #[error("{what}")]
    Input {
        /// What, and why.
        what: String,
        /// What mends it.
        hint: Option<String>,
    },
    /// What a variant needs is not here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// An array cannot be had.
    #[error("cannot make the array `{name}`")]
    Array {
        /// Its name.
        name: &'static str,
        /// Why.
        source: RegionError,
    },
}

impl CaseError {
    /// What mends it, where something does.
    pub fn hint(&self) -> Option<String> {
        match self {
            CaseError::NoParameter { known, .. } => Some(format!("it has {known}")),
            CaseError::Input { hint, .. } => hint.clone(),
            CaseError::Missing(missing) => Some(missing.remedy.clone()),
            CaseError::Array { source, .. } => Some(source.hint().to_owned()),
            CaseError::Value { .. } | CaseError::Together(_) => None,
        }
    }
}

/// What is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Missing {
    /// What, as a sentence: `libopenblas.so.0 is not installed`.
    pub what: String,
    /// The command or the machine that has it.
    pub remedy: String,
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, remedy: &str) -> Missing {
        Missing { what: what.into(), remedy: remedy.to_owned() }
    }

    /// Of who needs AVX2 where the processor has none.
    pub(crate) fn avx2() -> Missing {
        Missing::new("the processor has no AVX2", "a processor of x86-64-v3")
    }
}
