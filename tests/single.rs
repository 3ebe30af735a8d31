//! Tests that have nothing in common but the machine.

use crate::runner::{Asked, Outcome, Skip, Tally};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// A test with its name.
pub(crate) type Test = (String, Box<dyn Fn() -> Outcome>);

/// A test that does not run.
pub(crate) fn skip<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Skip(why.into()))
}

/// Runs the tests that are asked for.
pub(crate) fn run(asked: &Asked, program: &str, tests: impl IntoIterator<Item = Test>) -> ExitCode {
    let tests: Vec<Test> = tests.into_iter().filter(|(name, _)| asked.wants(name)).collect();
    if asked.list {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (begun, mut tally) = (Instant::now(), Tally::default());
    for (name, test) in &tests {
        let begun = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(test));
        tally.count(name, Some(begun.elapsed()), result);
    }
    tally.end(program, begun.elapsed())
}
