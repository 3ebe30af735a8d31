//! `firsttouch attach` on programs that work meanwhile: they compute the same and live on, their memory and threads are
//! where the kernel says they are, and whoever may not be attached is left as he was.
//!
//! What a test needs and the machine lacks is said on stderr as `skipped: test: why`, and counted: a test that did not
//! run has not passed. Tests run one after the other, because they look at pauses.
//!
//! `cargo test -p firsttouch-cli --test attach -- java node` runs the tests with one of these words in their name;
//! `--list` names them all.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program of its own prints its results"
)]

mod attached;
#[path = "../faults/machine.rs"]
#[expect(dead_code, reason = "these tests change no settings, they rely on them")]
mod machine;
mod meanwhile;
mod pauses;
mod programs;
mod refused;
mod target;

use machine::Surroundings;
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
    let tests: Vec<Test> = [programs::tests(), pauses::tests(), meanwhile::tests(), refused::tests()]
        .into_iter()
        .flatten()
        .filter(|(name, _)| words.is_empty() || words.iter().any(|word| name.contains(word.as_str())))
        .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut skipped, mut failed) = (0, 0, Vec::new());
    for (name, test) in &tests {
        let begun = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| with_huge_pages(test))) {
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
    println!("\nattach: {passed} passed, {skipped} skipped, {} failed", failed.len());
    failed.iter().for_each(|name| println!("    {name}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a test while nobody changes the machine's mode of huge pages.
fn with_huge_pages(test: &dyn Fn() -> Outcome) -> Outcome {
    let _surroundings = Surroundings::make(&["root".to_owned(), "thp".to_owned()])?;
    test()
}
