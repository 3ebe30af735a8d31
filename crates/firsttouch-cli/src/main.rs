//! The `firsttouch` command: parses, calls the crates that do the work, and prints.
//!
//! Architecture invariant: no measuring, no statistics, no reading of /proc or /sys and no rendering lives here;
//! this is the only crate that prints, reads the environment, or decides an exit code.

#![forbid(unsafe_code)]

mod agent;
mod apsp;
mod args;
mod attach;
mod balance;
mod bench;
mod clock;
mod demo;
mod environment;
mod explain;
mod export;
mod fill;
mod graph;
mod here;
mod lab;
mod mark;
mod measure;
mod output;
mod outside;
mod paths;
mod program;
mod receipt;
mod report;
mod rivals;
mod run;
mod sssp;
mod status;
mod tune;
mod warm;
mod watch;
mod worker;
mod workshop;

use args::{Cli, Color, Command};
use clap::{CommandFactory, Parser};
use output::Outcome;
use std::process::ExitCode;

/// Exit code of wrong usage, and of failures where no other is agreed on.
const USAGE: u8 = 2;
/// Exit code of our own failures in `run`, `watch` and `lab`, where every smaller one may be the program's, and in `attach`,
/// where it says that nothing was changed.
const OURS: u8 = 125;

fn main() -> ExitCode {
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
    let stands_in = match &cli.command {
        Command::Run(_) | Command::Watch(_) | Command::Lab(_) | Command::Attach(_) => true,
        Command::Balance(balance) => balance.what.is_none(),
        _ => false,
    };
    let general = if stands_in { OURS } else { 1 };
    ExitCode::from(dispatch(cli.command).unwrap_or_else(|failure| failure.report(general)))
}

fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Status(status) => status::run(&status),
        Command::Run(run) => run::run(&run),
        Command::Tune(tune) => tune::run(&tune),
        Command::Report(report) => report::run(&report),
        Command::Explain(explain) => explain::run(&explain),
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
        Command::DemoWorkload(workload) => demo::run(&workload),
        Command::Warm(warm) => warm::run(&warm),
        Command::Completions { shell } => completions(shell),
        Command::Man { command } => man(command.as_deref()),
    }
}

/// Prints clap's message: help and version are data, anything else is wrong usage.
fn usage(error: &clap::Error) -> ExitCode {
    let running = std::env::args_os().skip(1).find(|word| !word.to_string_lossy().starts_with('-'));
    let printed = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if printed.is_ok()
            && running.is_some_and(|word| word == "run" || word == "watch" || word == "lab") =>
        {
            ExitCode::from(OURS)
        }
        _ => ExitCode::from(USAGE),
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "firsttouch", &mut text);
    output::data(&String::from_utf8(text)?)?;
    Ok(0)
}

fn man(subcommand: Option<&str>) -> Outcome {
    let mut command = Cli::command();
    command.build();
    let page = match subcommand {
        None => command,
        Some(name) => command.find_subcommand(name).cloned().ok_or_else(|| {
            output::Failure::message(format!("there is no subcommand `{name}`")).code(USAGE)
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    output::data(&String::from_utf8(text)?)?;
    Ok(0)
}
