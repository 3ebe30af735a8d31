//! `report`: files of ours, of others, and of nobody.

use crate::{
    assert_code, assert_said, assert_shown, firsttouch, json_file, run, stderr, stdout, text_of, words,
};
use std::fs::{self, File};
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
fn what_is_piped_in_is_read_as_a_file() {
    let scratch = tempfile::tempdir().unwrap();
    let [values, receipt] =
        ["values.csv", "receipt.json"].map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    fs::write(&values, "\u{feff}configuration,value\nold,1\nnew,2\nold,1.1\nnew,2.1\n").unwrap();
    assert_code(&run(&["run", "--receipt", &receipt, "--", "true"]), 0);
    for (words, file) in [(&["report", "--decide"][..], &values), (&["report"], &receipt)] {
        let named = run(&[words, &[file]].concat());
        let piped = firsttouch().args(words).arg("-").stdin(File::open(file).unwrap()).output().unwrap();
        assert_code(&named, 0);
        assert_code(&piped, 0);
        assert_eq!(stdout(&piped), stdout(&named).replace(file, "-"));
    }
}

#[test]
fn a_receipt_is_shown_as_text() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let file_name = file.to_str().unwrap();
    assert_code(&run(&["run", "--receipt", file_name, "--", "true"]), 0);
    assert_shown(&run(&["report", file_name]), &["thp"]);
    let copy = scratch.path().join("copy.json");
    assert_code(&run(&["report", file_name, "--export-json", copy.to_str().unwrap()]), 0);
    assert_eq!(json_file(&copy), json_file(&file));
    assert_code(&run(&["report", file_name, "--export-html", "x.html"]), 2);
}

/// As wide as the terminal, or as COLUMNS says, and 80 columns where nobody says anything.
#[test]
fn a_format_that_a_document_lacks_is_refused_before_anything_is_written() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    assert_code(&run(&["run", "--receipt", &path("receipt"), "--", "true"]), 0);
    let words = ["report", &path("receipt"), "--export-json", &path("copy"), "--export-svg", &path("figure")];
    let output = run(&words);
    assert_code(&output, 2);
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
    assert!(
        stderr(&output).starts_with("error: a receipt document cannot be shown as SVG"),
        "{}",
        stderr(&output)
    );
    assert!(!fs::exists(path("copy")).unwrap() && !fs::exists(path("figure")).unwrap());
}

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

/// A file of hyperfine with these commands and times.
fn hyperfine(file: &Path, commands: &[(&str, [f64; 8])]) {
    let results: Vec<_> = commands
        .iter()
        .map(|(command, times)| serde_json::json!({"command": command, "times": times}))
        .collect();
    fs::write(file, serde_json::json!({ "results": results }).to_string()).unwrap();
}

const OLD: [f64; 8] = [5.1, 5.0, 5.2, 5.1, 5.0, 5.12, 5.2, 5.05];
const NEW: [f64; 8] = [4.1, 4.2, 4.1, 4.0, 4.1, 4.21, 4.0, 4.15];

#[test]
fn what_was_measured_elsewhere_is_decided() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let blocks = file("blocks.csv");
    let rows: String = OLD
        .iter()
        .zip(NEW)
        .enumerate()
        .map(|(block, (old, new))| format!("{block},old,{old}\n{block},new,{new}\n"))
        .collect();
    fs::write(&blocks, format!("block,configuration,value\n{rows}")).unwrap();
    let (saved, page, table) = (file("decision.json"), file("decision.html"), file("decision.md"));
    let exports = format!("--export-json {saved} --export-html {page} --export-md {table}");
    let text = text_of(&run(&[&["report", "--decide", &blocks], &words(&exports)[..]].concat()));
    assert!(text.starts_with("`new` is 1.24 times faster than `old`, decided after 4 blocks"), "{text}");
    assert!(text.contains("one session holds for that session"), "{text}");
    let decision = json_file(Path::new(&saved));
    let new = &decision["sessions"][0]["configurations"][1];
    assert_eq!((&decision["kind"], &new["decided"]["verdict"]), (&"decision".into(), &"faster".into()));
    assert!(fs::read_to_string(&table).unwrap().contains("| `new` | 8 |"));
    // It is shown again as it was, and decided again with another baseline.
    for kept in [&saved, &page] {
        assert_eq!(stdout(&run(&["report", kept])), text);
        let again = stdout(&run(&["report", "--decide", kept, "--baseline", "new"]));
        assert!(again.starts_with("`old` is 1.24 times slower than `new`"), "{again}");
    }
    let higher = stdout(&run(&["report", "--decide", &blocks, "--higher-is-better"]));
    assert!(higher.starts_with("`new` is 1.24 times lower than `old`"), "{higher}");
    let same = stdout(&run(&["report", "--decide", &blocks, "--same", "40%"]));
    assert!(same.starts_with("`new` is the same as `old`, within ±40 %"), "{same}");
}

#[test]
fn several_files_are_several_sessions() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str| scratch.path().join(name);
    let mut words = vec!["report".to_owned(), "--decide".to_owned()];
    for (name, by) in [("monday", 1.0), ("tuesday", 1.01), ("friday", 0.98)] {
        hyperfine(&file(name), &[("old", OLD), ("new", NEW.map(|time| time * by))]);
        words.push(file(name).to_str().unwrap().to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = stdout(&run(&words));
    assert!(text.contains("times faster than `old` over sessions like these 3"), "{text}");
    assert!(text.contains("next session") && text.contains("read once"), "{text}");
    assert_said(&run(&["report", words[2], words[3]]), 2, &["--decide"]);
    assert_said(&run(&["report", "--decide", words[2], words[2]]), 1, &["have the same values"]);
    assert_code(&run(&["report", words[2], "--baseline", "old"]), 2);

    hyperfine(&file("before.json"), &[("run", OLD)]);
    hyperfine(&file("after.json"), &[("run", NEW)]);
    let files = ["before.json", "after.json"];
    let compare = |options: &[&str]| {
        firsttouch()
            .args(["report", "--decide"])
            .args(options)
            .args(files)
            .current_dir(scratch.path())
            .output()
            .unwrap()
    };
    assert!(
        stdout(&compare(&["--by-file"])).starts_with("`after.json` is 1.24 times faster than `before.json`")
    );
    assert!(stderr(&compare(&[])).contains("--by-file"));
}

#[test]
fn folders_of_criterion_are_decided() {
    let scratch = tempfile::tempdir().unwrap();
    let benchmark = scratch.path().join("sums/200");
    for (folder, times) in [("new", NEW), ("base", OLD), ("change", OLD)] {
        let folder = benchmark.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let times = times.map(|time| time * 1e9);
        if folder.ends_with("change") {
            fs::write(folder.join("estimates.json"), "{}").unwrap();
            continue;
        }
        let sample = serde_json::json!({"sampling_mode": "Flat", "iters": vec![1000.0; 8], "times": times});
        fs::write(folder.join("sample.json"), sample.to_string()).unwrap();
        fs::write(folder.join("benchmark.json"), "{\"full_id\":\"sums/200\"}").unwrap();
    }
    let text = text_of(&run(&["report", "--decide", benchmark.to_str().unwrap()]));
    assert!(text.starts_with("`sums/200` is 1.24 times faster than `sums/200 (base)`"), "{text}");
    assert!(text.contains(" ms  "), "{text}");
    assert!(text.contains("come from one process"), "{text}");
    let output = run(&["report", "--decide", scratch.path().to_str().unwrap()]);
    assert_said(&output, 1, &["target/criterion/NAME"]);
}

#[test]
fn what_cannot_be_decided_is_refused_with_its_line() {
    let scratch = tempfile::tempdir().unwrap();
    for (content, words) in [
        ("configuration,value\na,1\nb,zero\n", "line 3: `zero` is no number"),
        ("configuration,value\na,1\na,2\n", "nothing to compare `a` with"),
        ("{\"answer\":42}", "its keys are `answer`"),
    ] {
        let file = scratch.path().join("file");
        fs::write(&file, content).unwrap();
        let output = run(&["report", "--decide", file.to_str().unwrap()]);
        assert_said(&output, 1, &[words, "hint:"]);
        assert!(output.stdout.is_empty());
    }
}
