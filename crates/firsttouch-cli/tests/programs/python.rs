//! Python: NumPy's arrays, and processes started in every way that Python knows.

use crate::requirements::installed;
use crate::skipped::skipped;
use crate::subject::Subject;
use std::path::PathBuf;
use std::process::Command;

/// The first interpreter that can import a module. What stands in PATH may be a script that finds the real one.
fn python_with(module: &str) -> Option<PathBuf> {
    let code = format!("import {module}, sys; print(sys.executable)");
    for name in ["python3", "/usr/bin/python3", "/usr/local/bin/python3"] {
        let Ok(output) = Command::new(name).args(["-c", &code]).output() else { continue };
        if output.status.success() {
            return Some(String::from_utf8(output.stdout).unwrap().trim_end().into());
        }
    }
    skipped(&format!("there is no Python 3 that can import {module}"));
    None
}

fn subject(python: PathBuf, name: &str, text: &str) -> Subject {
    Subject::new(python).argument(name).file(name, text).variable("PYTHONHASHSEED", "0")
}

#[test]
fn numpy_computes_the_same_to_the_last_bit() {
    let Some(python) = python_with("numpy") else { return };
    subject(python, "arrays.py", include_str!("arrays.py"))
        .result("stored")
        .same_with_and_without()
        .assert_on_huge_pages(64 << 20);
}

#[test]
fn processes_share_start_and_become_others() {
    let Some(python) = python_with("multiprocessing") else { return };
    subject(python, "processes.py", include_str!("processes.py"))
        .same_with_and_without()
        .assert_on_huge_pages(48 << 20);
}

#[test]
fn what_stands_in_the_path_may_be_a_script() {
    let Some(python) = installed("python3") else { return };
    let code = "block = bytearray(64 << 20); block[:] = b'x' * len(block); print(block.count(b'x'))";
    Subject::new(python).arguments(&["-c", code]).same_with_and_without().assert_on_huge_pages(64 << 20);
}
