//! Promises about nodes, kept or not on machines with several: each test runs commands in a lab's guest and looks at
//! where pages and threads came to lie, by the kernel's own account.
//!
//! Tests of the same machine and kernel share boots (`suite`): a boot costs seconds, a command a fraction of one.
//! Without QEMU, or the kernel, the tests are skipped and say how to get it: a test that did not run has not passed.
//!
//! `cargo test -p firsttouch-cli --test lab -- hbm cxl` runs the tests with one of these words in their name;
//! `--list` names them all.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program of its own prints its results"
)]

mod attach;
mod bench;
mod command_line;
mod confined;
mod counts;
mod endings;
mod graphs;
#[path = "../shared/guest.rs"]
mod guest;
mod jobs;
mod measure;
mod model;
mod own_devices;
#[path = "../shared/own_program.rs"]
mod own_program;
mod placed;
mod policies;
mod recycled;
mod regions;
#[path = "../../../../tests/runner.rs"]
mod runner;
mod runtime;
#[path = "../shared/setting.rs"]
mod setting;
mod setup;
mod suite;
mod threads;
mod watch;

use bench::Test;
use runner::{Asked, Tally};
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((word, rest)) = arguments.split_first()
        && word == regions::WORD
    {
        return regions::in_guest(rest);
    }
    let asked = Asked::read();
    let tests: Vec<Test> = [
        model::tests(),
        policies::tests(),
        regions::tests(),
        placed::tests(),
        recycled::tests(),
        threads::tests(),
        confined::tests(),
        endings::tests(),
        measure::tests(),
        watch::tests(),
        own_devices::tests(),
        attach::tests(),
        runtime::tests(),
        graphs::tests(),
        jobs::tests(),
        setup::tests(),
    ]
    .into_iter()
    .flatten()
    .filter(|test| asked.wants(&test.name))
    .collect();
    let single = command_line::tests()
        .into_iter()
        .chain(setup::single())
        .chain(jobs::missing())
        .filter(|(name, _)| asked.wants(name));
    let single: Vec<command_line::Single> = single.collect();
    if asked.list {
        tests.iter().for_each(|test| println!("{}: test", test.name));
        single.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let begun = Instant::now();
    let mut tally = Tally::default();
    suite::run(&mut tally, tests, single);
    // It was made only if a test needed a program.
    let _ = fs::remove_dir_all(bench::workshop());
    tally.end("lab", begun.elapsed())
}
