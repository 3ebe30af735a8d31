//! The means by which a placement reaches a program.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The means by which a placement reaches the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The preload library of firsttouch, inside the program.
    #[default]
    Agent,
    /// Collapsing pages from outside with `process_madvise` (Linux 6.1+, CAP_SYS_NICE): static and Go programs.
    Supervise,
    /// The C library's own tunable `glibc.malloc.hugetlb` (glibc 2.35+).
    Glibc,
    /// The mimalloc allocator, preloaded with its large-page settings, where installed.
    Mimalloc,
    /// The jemalloc allocator, preloaded with its huge-page settings, where installed.
    Jemalloc,
    /// The Java virtual machine's own switches (`JAVA_TOOL_OPTIONS`): its heap is beyond any preloaded library.
    Jvm,
}

impl Via {
    /// Every means, in the order of help texts.
    pub const ALL: [Via; 6] =
        [Via::Agent, Via::Supervise, Via::Glibc, Via::Mimalloc, Via::Jemalloc, Via::Jvm];

    /// The word used on the command line and in documents.
    pub fn word(self) -> &'static str {
        match self {
            Via::Agent => "agent",
            Via::Supervise => "supervise",
            Via::Glibc => "glibc",
            Via::Mimalloc => "mimalloc",
            Via::Jemalloc => "jemalloc",
            Via::Jvm => "jvm",
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
