//! The library under checkers of memory: what it reads and writes is its own, and it leaves nothing behind.
//!
//! Sessions are not among what is checked: where a sanitizer watches allocations, they are refused.

use crate::build::run;
use crate::linked;
use crate::skipped;
use std::path::Path;
use std::process::{Command, Output};

const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
/// Programs and their arguments: little memory, because checked code is slow.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("examples/region.c", &["8", "thp"]),
    ("examples/fill.c", &["8"]),
    ("examples/team.c", &["1x1"]),
    ("tests/c/threads.c", &[]),
];
/// Defects of `planted.c`, and by what words the sanitizers tell of them.
const PLANTED: [(&str, &str); 2] = [("leak", "LeakSanitizer"), ("overflow", "heap-buffer-overflow")];

fn is_missing(program: &str) -> bool {
    let missing = Command::new(program).arg("--version").output().is_err();
    if missing {
        skipped(&format!("{program} is not installed"));
    }
    missing
}

#[test]
fn sanitizers_find_nothing() {
    for (source, words) in PROGRAMS {
        let (_folder, program) = linked("cc", source, &SANITIZED);
        run(Command::new(program).args(words));
    }
}

#[test]
fn sanitizers_find_what_is_planted() {
    let (_folder, program) = linked("cc", "tests/c/planted.c", &SANITIZED);
    run(Command::new(&program).arg("nothing"));
    for (defect, word) in PLANTED {
        let Output { status, stderr, .. } = Command::new(&program).arg(defect).output().unwrap();
        let said = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && said.contains(word), "{defect}: {status} {said}");
    }
}

/// Memcheck sees the compiled library itself, and every byte that nobody wrote.
fn memcheck(program: &Path) -> Command {
    let mut checked = Command::new("valgrind");
    checked.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    checked.arg(program);
    checked
}

#[test]
fn memcheck_finds_what_is_planted_and_nothing_else() {
    if is_missing("valgrind") {
        return;
    }
    for (source, words) in [PROGRAMS[0], PROGRAMS[2]] {
        let (_folder, program) = linked("cc", source, &[]);
        run(memcheck(&program).args(words));
    }
    let (_folder, program) = linked("cc", "tests/c/planted.c", &[]);
    run(memcheck(&program).arg("nothing"));
    for (defect, _) in PLANTED {
        let status = memcheck(&program).arg(defect).output().unwrap().status;
        assert_eq!(status.code(), Some(9), "{defect}");
    }
}
