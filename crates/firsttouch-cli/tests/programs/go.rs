//! Go: a static program with a heap of its own, reached from outside or not at all.

use crate::requirements::{huge_pages_to_be_had, installed};
use crate::skipped::skipped;
use crate::subject::Subject;
use std::path::Path;
use std::process::Command;

/// A folder with the program in it, and its path; says so if there is no Go.
fn subject() -> Option<Subject> {
    let go = installed("go")?;
    let subject = Subject::new("./heap").file("heap.go", include_str!("heap.go"));
    let built = Command::new(go)
        .args(["build", "-o", "heap", "heap.go"])
        .current_dir(subject.folder())
        .envs([("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local"), ("GO111MODULE", "off"), ("GOFLAGS", "")])
        .output()
        .unwrap();
    if !built.status.success() {
        skipped(&format!("go build: {}", String::from_utf8_lossy(&built.stderr)));
        return None;
    }
    Some(subject)
}

/// Whether this process may collapse the pages of others, by its effective capabilities (number 23 is CAP_SYS_NICE).
fn may_supervise() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0").trim();
    let may = u64::from_str_radix(mask, 16).unwrap_or(0) & 1 << 23 != 0;
    let has_call = Path::new("/sys/kernel/mm/transparent_hugepage/khugepaged").exists();
    if !may || !has_call {
        skipped("pages of other processes cannot be collapsed here");
    }
    may && has_call
}

#[test]
fn a_go_program_is_supervised() {
    let Some(subject) = subject() else { return };
    if !may_supervise() || !huge_pages_to_be_had() {
        return;
    }
    let subject = subject.placed_variable("PATIENCE", "300");
    let receipt = subject.same_with(&["--via", "supervise"]);
    let share = receipt.share_on_huge_pages().unwrap_or(0.0);
    assert!(share >= 0.9, "{share:.3} on huge pages: {}", receipt.0);
    // Also where its heap lies at addresses such as the agent's blocks have, as it may by chance (Go 1.26).
    let placed = &receipt.0["tree"]["at_peak"]["placed"];
    assert_eq!(placed["bytes"], 0, "nothing was placed by an agent: {}", receipt.0);
}

#[test]
fn the_agent_leaves_a_go_program_alone_and_says_so() {
    let Some(subject) = subject() else { return };
    subject.same_but_for_the_warning().assert_stood_down("static-program");
}
