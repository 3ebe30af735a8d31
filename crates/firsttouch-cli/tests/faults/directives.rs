//! C programs that say themselves how they are run and what is expected of them.
//!
//! ```text
//! //# requires: thp=never            what must be so (see `machine`); `cc -m32` asks for a compiler that can do that
//! //# expect: exit=3                 before the first run: of every run
//! //# bare: ARGUMENTS                a run of the program by itself
//! //# exec: OPTIONS -- ARGUMENTS     a run by `firsttouch run OPTIONS`, which becomes the program
//! //# run: OPTIONS -- ARGUMENTS      the same with a receipt
//! //# outside: ulimit -v 9; exec "$@"    after a run's line: a shell line round `firsttouch run`
//! //# inside: exec "$@"                  and one between it and the program
//! //# expect: pages=2m>=90%          after a run's line: of that run
//! ```
//!
//! Expectations: `exit=N` (0 if nothing is said), `signal=N`, `stdout=LINE` (all of them, in order), `stderr~WORDS`,
//! `stderr=nothing`, and of the receipt `complete=true`, `obtained=nothing`, `pages=SIZE>=PERCENT%`, `placed>=SIZE`,
//! `recycled>=SIZE`, `shortfall=REASON` or `shortfall=REASON>=SIZE`, `shortfall=nothing`, `note~WORDS`.

use crate::launch::{Ended, Hand, Launch, compile, sources};
use crate::machine::Surroundings;
use crate::{Outcome, Test};
use firsttouch_placement::parse_size;
use std::fs;

#[derive(Debug, Default)]
struct Script {
    source: String,
    requires: Vec<String>,
    compiler_flags: Vec<String>,
    build: Vec<String>,
    expect: Vec<String>,
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    line: String,
    hand: Hand,
    options: Vec<String>,
    arguments: Vec<String>,
    outside: Option<String>,
    inside: Option<String>,
    expect: Vec<String>,
}

/// A test for every C file.
pub(crate) fn tests() -> Vec<Test> {
    let mut names: Vec<String> = fs::read_dir(sources())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".h"))
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| (format!("c/{name}"), Script::read(&name)))
        // A source without a run belongs to one of the cases.
        .filter(|(_, script)| !script.runs.is_empty())
        .map(|(name, script)| -> Test { (name, Box::new(move || script.perform())) })
        .collect()
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
            ("expect", None) => self.expect.push(rest.to_owned()),
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
            outside: None,
            inside: None,
            expect: self.expect.clone(),
        });
    }

    fn perform(&self) -> Outcome {
        let program = compile(&self.source, &self.build, &self.compiler_flags)?;
        let surroundings = Surroundings::make(&self.requires)?;
        for run in &self.runs {
            let enter = surroundings.group.as_ref().map(|group| group.enter() + "; exec \"$@\"");
            let launch = Launch {
                hand: run.hand,
                options: &run.options,
                program: &program,
                arguments: &run.arguments,
                outside: run.outside.as_deref().or(enter.as_deref()),
                inside: run.inside.as_deref(),
            };
            run.check(&launch.run(), &self.source);
        }
        Ok(())
    }
}

impl Run {
    fn said(&self, key: &'static str) -> impl Iterator<Item = &str> {
        self.expect.iter().filter_map(move |line| line.strip_prefix(key))
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
        for line in &self.expect {
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
        ("recycled", "") => obtained.is_some_and(|obtained| at_least(obtained.recycled_bytes)),
        ("shortfall", "nothing") => receipt.shortfalls.is_empty(),
        ("shortfall", reason) => {
            receipt.shortfalls.iter().any(|it| it.reason.word() == reason && at_least(it.bytes))
        }
        ("note", words) => receipt.notes.iter().any(|note| note.contains(words)),
        _ => panic!("unknown expectation {line}"),
    }
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
