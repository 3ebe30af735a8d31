//! Asked: the placement of a program.

use crate::error::PlacementError;
use crate::prefault::{self, PREFAULT_WORDS, Prefault};
use crate::threads::{format_order, parse_order};
use crate::{
    MemoryPolicy, MemoryPolicyError, NodeSet, ObjectPlacement, ProgramCpus, ThreadPlacement, Via,
    format_bytes, parse_size,
};
use firsttouch_memory::Pages;
use firsttouch_memory::object_places::is_name;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What somebody wants for a program's memory and threads.
///
/// The default asks for transparent huge pages for allocations of at least 1 MiB, through the agent, and decides nothing
/// about nodes and CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// The kind of pages.
    #[serde(serialize_with = "pages_out", deserialize_with = "pages_in")]
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub pages: Pages,
    /// Allocations below this many bytes are left alone.
    #[serde(deserialize_with = "size_in")]
    #[cfg_attr(feature = "schemas", schemars(with = "u64"))]
    pub min_size: u64,
    /// Allocations above this many bytes are left alone; `None` is no upper limit.
    #[serde(deserialize_with = "optional_size_in", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<u64>"))]
    pub max_size: Option<u64>,
    /// Create the pages when memory is allocated, before the program touches it; or in the background, ahead of the program.
    #[serde(with = "prefault")]
    #[cfg_attr(feature = "schemas", schemars(with = "prefault::InDocuments"))]
    pub prefault: Prefault,
    /// Blocks hold zeroes when they are made, also on memory that served before, as glibc's above 32 MiB do.
    pub zero: bool,
    /// Put what the C library allocates itself, below `min_size`, on transparent huge pages too, by its tunable
    /// `glibc.malloc.hugetlb` (glibc 2.35). Programs that the program starts inherit it.
    pub heap: bool,
    /// An allocator that gives freed memory back to the kernel keeps it for reuse instead, as the agent does with what it
    /// places: with `via` glibc, mimalloc or jemalloc, on `plain` pages too.
    pub keep: bool,
    /// The means.
    pub via: Via,
    /// Place the program's children (other programs it starts) too.
    pub follow: bool,
    /// The nodes that memory comes from. It holds for all memory of the program and of its children.
    pub memory: MemoryPolicy,
    /// The CPUs that the program may run on, any thread on any of them, and its children.
    #[serde(skip_serializing_if = "ProgramCpus::is_none")]
    pub cpus: ProgramCpus,
    /// The CPUs that threads are bound to, one by one; within `cpus`.
    pub threads: ThreadPlacement,
    /// Threads that are not bound and take no CPU of the order, by the number of their creation: 0 is the main thread.
    pub skip_threads: Vec<u32>,
    /// A device: the program runs on the CPUs next to it, with memory from there; several, with commas, for several ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// Where memory goes that the program gives these names, apart from all other: regions, and the arrays of cases.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, ObjectPlacement>,
}

impl Default for Placement {
    fn default() -> Self {
        Placement {
            pages: Pages::Transparent,
            min_size: 1 << 20,
            max_size: None,
            prefault: Prefault::No,
            zero: false,
            heap: false,
            keep: false,
            via: Via::Agent,
            follow: false,
            memory: MemoryPolicy::None,
            cpus: ProgramCpus::None,
            threads: ThreadPlacement::None,
            skip_threads: Vec::new(),
            near: None,
            objects: BTreeMap::new(),
        }
    }
}

impl Placement {
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
            Via::Glibc | Via::Mimalloc | Via::Jvm if self.pages.is_reserved() => true,
            // An allocator as it comes; of what is in the program anyway, that would be nothing.
            Via::Mimalloc | Via::Jemalloc if self.pages == Pages::Plain => true,
            Via::Glibc if self.pages == Pages::Plain => self.keep,
            _ => matches!(self.pages, Pages::Transparent | Pages::Auto),
        };
        if !possible {
            return Err(PlacementError::PagesNotBy { via: self.via, pages: self.pages.to_string() });
        }
        // Glibc's own means places its heap anyway, and other allocators have none. A Java heap can be created at its start.
        let is_ours = self.via == Via::Agent;
        let prefaults = is_ours || self.via == Via::Jvm && self.prefault == Prefault::AtOnce;
        for (setting, asked, possible) in [
            (prefault::option(self.prefault).unwrap_or_default(), self.prefault != Prefault::No, prefaults),
            ("--zero", self.zero, is_ours),
            ("--heap", self.heap, is_ours),
            ("--keep", self.keep, matches!(self.via, Via::Glibc | Via::Mimalloc | Via::Jemalloc)),
        ] {
            if asked && !possible {
                return Err(PlacementError::SettingNotBy { via: self.via, setting });
            }
            if asked && is_ours && self.pages == Pages::Plain {
                return Err(PlacementError::NothingPlaced { setting });
            }
        }
        // Threads are bound by the agent, which cannot be loaded beside another allocator and never is by `supervise`.
        if self.threads != ThreadPlacement::None && !matches!(self.via, Via::Agent | Via::Glibc | Via::Jvm) {
            return Err(PlacementError::SettingNotBy { via: self.via, setting: "--threads" });
        }
        if self.threads == ThreadPlacement::None && !self.skip_threads.is_empty() {
            return Err(PlacementError::NothingToSkip);
        }
        if let Some(devices) = self.near.as_ref().filter(|_| self.near_devices().any(str::is_empty)) {
            return Err(PlacementError::NoDevice { devices: devices.clone() });
        }
        match self.objects.keys().find(|name| !is_name(name)) {
            Some(name) => Err(PlacementError::ObjectName { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the agent has something to do in the program.
    pub fn needs_agent(&self) -> bool {
        self.threads != ThreadPlacement::None || self.is_placed_by_agent()
    }

    /// Whether the agent places memory, so that its record tells what was obtained.
    pub fn is_placed_by_agent(&self) -> bool {
        self.via == Via::Agent && self.pages != Pages::Plain
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
        words.extend(prefault::option(self.prefault).map(str::to_owned));
        if self.zero {
            words.push("--zero".to_owned());
        }
        if self.heap {
            words.push("--heap".to_owned());
        }
        if self.keep {
            words.push("--keep".to_owned());
        }
        if self.via != default.via {
            words.extend(["--via".to_owned(), self.via.to_string()]);
        }
        if self.follow {
            words.push("--follow".to_owned());
        }
        if self.memory != default.memory {
            words.extend(["--memory".to_owned(), self.memory.to_string()]);
        }
        if self.cpus != default.cpus {
            words.extend(["--cpus".to_owned(), self.cpus.to_string()]);
        }
        if self.threads != default.threads {
            words.extend(["--threads".to_owned(), self.threads.to_string()]);
        }
        if !self.skip_threads.is_empty() {
            words.extend(["--skip-threads".to_owned(), format_order(&self.skip_threads)]);
        }
        if let Some(device) = &self.near {
            words.extend(["--near".to_owned(), device.clone()]);
        }
        for (name, place) in &self.objects {
            words.extend(["--object".to_owned(), format!("{name}:{place}")]);
        }
        words
    }
}

/// Sizes exactly, in the largest unit that leaves no remainder: `4M`, `1500K`, `12345`.
fn exact_size(bytes: u64) -> String {
    for (shift, suffix) in [(30, "G"), (20, "M"), (10, "K")] {
        if bytes != 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{suffix}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// The short form; defaults are left out.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Placement::default();
        write!(f, "{}", self.pages)?;
        if self.min_size != default.min_size {
            write!(f, ",min-size={}", exact_size(self.min_size))?;
        }
        if let Some(max) = self.max_size {
            write!(f, ",max-size={}", exact_size(max))?;
        }
        if let Some(word) = prefault::option(self.prefault) {
            write!(f, ",{}", word.trim_start_matches('-'))?;
        }
        if self.zero {
            f.write_str(",zero")?;
        }
        if self.heap {
            f.write_str(",heap")?;
        }
        if self.keep {
            f.write_str(",keep")?;
        }
        if self.via != default.via {
            write!(f, ",via={}", self.via)?;
        }
        if self.follow {
            f.write_str(",follow")?;
        }
        // A comma would end the setting.
        let inside = |text: String| text.replace(',', "+");
        if self.memory != default.memory {
            write!(f, ",{}", inside(self.memory.to_string()))?;
        }
        if self.cpus != default.cpus {
            write!(f, ",cpus={}", inside(self.cpus.to_string()))?;
        }
        if self.threads != default.threads {
            write!(f, ",threads={}", inside(self.threads.to_string()))?;
        }
        if !self.skip_threads.is_empty() {
            write!(f, ",skip-threads={}", inside(format_order(&self.skip_threads)))?;
        }
        for device in self.near_devices() {
            write!(f, ",near={device}")?;
        }
        for (name, place) in &self.objects {
            write!(f, ",object={name}:{}", inside(place.to_string()))?;
        }
        Ok(())
    }
}

/// The short form of `tune --configs`: `thp`, `2m,prefault`, `pages=thp,via=glibc,min-size=4M`,
/// `plain,interleave=0-3+8,threads=groups=6x4`.
impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut placement = Placement::default();
        let mut decided = Vec::new();
        for word in text.split(',').map(str::trim) {
            let unknown = || PlacementError::UnknownWord { word: word.to_owned() };
            let twice = || PlacementError::Twice { word: word.to_owned() };
            let decides = decided_by(word);
            if decides.iter().any(|setting| decided.contains(setting)) {
                return Err(twice());
            }
            decided.extend(decides);
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
                Some(("memory", value)) => placement.memory = value.parse()?,
                Some(("bind" | "prefer" | "interleave" | "weighted", _)) => {
                    placement.memory = word.parse()?
                }
                Some(("node", value)) => {
                    let nodes: NodeSet = value.parse().map_err(MemoryPolicyError::Nodes)?;
                    placement.memory = MemoryPolicy::Bind(nodes.clone());
                    placement.cpus = ProgramCpus::Nodes(nodes);
                }
                Some(("cpus", value)) => placement.cpus = value.parse()?,
                Some(("threads", value)) => placement.threads = value.parse()?,
                Some(("skip-threads", value)) => {
                    placement.skip_threads = parse_order(value).ok_or_else(unknown)?
                }
                Some(("prefault", value)) => {
                    let named = PREFAULT_WORDS.into_iter().find(|(word, _)| *word == value);
                    placement.prefault = named.ok_or_else(unknown)?.1;
                }
                Some(("near", device)) => {
                    let before = placement.near.map_or_else(String::new, |before| before + ",");
                    placement.near = Some(before + device.trim());
                }
                Some(("object", value)) => {
                    let (name, place) = parse_object(value)?;
                    if placement.objects.insert(name, place).is_some() {
                        return Err(twice());
                    }
                }
                None if word == "prefault" => placement.prefault = Prefault::AtOnce,
                None if word == "zero" => placement.zero = true,
                None if word == "heap" => placement.heap = true,
                None if word == "keep" => placement.keep = true,
                None if word == "follow" => placement.follow = true,
                None if matches!(word, "local" | "weighted") => placement.memory = word.parse()?,
                None => placement.pages = Pages::parse(word).ok_or_else(unknown)?,
                Some(_) => return Err(unknown()),
            }
        }
        placement.check()?;
        Ok(placement)
    }
}

/// What a word of the short form decides alone; there may be several devices and several objects.
fn decided_by(word: &str) -> Vec<&str> {
    match word.split_once('=') {
        Some(("near" | "object", _)) => Vec::new(),
        Some(("bind" | "prefer" | "interleave" | "weighted", _)) => vec!["memory"],
        Some(("node", _)) => vec!["memory", "cpus"],
        Some((key, _)) => vec![key],
        None if matches!(word, "local" | "weighted") => vec!["memory"],
        None if Pages::parse(word).is_some() => vec!["pages"],
        None => vec![word],
    }
}

/// `NAME:PAGES` or `NAME:PAGES:MEMORY`: where memory of that name goes.
///
/// # Errors
/// Where it does not read so.
pub fn parse_object(text: &str) -> Result<(String, ObjectPlacement), PlacementError> {
    let (name, place) = text.split_once(':').unwrap_or((text, ""));
    match is_name(name) {
        true => Ok((name.to_owned(), place.parse()?)),
        false => Err(PlacementError::ObjectName { name: name.to_owned() }),
    }
}

fn pages_out<S: Serializer>(pages: &Pages, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(pages)
}

fn pages_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pages, D::Error> {
    let word = String::deserialize(deserializer)?;
    Pages::parse(&word)
        .ok_or_else(|| de::Error::custom(format!("`{word}` is not a kind of pages ({})", Pages::WORDS)))
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a size is a number of bytes or a text (for example \"1M\", \"512K\")")]
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
        assert_eq!(placement.prefault, Prefault::AtOnce);
        assert!("warp=9".parse::<Placement>().is_err());
        for empty in ["", ",", "thp,"] {
            assert!(matches!(empty.parse::<Placement>(), Err(PlacementError::UnknownWord { .. })), "{empty}");
        }
        assert!("4k,via=jemalloc".parse::<Placement>().is_err());
    }

    #[test]
    fn nothing_is_decided_twice() {
        for text in [
            "plain,interleave=all,bind=0,local",
            "thp,pages=4k",
            "thp,prefault,prefault=background",
            "plain,cpus=0,node=0",
            "plain,object=a:thp,object=a:4k",
        ] {
            assert!(matches!(text.parse::<Placement>(), Err(PlacementError::Twice { .. })), "{text}");
        }
        assert!("plain,near=eth0,near=eth1,object=a:thp,object=b:4k".parse::<Placement>().is_ok());
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
        let placement: Placement =
            "plain,bind=hbm+2,threads=4-7+0,skip-threads=1-3,near=eth0".parse().unwrap();
        assert_eq!(
            placement.arguments(),
            [
                "--pages",
                "plain",
                "--memory",
                "bind=hbm,2",
                "--threads",
                "4-7,0",
                "--skip-threads",
                "1-3",
                "--near",
                "eth0"
            ]
        );
    }

    #[test]
    fn the_short_form_reads_back() {
        for text in [
            "thp",
            "2m,min-size=4M,max-size=1G,prefault,zero,heap,follow",
            "thp,prefault=background,heap",
            "thp,min-size=1500K,via=glibc,threads=scatter",
            "thp,keep,via=jemalloc",
            "plain,keep,via=glibc",
            "plain,via=mimalloc",
            "plain,local",
            "plain,weighted",
            "4k,weighted=dram+cxl,threads=compact,skip-threads=1+3",
            "plain,bind=0-3+8,threads=groups=6x4,near=0000:05:00.0",
            "plain,prefer=hbm,near=/dev/nvme0n1",
            "thp,cpus=0-3+8",
            "plain,bind=1,cpus=nodes=1+3,threads=compact",
        ] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
        let spaced: Placement = "plain, near= eth0 ,near= eth1".parse().unwrap();
        assert_eq!(spaced, "plain,near=eth0,near=eth1".parse().unwrap());
        assert_eq!(spaced.to_string().parse(), Ok(spaced));
        let same: Placement = "memory=bind=0-3+8,threads=compact".parse().unwrap();
        assert_eq!(same.to_string(), "thp,bind=0-3+8,threads=compact");
        let node: Placement = "plain,node=1".parse().unwrap();
        assert_eq!(node.to_string(), "plain,bind=1,cpus=nodes=1");
        assert_eq!(node.arguments()[2..], ["--memory", "bind=1", "--cpus", "nodes=1"]);
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        for text in [
            "thp,via=mimalloc,threads=compact",
            "thp,via=supervise,threads=compact",
            "plain,prefault",
            "plain,prefault=background",
            "thp,prefault=background,via=jvm",
            "thp,prefault=never",
            "plain,zero",
            "plain,heap",
            "plain,via=glibc",
            "plain,via=supervise",
            "thp,keep",
            "thp,keep,via=jvm",
            "4k,keep,via=glibc",
            "thp,skip-threads=1",
            "thp,bind",
            "thp,threads=close",
            "thp,near=",
            "thp,cpus",
            "thp,cpus=",
            "thp,cpus=node=1",
            "thp,node=",
        ] {
            assert!(text.parse::<Placement>().is_err(), "{text}");
        }
        assert!("thp,via=glibc,threads=compact".parse::<Placement>().unwrap().needs_agent());
        assert!(!"plain,keep,via=glibc".parse::<Placement>().unwrap().needs_agent());
        assert!(!"plain,node=0".parse::<Placement>().unwrap().needs_agent());
        assert!(!"plain,bind=0".parse::<Placement>().unwrap().needs_agent());
    }
}
