//! The Python package: installed from the sources as a user would, and its own tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use skipped::skipped;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn output(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.success(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

/// A Python that can make environments.
fn python() -> Option<&'static str> {
    let works = |name: &&str| {
        let mut command = Command::new(name);
        command.args(["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 9)"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(works)
}

/// Where Cargo puts what it builds for these tests: two folders above this one.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

#[test]
fn the_package_installs_and_its_tests_pass() {
    let Some(python) = python() else {
        return skipped("no Python 3.9 or newer with venv is installed");
    };
    let folder = tempfile::tempdir().unwrap();
    let environment = folder.path().join("environment");
    let (made, said) = output(Command::new(python).args(["-m", "venv"]).arg(&environment));
    assert!(made, "{said}");
    let python = environment.join("bin/python");
    let install = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(words);
        pip
    };
    // By itself, so that a registry out of reach is told from a package that does not build.
    let (reached, said) =
        output(&mut install(&["maturin>=1.9,<2", "numpy>=1.24", "pytest>=7", "mypy>=1.10"]));
    if !reached {
        return skipped(&format!("pip cannot install maturin, numpy, pytest and mypy: {said}"));
    }
    // What some tests compare with; these say so where it is missing.
    for extra in ["scipy>=1.11", "networkx>=3.4"] {
        let (reached, said) = output(&mut install(&["--only-binary=:all:", extra]));
        if !reached {
            skipped(&format!("pip cannot install {extra}: {said}"));
        }
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // In the profile of the tests, which has built most of it.
    let mut install = install(&["--no-build-isolation", "--config-settings=build-args=--profile=dev"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(environment.join("bin")).chain(std::env::split_paths(&path));
    // Without isolation, pip leaves it to us that maturin is found.
    install.env("PATH", std::env::join_paths(path).unwrap());
    let (installed, said) = output(install.arg(package).env("CARGO_TARGET_DIR", target()));
    assert!(installed, "{said}");
    let mut tests = Command::new("timeout");
    tests.arg("2400").arg(&python).args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]).arg(package);
    let (passed, said) = output(tests.current_dir(&folder));
    assert!(passed, "{said}");
    for line in said.lines().filter(|line| line.starts_with("SKIPPED")) {
        skipped(line);
    }
}
