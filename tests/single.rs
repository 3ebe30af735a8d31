//! Tests that have nothing in common but the machine.

use crate::runner::{Asked, Outcome, Skip, Tally};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// A test with its name.
pub(crate) type Test = (String, Box<dyn Fn() -> Outcome + Send>);

/// A test that does not run.
pub(crate) fn skip<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Skip(why.into()))
}

/// Runs the tests that are asked for, so many at a time.
pub(crate) fn run(
    asked: &Asked,
    program: &str,
    tests: impl IntoIterator<Item = Test>,
    at_once: usize,
) -> ExitCode {
    let tests: Vec<Test> = tests.into_iter().filter(|(name, _)| asked.wants(name)).collect();
    if asked.list {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (begun, tally, queue) = (Instant::now(), Mutex::new(Tally::default()), Mutex::new(tests.into_iter()));
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((name, test)) = { queue.lock().unwrap().next() } {
                    let begun = Instant::now();
                    let result = catch_unwind(AssertUnwindSafe(test));
                    tally.lock().unwrap().count(&name, Some(begun.elapsed()), result);
                }
            });
        }
    });
    tally.into_inner().unwrap().end(program, begun.elapsed())
}
