//! C programs that say themselves how they are run and what is expected of them.
//!
//! ```text
//! //# requires: thp=never            what must be so (see `machine`); `cc -m32` asks for a compiler that can do that
//! //# once: WHY                      transparent huge pages are nothing to it: one of their modes is enough
//! //# expect: exit=3                 before the first run: of every run
//! //# bare: ARGUMENTS                a run of the program by itself
//! //# exec: OPTIONS -- ARGUMENTS     a run by `firsttouch run OPTIONS`, which becomes the program
//! //# run: OPTIONS -- ARGUMENTS      the same with a receipt
//! //# outside: ulimit -v 9; exec "$@"    after a run's line: a shell line round `firsttouch run`
//! //# inside: exec "$@"                  and one between it and the program
//! //# where: linux>=6.1              this run only where that is so (see `machine::check`)
//! //# emulated: ARGUMENTS            what the program gets instead where processors are emulated: less to do
//! //# expect: pages=2m>=90%          after a run's line: of that run
//! //# expect: pages=2m>=90% where thp    the same, only where that is so
//! ```
//!
//! Expectations: `exit=N` (0 if nothing is said), `signal=N`, `stdout=LINE` (all of them, in order), `stderr~WORDS`,
//! `stderr=nothing`, and of the receipt `complete=true`, `obtained=nothing`, `pages=SIZE>=PERCENT%`, `placed>=SIZE`, `peak>=SIZE`,
//! `recycled>=SIZE`, `pool>=SIZE`, `processes=N`, `processes=printed` (each as its line `PID PRIVATE SHARED HUGE` in KiB, within
//! 2 %), `huge=shared>=PERCENT%` (of what the processes share), `shortfall=REASON` or `shortfall=REASON>=SIZE`, `shortfall=nothing`, `absent=REASON`, `note~WORDS`.

use crate::launch::{Ended, Hand, Launch, compile, sources};
use crate::machine::{Surroundings, check, in_guest};
use crate::{Outcome, Test};
use firsttouch_placement::{Receipt, parse_size};
use std::fs;
use std::path::PathBuf;

#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    source: String,
    requires: Vec<String>,
    once: bool,
    compiler_flags: Vec<String>,
    build: Vec<String>,
    expect: Vec<String>,
    runs: Vec<Run>,
}

#[derive(Clone, Debug)]
struct Run {
    line: String,
    hand: Hand,
    options: Vec<String>,
    arguments: Vec<String>,
    emulated: Option<Vec<String>>,
    outside: Option<String>,
    inside: Option<String>,
    conditions: Vec<String>,
    expect: Vec<String>,
}

/// The script of every C file that has one, by its name; a source without a run belongs to one of the cases.
pub(crate) fn scripts() -> Vec<(String, Script)> {
    let mut names: Vec<String> = fs::read_dir(sources())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".h"))
        .collect();
    names.sort();
    names.into_iter().flat_map(|name| Script::read(&name).parts(&format!("c/{name}"))).collect()
}

/// A test for every script.
pub(crate) fn tests(scripts: Vec<(String, Script)>) -> impl Iterator<Item = Test> {
    scripts.into_iter().map(|(name, script)| -> Test { (name, Box::new(move || script.perform())) })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Script {
    fn read(source: &str) -> Script {
        let text = fs::read_to_string(sources().join(source)).unwrap();
        let mut script = Script { source: source.to_owned(), ..Script::default() };
        for line in text.lines().filter_map(|line| line.strip_prefix("//# ")) {
            let (key, rest) = line.split_once(':').unwrap_or_else(|| panic!("{source}: {line}"));
            script.add(key, rest.trim(), line);
        }
        script
    }

    /// The script without its runs under conditions, and a script for each of those, so that one that cannot run is counted as
    /// skipped.
    fn parts(mut self, name: &str) -> Vec<(String, Script)> {
        let (under_conditions, runs): (Vec<Run>, Vec<Run>) =
            self.runs.drain(..).partition(|run| !run.conditions.is_empty());
        let part = |name: String, runs| (name, Script { runs, ..self.clone() });
        let alone = under_conditions.into_iter().map(|run| part(format!("{name}, {}", run.line), vec![run]));
        let whole = (!runs.is_empty()).then(|| part(name.to_owned(), runs));
        whole.into_iter().chain(alone).collect()
    }

    fn add(&mut self, key: &str, rest: &str, line: &str) {
        let run = self.runs.last_mut();
        match (key, run) {
            ("bare", _) => self.begin(Hand::Bare, "", rest, line),
            ("exec" | "run", _) => {
                let (options, arguments) = rest.split_once("-- ").unwrap_or((rest, ""));
                let hand = if key == "exec" { Hand::Exec } else { Hand::Receipt };
                self.begin(hand, options, arguments, line);
            }
            ("expect", Some(run)) => run.expect.push(rest.to_owned()),
            ("outside", Some(run)) => run.outside = Some(rest.to_owned()),
            ("inside", Some(run)) => run.inside = Some(rest.to_owned()),
            ("where", Some(run)) => run.conditions.extend(words(rest)),
            ("emulated", Some(run)) => run.emulated = Some(words(rest)),
            ("expect", None) => self.expect.push(rest.to_owned()),
            ("once", None) => self.once = true,
            ("build", None) => self.build = words(rest),
            ("requires", None) => match rest.strip_prefix("cc ") {
                Some(flags) => self.compiler_flags = words(flags),
                None => self.requires.push(rest.to_owned()),
            },
            _ => panic!("{}: {line}", self.source),
        }
    }

    fn begin(&mut self, hand: Hand, options: &str, arguments: &str, line: &str) {
        self.runs.push(Run {
            line: line.to_owned(),
            hand,
            options: words(options),
            arguments: words(arguments),
            emulated: None,
            outside: None,
            inside: None,
            conditions: Vec::new(),
            expect: self.expect.clone(),
        });
    }

    /// The same where transparent huge pages are in a mode; nothing if it asks for another one itself, or if one is enough
    /// and this is not the usual one. Emulated processors take ten times as long: there, runs without us are left
    /// out, and of those that differ in sizes and the receipt only (in an unusual mode: in anything but the kind of pages) all
    /// but one.
    pub(crate) fn under(mut self, mode: &str, is_usual: bool) -> Option<Script> {
        if self.once && !is_usual {
            return None;
        }
        if in_guest() {
            let mut kept: Vec<Run> = Vec::new();
            for run in self.runs {
                match kept.iter_mut().find(|other| other.kind(is_usual) == run.kind(is_usual)) {
                    _ if run.hand == Hand::Bare => {}
                    // Of two that differ in nothing else, the one with a receipt.
                    Some(other) if other.hand != run.hand && run.hand == Hand::Receipt => *other = run,
                    Some(_) => {}
                    None => kept.push(run),
                }
            }
            self.runs = kept;
            if self.runs.is_empty() {
                return None;
            }
        }
        match self.requires.iter().find_map(|word| word.strip_prefix("thp=")) {
            Some(own) => (own == mode).then_some(self),
            None => {
                // What asks whether there are any is to ask afterwards.
                self.requires.insert(0, format!("thp={mode}"));
                Some(self)
            }
        }
    }

    /// The commands it requires.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &str> {
        self.requires.iter().filter_map(|word| word.strip_prefix("command="))
    }

    pub(crate) fn program(&self) -> Outcome<PathBuf> {
        compile(&self.source, &self.build, &self.compiler_flags)
    }

    fn perform(&self) -> Outcome {
        let program = self.program()?;
        let surroundings = Surroundings::make(&self.requires)?;
        for run in &self.runs {
            all_so(&run.conditions)?;
            let enter = surroundings.group.as_ref().map(|group| group.enter() + "; exec \"$@\"");
            let launch = Launch {
                hand: run.hand,
                options: &run.options,
                program: &program,
                arguments: run.emulated.as_ref().filter(|_| in_guest()).unwrap_or(&run.arguments),
                outside: run.outside.as_deref().or(enter.as_deref()),
                inside: run.inside.as_deref(),
            };
            run.check(&launch.run(), &self.source);
        }
        Ok(())
    }
}

fn all_so<S: AsRef<str>>(conditions: impl IntoIterator<Item = S>) -> Outcome {
    conditions.into_iter().try_for_each(|condition| check(condition.as_ref()))
}

impl Run {
    /// What tells it from runs that differ in sizes only: the options (without `all` only the kind of pages), and what the
    /// program does.
    fn kind(&self, all: bool) -> (Vec<&str>, &[String], Option<&str>, Option<&str>) {
        let (mut asked, mut options) = (Vec::new(), self.options.iter().map(String::as_str));
        while let Some(option) = options.next() {
            match option {
                "--pages" => asked.extend(options.next()),
                "--min-size" | "--max-size" => drop(options.next()),
                _ if all => asked.push(option),
                _ => {}
            }
        }
        (asked, &self.arguments, self.outside.as_deref(), self.inside.as_deref())
    }

    /// What is expected here.
    fn expected(&self) -> impl Iterator<Item = &str> {
        self.expect.iter().filter_map(|line| match line.split_once(" where ") {
            Some((line, conditions)) => all_so(conditions.split_whitespace()).is_ok().then_some(line),
            None => Some(line.as_str()),
        })
    }

    fn said(&self, key: &'static str) -> impl Iterator<Item = &str> {
        self.expected().filter_map(move |line| line.strip_prefix(key))
    }

    fn check(&self, ended: &Ended, source: &str) {
        let fail = |what: &str| {
            panic!("{source}, `{}`: expected {what}\n{}", self.line, describe(ended));
        };
        let signal = self.said("signal=").next().map(|number| number.parse().unwrap());
        let code = self.said("exit=").next().map_or(0, |number| number.parse().unwrap());
        if ended.signal != signal || signal.is_none() && ended.code != Some(code) {
            fail(
                &signal
                    .map_or(format!("exit status {code}"), |signal: i32| format!("death by signal {signal}")),
            );
        }
        let lines: Vec<&str> = self.said("stdout=").collect();
        if !lines.is_empty() && ended.stdout.lines().collect::<Vec<_>>() != lines {
            fail(&format!("the output {lines:?}"));
        }
        for line in self.expected() {
            let known = line.split(['=', '~', '>']).next().unwrap_or(line);
            let met = match known {
                "exit" | "signal" | "stdout" => true,
                "stderr" if line == "stderr=nothing" => ended.stderr.is_empty(),
                "stderr" => ended.stderr.contains(&line["stderr~".len()..]),
                // What follows is about receipts, which only one kind of run has.
                _ => self.hand != Hand::Receipt || met_by_receipt(line, ended),
            };
            if !met {
                fail(line);
            }
        }
    }
}

fn met_by_receipt(line: &str, ended: &Ended) -> bool {
    let receipt = ended.receipt();
    let (condition, least) =
        line.split_once(">=").map_or((line, None), |(before, least)| (before, Some(least)));
    let at_least = |bytes: u64| least.is_none_or(|least| bytes >= parse_size(least).unwrap());
    let obtained = receipt.obtained.as_ref();
    match condition.split_once(['=', '~']).unwrap_or((condition, "")) {
        ("complete", value) => receipt.complete.to_string() == value,
        ("obtained", "nothing") => obtained.is_none(),
        ("pages", size) => {
            let least: f64 = least.unwrap().trim_end_matches('%').parse().unwrap();
            obtained
                .and_then(|obtained| share(&obtained.bytes_by_page_size, size))
                .is_some_and(|it| it >= least)
        }
        ("placed", "") => obtained.is_some_and(|obtained| at_least(obtained.placed_bytes)),
        ("peak", "") => obtained.is_some_and(|obtained| at_least(obtained.peak_bytes)),
        ("pool", "") => obtained.is_some_and(|obtained| at_least(obtained.pool_bytes)),
        ("recycled", "") => obtained.is_some_and(|obtained| at_least(obtained.recycled_bytes)),
        ("processes", "printed") => processes_are(receipt, &ended.stdout),
        ("processes", count) => {
            receipt.tree.as_ref().is_some_and(|tree| tree.processes.len().to_string() == count)
        }
        ("huge", "shared") => {
            let least: f64 = least.unwrap().trim_end_matches('%').parse().unwrap();
            let share = receipt.tree.as_ref().and_then(|tree| tree.at_peak.shared.huge_share());
            share.is_some_and(|share| 100.0 * share >= least)
        }
        ("absent", reason) => receipt.shortfalls.iter().all(|it| it.reason.word() != reason),
        ("shortfall", "nothing") => receipt.shortfalls.is_empty(),
        ("shortfall", reason) => {
            receipt.shortfalls.iter().any(|it| it.reason.word() == reason && at_least(it.bytes))
        }
        ("note", words) => receipt.notes.iter().any(|note| note.contains(words)),
        _ => panic!("unknown expectation {line}"),
    }
}

/// Whether a receipt tells of each process what it has printed of itself, and of all together what they have where memory that
/// they share counts once.
fn processes_are(receipt: &Receipt, printed: &str) -> bool {
    let Some(tree) = &receipt.tree else { return false };
    let is_near = |one: u64, other: u64| one.abs_diff(other) <= other / 50 + (512 << 10);
    let (mut own_bytes, mut shared_bytes, mut huge_bytes) = (0, 0, 0);
    let all_are = printed.lines().all(|line| {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let [pid, own, shared, huge] = numbers[..] else { panic!("{line}") };
        let (own, shared, huge) = (own << 10, shared << 10, huge << 10);
        own_bytes += own;
        shared_bytes = shared_bytes.max(shared);
        huge_bytes += huge;
        tree.processes.iter().find(|process| u64::from(process.pid) == pid).is_some_and(|process| {
            let memory = &process.memory;
            is_near(memory.placed.bytes + memory.private.bytes, own)
                && is_near(memory.shared.bytes, shared)
                && is_near(memory.of_no_file().huge_bytes, huge)
        })
    });
    let sum = &tree.at_peak;
    all_are
        && is_near(sum.placed.bytes + sum.private.bytes, own_bytes)
        && is_near(sum.shared.bytes, shared_bytes)
        && sum.of_no_file().huge_bytes <= huge_bytes + huge_bytes / 50
}

/// Percentage of resident placed bytes on pages of at least that size.
fn share(bytes_by_page_size: &std::collections::BTreeMap<u64, u64>, size: &str) -> Option<f64> {
    let all: u64 = bytes_by_page_size.values().sum();
    let there: u64 = bytes_by_page_size.range(parse_size(size).unwrap()..).map(|(_, bytes)| bytes).sum();
    (all > 0).then(|| 100.0 * there as f64 / all as f64)
}

fn describe(ended: &Ended) -> String {
    let receipt = ended.receipt.as_ref().map(|receipt| serde_json::to_string_pretty(receipt).unwrap());
    format!(
        "exit status {:?}, signal {:?}\nstdout: {}\nstderr: {}\nreceipt: {}",
        ended.code,
        ended.signal,
        ended.stdout,
        ended.stderr,
        receipt.as_deref().unwrap_or("none")
    )
}
