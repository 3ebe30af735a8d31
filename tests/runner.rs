//! Test programs of their own: tests with names, chosen by words of the command line.
//!
//! What a test needs and the machine lacks is said in the end as `skipped: test: why`, and counted: a test that did not run
//! has not passed, and fails with `FIRSTTOUCH_REQUIRE=1`.

#[allow(dead_code, reason = "few of these programs have tests that are skipped in part")]
pub(crate) mod skipped;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// How many of something run at a time that is all work for processors.
#[allow(dead_code, reason = "of some programs the tests are not to disturb each other")]
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Why a test did not run.
#[derive(Clone, Debug)]
pub(crate) struct Skip(pub(crate) String);

/// A test that fails panics.
pub(crate) type Outcome<T = ()> = Result<T, Skip>;

/// What the command line asks for.
pub(crate) struct Asked {
    pub(crate) words: Vec<String>,
    /// The names of the tests, instead of running them.
    pub(crate) list: bool,
}

impl Asked {
    /// Of this program.
    pub(crate) fn read() -> Asked {
        let (options, words): (Vec<String>, Vec<String>) =
            std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
        Asked { words, list: options.iter().any(|option| option == "--list") }
    }

    /// Whether a test is to run: it has one of the words in its name, or there are none.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }
}

/// What became of the tests so far.
#[derive(Default)]
pub(crate) struct Tally {
    passed: u32,
    /// As lines.
    skipped: Vec<String>,
    failed: Vec<String>,
}

impl Tally {
    /// Tells and counts a test; an error is what it panicked with. `took` is left out where tests share what takes time.
    pub(crate) fn count(&mut self, name: &str, took: Option<Duration>, result: thread::Result<Outcome>) {
        match result {
            Ok(Ok(())) => {
                self.passed += 1;
                let took = took.map(|took| format!(" ({:.1} s)", took.as_secs_f64())).unwrap_or_default();
                println!("test {name} ... ok{took}");
            }
            Ok(Err(Skip(why))) if skipped::is_failure(name, &why) => {
                self.failed.push(format!("{name}: FIRSTTOUCH_REQUIRE=1, and it was skipped: {why}"));
                println!("test {name} ... FAILED");
            }
            Ok(Err(Skip(why))) => {
                self.skipped.push(skipped::line(name, &why));
                println!("test {name} ... skipped");
            }
            Err(_) => {
                self.failed.push(name.to_owned());
                println!("test {name} ... FAILED");
            }
        }
    }

    /// Tells all in all, under the name of what ran.
    pub(crate) fn end(self, name: &str, took: Duration) -> ExitCode {
        println!(
            "\n{}{name}: {} passed, {} skipped, {} failed in {:.0} s",
            self.skipped.concat(),
            self.passed,
            self.skipped.len(),
            self.failed.len(),
            took.as_secs_f64()
        );
        self.failed.iter().for_each(|name| println!("    {name}"));
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
