//! Asked: the placement of a program.

use crate::{format_bytes, parse_size};
use firsttouch_memory::Pages;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// The means by which a placement reaches the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
}

impl Via {
    /// Every means, in the order of help texts.
    pub const ALL: [Via; 5] = [Via::Agent, Via::Supervise, Via::Glibc, Via::Mimalloc, Via::Jemalloc];

    /// The word used on the command line and in documents.
    pub fn word(self) -> &'static str {
        match self {
            Via::Agent => "agent",
            Via::Supervise => "supervise",
            Via::Glibc => "glibc",
            Via::Mimalloc => "mimalloc",
            Via::Jemalloc => "jemalloc",
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What somebody wants for a program's memory.
///
/// The default asks for transparent huge pages for allocations of at least 1 MiB, through the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// The kind of pages.
    #[serde(serialize_with = "pages_out", deserialize_with = "pages_in")]
    pub pages: Pages,
    /// Allocations below this many bytes are left alone.
    #[serde(deserialize_with = "size_in")]
    pub min_size: u64,
    /// Allocations above this many bytes are left alone; `None` is no upper limit.
    #[serde(deserialize_with = "optional_size_in", skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
    /// Create the pages when memory is allocated, before the program touches it.
    pub prefault: bool,
    /// The means.
    pub via: Via,
    /// Place the program's children (other programs it starts) too.
    pub follow: bool,
}

impl Default for Placement {
    fn default() -> Self {
        Placement {
            pages: Pages::Transparent,
            min_size: 1 << 20,
            max_size: None,
            prefault: false,
            via: Via::Agent,
            follow: false,
        }
    }
}

/// A placement that cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// `max_size` is below `min_size`.
    #[error("max-size {max} is below min-size {min}")]
    EmptyRange {
        /// The lower limit, as people write it.
        min: String,
        /// The upper limit, as people write it.
        max: String,
    },
    /// The means cannot give this kind of pages.
    #[error("--via {via} cannot give --pages {pages}")]
    PagesNotBy {
        /// The means asked for.
        via: Via,
        /// The pages asked for.
        pages: String,
    },
    /// The means has no such setting.
    #[error("--via {via} has no {setting}")]
    SettingNotBy {
        /// The means asked for.
        via: Via,
        /// The setting, as its command-line option.
        setting: &'static str,
    },
    /// A key or word of the short form is unknown.
    #[error("`{word}` is not a placement setting (pages=, min-size=, max-size=, prefault, via=, follow)")]
    UnknownWord {
        /// The offending word.
        word: String,
    },
}

impl Placement {
    /// The smallest `min_size` that makes sense: below it, page-granular blocks cost more than they give.
    pub const SMALLEST_MIN_SIZE: u64 = 64 << 10;

    /// Checks that the fields agree with each other.
    pub fn check(&self) -> Result<(), PlacementError> {
        if let Some(max) = self.max_size
            && max < self.min_size
        {
            return Err(PlacementError::EmptyRange {
                min: format_bytes(self.min_size),
                max: format_bytes(max),
            });
        }
        let possible = match self.via {
            Via::Agent => true,
            Via::Supervise => matches!(self.pages, Pages::Transparent | Pages::Auto),
            Via::Glibc => {
                matches!(self.pages, Pages::Transparent | Pages::Huge2M | Pages::Huge1G | Pages::Auto)
            }
            Via::Mimalloc => {
                matches!(self.pages, Pages::Transparent | Pages::Huge2M | Pages::Huge1G | Pages::Auto)
            }
            Via::Jemalloc => matches!(self.pages, Pages::Transparent | Pages::Auto),
        };
        if !possible {
            return Err(PlacementError::PagesNotBy { via: self.via, pages: self.pages.to_string() });
        }
        if self.via != Via::Agent && self.prefault {
            return Err(PlacementError::SettingNotBy { via: self.via, setting: "--prefault" });
        }
        Ok(())
    }

    /// The words after `firsttouch run` that ask for this placement; defaults are left out.
    pub fn arguments(&self) -> Vec<String> {
        let default = Placement::default();
        let mut words = vec!["--pages".to_owned(), self.pages.to_string()];
        if self.min_size != default.min_size {
            words.extend(["--min-size".to_owned(), self.min_size.to_string()]);
        }
        if let Some(max) = self.max_size {
            words.extend(["--max-size".to_owned(), max.to_string()]);
        }
        if self.prefault {
            words.push("--prefault".to_owned());
        }
        if self.via != default.via {
            words.extend(["--via".to_owned(), self.via.to_string()]);
        }
        if self.follow {
            words.push("--follow".to_owned());
        }
        words
    }
}

/// The short form of `tune --configs`: `thp`, `2m,prefault`, `pages=thp,via=glibc,min-size=4M`.
impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut placement = Placement::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let unknown = || PlacementError::UnknownWord { word: word.to_owned() };
            match word.split_once('=') {
                Some(("pages", value)) => placement.pages = Pages::parse(value).ok_or_else(unknown)?,
                Some(("min-size", value)) => placement.min_size = parse_size(value).ok_or_else(unknown)?,
                Some(("max-size", value)) => {
                    placement.max_size = Some(parse_size(value).ok_or_else(unknown)?)
                }
                Some(("via", value)) => {
                    placement.via =
                        Via::ALL.into_iter().find(|via| via.word() == value).ok_or_else(unknown)?
                }
                None if word == "prefault" => placement.prefault = true,
                None if word == "follow" => placement.follow = true,
                None => placement.pages = Pages::parse(word).ok_or_else(unknown)?,
                Some(_) => return Err(unknown()),
            }
        }
        placement.check()?;
        Ok(placement)
    }
}

fn pages_out<S: Serializer>(pages: &Pages, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(pages)
}

fn pages_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pages, D::Error> {
    let word = String::deserialize(deserializer)?;
    Pages::parse(&word).ok_or_else(|| {
        de::Error::custom(format!("`{word}` is not a kind of pages (4k, thp, 16k…1024k, 2m, 1g, auto)"))
    })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u64),
    Text(String),
}

fn size<E: de::Error>(size: Size) -> Result<u64, E> {
    match size {
        Size::Bytes(bytes) => Ok(bytes),
        Size::Text(text) => parse_size(&text)
            .ok_or_else(|| E::custom(format!("`{text}` is not a size (for example 1M, 512K)"))),
    }
}

fn size_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    size(Size::deserialize(deserializer)?)
}

fn optional_size_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<Size>::deserialize(deserializer)?.map(size).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_reads_what_it_says() {
        let placement: Placement = "2m,min-size=4M,prefault".parse().unwrap();
        assert_eq!(placement.pages, Pages::Huge2M);
        assert_eq!(placement.min_size, 4 << 20);
        assert!(placement.prefault);
        assert!("warp=9".parse::<Placement>().is_err());
        assert!("4k,via=jemalloc".parse::<Placement>().is_err());
    }

    #[test]
    fn a_range_without_sizes_is_refused() {
        let placement = Placement { max_size: Some(10), ..Placement::default() };
        assert!(matches!(placement.check(), Err(PlacementError::EmptyRange { .. })));
    }

    #[test]
    fn the_arguments_ask_for_the_same_again() {
        let placement: Placement = "1g,max-size=1G,follow".parse().unwrap();
        assert_eq!(placement.arguments(), ["--pages", "1g", "--max-size", "1073741824", "--follow"]);
    }
}
