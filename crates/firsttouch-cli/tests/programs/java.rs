//! Java: a heap that is not malloc's, direct buffers that are, many threads, and a child.

use crate::requirements::{huge_pages_to_be_had, installed, skipped};
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
