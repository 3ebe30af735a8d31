//! The R package: installed from the sources as a user would, and its own tests, in plain sessions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use skipped::skipped;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_package_installs_and_its_tests_pass() {
    if Command::new("R").arg("--version").output().is_err() {
        return skipped("R is not installed");
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    // A copy: R builds where the sources are.
    let package = folder.path().join("firsttouch");
    run(Command::new("cp").arg("-r").arg(workspace.join("bindings/r")).arg(&package));
    run(Command::new(package.join("cleanup")).current_dir(&package));
    let library = folder.path().join("library");
    fs::create_dir(&library).unwrap();
    let mut install = Command::new("R");
    install.args(["CMD", "INSTALL", "-l"]).arg(&library).arg(&package);
    run(install.env("FIRSTTOUCH_SOURCE", &workspace));
    for script in ["transcripts.R", "session.R"] {
        let mut session = Command::new("timeout");
        session.args(["900", "Rscript", "--vanilla"]).arg(package.join("tests").join(script));
        let said = run(session.env("R_LIBS", &library));
        if let Some(reason) = said.lines().find(|line| line.starts_with("skipped:")) {
            skipped(&format!("{script}: {reason}"));
        } else {
            assert!(said.ends_with("done\n"), "{said}");
        }
    }
}
