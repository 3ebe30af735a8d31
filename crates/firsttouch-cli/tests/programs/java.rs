//! Java: a heap that is not malloc's, direct buffers that are, many threads, and a child.

use crate::requirements::{huge_pages_to_be_had, installed};
use crate::skipped::skipped;
use crate::subject::Subject;
use std::process::Command;

#[test]
fn java_collects_and_prints_the_same() {
    let (Some(java), Some(compiler)) = (installed("java"), installed("javac")) else { return };
    let subject = Subject::new(java)
        .arguments(&["-Xmx512m", "-cp", ".", "Numbers"])
        .file("Numbers.java", include_str!("Numbers.java"));
    let compiled = Command::new(compiler).arg("Numbers.java").current_dir(subject.folder()).output().unwrap();
    if !compiled.status.success() {
        return skipped(&format!("javac: {}", String::from_utf8_lossy(&compiled.stderr)));
    }
    subject.same_with_and_without().assert_on_huge_pages(64 << 20);
}

#[test]
fn of_java_it_is_said_what_reaches_its_heap() {
    let Some(java) = installed("java") else { return };
    let said = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
        command.arg("run").args(options).arg("--").arg(&java).arg("-version");
        let output = command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&[]).contains("hint: firsttouch run --via jvm"));
    for silent in [&["--quiet"][..], &["--via", "jvm"], &["--pages", "plain", "--threads", "compact"]] {
        assert!(!said(silent).contains("hint:"), "{silent:?}");
    }
}

/// The heap itself, which is beyond the agent: by the switches of the virtual machine, which says so on stderr.
#[test]
fn java_puts_its_heap_on_huge_pages_by_its_own_switches() {
    let (Some(java), Some(compiler)) = (installed("java"), installed("javac")) else { return };
    let subject = Subject::new(java)
        .arguments(&["-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch", "-cp", ".", "Numbers"])
        .file("Numbers.java", include_str!("Numbers.java"));
    let compiled = Command::new(compiler).arg("Numbers.java").current_dir(subject.folder()).output().unwrap();
    if !compiled.status.success() {
        return skipped(&format!("javac: {}", String::from_utf8_lossy(&compiled.stderr)));
    }
    let receipt = subject.same_but_for("JAVA_TOOL_OPTIONS", &["--via", "jvm"]);
    if huge_pages_to_be_had() {
        let share = receipt.share_on_huge_pages().unwrap_or(0.0);
        assert!(share > 0.8, "{share:.3} on huge pages: {}", receipt.0);
    }
}
