//! Promises about nodes, kept or not on machines with several: each test runs commands in a lab's guest and looks at
//! where pages and threads came to lie, by the kernel's own account.
//!
//! Tests of the same machine and kernel share one boot (see `bench`): a boot costs seconds, a command a fraction of one.
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
mod regions;
#[path = "../../../../tests/runner.rs"]
mod runner;
mod runtime;
#[path = "../shared/setting.rs"]
mod setting;
mod setup;
mod threads;
mod watch;

use bench::{Setting, Test};
use firsttouch_lab::LabError;
use runner::{Asked, Skip, Tally};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    let mut tests: Vec<Test> = [
        model::tests(),
        policies::tests(),
        regions::tests(),
        placed::tests(),
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
    tests.sort_by_key(|test| test.setting.clone());
    let begun = Instant::now();
    let mut tally = Tally::default();
    for group in tests.chunk_by(|a, b| a.setting == b.setting) {
        run(&mut tally, group);
    }
    for (name, test) in single {
        tally.count(name, None, catch_unwind(test));
    }
    // It was made only if a test needed a program.
    let _ = fs::remove_dir_all(bench::workshop());
    tally.end("lab", begun.elapsed())
}

/// Boots a machine once and gives each of its tests what its commands wrote.
fn run(tally: &mut Tally, tests: &[Test]) {
    let setting: &Setting = &tests[0].setting;
    let begun = Instant::now();
    let (machine, lab) = match setting::ready(setting) {
        Ok(ready) => ready,
        Err(Skip(why)) => {
            for test in tests {
                tally.count(&test.name, None, Ok(Err(Skip(why.clone()))));
            }
            return;
        }
    };
    let all: Vec<_> = tests.iter().flat_map(|test| test.commands.iter().cloned()).collect();
    let told = |error: &LabError| format!("{error}\n{}", error.console().unwrap_or_default());
    // Nothing that a program does may end a kernel, and under an emulator some end by chance, rarely: twice is none.
    let collected = lab.collect(&all).or_else(|error| match &error {
        LabError::Died { console } if console.contains("Kernel panic") => {
            eprintln!("{setting}: booted again: {}", told(&error));
            lab.collect(&all)
        }
        _ => Err(error),
    });
    let collected = match collected {
        Ok(collected) => collected,
        Err(error) => {
            eprintln!("{setting}: {}", told(&error));
            for test in tests {
                tally.count(&test.name, None, Err(Box::new("no boot")));
            }
            return;
        }
    };
    println!("{setting}: {} commands in {:.1} s", all.len(), begun.elapsed().as_secs_f64());
    let mut rest = collected.as_slice();
    for test in tests {
        let (own, others) = rest.split_at(test.commands.len());
        rest = others;
        let result = catch_unwind(AssertUnwindSafe(|| (test.check)(&machine, own)));
        if result.is_err() {
            for one in own {
                eprintln!("{:?}\n{}{}", one.finished.ending, one.stdout, one.stderr);
            }
        }
        tally.count(&test.name, None, result.map(Ok));
    }
}
