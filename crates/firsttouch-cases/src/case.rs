//! What a case is.

use crate::array::Arrays;
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::Outside;
use crate::parameter::{Arguments, Parameter};
use firsttouch_threads::Team;
use std::ffi::OsStr;

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

    /// Makes a variant ready: memory is allocated and filled here, so that steps do nothing but the workload.
    ///
    /// # Errors
    /// Where parameters do not go together, memory cannot be had, or what the variant needs is not there.
    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError>;
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
    /// What bounds it.
    pub bound: Bound,
    /// Figures that others have published.
    pub published: &'static [Published],
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

/// What no variant can beat on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Reading memory.
    Read,
    /// Copying memory: as many bytes are read as written.
    Copy,
    /// Writing memory.
    Write,
    /// The latency of memory: operations wait for one another.
    Latency,
    /// Fused multiplications and additions of double precision; each is two operations.
    MultiplyAdd,
    /// The same in single precision.
    MultiplyAddSingle,
    /// Nothing that could be measured by itself.
    None,
}

/// Which of the amounts of [`Work`] a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes,
    /// Operations.
    Operations,
}

/// A figure that somebody published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The article, and where in it.
    pub source: &'static str,
    /// What it is of: machine, variant, parameters.
    pub what: &'static str,
    /// The figure.
    pub value: f64,
    /// What it is in.
    pub unit: &'static str,
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

impl Bound {
    /// What it is, for people and documents; `None` where there is none.
    pub fn what(self) -> Option<&'static str> {
        Some(match self {
            Bound::Read => "read bandwidth",
            Bound::Copy => "copy bandwidth",
            Bound::Write => "write bandwidth",
            Bound::Latency => "latency of dependent reads",
            Bound::MultiplyAdd => "multiply-add peak, double precision",
            Bound::MultiplyAddSingle => "multiply-add peak, single precision",
            Bound::None => return None,
        })
    }

    /// What it limits; `None` where there is no limit.
    pub fn amount(self) -> Option<Amount> {
        match self {
            Bound::Read | Bound::Copy | Bound::Write => Some(Amount::Bytes),
            Bound::Latency | Bound::MultiplyAdd | Bound::MultiplyAddSingle => Some(Amount::Operations),
            Bound::None => None,
        }
    }

    /// The share of the limit that a step reached; `limit`: bytes or operations by second, for latency seconds of one read.
    /// `None` where there is no limit.
    pub fn share(self, work: Work, seconds: f64, limit: f64) -> Option<f64> {
        Some(match (self, self.amount()?) {
            (Bound::Latency, _) => limit * work.operations as f64 / seconds,
            (_, Amount::Bytes) => work.bytes as f64 / seconds / limit,
            (_, Amount::Operations) => work.operations as f64 / seconds / limit,
        })
    }
}
