//! `explain`: findings about this machine and this environment, and a program that is not started.

use crate::{assert_code, firsttouch, json, run, skipped, static_program, stderr, stdout};

fn findings(output: &std::process::Output) -> Vec<(String, String)> {
    assert_code(output, 0);
    let document = json(&stdout(output));
    assert_eq!(document["schema_version"], 1);
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let all = document["findings"].as_array().unwrap();
    all.iter().map(|finding| (word(&finding["id"]), word(&finding["weight"]))).collect()
}

#[test]
fn the_program_is_not_started() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("made");
    let output = run(&["explain", "--", "touch", file.to_str().unwrap()]);
    assert_code(&output, 0);
    assert!(!file.exists());
    assert!(!stdout(&output).is_empty());
    assert_code(&run(&["explain", "--", "no-such-program-here"]), 127);
    assert_code(&run(&["explain"]), 2);
}

#[test]
fn variables_of_runtimes_are_found_with_their_values() {
    let output = firsttouch()
        .args(["explain", "--json", "--", "true"])
        .env("OMP_PROC_BIND", "close")
        .env("OMP_NUM_THREADS", "100000")
        .output()
        .unwrap();
    let found = findings(&output);
    assert!(found.contains(&("thread-runtime".to_owned(), "remark".to_owned())), "{found:?}");
    assert!(found.contains(&("too-many-threads".to_owned(), "weakens".to_owned())), "{found:?}");
    let document = json(&stdout(&output));
    assert_eq!(document["program"][0], "true");
    assert_eq!(document["asked"]["pages"], "thp");
    let text = firsttouch().args(["explain", "--", "true"]).env("OMP_PROC_BIND", "close").output().unwrap();
    assert!(stdout(&text).contains("environment: OMP_PROC_BIND=close"), "{}", stdout(&text));
    assert!(stdout(&text).contains("hint: unset OMP_PROC_BIND"), "{}", stdout(&text));
}

#[test]
fn a_script_is_told_to_be_followed() {
    let found = findings(&run(&["explain", "--json", "--", "sh", "-c", "ls | cat"]));
    assert!(found.contains(&("starts-others".to_owned(), "weakens".to_owned())), "{found:?}");
    let found = findings(&run(&["explain", "--follow", "--json", "--", "sh", "-c", "ls | cat"]));
    assert!(!found.iter().any(|(id, _)| id == "starts-others"), "{found:?}");
}

#[test]
fn what_a_terminal_would_obey_is_written_out() {
    let output = firsttouch()
        .args(["explain", "--", "true"])
        .env("OMP_PROC_BIND", "größe \u{202e}esolc\u{9b}2J\u{1b}[2J")
        .output()
        .unwrap();
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("OMP_PROC_BIND=größe \\u{202e}esolc\\u{9b}2J\\u{1b}[2J\n"), "{text}");
}

#[test]
fn a_static_program_is_out_of_reach() {
    let Some(program) = static_program() else { return };
    let found = findings(&run(&["explain", "--json", "--", program]));
    assert_eq!(found[0], ("program".to_owned(), "overrides".to_owned()));
    let found = findings(&run(&["explain", "--via", "supervise", "--json", "--", program]));
    assert!(found.iter().all(|(id, _)| id != "program"), "{found:?}");
}

#[test]
fn a_mask_that_was_set_around_us_is_found() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    if cpus < 2 {
        return skipped("one CPU cannot be narrowed");
    }
    let mask = std::process::Command::new("taskset")
        .args(["-c", "0", env!("CARGO_BIN_EXE_firsttouch"), "explain", "--json", "--", "true"])
        .output();
    let Ok(output) = mask else { return skipped("taskset is not installed") };
    if !output.status.success() && stderr(&output).contains("taskset") {
        return skipped("CPU 0 may not be used here");
    }
    assert!(findings(&output).iter().any(|(id, _)| id == "affinity"), "{}", stdout(&output));
}

#[test]
fn threads_that_a_runtime_binds_are_overridden() {
    let output = firsttouch()
        .args(["explain", "--json", "--threads", "compact", "--", "true"])
        .env("OMP_PROC_BIND", "close")
        .output()
        .unwrap();
    let found = findings(&output);
    assert!(found.contains(&("thread-runtime".to_owned(), "overrides".to_owned())), "{found:?}");
}

#[test]
fn a_placement_that_cannot_be_given_is_told_and_is_no_failure() {
    let output = run(&["explain", "--json", "--memory", "bind=900", "--", "true"]);
    assert_eq!(findings(&output)[0], ("impossible".to_owned(), "overrides".to_owned()));
    let finding = &json(&stdout(&output))["findings"][0];
    assert!(finding["what"].as_str().unwrap().contains("no node 900"), "{finding}");
    assert!(finding["evidence"][0]["text"].as_str().unwrap().contains("--memory bind=900"), "{finding}");
    assert!(!finding["remedy"].as_str().unwrap().is_empty(), "{finding}");
}
