//! Random operations on everything a program may do with its memory, under `firsttouch run`, checked against a model.
//!
//! The program is in `c/`: operations drawn from a seed, all of which work without us, and each block's contents known.
//! Here it is run under each kind of placement, on this machine and in guests with older kernels (`suite`). A run that
//! fails is run again with fewer threads, kinds and operations (`shrink`), and the shortest is printed as a command.
//!
//! `cargo test -p firsttouch-cli --test torture -- thp` runs the tests with one of these words in their name; `--list`
//! names them all. Longer, and with other operations:
//!
//! ```text
//! cargo test -p firsttouch-cli --test torture -- --operations 5000 --seed 77 [--runs 10] [--threads 4]
//!     [--kernel 6.1] [--pages thp] [--placement "--min-size 64K --prefault"] [--words "--quick 100 --without leave_guard"]
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program of its own prints its results"
)]

#[path = "../shared/guest.rs"]
mod guest;
mod guests;
mod here;
mod long;
#[path = "../shared/machine.rs"]
mod machine;
mod plan;
mod program;
#[path = "../../../../tests/runner.rs"]
mod runner;
#[path = "../shared/setting.rs"]
mod setting;
mod shrink;
mod suite;

use runner::{Asked, Outcome, Skip, Tally};
use std::process::ExitCode;
use std::time::Instant;

/// A test that does not run.
fn skip<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Skip(why.into()))
}

fn main() -> ExitCode {
    let (begun, mut tally) = (Instant::now(), Tally::default());
    let _workshop = program::make_workshop();
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--operations") {
        match long::Long::read(&words) {
            Ok(long) => long.run(&mut tally),
            Err(why) => {
                eprintln!("error: {why}");
                return ExitCode::from(2);
            }
        }
    } else {
        let asked = Asked::read();
        suite::run(&asked, &mut tally);
        if asked.list {
            return ExitCode::SUCCESS;
        }
    }
    tally.end("torture", begun.elapsed())
}
