//! `report`: files of ours, of others, and of nobody.

use crate::{assert_code, firsttouch, json_file, run, stderr, stdout};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn what_is_no_document_is_refused_with_a_hint() {
    let scratch = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("empty", &b""[..]),
        ("text", b"hello"),
        ("json", b"{\"a\":1}"),
        ("html", b"<html></html>"),
        ("bytes", b"\xff\xfe"),
    ] {
        let file = scratch.path().join(name);
        fs::write(&file, content).unwrap();
        let output = run(&["report", file.to_str().unwrap()]);
        assert_code(&output, 1);
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert_code(&run(&["report", "/no/such/file"]), 1);
}

#[test]
fn a_receipt_is_shown_as_text() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let file_name = file.to_str().unwrap();
    assert_code(&run(&["run", "--receipt", file_name, "--", "true"]), 0);
    let output = run(&["report", file_name]);
    assert_code(&output, 0);
    assert!(stdout(&output).contains("thp"), "{}", stdout(&output));
    let copy = scratch.path().join("copy.json");
    assert_code(&run(&["report", file_name, "--export-json", copy.to_str().unwrap()]), 0);
    assert_eq!(json_file(&copy), json_file(&file));
    assert_code(&run(&["report", file_name, "--export-html", "x.html"]), 2);
}

/// As wide as the terminal, or as COLUMNS says, and 80 columns where nobody says anything.
#[test]
fn a_page_is_as_wide_as_the_terminal() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let file = file.to_str().unwrap();
    assert_code(&run(&["run", "--receipt", file, "--", "true"]), 0);
    let mut receipt = json_file(Path::new(file));
    receipt["notes"] = serde_json::json!(["word ".repeat(100)]);
    fs::write(file, receipt.to_string()).unwrap();
    let asked = |columns: &str| {
        stdout(&firsttouch().args(["report", file]).env("COLUMNS", columns).output().unwrap())
    };
    let plain = firsttouch().args(["report", file]).env_remove("COLUMNS").output().unwrap();
    assert_eq!(stdout(&plain), asked("80"));
    assert_ne!(asked("80"), asked("120"));
    let line = format!("stty cols 120; {} report {file}", env!("CARGO_BIN_EXE_firsttouch"));
    let mut terminal = Command::new("script");
    terminal
        .args(["-qec", &line, "/dev/null"])
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    // Every Linux has `script` (util-linux).
    assert_eq!(stdout(&terminal.output().unwrap()).replace('\r', ""), asked("120"));
}
