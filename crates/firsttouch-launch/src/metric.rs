//! What a session judges by: checked before any time is spent, and read of every run.

use crate::vary::Values;
use crate::written::{Unwritten, Written};
use firsttouch_experiment::{Metric, NoMetric, Objective, TimedRun};
use firsttouch_linux::perf::Event;
use firsttouch_machine::Root;
use firsttouch_process::{Stream, why_no_counters};
use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// As much is read of the end of what a program writes, and of a JSON file at most. What we have in memory counts in the peak of the
/// programs that we start.
const OUTPUT_BYTES: u64 = 1 << 20;
const FILE_BYTES: u64 = 16 << 20;

/// As much of a text that is no number as helps.
const SHOWN_CHARACTERS: usize = 60;

/// Why something cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum MetricError {
    /// It is none.
    #[error(transparent)]
    Unknown(#[from] NoMetric),
    /// Nobody counts that.
    #[error("there is no counter `{name}`")]
    NoCounter {
        /// What was asked.
        name: String,
    },
    /// The expression does not read.
    #[error("`{regex}` is no regular expression")]
    Regex {
        /// The expression.
        regex: String,
        /// What is wrong with it.
        source: regex_lite::Error,
    },
    /// Nothing in the expression says where the number is.
    #[error("`{regex}` has no group that the number is in")]
    NoGroup {
        /// The expression.
        regex: String,
    },
    /// Its better direction is known, and is the other one.
    #[error("less is always better of the {}", .0.label())]
    Direction(Metric),
    /// What is to be read is to be shown as well.
    #[error("what is judged cannot be shown, too")]
    Shown,
    /// The machine does not count it.
    #[error("`{name}` cannot be counted here: {why}")]
    NotHere {
        /// The counter.
        name: String,
        /// Why, with what would mend it.
        why: String,
    },
    /// The counter did not run.
    #[error("`{name}` was not counted: others used the counters of the processor all the time")]
    NotCounted {
        /// The counter.
        name: String,
    },
    /// The program did not say it.
    #[error("`{regex}` matches nothing in {}{stream}, which ends with `{end}`", if *.is_cut { "the last MiB of " } else { "" })]
    NoMatch {
        /// The expression.
        regex: String,
        /// Where.
        stream: &'static str,
        /// Only its end was looked at.
        is_cut: bool,
        /// The last line that there is.
        end: String,
    },
    /// What it said cannot be read back.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program did not write the file.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
    /// The file is no JSON.
    #[error("{} is no JSON", .path.display())]
    NoJson {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Nothing is there.
    #[error("{} has nothing at `{pointer}`", .path.display())]
    NothingThere {
        /// The file.
        path: PathBuf,
        /// Where.
        pointer: String,
    },
    /// It is no number.
    #[error("`{text}` is no number")]
    NoNumber {
        /// What is there.
        text: String,
    },
    /// There is no ratio of it.
    #[error("the {label} of a run is {value}, and no ratio is made of what is not above 0")]
    NotPositive {
        /// What.
        label: String,
        /// How much.
        value: f64,
    },
}

impl MetricError {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            MetricError::Unknown(_) | MetricError::NoCounter { .. } => {
                let counters: Vec<&str> = Event::ALL.iter().map(|event| event.name()).collect();
                format!("counters are {}", counters.join(", "))
            }
            MetricError::Regex { .. } | MetricError::NoGroup { .. } => {
                "--metric 'stdout:elapsed: ([0-9.]+)': the number is what the parentheses hold".to_owned()
            }
            MetricError::Direction(_) => {
                "--higher-is-better is for what the program says: stdout:REGEX, stderr:REGEX, json:FILE:/KEY".to_owned()
            }
            MetricError::Shown => "leave --show-output out, or have the program write a file (json:FILE:/KEY)".to_owned(),
            MetricError::NotHere { .. } | MetricError::NotCounted { .. } => {
                format!("judge by what the kernel tells everywhere: {}", words())
            }
            MetricError::NoMatch { is_cut: true, .. } => {
                "only that much of the end is read; have the program say the number last, or write it to a file (json:FILE:/KEY)"
                    .to_owned()
            }
            MetricError::NoMatch { .. } => {
                "`^` and `$` are ends of lines, and the last match counts; try the expression on what the program writes: PROGRAM | grep -E REGEX"
                    .to_owned()
            }
            MetricError::Unreadable { .. } => "let the program leave it readable for this user".to_owned(),
            MetricError::Unwritten(error) => error.hint().to_owned(),
            MetricError::NoJson { .. } => "the program has to write the whole document before it ends".to_owned(),
            MetricError::NothingThere { .. } => {
                "keys and indices follow slashes, as in json:out.json:/results/0/mean (RFC 6901: ~1 is a slash in a key, ~0 a tilde)"
                    .to_owned()
            }
            MetricError::NoNumber { .. } => "digits, a point, an exponent: 0.25, 1e3; units belong outside the parentheses".to_owned(),
            MetricError::NotPositive { .. } => {
                "judge by something that every run has some of, or give the program more to do".to_owned()
            }
        }
    }

    /// Whether what was asked cannot be understood, whatever the machine and the program.
    pub(crate) fn is_of_usage(&self) -> bool {
        use MetricError::{Direction, NoCounter, NoGroup, Regex, Shown, Unknown};
        matches!(self, Unknown(_) | NoCounter { .. } | Regex { .. } | NoGroup { .. } | Direction(_) | Shown)
    }
}

fn words() -> String {
    Metric::words().collect::<Vec<_>>().join(", ")
}

/// Reads a metric as people write it: capitals do not count in the names of counters, and `dtlb` is short for `dTLB-load-misses`.
///
/// # Errors
/// What is none.
pub fn parse_metric(text: &str) -> Result<Metric, MetricError> {
    let Metric::Counter(name) = text.parse()? else { return Ok(text.parse()?) };
    let event = Event::ALL.iter().find(|event| event.name().eq_ignore_ascii_case(&name));
    match event {
        Some(event) => Ok(Metric::Counter(event.name().to_owned())),
        None if name == "dtlb" => Ok(Metric::Counter(Event::DtlbLoadMisses.name().to_owned())),
        None => Err(MetricError::NoCounter { name }),
    }
}

/// Reads what is judged of each run.
#[derive(Debug)]
pub(crate) struct Meter {
    objective: Objective,
    means: Means,
}

#[derive(Clone, Debug)]
enum Means {
    /// The kernel tells it.
    Told,
    /// The kernel counts it where it is asked to.
    Counted(Event),
    /// The program writes it to this stream, which goes to a file meanwhile.
    Output { stream: usize, regex: Regex, file: PathBuf },
    /// The program writes it to a file.
    File { path: PathBuf, pointer: String },
}

/// What standard input, output and error output are called.
const STREAMS: [&str; 3] = ["the input", "the output", "the error output"];

impl Meter {
    /// Checks what is asked; what the program says lies in `folder` meanwhile. `shows_output`: the user wants to see it.
    pub(crate) fn new(
        objective: &Objective,
        folder: &Path,
        shows_output: bool,
    ) -> Result<Meter, MetricError> {
        if objective.higher_is_better && !objective.metric.is_said() {
            return Err(MetricError::Direction(objective.metric.clone()));
        }
        let means = match &objective.metric {
            Metric::Counter(name) => Means::Counted(countable(name)?),
            Metric::Stdout(_) | Metric::Stderr(_) if shows_output => return Err(MetricError::Shown),
            Metric::Stdout(regex) => {
                Means::Output { stream: 1, regex: compiled(regex)?, file: folder.join("stdout") }
            }
            Metric::Stderr(regex) => {
                Means::Output { stream: 2, regex: compiled(regex)?, file: folder.join("stderr") }
            }
            Metric::Json { file, pointer } => Means::File { path: file.into(), pointer: pointer.clone() },
            _ => Means::Told,
        };
        Ok(Meter { objective: objective.clone(), means })
    }

    /// The same of a program with these values: their names may stand in the name of the file that it writes.
    pub(crate) fn filled(&self, values: &Values) -> Meter {
        let means = match &self.means {
            Means::File { path, pointer } => {
                Means::File { path: values.fill(path.as_os_str()).into(), pointer: pointer.clone() }
            }
            means => means.clone(),
        };
        Meter { objective: self.objective.clone(), means }
    }

    /// What has to be counted for it.
    pub(crate) fn events(&self) -> &[Event] {
        match &self.means {
            Means::Counted(event) => std::slice::from_ref(event),
            _ => &[],
        }
    }

    /// Has what the program writes go where it is read; to be called right before a run, to whose end the answer is kept.
    pub(crate) fn prepare(&self, streams: &mut [Stream; 3]) -> Result<Option<Written>, MetricError> {
        match &self.means {
            Means::Output { stream, file, .. } => streams[*stream] = Stream::File(file.clone()),
            Means::File { path, .. } => return Ok(Some(Written::before(path)?)),
            Means::Told | Means::Counted(_) => {}
        }
        Ok(None)
    }

    /// Sets what is judged of a run that ended, and fails where there is no ratio of it. `pool_bytes`: so much it has on pages of a
    /// pool.
    pub(crate) fn judge(
        &self,
        used: &mut TimedRun,
        written: Option<Written>,
        pool_bytes: u64,
    ) -> Result<(), MetricError> {
        used.judged = match &self.means {
            Means::Output { stream, regex, file } => Some(said(regex, file, STREAMS[*stream])?),
            Means::File { path, pointer } => {
                written.map_or(Ok(()), Written::after)?;
                Some(found(path, pointer)?)
            }
            Means::Told if self.objective.metric == Metric::Rss && pool_bytes > 0 => {
                Some(used.max_rss_bytes as f64 + pool_bytes as f64)
            }
            Means::Told | Means::Counted(_) => None,
        };
        let label = || self.objective.metric.label();
        match self.objective.value(used) {
            None => Err(MetricError::NotCounted { name: label() }),
            Some(value) if value > 0.0 && value.is_finite() => Ok(()),
            Some(value) => Err(MetricError::NotPositive { label: label(), value }),
        }
    }
}

fn countable(name: &str) -> Result<Event, MetricError> {
    let event = Event::ALL.into_iter().find(|event| event.name() == name);
    let event = event.ok_or_else(|| MetricError::NoCounter { name: name.to_owned() })?;
    match why_no_counters(&Root::live(), event) {
        None => Ok(event),
        Some(why) => Err(MetricError::NotHere { name: name.to_owned(), why }),
    }
}

fn compiled(text: &str) -> Result<Regex, MetricError> {
    let compiled = RegexBuilder::new(text).multi_line(true).build();
    let regex = compiled.map_err(|source| MetricError::Regex { regex: text.to_owned(), source })?;
    // The first one is the whole match.
    match regex.captures_len() {
        0 | 1 => Err(MetricError::NoGroup { regex: text.to_owned() }),
        _ => Ok(regex),
    }
}

/// The number that the last match has in its first group that takes part.
fn said(regex: &Regex, file: &Path, stream: &'static str) -> Result<f64, MetricError> {
    let (text, is_cut) =
        end_of(file).map_err(|source| MetricError::Unreadable { path: file.to_owned(), source })?;
    let last = regex.captures_iter(&text).last();
    let group = last.and_then(|captures| captures.iter().skip(1).flatten().next());
    let found = group.ok_or_else(|| MetricError::NoMatch {
        regex: regex.as_str().to_owned(),
        stream,
        is_cut,
        end: shortened(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()),
    })?;
    number(found.as_str())
}

/// The end of what a program wrote, and whether there was more before it.
fn end_of(file: &Path) -> io::Result<(String, bool)> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), length > OUTPUT_BYTES))
}

/// The number at a place of a JSON file; a text that is a number is one.
fn found(path: &Path, pointer: &str) -> Result<f64, MetricError> {
    let unreadable = |source| MetricError::Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(unreadable(io::Error::other("it is larger than 16 MiB")));
    }
    let document: Value = serde_json::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|source| MetricError::NoJson { path: path.to_owned(), source })?;
    let nothing = || MetricError::NothingThere { path: path.to_owned(), pointer: pointer.to_owned() };
    match document.pointer(pointer).ok_or_else(nothing)? {
        Value::Number(number) => number.as_f64().ok_or_else(|| no_number(&number.to_string())),
        Value::String(text) => number(text),
        other => Err(no_number(&other.to_string())),
    }
}

fn number(text: &str) -> Result<f64, MetricError> {
    text.trim().parse().map_err(|_| no_number(text))
}

fn no_number(text: &str) -> MetricError {
    MetricError::NoNumber { text: shortened(text) }
}

fn shortened(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(metric: &str, folder: &Path) -> Result<Meter, MetricError> {
        let objective = Objective { metric: parse_metric(metric)?, higher_is_better: false };
        Meter::new(&objective, folder, false)
    }

    fn judged(metric: &str, said: &str) -> Result<Option<f64>, MetricError> {
        let folder = tempfile::tempdir().unwrap();
        let meter = meter(metric, folder.path())?;
        let mut streams = [Stream::Null, Stream::Null, Stream::Null];
        assert!(meter.prepare(&mut streams)?.is_none());
        let written = streams.iter().find_map(|stream| match stream {
            Stream::File(file) => Some(file),
            _ => None,
        });
        std::fs::write(written.unwrap(), said).unwrap();
        let mut used = TimedRun::default();
        meter.judge(&mut used, None, 0)?;
        Ok(used.judged)
    }

    #[test]
    fn the_last_match_of_a_line_counts() {
        let text = "took 1.5 s\ntook 2.5e1 s\nnot took 9\n";
        assert_eq!(judged("stdout:^took ([^ ]+) s$", text).unwrap(), Some(25.0));
        assert_eq!(judged("stderr:rate=([0-9]+)|took ([0-9]+)", "took 7").unwrap(), Some(7.0));
        let long = format!("took 1\n{}took 3\n", "x".repeat(2 << 20));
        assert_eq!(judged("stdout:took ([0-9]+)", &long).unwrap(), Some(3.0));
        let before = judged("stdout:took (1)", &long).unwrap_err();
        assert!(before.to_string().contains("in the last MiB of the output"), "{before}");
        assert!(before.hint().contains("only that much"), "{}", before.hint());
    }

    #[test]
    fn what_cannot_be_judged_says_why() {
        let error = |metric: &str, said: &str| {
            let error = judged(metric, said).unwrap_err();
            assert!(!error.hint().is_empty());
            (error.to_string(), error.is_of_usage())
        };
        for (metric, said, words, is_of_usage) in [
            ("stdout:(", "", "no regular expression", true),
            ("stdout:took", "took 1", "no group", true),
            ("stdout:took (.*)", "nothing\n\n", "ends with `nothing`", false),
            ("stdout:took (.*)", "took long", "`long` is no number", false),
            ("stdout:took (.*)", "took 0", "is 0,", false),
            ("stdout:took (.*)", "took -1", "is -1,", false),
            ("stdout:took (.*)", "took inf", "is inf,", false),
            ("stdout:took (.*)", "took NaN", "is NaN,", false),
            ("no-such-counter", "", "no counter", true),
            ("json:no-file", "", "no metric", true),
        ] {
            let (text, of_usage) = error(metric, said);
            assert!(text.contains(words) && of_usage == is_of_usage, "{text}");
        }
        assert_eq!(parse_metric("DTLB-load-misses").unwrap(), parse_metric("dtlb").unwrap());
    }

    #[test]
    fn a_number_in_a_file_is_found_by_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.json");
        std::fs::write(&file, r#"{"a": [{"b/c": 2.5}, "7", true, "x"]}"#).unwrap();
        let found = |pointer: &str| found(&file, pointer).map_err(|error| error.to_string());
        assert_eq!((found("/a/0/b~1c"), found("/a/1")), (Ok(2.5), Ok(7.0)));
        for (pointer, words) in [("/a/9", "nothing at"), ("/a/2", "`true` is no"), ("/a/3", "`x` is no")] {
            assert!(found(pointer).unwrap_err().contains(words), "{pointer}");
        }
        std::fs::write(&file, "{").unwrap();
        assert!(found("").unwrap_err().contains("no JSON"));
        std::fs::write(&file, "3e2\n").unwrap();
        assert_eq!(found(""), Ok(300.0));
    }

    #[test]
    fn pages_of_a_pool_are_memory() {
        let folder = tempfile::tempdir().unwrap();
        let meter = meter("rss", folder.path()).unwrap();
        let mut used = TimedRun { max_rss_bytes: 100, ..TimedRun::default() };
        meter.judge(&mut used, None, 20).unwrap();
        assert_eq!(used.judged, Some(120.0));
        meter.judge(&mut used, None, 0).unwrap();
        assert_eq!(used.judged, None, "the run has it already");
    }
}
