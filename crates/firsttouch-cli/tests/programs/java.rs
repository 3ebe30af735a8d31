//! Java: a heap that is not malloc's, direct buffers that are, many threads, and a child.

use crate::requirements::{installed, skipped};
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
