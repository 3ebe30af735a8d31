//! `report`: files of ours, of others, and of nobody.

use crate::{assert_code, json_file, run, stderr, stdout};
use std::fs;

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
