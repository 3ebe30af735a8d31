//! Kinds of memory: ordinary, high-bandwidth, behind CXL, persistent, or a graphics card's.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a node's memory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Ordinary memory, next to CPUs.
    Dram,
    /// High-bandwidth memory: MCDRAM, HBM.
    Hbm,
    /// Memory slower than the ordinary, without CPUs of its own: behind CXL in today's machines.
    Cxl,
    /// Persistent memory in use as memory.
    Pmem,
    /// Memory of a graphics card. No placement uses it unless asked for by number or by this word.
    Gpu,
}

/// A word that names no kind of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of memory (dram, hbm, cxl, pmem and gpu are)")]
pub struct UnknownMemoryKind(pub String);

impl MemoryKind {
    /// All kinds.
    pub const ALL: [MemoryKind; 5] =
        [MemoryKind::Dram, MemoryKind::Hbm, MemoryKind::Cxl, MemoryKind::Pmem, MemoryKind::Gpu];

    /// The word for it, on the command line and in documents.
    pub fn word(self) -> &'static str {
        match self {
            MemoryKind::Dram => "dram",
            MemoryKind::Hbm => "hbm",
            MemoryKind::Cxl => "cxl",
            MemoryKind::Pmem => "pmem",
            MemoryKind::Gpu => "gpu",
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for MemoryKind {
    type Err = UnknownMemoryKind;

    fn from_str(text: &str) -> Result<MemoryKind, UnknownMemoryKind> {
        let kind = MemoryKind::ALL.into_iter().find(|kind| kind.word() == text);
        kind.ok_or_else(|| UnknownMemoryKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for kind in MemoryKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        let error = "HBM2".parse::<MemoryKind>().unwrap_err();
        assert_eq!(error.to_string(), "`HBM2` is no kind of memory (dram, hbm, cxl, pmem and gpu are)");
    }
}
