//! The real program, from outside: what it prints, what it ends with, what the programs it starts see of it.

#![expect(clippy::unwrap_used, reason = "every failure here is a failed test")]
#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod agent;
mod apsp;
mod attach;
mod balance;
mod explain;
mod fill;
mod graph;
mod inside;
mod lab;
mod leftovers;
mod measure;
mod place;
mod report;
mod run;
mod safety;
mod shared;
mod sssp;
mod status;
mod tune;
mod usage;
mod watch;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The program under test, with its own place for the agent's file and none of the caller's habits.
fn firsttouch() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    // So wide that words which are looked for stand on one line.
    command.env("COLUMNS", "200");
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "LD_PRELOAD", "FIRSTTOUCH_AGENT", "GLIBC_TUNABLES"] {
        command.env_remove(name);
    }
    command
}

fn run(arguments: &[&str]) -> Output {
    firsttouch().args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout: {}\nstderr: {}", stdout(output), stderr(output));
}

#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// A copy of a program. Written by another process: while this one has a file open for writing, so may the child that a
/// test beside is just about to start, and who is written to cannot be started.
fn copy_program(from: &Path, to: &Path, mode: &str) {
    let status = Command::new("install").arg("-m").arg(mode).arg(from).arg(to).status();
    assert!(status.unwrap().success(), "{}", to.display());
}

fn json_file(path: &Path) -> Value {
    json(&std::fs::read_to_string(path).unwrap())
}

/// A statically linked program that every Debian has; `None` where it is another one.
fn static_program() -> Option<&'static str> {
    let path = "/sbin/ldconfig";
    let image = std::fs::read(path).ok()?;
    // A static program names no loader.
    let dynamic = image.windows(8).any(|window| window == b"/ld-linu");
    let found = image.starts_with(b"\x7fELF") && !dynamic;
    if !found {
        eprintln!("skipped: {path} is no static program here");
    }
    found.then_some(path)
}
