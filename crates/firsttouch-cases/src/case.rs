//! What a case is.

use crate::array::Arrays;
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::Outside;
use crate::parameter::{Arguments, Parameter};
use firsttouch_graph::Ranks;
use firsttouch_measure::Limit;
use firsttouch_threads::Team;
use std::ffi::OsStr;
use std::fs::File;
use std::rc::Rc;

/// A workload: what it is, and how it is made ready to run.
pub trait Case: Sync {
    /// What it is.
    fn about(&self) -> &'static About;

    /// What this machine lacks for a variant: an extension of the processor, a library, a program on that search path; `None` if
    /// nothing.
    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        let _ = (variant, path);
        None
    }

    /// Variables that the process of a variant is to have when it starts (name and value), or not to have (`None`): what libraries
    /// of others read when they are loaded.
    fn variables(&self, variant: &Variant) -> Vec<(&'static str, Option<String>)> {
        let _ = variant;
        Vec::new()
    }

    /// What a placement needs beside its pages to reach the memory of this case, in the words of placements (`via=jvm`); nothing where
    /// that is allocated in the process that is started.
    fn reached_by(&self) -> &'static str {
        ""
    }

    /// The case by several processes, if it can be shared by them.
    fn over_ranks(&self) -> Option<&dyn OverRanks> {
        None
    }

    /// Makes a variant ready: memory is allocated and filled here, so that steps do nothing but the workload.
    ///
    /// # Errors
    /// Where parameters do not go together, memory cannot be had, or what the variant needs is not there.
    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError>;
}

/// A case whose work several processes can share, each with data of its own.
pub trait OverRanks {
    /// As [`Case::prepare`], by one of the ranks, all of which do the same at the same time: so it is with whatever is called of the
    /// workload. What it comes to and what it has to do is that of all together.
    ///
    /// # Errors
    /// As [`Case::prepare`].
    fn prepare_rank(
        &self,
        given: &mut Given<'_>,
        ranks: Rc<dyn Ranks>,
    ) -> Result<Box<dyn Workload>, CaseError>;
}

/// What a case is, in words and numbers.
#[derive(Debug)]
pub struct About {
    /// Its word on the command line.
    pub name: &'static str,
    /// One line: what it computes.
    pub summary: &'static str,
    /// Where the workload comes from: an article by its title, a manual page, a benchmark by its name.
    pub source: &'static str,
    /// What can be chosen.
    pub parameters: &'static [Parameter],
    /// Ways to compute it. The first is what the others are compared with, and what placements are tried on.
    pub variants: &'static [Variant],
    /// Steps of a run: so many that a run takes a tenth of a second at least.
    pub steps: u32,
    /// What its figure is in.
    pub unit: Unit,
    /// What no variant can beat on a machine; `None` where nothing bounds it that could be measured by itself.
    pub bound: Option<Limit>,
}

/// One way to compute a case.
#[derive(Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its word.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// Somebody else's code: what a user would take instead of ours.
    pub alternative: bool,
}

impl Variant {
    /// A way of ours.
    pub(crate) const fn ours(name: &'static str, meaning: &'static str) -> Variant {
        Variant { name, meaning, alternative: false }
    }

    /// Somebody else's.
    pub(crate) const fn others(name: &'static str, meaning: &'static str) -> Variant {
        Variant { name, meaning, alternative: true }
    }
}

/// What a figure is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of work by time, in GB/s (10^9 bytes).
    Bandwidth,
    /// Operations by time, in 10^9 by second, of this name: `GFLOP/s`, `Gpoints/s`.
    Rate(&'static str),
    /// Time of one operation in nanoseconds, of this name: `ns/read`.
    Latency(&'static str),
    /// Time of a step in seconds.
    Time,
}

/// Which of the amounts of [`Work`] a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes,
    /// Operations.
    Operations,
}

/// What a case is made with.
#[derive(Debug)]
pub struct Given<'a> {
    /// Values of all its parameters.
    pub arguments: &'a Arguments,
    /// The variant.
    pub variant: &'static Variant,
    /// Where its arrays come from.
    pub arrays: &'a Arrays,
    /// The threads that do its work; those that prepare it should touch first what they use later.
    pub team: &'a mut Team,
}

/// A variant that is ready.
pub enum Prepared {
    /// In this process.
    Here(Box<dyn Workload>),
    /// In a program of somebody else's, which takes this one's place.
    Outside(Outside),
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Prepared::Here(_) => f.write_str("Here"),
            Prepared::Outside(outside) => outside.fmt(f),
        }
    }
}

/// What is timed.
pub trait Workload {
    /// Puts back what a step changes and the next one begins with; untimed, before every step.
    fn reset(&mut self, team: &mut Team) {
        let _ = team;
    }

    /// Does the work once. Every step does the same.
    fn step(&mut self, team: &mut Team);

    /// What the last step came to.
    fn checksum(&self) -> Checksum;

    /// The work of a step.
    fn work(&self) -> Work;

    /// The file whose disk bounds the case, where that is its limit.
    fn file(&self) -> Option<&File> {
        None
    }

    /// What else is worth telling of it, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the last step came to, for people to look at: a Portable Graymap (`pgm(5)`). `None` where there is nothing to see.
    fn picture(&self) -> Option<Vec<u8>> {
        None
    }
}

/// What a step has to do at least, whatever the variant: counted, not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes that go between memory and processor if caches hold nothing from one step to the next and everything within.
    pub bytes: u64,
    /// Operations of the kind that the unit names; 0 where none are counted.
    pub operations: u64,
}

impl About {
    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

impl Arguments {
    /// Takes the values that were chosen; others are the defaults, `quick` ones where that is wished.
    ///
    /// # Errors
    /// Where there is no such parameter, or it cannot have the value.
    pub fn of(about: &About, chosen: &[(String, String)], quick: bool) -> Result<Arguments, CaseError> {
        Arguments::chosen(about.name, about.parameters, chosen, quick)
    }
}

impl Unit {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Bandwidth => "GB/s",
            Unit::Rate(word) | Unit::Latency(word) => word,
            Unit::Time => "s",
        }
    }

    /// The figure of a step that took so long.
    pub fn figure(self, work: Work, seconds: f64) -> f64 {
        match self {
            Unit::Bandwidth => work.bytes as f64 / seconds / 1e9,
            Unit::Rate(_) => work.operations as f64 / seconds / 1e9,
            Unit::Latency(_) => seconds * 1e9 / work.operations as f64,
            Unit::Time => seconds,
        }
    }

    /// Whether a larger figure is the better one.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Unit::Bandwidth | Unit::Rate(_))
    }
}

impl Amount {
    /// The amount that a limit is about.
    pub fn of(limit: Limit) -> Amount {
        match limit {
            Limit::Read | Limit::Copy | Limit::Write | Limit::Disk => Amount::Bytes,
            Limit::Latency | Limit::MultiplyAdd | Limit::MultiplyAddSingle => Amount::Operations,
        }
    }
}

impl Work {
    /// The share of a limit that a step reached which took so many seconds; `most`: the limit as
    /// [`measure_limit`](firsttouch_measure::measure_limit) answers it.
    pub fn share(self, limit: Limit, most: f64, seconds: f64) -> f64 {
        let amount = match Amount::of(limit) {
            Amount::Bytes => self.bytes,
            Amount::Operations => self.operations,
        };
        let least_seconds = if limit == Limit::Latency { amount as f64 * most } else { amount as f64 / most };
        least_seconds / seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_a_limit_is_about() {
        let work = Work { bytes: 6_000_000_000, operations: 100_000_000 };
        assert_eq!(work.share(Limit::Read, 12e9, 1.0), 0.5);
        assert_eq!(work.share(Limit::MultiplyAdd, 1e9, 0.4), 0.25);
        assert_eq!(work.share(Limit::Latency, 100e-9, 20.0), 0.5);
    }
}
