//! What can go wrong around a placed program, made to happen, with real C programs under `firsttouch run`.
//!
//! Most tests are a C file in `c/` that says in `//#` lines how it is run and what is expected (see `directives`); the
//! rest is in `cases`. What a test needs and the machine lacks is said on stderr as `skipped: test: why`, and counted:
//! a test that did not run has not passed. Tests run one after the other, because several of them change settings of
//! the whole machine (see `machine`) and others count what the kernel does.
//!
//! `cargo test -p firsttouch-cli --test faults -- fork pool` runs the tests with one of these words in their name;
//! `--list` names them all.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program of its own prints its results"
)]

mod cases;
mod directives;
mod launch;
mod machine;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// Why a test did not run.
#[derive(Debug)]
struct Skip(String);

/// A test that fails panics.
type Outcome<T = ()> = Result<T, Skip>;

fn skip<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Skip(why.into()))
}

type Test = (String, Box<dyn Fn() -> Outcome>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let tests: Vec<Test> = directives::tests()
        .into_iter()
        .chain(cases::tests())
        .filter(|(name, _)| words.is_empty() || words.iter().any(|word| name.contains(word.as_str())))
        .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut skipped, mut failed) = (0, 0, Vec::new());
    for (name, test) in &tests {
        let begun = Instant::now();
        match catch_unwind(AssertUnwindSafe(test)) {
            Ok(Ok(())) => {
                passed += 1;
                println!("test {name} ... ok ({:.1} s)", begun.elapsed().as_secs_f64());
            }
            Ok(Err(Skip(why))) => {
                skipped += 1;
                eprintln!("skipped: {name}: {why}");
            }
            Err(_) => {
                failed.push(name);
                println!("test {name} ... FAILED");
            }
        }
    }
    println!("\nfaults: {passed} passed, {skipped} skipped, {} failed", failed.len());
    failed.iter().for_each(|name| println!("    {name}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
