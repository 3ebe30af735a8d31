//! A run of the torture program: under which placement, with which operations.

use crate::program::{Program, linked_library};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

/// A range of operations, both ends included.
pub(crate) type Range = (u64, u64);

/// A program of which no operation ends for so long hangs, however busy the machine is.
const LIMIT_S: u64 = 120;

/// What is run. Its words repeat it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The options of `firsttouch run`; without, the program runs by itself.
    pub(crate) placed: Option<String>,
    pub(crate) seed: u64,
    /// Of each worker.
    pub(crate) operations: u64,
    /// Workers; `None` for one without other threads and signals, which does the same every time.
    pub(crate) threads: Option<u32>,
    /// Microseconds between two signals.
    pub(crate) signals: Option<u64>,
    /// Which operations; empty for all.
    pub(crate) ranges: Vec<Range>,
    /// Which kinds; empty for all.
    pub(crate) kinds: Vec<String>,
    /// What else the program is told.
    pub(crate) more: String,
    /// The library that threads switch on and off meanwhile.
    pub(crate) switched: Option<PathBuf>,
    /// A shell line that goes before it.
    pub(crate) before: Option<String>,
    /// Somebody attaches all the while.
    pub(crate) attached: bool,
    /// So long without an operation that ended is a hang.
    pub(crate) limit_s: u64,
}

impl Plan {
    pub(crate) fn new(placed: &str, seed: u64, operations: u64) -> Plan {
        Plan {
            placed: Some(placed.to_owned()),
            seed,
            operations,
            threads: None,
            signals: None,
            ranges: Vec::new(),
            kinds: Vec::new(),
            more: String::new(),
            switched: None,
            before: None,
            attached: false,
            limit_s: LIMIT_S,
        }
    }

    /// The same without us.
    pub(crate) fn bare(&self) -> Plan {
        Plan { placed: None, switched: None, attached: false, ..self.clone() }
    }

    pub(crate) fn by_threads(self, threads: u32) -> Plan {
        // Slow machines come to little between two signals, so that these stay apart.
        Plan { threads: Some(threads), signals: Some(3000), ..self }
    }

    pub(crate) fn with(self, more: &str) -> Plan {
        Plan { more: format!("{} {more}", self.more), ..self }
    }

    /// The program and its arguments.
    pub(crate) fn words(&self, program: &Program) -> Vec<OsString> {
        let mut text = match self.threads {
            Some(threads) => format!("--threads {threads}"),
            None => "--single".to_owned(),
        };
        let _ = write!(text, " --seed {} --operations {}", self.seed, self.operations);
        if let Some(us) = self.signals {
            let _ = write!(text, " --signals {us}");
        }
        if !self.ranges.is_empty() {
            let ranges: Vec<String> =
                self.ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
            let _ = write!(text, " --ranges {}", ranges.join(","));
        }
        if !self.kinds.is_empty() {
            let _ = write!(text, " --kinds {}", self.kinds.join(","));
        }
        if self.attached {
            text.push_str(" --hold");
        }
        let _ = write!(text, "{} --limit {}", self.more, self.limit_s);
        let mut words = vec![OsString::from(&program.file)];
        words.extend(text.split_whitespace().map(OsString::from));
        words.extend(["--plugin".into(), OsString::from(&program.plugin)]);
        if let Some(library) = &self.switched {
            words.extend(["--switch".into(), OsString::from(library)]);
        }
        words
    }

    /// The same under `firsttouch run`, where that is wanted.
    pub(crate) fn command(&self, firsttouch: &str, program: &Program) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        if let Some(line) = &self.before {
            all.extend(["sh", "-c", &format!("{line}; exec \"$@\""), "sh"].map(OsString::from));
        }
        if let Some(placed) = &self.placed {
            let ours = [firsttouch, "run"].into_iter().chain(placed.split_whitespace()).chain(["--"]);
            all.extend(ours.map(OsString::from));
        }
        all.extend(self.words(program));
        all
    }

    /// What a person types to repeat it.
    pub(crate) fn shown(&self, lab: Option<(&str, &str)>, program: &Program) -> String {
        let own = env!("CARGO_BIN_EXE_firsttouch");
        let in_guest = lab.map(|(machine, kernel)| {
            let library = linked_library(program).display().to_string();
            format!("{own} lab --machine {machine} --kernel {kernel} --copy-in {library} -- ")
        });
        let firsttouch = if lab.is_some() { "firsttouch" } else { own };
        let words: Vec<String> = self
            .command(firsttouch, program)
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        in_guest.unwrap_or_default() + &words.join(" ")
    }
}
