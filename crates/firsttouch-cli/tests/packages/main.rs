//! What the scripts in `packaging/` make, used as those use it who install it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod container;
mod debian;
mod root;
#[path = "../../../../tests/skipped.rs"]
mod skipped;

use std::path::PathBuf;
use std::process::Command;

/// The folder of the repository.
fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What a command says, on both streams; it has to succeed.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    format!("{out}{err}")
}
