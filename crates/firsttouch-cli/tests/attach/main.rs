//! `firsttouch attach` on programs that work meanwhile: they compute the same and live on, their memory and threads are
//! where the kernel says they are, and whoever may not be attached is left as he was.
//!
//! What a test needs and the machine lacks is said in the end as `skipped: test: why`, and counted: a test that did not
//! run has not passed. Tests run one after the other, because they look at pauses.
//!
//! `cargo test -p firsttouch-cli --test attach -- java node` runs the tests with one of these words in their name;
//! `--list` names them all.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(clippy::print_stdout, reason = "a test program of its own prints its results")]

mod attached;
mod balanced;
#[path = "../shared/machine.rs"]
mod machine;
mod meanwhile;
mod pauses;
#[path = "../shared/program.rs"]
mod program;
mod programs;
mod refused;
#[path = "../../../../tests/runner.rs"]
mod runner;
#[path = "../../../../tests/single.rs"]
mod single;
mod target;
mod twins;
mod undone;

use machine::Surroundings;
use runner::{Asked, Outcome};
use single::{Test, skip};
use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = [
        balanced::tests(),
        programs::tests(),
        pauses::tests(),
        meanwhile::tests(),
        refused::tests(),
        twins::tests(),
        undone::tests(),
    ];
    single::run(&Asked::read(), "attach", tests.into_iter().flatten().map(with_huge_pages), 1)
}

/// A test that runs where programs get huge pages if they ask for them, and only then.
fn with_huge_pages((name, test): Test) -> Test {
    let test = move || {
        let _surroundings = Surroundings::make(&["root".to_owned(), "thp=madvise".to_owned()])?;
        test()
    };
    (name, Box::new(test))
}
