//! What is judged of runs, and which direction is the better one.

use crate::{TimedRun, Verdict};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Something that a run has one number of. It is written as one word ([`Metric::words`], or the name of a counter), or as the source
/// that the program says it in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Wall-clock time in seconds.
    #[default]
    Wall,
    /// Processor time in user mode and in the kernel together, in seconds.
    Cpu,
    /// Processor time in user mode, in seconds.
    User,
    /// Processor time in the kernel, in seconds.
    System,
    /// Peak resident set of the largest process, in bytes.
    Rss,
    /// Page faults, with and without I/O.
    Faults,
    /// Page faults that needed I/O.
    MajorFaults,
    /// Voluntary and involuntary context switches together.
    ContextSwitches,
    /// A counter, by the name that perf has for it.
    Counter(String),
    /// What the first group of the last match of this regular expression holds in what the program writes to its standard output.
    Stdout(String),
    /// The same of its error output.
    Stderr(String),
    /// A number in a JSON file that the program writes.
    Json {
        /// The file, from the folder that the program runs in.
        file: String,
        /// Where the number is in it: a JSON Pointer (RFC 6901), empty for the whole.
        pointer: String,
    },
}

use Metric::{
    ContextSwitches, Counter, Cpu, Faults, Json, MajorFaults, Rss, Stderr, Stdout, System, User, Wall,
};

/// The words of what the kernel tells of every run, and what people call it.
static WORDS: [(Metric, &str, &str); 8] = [
    (Wall, "wall", "wall time"),
    (Cpu, "cpu", "processor time"),
    (User, "user", "user time"),
    (System, "system", "system time"),
    (Rss, "rss", "peak memory"),
    (Faults, "faults", "page faults"),
    (MajorFaults, "major-faults", "major faults"),
    (ContextSwitches, "context-switches", "context switches"),
];

impl Metric {
    /// The words of those that the kernel tells of every run.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(_, word, _)| *word)
    }

    /// What people call it: `peak memory`; of a source, the source.
    pub fn label(&self) -> String {
        match WORDS.iter().find(|(metric, ..)| metric == self) {
            Some((.., label)) => (*label).to_owned(),
            None => self.to_string(),
        }
    }

    /// Whether the program says it, so that nobody else knows its unit and its better direction.
    pub fn is_said(&self) -> bool {
        matches!(self, Stdout(_) | Stderr(_) | Json { .. })
    }

    /// Whether it is a time in seconds.
    pub fn is_seconds(&self) -> bool {
        matches!(self, Wall | Cpu | User | System)
    }

    /// What the kernel tells of it for a run; `None` for what the program says, and for a counter that was not counted.
    fn told(&self, run: &TimedRun) -> Option<f64> {
        Some(match self {
            Wall => run.wall_s,
            Cpu => run.user_s + run.system_s,
            User => run.user_s,
            System => run.system_s,
            Rss => run.max_rss_bytes as f64,
            Faults => run.minor_faults as f64 + run.major_faults as f64,
            MajorFaults => run.major_faults as f64,
            ContextSwitches => run.context_switches as f64,
            Counter(name) => {
                // Where only user mode could be counted, its name says so.
                let count = run.counters.get(name).or_else(|| run.counters.get(&format!("{name}:u")))?;
                *count as f64
            }
            Stdout(_) | Stderr(_) | Json { .. } => return None,
        })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counter(name) => f.write_str(name),
            Stdout(regex) => write!(f, "stdout:{regex}"),
            Stderr(regex) => write!(f, "stderr:{regex}"),
            Json { file, pointer } => write!(f, "json:{file}:{pointer}"),
            plain => f.write_str(WORDS.iter().find(|(it, ..)| it == plain).map_or("", |(_, word, _)| word)),
        }
    }
}

/// A text that is no metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMetric {
    text: String,
}

impl fmt::Display for NoMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no metric: expected one of {}, a counter, stdout:REGEX, stderr:REGEX or json:FILE:/KEY",
            self.text,
            Metric::words().collect::<Vec<_>>().join(", ")
        )
    }
}

impl std::error::Error for NoMetric {}

impl FromStr for Metric {
    type Err = NoMetric;

    /// Reads what [`Metric`]'s `Display` writes. Any other single word is taken for the name of a counter: which there are, this crate
    /// does not know.
    fn from_str(text: &str) -> Result<Metric, NoMetric> {
        let error = || NoMetric { text: text.to_owned() };
        if let Some((metric, ..)) = WORDS.iter().find(|(_, word, _)| *word == text) {
            return Ok(metric.clone());
        }
        if let Some((source, rest)) = text.split_once(':') {
            return match source {
                "stdout" if !rest.is_empty() => Ok(Stdout(rest.to_owned())),
                "stderr" if !rest.is_empty() => Ok(Stderr(rest.to_owned())),
                "json" => json(rest).ok_or_else(error),
                _ => Err(error()),
            };
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = !text.is_empty() && text.chars().all(is_word);
        if is_name { Ok(Counter(text.to_owned())) } else { Err(error()) }
    }
}

/// `FILE:POINTER`. In a pointer a slash begins a key, so that what is before the last `:/` is the file.
fn json(text: &str) -> Option<Metric> {
    let (file, pointer) = match text.rfind(":/") {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text.strip_suffix(':')?, ""),
    };
    (!file.is_empty()).then(|| Json { file: file.to_owned(), pointer: pointer.to_owned() })
}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a session judges, and which direction of it is the better one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Objective {
    /// What is judged: `wall`, `cpu`, `user`, `system` (seconds), `rss` (bytes), `faults`, `major-faults`, `context-switches`, the name of a
    /// counter, or what the program says, `stdout:REGEX`, `stderr:REGEX` or `json:FILE:POINTER`.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub metric: Metric,
    /// More of it is better.
    pub higher_is_better: bool,
}

impl Objective {
    /// Whether it is the wall time that is judged, so that *better* is *faster*. What more is better of is none.
    pub fn is_wall(&self) -> bool {
        self.metric == Wall && !self.higher_is_better
    }

    /// What is judged of a run: its [`TimedRun::judged`], or what the kernel told.
    pub fn value(&self, run: &TimedRun) -> Option<f64> {
        run.judged.or_else(|| self.metric.told(run))
    }

    /// The logarithm of what is judged of a run, its sign turned where more is better: the less the better. `None` for what is not
    /// positive and finite, of which there is no ratio.
    pub fn log_loss(&self, run: &TimedRun) -> Option<f64> {
        let value = self.value(run).filter(|value| *value > 0.0 && value.is_finite())?;
        Some(if self.higher_is_better { -value.ln() } else { value.ln() })
    }

    /// The word of a verdict: faster and slower of times that pass on the wall, better and worse of anything else.
    pub fn word(&self, verdict: Verdict) -> &'static str {
        match (verdict, self.is_wall()) {
            (Verdict::Faster, true) => "faster",
            (Verdict::Slower, true) => "slower",
            (Verdict::Faster, false) => "better",
            (Verdict::Slower, false) => "worse",
            (Verdict::Same, _) => "same",
        }
    }

    /// What the judged figures of runs are called: times, or values.
    pub fn values(&self) -> &'static str {
        if self.is_wall() { "times" } else { "values" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_written_reads_back() {
        let sources = ["cycles", "dTLB-load-misses", "stdout:took ([0-9.]+): s", "stderr:(x)"];
        let files = ["json:out.json:/a/0", "json:out.json:", "json:/tmp/a:b.json:/x~1y", "json:a:/b:/c"];
        for word in Metric::words().chain(sources).chain(files) {
            assert_eq!(word.parse::<Metric>().unwrap().to_string(), word);
        }
        let file = |text: &str| match text.parse() {
            Ok(Json { file, pointer }) => (file, pointer),
            other => panic!("{other:?}"),
        };
        assert_eq!(file(files[2]), ("/tmp/a:b.json".to_owned(), "/x~1y".to_owned()));
        for wrong in ["", "stdout:", "stderr:", "json:", "json::/a", "json:a.json", "file:x", "two words"] {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn less_is_better_unless_more_is() {
        let run = TimedRun { user_s: 2.0, system_s: 1.0, ..TimedRun::default() };
        let cpu = Objective { metric: Cpu, higher_is_better: false };
        assert_eq!(cpu.value(&run), Some(3.0));
        let rate = Objective { metric: Stdout("(.*)".to_owned()), higher_is_better: true };
        assert_eq!((rate.value(&run), rate.log_loss(&run)), (None, None));
        let said = TimedRun { judged: Some(3.0), ..run };
        assert_eq!(rate.log_loss(&said), Some(-3f64.ln()));
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let said = TimedRun { judged: Some(nothing), ..said.clone() };
            assert_eq!(rate.log_loss(&said), None);
        }
        assert_eq!(Objective::default().word(Verdict::Slower), "slower");
        assert_eq!(rate.word(Verdict::Faster), "better");
    }

    #[test]
    fn a_counter_of_user_mode_alone_is_that_counter() {
        let counters = BTreeMap::from([("cycles:u".to_owned(), 7)]);
        let run = TimedRun { counters, ..TimedRun::default() };
        assert_eq!(Counter("cycles".to_owned()).told(&run), Some(7.0));
        assert_eq!(Counter("instructions".to_owned()).told(&run), None);
    }
}
