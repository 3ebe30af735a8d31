//! `tune --metric`: what else than the wall time is judged, and what cannot be.

use crate::{assert_code, assert_said, json_of, run, skipped, stderr, stdout, text_of};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// A session that says `thp` better than the baseline where it can, of a line for the shell.
fn tune(options: &[&str], script: &str) -> Output {
    let session = ["tune", "--quick", "--no-warm", "--seed", "3", "--configs", "thp", "--max-runs", "8"];
    run(&[&session[..], options, &["--", "sh", "-c", script]].concat())
}

fn document(options: &[&str], script: &str) -> Value {
    json_of(&tune(&[options, &["--json"]].concat(), script))
}

/// The program that knows whether the agent is in it, and says a number that is then another: one of five about each.
fn says(before: &str, with_agent: u32, without: u32, after: &str) -> String {
    format!(
        "n=$(( $$ % 5 )); if grep -q firsttouch /proc/$$/maps; then n=$(( {with_agent} + n )); else n=$(( {without} + n )); fi; {before}$n{after}"
    )
}

fn verdict(document: &Value) -> &Value {
    &document["configurations"][1]["decided"]["verdict"]
}

#[test]
fn what_a_program_says_is_judged_in_its_direction() {
    // The last one counts, and the first is the other way round.
    let script = says("echo rate: 1/s; echo rate: ", 2000, 1000, "/s; echo done");
    let rate = document(&["--metric", "stdout:^rate: ([0-9]+)/s$", "--higher-is-better"], &script);
    assert_eq!(
        (&rate["metric"], &rate["higher_is_better"]),
        (&"stdout:^rate: ([0-9]+)/s$".into(), &true.into())
    );
    assert_eq!((verdict(&rate), &rate["recommended"]), (&"faster".into(), &"thp".into()));
    assert_eq!(rate["confirmation"]["state"], "confirmed");
    let thp = &rate["configurations"][1];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{rate}"));
    assert!((1.9..2.1).contains(&number(&thp["ratio"]["value"])), "{}", thp["ratio"]);
    assert!((2000.0..2005.0).contains(&number(&thp["judged"]["mean"])));
    // The wall time is what it was.
    assert!((0.0..60.0).contains(&number(&thp["mean_wall_s"])) && number(&thp["runs"][0]["wall_s"]) > 0.0);
    assert!(thp["runs"].as_array().unwrap().iter().all(|run| number(&run["judged"]) >= 2000.0));

    let pause = document(&["--metric", "stdout:^rate: ([0-9]+)/s$"], &script);
    assert_eq!((verdict(&pause), &pause["recommended"]), (&"slower".into(), &Value::Null));

    let error = document(&["--metric", "stderr:took ([0-9.]+)"], &says("echo took ", 1000, 2000, " >&2"));
    assert_eq!(verdict(&error), "faster");
}

#[test]
fn reports_speak_of_the_metric() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (html, csv, profile) = (file("t.html"), file("t.csv"), file("t.toml"));
    let exports = ["--export-html", &html, "--export-csv", &csv, "--save", &profile];
    let output =
        tune(&[&["--metric", "stdout:([0-9]+)"][..], &exports].concat(), &says("echo ", 1000, 2000, ""));
    let text = text_of(&output);
    assert!(text.contains("times better than the baseline by stdout:([0-9]+),"), "{text}");
    assert!(text.contains("times better [95 %]") && text.contains("wall s"), "{text}");
    assert!(!text.contains("faster"), "{text}");
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains("than the baseline by stdout") && !page.contains("Wall time of every run"));
    let table = fs::read_to_string(csv).unwrap();
    let column = table.lines().next().unwrap().split(',').position(|name| name == "judged").unwrap();
    for line in table.lines().skip(1) {
        let judged: f64 = line.split(',').nth(column).unwrap().parse().unwrap();
        assert_eq!(judged < 1500.0, line.starts_with("thp,"), "{line}");
    }
    let profile = fs::read_to_string(profile).unwrap();
    assert!(profile.contains("metric = \"stdout:([0-9]+)\""), "{profile}");
    assert_code(&run(&["run", "--profile", &file("t.toml"), "--", "true"]), 0);
}

#[test]
fn memory_and_time_of_the_processor_are_metrics() {
    let touch = "dd if=/dev/zero of=/dev/null count=1 bs";
    let script = format!("if grep -q firsttouch /proc/$$/maps; then {touch}=40M; else {touch}=16M; fi");
    let report = document(&["--metric", "rss"], &script);
    assert_eq!(verdict(&report), "slower", "{report}");
    let mean = report["configurations"][1]["judged"]["mean"].as_f64().unwrap();
    assert!((40.0..50.0).contains(&(mean / f64::from(1 << 20))), "{mean}");
    assert!(report["configurations"][1]["runs"][0].get("judged").is_none(), "it is max_rss_bytes");
    for metric in ["cpu", "faults", "page-faults"] {
        let output = tune(&["--metric", metric, "--json"], "true");
        // The machine may forbid counters, to everybody.
        if metric == "page-faults" && output.status.code() == Some(1) {
            assert!(stderr(&output).contains("cannot be counted here"), "{}", stderr(&output));
            return skipped("counters are not allowed here");
        }
        let report = json_of(&output);
        assert!(report["configurations"][0]["judged"]["mean"].as_f64().unwrap() > 0.0, "{metric}: {report}");
    }
}

#[test]
fn a_file_of_json_is_read_where_every_run_writes_it() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("out.json");
    let name = file.to_str().unwrap();
    let metric = format!("json:{name}:/runs/0/time~1s");
    let script = says("printf '{\"runs\": [{\"time/s\": %d}]}' ", 1000, 2000, &format!(" > {name}"));
    let report = document(&["--metric", &metric], &script);
    assert_eq!(verdict(&report), "faster");

    // What a run left is not the next one's, and a user's file stays as it was.
    let before = r#"{"runs": [{"time/s": 5}]}"#;
    fs::write(&file, before).unwrap();
    let modified = || fs::metadata(&file).unwrap().modified().unwrap();
    let then = modified();
    let output = tune(&["--metric", &metric], "true");
    assert_said(&output, 1, &["did not write", "older"]);
    assert!(stderr(&output).contains("hint:"), "{output:?}");
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), modified()), (before, then));
    for (script, words) in [
        (format!("rm -f {name}"), "did not write"),
        (format!("echo {{}} > {name}"), "has nothing at"),
        (format!("echo nonsense > {name}"), "is no JSON"),
    ] {
        assert_said(&tune(&["--metric", &metric], &script), 1, &[words]);
    }
}

#[test]
fn each_value_may_have_a_file_of_its_own() {
    let scratch = tempfile::tempdir().unwrap();
    let metric = format!("json:{}/{{n}}.json:/took", scratch.path().display());
    let script =
        format!("echo \"{{\\\"took\\\": {{n}}00$(( $$ % 5 ))}}\" > {}/{{n}}.json", scratch.path().display());
    let session =
        ["tune", "--quick", "--no-warm", "--vary", "n=2,1", "--max-runs", "8", "--json", "--metric", &metric];
    let report = json_of(&run(&[&session[..], &["--", "sh", "-c", &script]].concat()));
    assert_eq!(verdict(&report), "faster", "{report}");
    for (configuration, least) in [(0, 2000.0), (1, 1000.0)] {
        for run in report["configurations"][configuration]["runs"].as_array().unwrap() {
            assert!((least..least + 5.0).contains(&run["judged"].as_f64().unwrap()), "{report}");
        }
    }
}

/// Wrong words end with 2, what the program does not say with 1; both before any run is timed, and with a hint.
#[test]
fn what_cannot_be_judged_is_told_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let runs = scratch.path().join("runs");
    let script = |words: &str| format!("echo x >> {}; {words}", runs.display());
    let count = |path: &Path| fs::read_to_string(path).map_or(0, |text| text.lines().count());
    for (options, program, code, words, ran) in [
        (&["--metric", "nonsense"][..], "true", 2, "no counter `nonsense`", 0),
        (&["--metric", "file:x"], "true", 2, "no metric", 0),
        (&["--metric", "stdout:("], "true", 2, "no regular expression", 0),
        (&["--metric", "stdout:took"], "true", 2, "no group", 0),
        (&["--metric", "stdout:(.*)", "--show-output"], "true", 2, "--show-output", 0),
        (&["--metric", "rss", "--higher-is-better"], "true", 2, "less is always better", 0),
        (&["--metric", "stdout:took (.*)"], "echo nothing of it", 1, "ends with `nothing of it`", 1),
        (&["--metric", "stdout:took (.*)"], "echo took long", 1, "`long` is no number", 1),
        (&["--metric", "stdout:took (.*)"], "echo took 0", 1, "not above 0", 1),
    ] {
        let _ = fs::remove_file(&runs);
        let output = tune(options, &script(program));
        assert_code(&output, code);
        let told = stderr(&output);
        assert!(
            told.contains(words) && (told.contains("hint:") || told.contains("; counters are")),
            "{told}"
        );
        assert_eq!(count(&runs), ran, "{options:?}");
    }
}

#[test]
fn a_counter_that_is_not_there_costs_no_time() {
    let scratch = tempfile::tempdir().unwrap();
    let ran = scratch.path().join("ran");
    let output = tune(&["--metric", "cycles"], &format!("echo >> {}", ran.display()));
    if output.status.success() {
        return skipped("this machine counts cycles");
    }
    assert_said(&output, 1, &["`cycles` cannot be counted here: ", "hint:"]);
    assert!(!ran.exists(), "nothing ran");
}

/// A value that fails in a timed run ends the session; what was measured before is told.
#[test]
fn a_run_that_says_nothing_ends_the_session() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("runs");
    let count = format!("echo >> {0}; n=$(wc -l < {0})", file.display());
    let output =
        tune(&["--metric", "stdout:took (.*)"], &format!("{count}; if [ $n -lt 6 ]; then echo took 1; fi"));
    assert_said(&output, 1, &["nothing to judge of a run under"]);
    assert!(stdout(&output).contains("3 runs"), "{}", stdout(&output));
}
