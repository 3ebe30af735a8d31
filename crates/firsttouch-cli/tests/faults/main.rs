//! What can go wrong around a placed program, made to happen, with real C programs under `firsttouch run`.
//!
//! Most tests are a C file in `c/` that says in `//#` lines how it is run and what is expected (see `directives`); the
//! rest is in `cases`. What a test needs and the machine lacks is said in the end as `skipped: test: why`, and counted:
//! a test that did not run has not passed. As many run at a time as there are processors; who changes something of the whole
//! machine runs alone (see `machine`).
//!
//! The same programs run on other kernels, and in other modes of transparent huge pages, by the test program `kernels`.
//!
//! `cargo test -p firsttouch-cli --test faults -- fork pool` runs the tests with one of these words in their name;
//! `--list` names them all.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(clippy::print_stdout, reason = "a test program of its own prints its results")]

#[expect(dead_code, reason = "each test compiles what it runs")]
mod cases;
#[expect(dead_code, reason = "these tests do not go through modes of transparent huge pages")]
mod directives;
mod launch;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../../../../tests/runner.rs"]
mod runner;
#[path = "../../../../tests/single.rs"]
mod single;

use runner::{Asked, Outcome};
use single::{Test, skip};
use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = directives::tests(directives::scripts()).chain(cases::tests());
    single::run(&Asked::read(), "faults", tests, runner::processors())
}
