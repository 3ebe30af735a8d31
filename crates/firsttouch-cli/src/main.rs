//! The `firsttouch` command: parses, calls the crates that do the work, and prints.
//!
//! Architecture invariant: no measuring, no statistics, no reading of /proc or /sys and no rendering lives here;
//! this is the only crate that prints, reads the environment, or decides an exit code.

#![forbid(unsafe_code)]

mod apsp;
mod args;
mod attach;
mod balance;
mod bench;
mod clock;
mod doctor;
mod drawn;
mod exit;
mod explain;
mod export;
mod fill;
mod graph;
mod hinted;
mod input;
mod interrupt;
mod lab;
mod measure;
mod output;
mod paths;
mod program;
mod progress_lines;
mod ranks;
mod reading;
mod report;
mod run;
mod setup;
mod sssp;
mod status;
mod tune;
mod warm;
mod watch;

use anyhow::Context;
use args::{Cli, Color, Command};
use clap::{CommandFactory, Parser};
use exit::Rule;
use output::{Failure, Outcome};
use std::path::Path;
use std::process::ExitCode;

/// What a command line is read with, and a command works in: what threads have that nobody gave another size.
const STACK_BYTES: usize = 2 << 20;

fn main() -> ExitCode {
    firsttouch_process::with_stack(STACK_BYTES, command).unwrap_or_else(|error| {
        let what = "the stack limit is below 2 MiB, and there is no stack of our own";
        ended(Err(Failure::new(anyhow::Error::new(error).context(what)).hint("ulimit -s 8192")))
    })
}

fn command() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match cli.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    ended(dispatch(cli.command))
}

/// Tells of a failure, and ends with its status.
fn ended(outcome: Outcome) -> ExitCode {
    ExitCode::from(outcome.unwrap_or_else(|failure| {
        failure.print();
        failure.exit_code(rule())
    }))
}

/// The rule of the subcommand that was given, as clap sees it even where something else is wrong. It reads the command line once more,
/// which is left to who needs it.
fn rule() -> Rule {
    let given = Cli::command().ignore_errors(true).try_get_matches_from(std::env::args_os()).ok();
    Rule::of(given.as_ref().and_then(|given| given.subcommand_name()))
}

fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Status(status) => status::run(&status),
        Command::Run(run) => run::run(&run),
        Command::Tune(tune) => tune::run(&tune),
        Command::Report(report) => report::run(&report),
        Command::Explain(explain) => explain::run(&explain),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::Setup(setup) => setup::run(&setup),
        Command::Balance(balance) => balance::run(&balance),
        Command::Bench(bench) => bench::run(&bench),
        Command::Measure(measure) => measure::run(&measure),
        Command::Fill(fill) => fill::run(&fill),
        Command::Attach(attach) => attach::run(&attach),
        Command::Watch(watch) => watch::run(&watch),
        Command::Graph(graph) => graph::run(&graph),
        Command::Sssp(sssp) => sssp::run(&sssp),
        Command::Apsp(apsp) => apsp::run(&apsp),
        Command::Lab(lab) => lab::run(&lab),
        Command::LabEmulator { words } => Err(lab::did_not_become(firsttouch_lab::become_emulator(&words))),
        Command::GuestInit => Err(lab::did_not_become(firsttouch_lab::guest::init())),
        Command::GuestShell => Err(lab::did_not_become(firsttouch_lab::guest::shell())),
        Command::Case(case) => bench::run_case(&case),
        Command::Warm(warm) => warm::run(&warm),
        Command::Completions { shell } => completions(shell),
        Command::Man { all: Some(folder), .. } => all_pages(&folder),
        Command::Man { command, all: None } => man(command.as_deref()),
    }
}

/// Prints clap's message: help and version are data, anything else is wrong usage.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = output::written(error.print());
    match error.exit_code() {
        0 => ended(printed.map(|()| 0)),
        // Standard error that cannot be written to has nobody to tell.
        _ => ExitCode::from(rule().usage),
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "firsttouch", &mut text);
    output::data(&String::from_utf8(text)?)?;
    Ok(0)
}

/// Writes a page for each command into a folder, which is made where it is missing.
fn all_pages(folder: &Path) -> Outcome {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.with_context(|| format!("cannot write the pages into {}", folder.display()))?;
    Ok(0)
}

fn man(subcommand: Option<&str>) -> Outcome {
    let mut command = Cli::command();
    command.build();
    let page = match subcommand {
        None => command,
        Some(name) => command
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| Failure::message(format!("there is no subcommand `{name}`")).usage())?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    output::data(&String::from_utf8(text)?)?;
    Ok(0)
}
