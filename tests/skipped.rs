//! What tests could not check here, and why: told and counted when the program of the tests ends.
//!
//! The standard harness knows tests that passed and tests that failed, and keeps back what a test that passes says.
//! Test programs that run their tests themselves count by `runner`.
//!
//! With `FIRSTTOUCH_REQUIRE=1` in the environment such a test fails, but for the reasons in `allowed_skips.txt`.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

/// The reasons that hold even where all tests are required to run.
const ALLOWED: &str = include_str!("allowed_skips.txt");

/// The test that runs now leaves something out, if not all. Every test has a thread of its name.
pub(crate) fn skipped(why: &str) {
    skipped_in(std::thread::current().name().unwrap_or("?"), why);
}

/// Likewise, for who knows the name of the test.
pub(crate) fn skipped_in(test: &str, why: &str) {
    assert!(!is_failure(test, why), "FIRSTTOUCH_REQUIRE=1: {}", line(test, why));
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    if skipped.is_empty() {
        // SAFETY: a function that does not unwind, and is there as long as the program.
        unsafe { atexit(tell) };
    }
    skipped.push(line(test, why));
}

/// What is told of a test. Its first line has the word that people and `.ci/run` look for; more are set in.
pub(crate) fn line(test: &str, why: &str) -> String {
    format!("skipped: {test}: {}\n", why.trim().replace('\n', "\n    "))
}

/// Whether all tests are required to run, and nothing excuses this one.
pub(crate) fn is_failure(test: &str, why: &str) -> bool {
    let line = line(test, why);
    let mut excuses = ALLOWED.lines().filter(|excuse| !excuse.is_empty() && !excuse.starts_with('#'));
    std::env::var_os("FIRSTTOUCH_REQUIRE").is_some_and(|value| value == "1")
        && !excuses.any(|excuse| line.contains(excuse))
}

extern "C" fn tell() {
    let skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let (lines, count) = (skipped.concat(), skipped.len());
    // Not by `println!`, which panics where nobody reads any more.
    let _ = writeln!(
        std::io::stdout(),
        "{lines}{count} skipped, wholly or in part; the tests above count as passed all the same\n"
    );
}
