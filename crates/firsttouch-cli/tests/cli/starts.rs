//! `firsttouch bench jvm postgresql`: programs of others whose start creates memory, reached as each of them can be reached.

use crate::skipped::skipped;
use crate::{assert_code, firsttouch, json, json_of, run, stderr, stdout, words};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn is_here(name: &str, look: &str) -> bool {
    let is_here = Command::new("sh").args(["-c", look]).output().unwrap().status.success();
    if !is_here {
        skipped(&format!("there is no {name}"));
    }
    is_here
}

fn java_is_here() -> bool {
    is_here("Java", "command -v java")
}

/// Debian keeps the server's programs apart from the search path.
fn postgresql_is_here() -> bool {
    is_here(
        "PostgreSQL",
        "for file in /usr/lib/postgresql/*/bin/pg_ctl $(command -v pg_ctl); do [ -x $file ] && exit; done; exit 1",
    )
}

/// What a single run of a case came to.
fn checksum(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result");
    assert_code(&firsttouch().arg("case").args(arguments).arg("--result").arg(&result).output().unwrap(), 0);
    json(&fs::read_to_string(result).unwrap())["checksum"].clone()
}

/// Bytes on huge pages of all processes at their peak, and what was asked for.
fn placed(comparison: &Value) -> (u64, &Value) {
    let configuration = &comparison["session"]["configurations"][1];
    let peak = &configuration["obtained"]["tree"]["at_peak"];
    let huge = ["private", "shared"].map(|kind| peak[kind]["huge_bytes"].as_u64().unwrap_or_default());
    (huge.iter().sum(), &configuration["asked"])
}

#[test]
fn the_heap_of_a_java_virtual_machine_is_as_large_as_asked_for_whichever_collector_it_has() {
    if !java_is_here() {
        return;
    }
    for variant in ["serial", "parallel", "g1"] {
        let checksum = checksum(&["jvm", "--set", "heap=64M", "--variant", variant]);
        assert_eq!(checksum, json!({"exact": format!("{:x}", 64 << 20)}), "{variant}");
    }
}

#[test]
fn starts_are_compared_under_placements_that_reach_them() {
    if !java_is_here() || !postgresql_is_here() {
        return;
    }
    let output = run(&words(
        "bench jvm postgresql --only placements --max-runs 2 --json --set jvm.heap=512M --set postgresql.buffers=64M",
    ));
    let document = json_of(&output);
    let comparisons = [0, 1].map(|case: usize| &document["cases"][case]["comparisons"][0]);
    let (heap, asked) = placed(comparisons[0]);
    assert_eq!((&asked["pages"], &asked["via"]), (&json!("thp"), &json!("jvm")));
    assert!(heap >= 64 << 20, "{heap}");
    let (buffers, asked) = placed(comparisons[1]);
    assert_eq!((&asked["prefault"], &asked["follow"]), (&json!(true), &json!(true)));
    assert!(buffers >= 32 << 20, "{}", comparisons[1]["session"]["configurations"][1]["obtained"]);
    // All of the memory is reached: there is nothing to advise.
    let warnings = comparisons.map(|comparison| comparison["session"]["warnings"].to_string());
    assert!(!warnings.concat().contains("left the work to others"), "{warnings:?}");
}

#[test]
fn the_data_of_a_run_by_itself_are_gone_after_it() {
    if !postgresql_is_here() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    // The server's user has to get there.
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    let mut command = firsttouch();
    let output =
        command.args(["case", "postgresql", "--set", "buffers=16M"]).env("TMPDIR", scratch.path()).output();
    let output = output.unwrap();
    assert_code(&output, 0);
    // Seven tenths of 2,048 pages.
    assert_eq!(
        json(&stdout(&output))["checksum"],
        json!({"exact": format!("{:x}", 16 * 128 * 7 / 10)}),
        "{}",
        stderr(&output)
    );
    let left: Vec<_> = Path::read_dir(scratch.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
