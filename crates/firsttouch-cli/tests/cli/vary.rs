//! `tune --vary` and what else is around a program: values in its words, lines around its runs, lines for a shell, names.

use crate::{
    assert_code, assert_said, assert_shown, firsttouch, json, json_file, json_of, run, stderr, stdout, words,
};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;

/// As little as a session can be.
const TINY: [&str; 5] = ["tune", "--quick", "--max-runs", "2", "--no-warm"];

fn tiny(rest: &[&str]) -> Output {
    run(&[&TINY[..], rest].concat())
}

/// The document of a session.
fn document(rest: &[&str]) -> Value {
    json_of(&tiny(&[&["--json"], rest].concat()))
}

/// A key of every configuration.
fn each(document: &Value, key: &str) -> Vec<Value> {
    document["configurations"].as_array().unwrap().iter().map(|one| one[key].clone()).collect()
}

/// What programs and lines wrote, sorted, each line once.
fn written(path: &std::path::Path) -> Vec<String> {
    let mut lines: Vec<String> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn values_stand_in_the_words_of_the_program() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("log");
    let script = format!("echo $N {{other}} >> {}", log.display());
    let report = document(&["--vary", "n=1,4..6:2", "--", "env", "N={n}", "sh", "-c", &script]);
    assert_eq!(written(&log), ["1 {other}", "4 {other}", "6 {other}"]);
    // Without --configs under the baseline's placement alone.
    assert_eq!(each(&report, "name"), ["baseline n=1", "n=4", "n=6"]);
    assert_eq!(each(&report, "varied"), [json!({"n": "1"}), json!({"n": "4"}), json!({"n": "6"})]);
    assert_eq!(report["command"][1], "N={n}", "the command as it was typed");
    assert_eq!(report["configurations"][1]["command"], json!(["env", "N=4", "sh", "-c", script]));
    for one in report["configurations"].as_array().unwrap() {
        assert_eq!(one["runs"].as_array().unwrap().len(), 2, "{one}");
    }
}

#[test]
fn values_and_placements_are_a_product() {
    let report = document(&words("--configs mine:thp,via=glibc --vary n=1,2 --vary x=a,b -- true {n} {x}"));
    let names = [
        "baseline n=1 x=a",
        "mine n=1 x=a",
        "n=1 x=b",
        "mine n=1 x=b",
        "n=2 x=a",
        "mine n=2 x=a",
        "n=2 x=b",
        "mine n=2 x=b",
    ];
    assert_eq!(each(&report, "name"), names);
    assert_eq!(report["configurations"][7]["asked"]["via"], "glibc");
    assert_eq!(report["configurations"][7]["varied"], json!({"n": "2", "x": "b"}));
    assert_eq!(report["configurations"][6]["asked"], Value::Null);
}

/// What no program can have is told once; what one of them cannot, of that one.
#[test]
fn what_is_left_out_is_told_once() {
    let report =
        document(&["--configs", "thp,via=glibc plain,bind=999", "--vary", "n=1,2", "--", "true", "{n}"]);
    let skipped: Vec<&Value> = report["skipped"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(skipped, ["plain,bind=999"]);
    assert_eq!(each(&report, "name").len(), 4);
}

#[test]
fn every_format_tells_the_values() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let exports =
        ["--export-csv", &file("t.csv"), "--export-md", &file("t.md"), "--export-html", &file("t.html")];
    let output = tiny(&[&exports[..], &["--vary", "n=1,2", "--", "true", "{n}"]].concat());
    assert_shown(&output, &["baseline n=1", "n=2"]);
    let table = fs::read_to_string(file("t.csv")).unwrap();
    let mut rows = csv_rows(&table);
    let column = rows.remove(0).iter().position(|title| title == "varied.n").unwrap();
    for row in rows {
        assert_eq!(row[column], if row[0] == "n=2" { "2" } else { "1" }, "{row:?}");
    }
    for name in ["t.md", "t.html"] {
        assert!(fs::read_to_string(file(name)).unwrap().contains("Varied: n (1, 2)."), "{name}");
    }
}

fn csv_rows(table: &str) -> Vec<Vec<String>> {
    table.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The faster values are told with the command that has them, and the profile holds them as evidence.
#[test]
fn what_is_recommended_is_a_command_to_type() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (profile, found) = (file("p.toml"), file("t.json"));
    let session = |configs: &[&str]| {
        let _ = fs::remove_file(&profile);
        firsttouch()
            .args(words(&format!(
                "tune --quick --max-runs 8 --no-warm --save {profile} --export-json {found}"
            )))
            .args(configs)
            .args(["--vary", "wait=0.4,0", "--", "sh", "-c", "sleep {wait}", "a b"])
            .output()
            .unwrap()
    };
    let output = session(&[]);
    assert_code(&output, 0);
    let report = json_file(found.as_ref());
    assert_eq!(
        (&report["recommended"], &report["confirmation"]["state"]),
        (&json!("wait=0"), &json!("confirmed"))
    );
    assert!(stdout(&output).contains("\n  sh -c 'sleep 0' 'a b'\n"), "{}", stdout(&output));
    let said = "what is recommended is the program without a placement";
    assert!(stderr(&output).contains(said) && fs::metadata(&profile).is_err(), "{}", stderr(&output));

    // Under a placement it is kept: here the one that the slow value has, too.
    let output = session(&["--baseline", "thp,via=glibc"]);
    assert_code(&output, 0);
    let command = format!("firsttouch run --profile {profile} -- sh -c 'sleep 0' 'a b'");
    assert!(stderr(&output).contains(&command), "{}", stderr(&output));
    assert!(stdout(&output).contains("--via glibc -- sh -c 'sleep 0' 'a b'"), "{}", stdout(&output));
    let kept = fs::read_to_string(&profile).unwrap();
    assert!(kept.contains("[evidence.varied]\nwait = \"0\"") && kept.contains("\"sleep 0\""), "{kept}");
    assert_code(&run(&["run", "--profile", &profile, "--", "true"]), 0);
}

/// It has no launcher of its own, as what others have: the program itself is what to type.
#[test]
fn the_program_without_a_placement_is_a_command_to_type() {
    let script = "test -z \"$GLIBC_TUNABLES\" || sleep 0.4";
    let output = firsttouch()
        .args(words("tune --quick --max-runs 8 --no-warm --baseline thp,via=glibc --configs plain"))
        .args(["--", "sh", "-c", script])
        .output()
        .unwrap();
    assert_shown(&output, &[&format!("from now on\n  sh -c '{script}'\n")]);
    // In a log there is a line for what is decided, as soon as it is.
    let told = stderr(&output);
    let decided =
        |start: &str| told.lines().any(|line| line.starts_with(start) && line.contains(" faster after "));
    assert!(decided("plain: ") && decided("on fresh runs, plain: "), "{told}");
}

#[test]
fn whole_programs_are_values_and_looked_at_one_by_one() {
    let report =
        document(&["--vary", "program=true,/bin/sh", "--configs", "thp", "--", "{program}", "-c", ""]);
    assert_eq!(each(&report, "name")[2..], ["program=/bin/sh", "thp program=/bin/sh"]);
    assert_eq!(report["configurations"][3]["obtained"]["program"], "/bin/sh");
    let missing = tiny(&["--vary", "program=true,/no/such/program", "--", "{program}"]);
    assert_said(&missing, 1, &["/no/such/program"]);
    // What the agent cannot reach is left out for the one program alone.
    let Some(program) = crate::static_program() else { return };
    let report =
        document(&["--vary", &format!("program=true,{program}"), "--configs", "thp", "--", "{program}"]);
    assert_eq!(
        each(&report, "name"),
        ["baseline program=true", "thp program=true", &format!("program={program}")]
    );
    assert_eq!(report["skipped"][0]["name"], format!("thp program={program}"));
}

#[test]
fn the_work_of_one_of_several_programs_is_followed() {
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let work = format!("'{own}' case demo --set table=64M --set reads=3000000 --set order=20; true");
    let report =
        document(&["--configs", "thp", "--shell", "--vary", &format!("line=true,{work}"), "--", "{line}"]);
    let follows: Vec<Value> = each(&report, "asked").iter().map(|asked| asked["follow"].clone()).collect();
    assert_eq!(follows, [Value::Null, json!(false), Value::Null, json!(true)]);
    let placed = &report["configurations"][3]["obtained"]["obtained"]["placed_bytes"];
    assert!(placed.as_u64().unwrap() >= 16 << 20, "{placed}");
    assert!(report["warnings"].to_string().contains("left the work to others (firsttouch"), "{report}");
}

#[test]
fn an_empty_value_takes_its_word_away() {
    let report = document(&["--vary", "loud=,-v", "--", "sh", "-c", "exit $(($# > 1))", "sh", "{loud}"]);
    assert_eq!(each(&report, "name"), ["baseline loud=", "loud=-v"]);
    let words = |index: usize| report["configurations"][index]["command"].as_array().unwrap().len();
    assert_eq!((words(0), words(1)), (4, 5));
}

#[test]
fn values_that_are_no_text_reach_the_program() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().as_os_str().as_bytes();
    let name = [b"caf\xe9", &b".txt"[..]].concat();
    fs::write(OsStr::from_bytes(&[folder, b"/", &name].concat()), "").unwrap();
    fs::write(scratch.path().join("plain.txt"), "").unwrap();
    let output = firsttouch()
        .args(TINY)
        .args(["--json", "--vary"])
        .arg(OsStr::from_bytes(&[b"file=plain.txt,", &name[..]].concat()))
        .args(["--", "ls"])
        .arg(OsStr::from_bytes(&[folder, b"/{file}"].concat()))
        .output()
        .unwrap();
    assert_eq!(json_of(&output)["configurations"][1]["varied"]["file"], r"caf\xe9.txt");
}

/// A line of --setup or --cleanup runs once, or once for each of the values that it holds; --prepare has those of its run.
#[test]
fn lines_around_the_runs_hold_values() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (log, once) = (file("log"), file("once"));
    let program = file("prog-{n}");
    let setup = format!(
        "printf '#!/bin/sh\\nread word; test $word = {{n}}\\n' > {program}; chmod +x {program}; echo s{{n}} >> {log}"
    );
    let prepare = format!("echo p{{n}} >> {log}");
    let conclude = format!("echo c{{n}} >> {log}");
    let cleanup = format!("echo cleanup >> {once}");
    for n in [1, 2] {
        fs::write(file(&format!("input-{n}")), format!("{n}\n")).unwrap();
    }
    let around = [
        "--setup",
        &setup,
        "--prepare",
        &prepare,
        "--conclude",
        &conclude,
        "--cleanup",
        &cleanup,
        "--input",
        &file("input-{n}"),
    ];
    let report =
        document(&[&around[..], &["--vary", "n=1,2", "--vary", "x=a,b", "--", &program, "{x}"]].concat());
    assert_eq!(each(&report, "name").len(), 4);
    let log = fs::read_to_string(log).unwrap();
    let count = |word: &str| log.lines().filter(|line| *line == word).count();
    assert!(log.starts_with("s1\ns2\np"), "{log}");
    assert_eq!((count("s1"), count("s2")), (1, 1));
    // The look and two runs, each with two values of x; more where something is confirmed.
    assert!(count("p1") >= 6 && count("p2") >= 6, "{log}");
    assert_eq!((count("c1"), count("c2")), (count("p1"), count("p2")));
    assert_eq!(fs::read_to_string(once).unwrap(), "cleanup\n");
    let failed =
        tiny(&["--setup", "exit 3", "--cleanup", "echo cleaned >&2", "--configs", "4k", "--", "true"]);
    assert_said(&failed, 1, &["the line of --setup ended: exit status 3", "cleaned"]);
    // Ctrl-C reaches the line, too.
    let interrupted = tiny(&["--setup", "kill -INT $PPID; exit 1", "--configs", "4k", "--", "true"]);
    assert_code(&interrupted, 130);
}

#[test]
fn untimed_runs_come_before_the_timed_ones() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("log");
    let script = format!("echo >> {}", log.display());
    let output = tiny(&["--json", "--warmup", "3", "--configs", "plain", "--", "sh", "-c", &script]);
    assert_said(&output, 0, &["untimed run 3 of 3 of each"]);
    let runs: usize =
        each(&json(&stdout(&output)), "runs").iter().map(|runs| runs.as_array().unwrap().len()).sum();
    let fresh = &json(&stdout(&output))["confirmation"];
    let fresh = ["baseline_runs", "recommended_runs"].map(|key| fresh[key].as_array().map_or(0, Vec::len));
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 6 + runs + fresh.iter().sum::<usize>());
    // One that fails in them fails before anything is timed.
    fs::write(&log, "").unwrap();
    let script = format!("echo >> {0}; test $(wc -l < {0}) -le 4", log.display());
    let failed = tiny(&["--warmup", "2", "--configs", "plain", "--", "sh", "-c", &script]);
    assert_said(&failed, 1, &["the program failed under"]);
    assert_code(&tiny(&["--warmup", "0", "--configs", "plain", "--", "true"]), 2);
}

#[test]
fn a_line_for_a_shell_is_one_word() {
    let report = document(&["--shell", "--configs", "4k", "--", "echo a | grep -q a && exit 0"]);
    assert_eq!(report["command"], json!(["sh", "-c", "echo a | grep -q a && exit 0"]));
    let report = document(&["--shell=bash", "--configs", "4k", "--", "[[ a == a* ]]"]);
    assert_eq!(report["command"][0], "bash");
    assert_said(&tiny(&["--shell", "--configs", "4k", "--", "echo", "a"]), 2, &["quotes"]);
}

#[test]
fn what_cannot_be_varied_is_refused_with_a_hint() {
    let refused = |words: &[&str], what: &str| {
        let output = tiny(words);
        assert_said(&output, 2, &[what]);
        assert!(!stderr(&output).contains("looking at"), "{}", stderr(&output));
    };
    let after = |option: &'static str| ["--vary", option, "--", "echo", "{n}"];
    refused(&["--vary", "threads=1,2", "--", "true"], "env THREADS={threads} PROGRAM");
    refused(&["--vary", "n=1,2", "--cleanup", "echo {n}", "--", "true"], "`n` is varied, but `{n}`");
    refused(&after("n"), "expected NAME=VALUES");
    refused(&after("n="), "`n` has no values");
    refused(&after("n=1,1"), "`1` twice");
    refused(&after("n=3..1"), "`3..1` is empty");
    refused(&after("n=1..1000000000"), "1000000000 configurations are too many");
    refused(&after("n=1"), "nothing to compare with");
    refused(&["--vary", "n=1,2", "--vary", "n=3", "--", "echo", "{n}"], "`n` is varied twice");
    refused(&["--vary", "n=1..200", "--configs", "thp 4k", "--", "echo", "{n}"], "600 configurations");
    // Before anything is run.
    refused(
        &["--setup", "echo 'looking at' >&2", "--configs", "warp", "--", "true"],
        "`warp` is not a placement",
    );
    refused(&["--configs", "a:thp a:4k", "--", "true"], "`a` is there twice");
    refused(&["--configs", "a/b:thp", "--", "true"], "`a/b` cannot be a name");
}
