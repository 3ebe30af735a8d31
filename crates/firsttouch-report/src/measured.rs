//! Values that were measured elsewhere: read from files of many tools ([`read`]), and decided ([`decide`]).
//!
//! What a file is, its own marks tell: its keys, its columns, the kind of a document. No reader is tried to see whether it succeeds.

mod criterion;
mod csv;
mod decide;
mod error;
mod google_benchmark;
mod hyperfine;
mod marks;
mod own;

pub use criterion::name as criterion_name;
pub use decide::{DecideError, DecideOptions, decide};
pub use error::MeasuredError;

use firsttouch_experiment::{MeasuredConfiguration, MeasuredRun, MeasuredSession, Metric};
use marks::{Mark, mark};
use std::borrow::Cow;
use std::fmt;

/// What a file was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredFormat {
    /// Comma-separated values with a header.
    Csv,
    /// The JSON of hyperfine.
    Hyperfine,
    /// The JSON of Google Benchmark.
    GoogleBenchmark,
    /// `sample.json` in a folder of criterion.
    Criterion,
    /// The messages of `cargo criterion --message-format=json`.
    CargoCriterion,
    /// A session of `tune`.
    Tune,
    /// What was decided before.
    Decision,
}

impl MeasuredFormat {
    /// Its word in documents.
    pub fn word(self) -> &'static str {
        match self {
            MeasuredFormat::Csv => "csv",
            MeasuredFormat::Hyperfine => "hyperfine",
            MeasuredFormat::GoogleBenchmark => "google-benchmark",
            MeasuredFormat::Criterion => "criterion",
            MeasuredFormat::CargoCriterion => "cargo-criterion",
            MeasuredFormat::Tune => "tune",
            MeasuredFormat::Decision => "decision",
        }
    }

    /// Whether all values of a file are of one execution of a program.
    fn is_one_process(self) -> bool {
        use MeasuredFormat::{CargoCriterion, Criterion, GoogleBenchmark};
        matches!(self, GoogleBenchmark | Criterion | CargoCriterion)
    }
}

impl fmt::Display for MeasuredFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredFile {
    /// What it was read as.
    pub format: MeasuredFormat,
    /// The unit of its values, where it says one.
    pub unit: Option<String>,
    /// What its values are of, where it says so.
    pub metric: Option<Metric>,
    /// Whether more is better, where it says so.
    pub higher_is_better: Option<bool>,
    /// Its sessions; one without a name is the file itself. A configuration without a name is for the caller to name ([`MeasuredFile::name`]).
    pub sessions: Vec<MeasuredSession>,
    /// What was left out, and what is odd.
    pub notes: Vec<String>,
}

impl MeasuredFile {
    /// A file that is one session.
    fn of_session(
        format: MeasuredFormat,
        unit: Option<&str>,
        configurations: Vec<MeasuredConfiguration>,
    ) -> Self {
        MeasuredFile {
            format,
            unit: unit.map(str::to_owned),
            metric: None,
            higher_is_better: None,
            sessions: vec![MeasuredSession { name: String::new(), configurations }],
            notes: Vec::new(),
        }
    }

    /// Whether a name stands beside the file: in `benchmark.json` in the same folder ([`criterion_name`]).
    pub fn lacks_name(&self) -> bool {
        self.format == MeasuredFormat::Criterion
    }

    /// Names its only configuration; of several it names none.
    pub fn name(&mut self, name: &str) {
        if let [session] = &mut self.sessions[..]
            && let [configuration] = &mut session.configurations[..]
        {
            name.clone_into(&mut configuration.name);
        }
    }
}

/// Reads a file of any of the formats.
///
/// # Errors
/// What has none of the marks, or is not what its marks say; with the line where the format has lines.
pub fn read(bytes: &[u8]) -> Result<MeasuredFile, MeasuredError> {
    let text = std::str::from_utf8(bytes).map_err(MeasuredError::NotText)?;
    let text = &*without_what_json_lacks(text.trim_start_matches('\u{feff}'));
    let file = match mark(text)? {
        Mark::Csv => csv::read(text),
        Mark::Own => own::read(text),
        Mark::Hyperfine => hyperfine::read(text),
        Mark::GoogleBenchmark => google_benchmark::read(text),
        Mark::CriterionSample => criterion::sample(text),
        Mark::CargoCriterion => criterion::messages(text),
    }?;
    let is_empty = |session: &MeasuredSession| session.configurations.is_empty();
    if file.sessions.iter().all(is_empty) {
        return Err(MeasuredError::Nothing { format: file.format });
    }
    Ok(file)
}

/// JSON as it is written, with `null` where a writer put what JSON has no word for: Google Benchmark writes a counter of 0/0 as `NaN`, as
/// Python does.
fn without_what_json_lacks(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 4] = ["-Infinity", "Infinity", "-NaN", "NaN"];
    if !text.trim_start().starts_with('{') || !WORDS.iter().any(|word| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let mut sound = String::with_capacity(text.len());
    // What stands between quotation marks, from the first to the one that no backslash escapes, is left as it is.
    let mut rest = text;
    while !rest.is_empty() {
        let (outside, from) = rest.split_at(rest.find('"').unwrap_or(rest.len()));
        sound.push_str(&WORDS.iter().fold(outside.to_owned(), |text, word| text.replace(word, "null")));
        let mut is_escaped = true;
        let end = from.find(|character| {
            let ends = character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            ends
        });
        let (inside, after) = from.split_at(end.map_or(from.len(), |end| end + 1));
        sound.push_str(inside);
        rest = after;
    }
    Cow::Owned(sound)
}

/// Runs in the order of their values, if all can be compared.
fn runs(values: &[f64], of: &str) -> Result<Vec<MeasuredRun>, String> {
    let run = |&value: &f64| {
        if MeasuredRun::is_sound(value) {
            Ok(MeasuredRun { value, ..MeasuredRun::default() })
        } else {
            Err(format!("`{of}` has the value {value}: ratios are of numbers from 1e-100 to 1e100"))
        }
    };
    values.iter().map(run).collect()
}

/// Sessions of configurations in the order in which they were measured, each with where it comes from: one ends where a name comes again.
fn sessions(configurations: Vec<(String, MeasuredConfiguration)>) -> Vec<MeasuredSession> {
    let mut sessions: Vec<MeasuredSession> = Vec::new();
    for (source, configuration) in configurations {
        let lacks = |session: &&mut MeasuredSession| {
            session.configurations.iter().all(|one| one.name != configuration.name)
        };
        match sessions.last_mut().filter(lacks) {
            Some(session) => {
                session.name = format!("{} + {source}", session.name);
                session.configurations.push(configuration);
            }
            None => sessions.push(MeasuredSession { name: source, configurations: vec![configuration] }),
        }
    }
    sessions
}
