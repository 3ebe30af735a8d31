//! Creating memory: mapping it, and letting every page come into being, which clears it.
//!
//! Source: *An Implementation of Fast memset() Using Hardware Accelerators*, where a page of 2 GB takes the kernel 322 ms, and 31 ms
//! once eight co-processors clear it. Here the engines are threads, of the kernel's own way or of `firsttouch-fill`.

use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::CaseError;
use crate::parameter::{Kind, Parameter};
use crate::share::{cut_slice, each};
use firsttouch_fill::{Filler, Next, Threads, populate};
use firsttouch_machine::{Machine, Root};
use firsttouch_measure::Limit;
use firsttouch_memory::{HUGE, Pages, Region};
use firsttouch_threads::Team;
use std::collections::BTreeMap;
use std::hint::black_box;

/// Creation of memory.
#[derive(Debug)]
pub(crate) struct Creation;

static ABOUT: About = About {
    name: "creation",
    summary: "memory that is mapped, and whose pages are made to exist, which clears them",
    source: "An Implementation of Fast memset() Using Hardware Accelerators",
    parameters: &[
        Parameter::new("size", "bytes that are created", Kind::Bytes(4096, 1 << 40), ["1G", "64M"]),
        Parameter::new(
            "pages",
            "the pages that are asked for; `2m` and `1g` are reserved ones",
            Kind::Word(&["4k", "thp", "2m", "1g"]),
            ["thp", "thp"],
        ),
    ],
    variants: &[
        variant("touch", "one thread writes to every page: a fault for each, as programs do"),
        variant("touch-all", "the same by all threads, each its part"),
        variant("populate", "all threads, each by one call for its part (MADV_POPULATE_WRITE, Linux 5.14)"),
        variant("fill", "the fill engine, on the CPUs of all threads"),
    ],
    steps: 3,
    unit: Unit::Time,
    bound: Some(Limit::Write),
};

const fn variant(name: &'static str, meaning: &'static str) -> Variant {
    Variant::ours(name, meaning)
}

/// The array's name in errors.
const ARRAY: &str = "memory";
/// What is touched is at most so far apart: a page of the smallest kind.
const PAGE: usize = 4096;

/// What makes pages exist.
enum Way {
    Touch { all: bool },
    Populate,
    Fill(Box<Filler>),
}

impl Case for Creation {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let bytes = given.arguments.number("size");
        let pages = Pages::parse(given.arguments.word("pages")).expect("a word of pages");
        let way = match given.variant.name {
            "touch" => Way::Touch { all: false },
            "touch-all" => Way::Touch { all: true },
            "populate" => Way::Populate,
            _ => Way::Fill(Box::new(filler(given.team)?)),
        };
        let region = map(bytes, pages)?;
        if let Some(reason) = region.shortfall().filter(|_| region.pages() != pages) {
            return Err(CaseError::Input {
                what: format!("there are no {pages} pages for this ({})", reason.word()),
                hint: Some(reason.remedy().to_owned()),
            });
        }
        Ok(Prepared::Here(Box::new(Creating { bytes, pages, way, region: Some(region) })))
    }
}

fn map(bytes: usize, pages: Pages) -> Result<Region, CaseError> {
    Region::map(bytes, pages, None).map_err(|source| CaseError::Array { name: ARRAY, source })
}

/// Engines on the CPUs of a team, by their nodes.
fn filler(team: &mut Team) -> Result<Filler, CaseError> {
    let cannot = |error: &dyn std::error::Error, hint: Option<&str>| CaseError::Input {
        what: format!("the fill engine cannot start: {error}"),
        hint: hint.map(str::to_owned),
    };
    let machine = Machine::read(&Root::live()).map_err(|error| cannot(&error, None))?;
    let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in team.map(|member| member.cpu()) {
        let node = machine.nodes.iter().find(|node| node.cpus.contains(&cpu)).map_or(0, |node| node.id);
        by_node.entry(node).or_default().push(cpu);
    }
    Filler::new(&Threads { by_node }).map_err(|error| cannot(&error, Some(error.hint())))
}

struct Creating {
    bytes: usize,
    pages: Pages,
    way: Way,
    /// What the last step created.
    region: Option<Region>,
}

impl Workload for Creating {
    fn reset(&mut self, _: &mut Team) {
        self.region = None;
    }

    fn step(&mut self, team: &mut Team) {
        // Reserved pages are created by mapping them already.
        let mut region = map(self.bytes, self.pages).expect("it could be mapped when this was prepared");
        match &self.way {
            Way::Touch { all: false } => touch(region.as_mut_slice()),
            Way::Touch { all: true } => by_all(team, &mut region, touch),
            Way::Populate => by_all(team, &mut region, |part| {
                if populate(part).is_err() {
                    touch(part);
                }
            }),
            Way::Fill(filler) => {
                region = filler.fill(vec![region], 0, Next::Leave).wait().buffers.remove(0);
            }
        }
        self.region = Some(region);
    }

    /// How many words there are, and what they add up to.
    fn checksum(&self) -> Checksum {
        let words = self.region.as_ref().map_or(&[][..], |region| region.as_slice_of::<u64>());
        let words = &words[..self.bytes / size_of::<u64>()];
        let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
        Checksum::of_words([words.len() as u64, sum])
    }

    fn work(&self) -> Work {
        Work { bytes: self.bytes as u64, operations: 0 }
    }

    fn notes(&self) -> Vec<String> {
        let seen = self.region.as_ref().and_then(Region::coverage);
        let note = |seen: firsttouch_memory::Coverage| {
            format!("{} MiB on huge pages, {} MiB on small ones", seen.huge >> 20, seen.small >> 20)
        };
        seen.map(note).into_iter().collect()
    }
}

/// Gives every member its part, in whole huge pages: no two threads create the same one.
fn by_all(team: &mut Team, region: &mut Region, work: impl Fn(&mut [u8]) + Sync) {
    let parts = cut_slice(region.as_mut_slice(), team.size(), HUGE);
    each(team, parts, |_, part| work(part));
}

fn touch(part: &mut [u8]) {
    for byte in part.iter_mut().step_by(PAGE) {
        *black_box(byte) = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::{prepared, stepped};

    /// Every way, on odd sizes too: all pages are there, nothing is on them, and as many bytes were counted as there are.
    #[test]
    fn all_memory_is_there_and_cleared_whoever_creates_it() {
        for variant in ABOUT.variants {
            for (size, bytes) in [("4K", 4096_usize), ("7M", 7 << 20), ("2101248", 2_101_248)] {
                for threads in [1, 2] {
                    let seen = stepped(&Creation, variant.name, &[("size", size), ("pages", "4k")], threads);
                    let work = Work { bytes: bytes as u64, operations: 0 };
                    assert_eq!(seen, (Checksum::of_words([work.bytes / 8, 0]), work), "{variant:?} {size}");
                }
            }
        }
    }

    /// As read back from the kernel, before anything reads the memory.
    #[test]
    fn pages_exist_after_a_step() {
        for variant in ABOUT.variants {
            let mut team = Team::of_this_process(2).expect("a team");
            let way = match variant.name {
                "touch" => Way::Touch { all: false },
                "touch-all" => Way::Touch { all: true },
                "populate" => Way::Populate,
                _ => Way::Fill(Box::new(filler(&mut team).expect("a filler"))),
            };
            let mut creating = Creating { bytes: 8 << 20, pages: Pages::Base, way, region: None };
            creating.step(&mut team);
            let region = creating.region.as_ref().expect("it was created");
            let seen = region.coverage().expect("the kernel tells");
            assert_eq!((seen.small, seen.huge), (8 << 20, 0), "{variant:?}");
        }
    }

    /// More reserved pages than any pool has.
    #[test]
    fn pages_that_are_not_there_are_said() {
        let mut team = Team::of_this_process(1).expect("a team");
        let chosen = [("size", "512G"), ("pages", "1g")];
        let error = prepared(&Creation, "touch", &chosen, &mut team).expect_err("no pool is as large");
        assert!(error.hint().is_some(), "{error}");
    }
}
