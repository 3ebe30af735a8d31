//! The memory core's own tests: the heap and regions without a program round them.

use crate::Test;
use crate::launch::{finish, programs};
use crate::runner::skipped::skipped_in;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names of the tests, and of the targets that hold them.
const TARGETS: [(&str, &str); 2] = [("memory: units", "firsttouch_memory"), ("memory: heap", "heap")];

fn program(target: &str) -> PathBuf {
    programs().join(format!("memory-{target}"))
}

/// Builds the programs of the tests, without what debuggers want.
pub(crate) fn make() {
    let built = Command::new(env!("CARGO"))
        .args(["test", "--no-run", "--locked", "--quiet", "-p", "firsttouch-memory"])
        .args(["--message-format", "json"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for line in String::from_utf8(built.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let (target, executable) = (message["target"]["name"].as_str(), message["executable"].as_str());
        if let (Some(target), Some(executable)) = (target, executable) {
            let stripped = Command::new("strip").arg("-o").arg(program(target)).arg(executable).status();
            assert!(stripped.expect("binutils").success());
        }
    }
    for (name, target) in TARGETS {
        assert!(program(target).exists(), "{name}: no such program was built");
    }
}

pub(crate) fn tests() -> impl Iterator<Item = Test> {
    TARGETS.into_iter().map(|(name, target)| -> Test {
        let test = move || {
            let ended = finish(&mut Command::new(program(target)));
            let said = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            assert!(ended.status.success(), "{}", said.concat());
            said[0]
                .lines()
                .filter_map(|line| line.strip_prefix("skipped: "))
                .for_each(|why| skipped_in(name, why));
            Ok(())
        };
        (name.to_owned(), Box::new(test))
    })
}
