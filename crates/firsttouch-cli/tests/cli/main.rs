//! The real program, from outside: what it prints, what it ends with, what the programs it starts see of it.

#![expect(clippy::unwrap_used, reason = "every failure here is a failed test")]

mod agent;
mod apsp;
mod architecture;
mod attach;
mod balance;
mod bench;
mod circles;
mod containers;
mod dependencies;
mod doctor;
mod documents;
mod elsewhere;
mod explain;
mod fill;
mod graph;
mod hosts;
mod inside;
mod jobs;
mod lab;
mod leftovers;
mod manifests;
mod measure;
mod metric;
mod place;
mod progress;
mod report;
mod run;
mod safety;
mod sandbox;
mod shared;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
mod slurm;
mod sssp;
mod starts;
mod status;
mod tune;
mod usage;
mod vary;
mod watch;

use serde_json::Value;
use skipped::skipped;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

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

/// The words of a line in which none has a space.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
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

/// It ended so, and all these words are in what it said beside its output.
#[track_caller]
fn assert_said(output: &Output, code: i32, words: &[&str]) {
    assert_code(output, code);
    let said = stderr(output);
    words.iter().for_each(|words| assert!(said.contains(words), "no `{words}` in {said}"));
}

/// It ended well, and all these words are in its output.
#[track_caller]
fn assert_shown(output: &Output, words: &[&str]) {
    let shown = text_of(output);
    words.iter().for_each(|words| assert!(shown.contains(words), "no `{words}` in {shown}"));
}

/// The output of a program that ended well.
#[track_caller]
fn text_of(output: &Output) -> String {
    assert_code(output, 0);
    stdout(output)
}

/// The JSON that is the output of a program that ended well.
#[track_caller]
fn json_of(output: &Output) -> Value {
    json(&text_of(output))
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

/// A statically linked program, which prints its CPUs; `None`, which is said, where none can be made.
fn static_program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let compile = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/c/static.c");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (made, program) = (folder.join(format!("static-{}", std::process::id())), folder.join("static"));
        let compiled = Command::new("cc").args(["-static", "-o"]).args([&made, &source]).output();
        compiled.ok().filter(|output| output.status.success())?;
        // At once: another run of the tests may use the one that is there.
        std::fs::rename(made, &program).unwrap();
        Some(program.to_str().unwrap().to_owned())
    };
    let program = PROGRAM.get_or_init(compile).as_deref();
    if program.is_none() {
        skipped("there is no compiler `cc`, or no static C library");
    }
    program
}
