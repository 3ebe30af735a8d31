//! Kernels that Debian has packages of.

use std::fmt;
use std::str::FromStr;

/// A kernel that Debian has packages of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// That of Debian 11, from before `MADV_POPULATE_WRITE` (5.14) and `MADV_COLLAPSE` (6.1).
    V5_10,
    /// That of Debian 12.
    #[default]
    V6_1,
    /// That of Debian 12's backports: weighted interleaving (6.9), memory tiers by the speed tables.
    V6_12,
}

impl Release {
    /// All, the oldest first.
    pub const ALL: [Release; 3] = [Release::V5_10, Release::V6_1, Release::V6_12];

    /// Mirror and suite.
    pub(crate) fn source(self) -> &'static str {
        match self {
            // Debian 11 gets kernels as mends of security only.
            Release::V5_10 => "http://deb.debian.org/debian-security bullseye-security",
            Release::V6_1 => "http://deb.debian.org/debian bookworm",
            Release::V6_12 => "http://deb.debian.org/debian bookworm-backports",
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Release::V5_10 => "5.10",
            Release::V6_1 => "6.1",
            Release::V6_12 => "6.12",
        })
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Release, String> {
        let known = Release::ALL.into_iter().find(|release| release.to_string() == text);
        known.ok_or_else(|| {
            let all: Vec<String> = Release::ALL.iter().map(Release::to_string).collect();
            format!("`{text}` is none of {}", all.join(", "))
        })
    }
}
