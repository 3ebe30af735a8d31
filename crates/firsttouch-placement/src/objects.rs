//! Where a program's memory of its own names goes.

use crate::{MemoryPolicy, MemoryPolicyError};
use firsttouch_memory::Pages;
use std::fmt;
use std::str::FromStr;

/// Where the memory goes that the program gives a name, apart from all other: `thp`, `2m:prefer=hbm`.
///
/// Names are those of regions ([`firsttouch_memory::Builder::name`]) and of the arrays of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPlacement {
    /// The kind of pages.
    pub pages: Pages,
    /// The nodes that they come from.
    pub memory: MemoryPolicy,
}

/// A text that is no place of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectPlacementError {
    /// The kind of pages is none.
    #[error("`{word}` is not a kind of pages ({})", Pages::WORDS)]
    Pages {
        /// The word.
        word: String,
    },
    /// The policy is none.
    #[error(transparent)]
    Memory(#[from] MemoryPolicyError),
}

impl FromStr for ObjectPlacement {
    type Err = ObjectPlacementError;

    fn from_str(text: &str) -> Result<ObjectPlacement, ObjectPlacementError> {
        let (word, memory) = text.split_once(':').map_or((text, None), |(word, memory)| (word, Some(memory)));
        let pages =
            Pages::parse(word).ok_or_else(|| ObjectPlacementError::Pages { word: word.to_owned() })?;
        let memory = memory.map_or(Ok(MemoryPolicy::None), str::parse)?;
        Ok(ObjectPlacement { pages, memory })
    }
}

impl fmt::Display for ObjectPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pages)?;
        match self.memory {
            MemoryPolicy::None => Ok(()),
            _ => write!(f, ":{}", self.memory),
        }
    }
}

as_text!(ObjectPlacement);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["thp", "2m:prefer=hbm", "plain:interleave=0-3,8", "1g:weighted", "4k:local"] {
            let place: ObjectPlacement = text.parse().unwrap();
            assert_eq!(place.to_string(), text);
        }
        let refused = |text: &str| text.parse::<ObjectPlacement>().unwrap_err().to_string();
        assert!(refused("large").contains("`large` is not a kind of pages"));
        assert!(refused("thp:somewhere").contains("somewhere"));
    }
}
