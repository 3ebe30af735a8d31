//! The R package: installed from the sources as a user would, and its own tests, in plain sessions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use skipped::skipped;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out.into_owned()
}

/// The sources of firsttouch, and a copy of the package, because R builds where the sources are; nothing without R.
fn package(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    Command::new("R").arg("--version").output().ok()?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let package = folder.join("firsttouch");
    run(Command::new("cp").arg("-r").arg(workspace.join("bindings/r")).arg(&package));
    run(Command::new(package.join("cleanup")).current_dir(&package));
    Some((workspace, package))
}

/// The package as one file, which finds the library as pkg-config knows it, and says how to get it where it does not; in sources that
/// are named it is found below.
#[test]
fn the_source_package_passes_what_r_checks() {
    let folder = tempfile::tempdir().unwrap();
    let Some((workspace, package)) = package(folder.path()) else {
        return skipped("R is not installed");
    };
    let prefix = folder.path().join("prefix");
    let mut install = Command::new(workspace.join("crates/firsttouch-ffi/install"));
    install.arg("--prefix").arg(&prefix);
    let test = std::env::current_exe().unwrap();
    run(install.env("CARGO_TARGET_DIR", test.ancestors().nth(3).unwrap()));
    let r = |words: &[&str]| {
        let mut r = Command::new("R");
        r.arg("CMD").args(words).current_dir(folder.path());
        r.env_remove("FIRSTTOUCH_SOURCE").env_remove("PKG_CONFIG_PATH");
        r
    };
    run(r(&["build", package.to_str().unwrap()]).env("FIRSTTOUCH_SOURCE", &workspace));
    let built = format!("firsttouch_{}.tar.gz", env!("CARGO_PKG_VERSION"));
    // Its tests are run below, where what they skip is told.
    let mut check = r(&["check", "--no-manual", "--no-tests", &built]);
    let told = run(check.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    assert!(told.contains("Status: OK\n"), "{told}");
    let library = folder.path().join("library");
    fs::create_dir(&library).unwrap();
    let words = ["INSTALL", "-l", library.to_str().unwrap(), &built];
    // Even where the system has the library.
    let refused = r(&words).env("PKG_CONFIG_LIBDIR", folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{told}");
    for word in
        ["pkg-config does not know it", "crates/firsttouch-ffi/install --prefix", "FIRSTTOUCH_SOURCE="]
    {
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn the_package_installs_and_its_tests_pass() {
    let folder = tempfile::tempdir().unwrap();
    let Some((workspace, package)) = package(folder.path()) else {
        return skipped("R is not installed");
    };
    let library = folder.path().join("library");
    fs::create_dir(&library).unwrap();
    // What an installation from an earlier state left there is no part of this one.
    fs::write(package.join("src/firsttouch.o"), "").unwrap();
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
    // What the tutorial shows of a session.
    let page = fs::read_to_string(workspace.join("docs/tutorials/r.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```r\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let script = folder.path().join("tutorial.R");
    fs::write(&script, blocks.concat()).unwrap();
    let said = run(Command::new("Rscript").arg("--vanilla").arg(script).env("R_LIBS", &library));
    assert!(said.contains("huge"), "{said}");
}
