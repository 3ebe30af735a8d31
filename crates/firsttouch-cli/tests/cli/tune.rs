//! `tune`: exit codes, documents, and an end at any time.

use crate::place::first_allowed;
use crate::{
    assert_code, assert_said, firsttouch, json, json_file, json_of, run, skipped, stderr, stdout, text_of,
    words,
};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// As little as a session can be.
const TINY: [&str; 6] = ["tune", "--quick", "--max-runs", "2", "--no-warm", "--configs"];

fn tiny(rest: &[&str]) -> std::process::Output {
    run(&[&TINY[..], rest].concat())
}

#[test]
fn the_document_has_its_keys() {
    let document = json_of(&tiny(&["thp", "--json", "--seed", "5", "--", "sh", "-c", "exit 0"]));
    for key in [
        "schema_version",
        "command",
        "seed",
        "machine",
        "configurations",
        "best",
        "recommended",
        "confirmation",
        "warnings",
    ] {
        assert!(document.get(key).is_some(), "{key}");
    }
    assert_eq!(document["command"].as_array().unwrap().len(), 3);
    assert_eq!(document["seed"], 5);
    assert!(document["machine"]["cpus"].is_array(), "as `status --json` prints it");
    let configurations = document["configurations"].as_array().unwrap();
    assert_eq!(configurations[0]["name"], "baseline");
    assert_eq!(configurations[0]["asked"], serde_json::Value::Null);
    assert_eq!(configurations[1]["asked"]["pages"], "thp");
    for key in ["obtained", "runs", "mean_wall_s", "deviation_wall_s", "ratio"] {
        assert!(configurations[1].get(key).is_some(), "{key}");
    }
    for run in configurations.iter().flat_map(|configuration| configuration["runs"].as_array().unwrap()) {
        assert!(run["wall_s"].as_f64().unwrap() > 0.0, "{run}");
        assert!(run["max_rss_bytes"].as_u64().unwrap() > 0, "{run}");
        let meanwhile = &run["meanwhile"];
        assert!(
            meanwhile["other_cpu_s"].as_f64().unwrap() >= 0.0 && meanwhile["free_change_bytes"].is_i64(),
            "{run}"
        );
        assert!(["off", "partial", "full"].contains(&meanwhile["aslr"].as_str().unwrap()), "{run}");
    }
    assert_eq!(configurations[1]["runs"].as_array().unwrap().len(), 2);
}

/// What every run inherits from us is told of it.
#[test]
fn one_layout_for_all_runs_is_told() {
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let words = [&["-R", own][..], &TINY, &["thp", "--json", "--", "true"]].concat();
    let output = match Command::new("setarch").args(words).output() {
        Ok(output) if output.status.success() => output,
        _ => return skipped("setarch -R is not possible here"),
    };
    let document = json(&stdout(&output));
    assert_eq!(document["configurations"][1]["runs"][0]["meanwhile"]["aslr"], "off");
    assert!(
        document["warnings"].to_string().contains("all runs have one layout"),
        "{}",
        document["warnings"]
    );
}

#[test]
fn a_program_that_fails_ends_the_session_with_its_last_words() {
    let output = tiny(&["thp", "--", "sh", "-c", "echo my last words >&2; exit 9"]);
    assert_said(&output, 1, &["error: ", "my last words"]);
    assert_said(&tiny(&["thp", "--", "/no/such/program"]), 1, &["/no/such/program"]);
}

#[test]
fn the_programs_output_stays_out_of_the_way() {
    // Where a placement seems faster, the report repeats the command, in which the word is in two parts.
    let output = tiny(&["thp", "--", "sh", "-c", "echo gur''gle"]);
    assert!(!text_of(&output).contains("gurgle") && !stderr(&output).contains("gurgle"), "{output:?}");
    let shown = tiny(&["thp", "--show-output", "--json", "--", "sh", "-c", "echo gur''gle >&2"]);
    assert!(stderr(&shown).contains("gurgle"), "{shown:?}");
    // A document is alone on stdout, whatever the program says there.
    for options in [&["--json"][..], &["--export-json", "-"]] {
        let words = [&["thp", "--show-output"], options, &["--", "sh", "-c", "echo gur''gle"]].concat();
        let shown = tiny(&words);
        assert_eq!(json(&stdout(&shown))["kind"], "tune");
        assert!(stderr(&shown).contains("gurgle"), "{shown:?}");
    }
}

#[test]
fn every_export_opens_again() {
    let scratch = tempfile::tempdir().unwrap();
    let help = stdout(&run(&["tune", "--help"]));
    let options = help.lines().filter_map(|line| line.trim().strip_suffix(" <FILE>"));
    let options: Vec<&str> = options.filter(|option| option.starts_with("--export-")).collect();
    let file = |option: &str| scratch.path().join(option).to_str().unwrap().to_owned();
    let exports: Vec<String> = options.iter().flat_map(|option| [option.to_string(), file(option)]).collect();
    let exports: Vec<&str> = exports.iter().map(String::as_str).collect();
    let output = tiny(&[&["thp"][..], &exports, &["--", "true"]].concat());
    assert_code(&output, 0);
    let written = |option: &str| fs::read_to_string(file(option)).unwrap();
    assert!(options.iter().all(|option| !written(option).is_empty()), "{options:?}");
    let document = json(&written("--export-json"));
    for option in ["--export-json", "--export-html"] {
        let again = run(&["report", &file(option), "--json"]);
        assert_eq!(json_of(&again), document);
        assert_eq!(stdout(&run(&["report", &file(option)])), stdout(&output));
    }
    assert!(written("--export-csv").lines().count() > 4);
    assert!(written("--export-md").contains("| baseline"));
}

/// Hours of runs are not for a file that cannot be written.
#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_first_run_or_costs_nothing_else() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (ran, nowhere, folder) = (path("ran"), path("nowhere/document"), path(""));
    for (option, file, code) in [
        ("--export-html", &nowhere, 1),
        ("--save", &nowhere, 1),
        ("--export-csv", &folder, 1),
        ("--export-csv", &path("document"), 2),
    ] {
        let files = ["thp", "--export-json", &path("./document"), option, file];
        assert_said(&tiny(&[&files[..], &["--", "touch", &ran]].concat()), code, &[&format!(" {file}\n")]);
        assert!(!fs::exists(&ran).unwrap() && !fs::exists(path("document")).unwrap(), "{option} {file}");
    }
    // A device without room takes nothing, which nobody knows before.
    let files = ["--export-json", "/dev/full", "--export-md", "/dev/full", "--export-csv", &path("runs")];
    let output = tiny(&[&["thp"], &files[..], &["--", "true"]].concat());
    assert_code(&output, 1);
    assert_eq!(stderr(&output).matches("error: cannot write /dev/full\n").count(), 2, "{}", stderr(&output));
    assert!(stdout(&output).contains("baseline"), "{}", stdout(&output));
    assert!(fs::read_to_string(path("runs")).unwrap().starts_with("configuration,phase,"));
}

/// Whoever pipes a document gets that and nothing else.
#[test]
fn a_document_on_stdout_is_alone_there() {
    let output = tiny(&["thp", "--export-csv", "-", "--", "true"]);
    let text = text_of(&output);
    assert!(text.starts_with("configuration,phase,"), "{text}");
    let commas = |line: &str| line.matches(',').count();
    assert!(text.lines().all(|line| commas(line) == commas(text.lines().next().unwrap())), "{text}");
    assert!(stderr(&output).contains("baseline"), "the report is told, too");
    let both = tiny(&["thp", "--json", "--export-csv", "-", "--", "true"]);
    assert_code(&both, 2);
    assert!(both.stdout.is_empty() && stderr(&both).contains("two documents"), "{both:?}");
}

#[test]
fn a_line_for_the_shell_is_given_to_one() {
    assert_said(&tiny(&["thp", "--", "sleep 0.1"]), 1, &["sh -c 'sleep 0.1'"]);
}

#[test]
fn the_work_of_a_script_is_followed() {
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let script = format!("'{own}' case demo --set table=64M --set reads=3000000 --set order=20; true");
    let report = json_of(&tiny(&["thp", "--json", "--", "sh", "-c", &script]));
    let warned = report["warnings"].to_string();
    assert!(warned.contains("left the work to others (firsttouch"), "{warned}");
    let thp = &report["configurations"][1];
    assert_eq!(thp["asked"]["follow"], true, "{thp}");
    assert!(thp["obtained"]["obtained"]["placed_bytes"].as_u64().unwrap() >= 16 << 20, "{thp}");
}

#[test]
fn a_seed_repeats_the_order() {
    let orders = || {
        let output = tiny(&["thp;4k", "--json", "--seed", "77", "--", "true"]);
        let document = json(&stdout(&output));
        let configurations = document["configurations"].as_array().unwrap().clone();
        configurations
            .iter()
            .flat_map(|configuration| configuration["runs"].as_array().unwrap())
            .map(|run| run["order"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(orders(), orders());
}

#[test]
fn nothing_is_saved_when_nothing_helps() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("profile.toml");
    // With two runs each, no interval is narrow enough to call a difference of `true` real.
    let output = tiny(&["4k", "--save", file.to_str().unwrap(), "--", "true"]);
    assert_eq!(file.exists(), text_of(&output).contains("run --profile"), "{}", stdout(&output));
}

/// With the agent the program is faster and touches twice as much memory.
#[test]
fn more_memory_is_told_beside_the_gain() {
    let scratch = tempfile::tempdir().unwrap();
    let (document, table) = (scratch.path().join("t.json"), scratch.path().join("t.csv"));
    // What dd reads in one piece it has in memory.
    let touch = "dd if=/dev/zero of=/dev/null count=1 bs";
    let script =
        format!("if grep -q firsttouch /proc/$$/maps; then {touch}=40M; else {touch}=16M; sleep 0.5; fi");
    let output = firsttouch()
        .args(["tune", "--quick", "--max-runs", "8", "--no-warm", "--configs", "thp"])
        .args(["--export-json", document.to_str().unwrap(), "--export-csv", table.to_str().unwrap()])
        .args(["--", "sh", "-c", &script])
        .output()
        .unwrap();
    assert_code(&output, 0);
    let report = json_file(&document);
    assert_eq!(
        (&report["recommended"], &report["confirmation"]["state"]),
        (&"thp".into(), &"confirmed".into())
    );
    assert_eq!(report["best"], serde_json::json!(["thp"]));
    let decided = &report["configurations"][1]["decided"];
    assert_eq!(decided["verdict"], "faster");
    assert!(decided["e_value"].as_f64().unwrap() >= 20.0 && decided["blocks"].as_u64().unwrap() <= 8);
    let told = |text: &str| -> u32 {
        let (before, _) = text.split_once(" % more memory").unwrap_or_else(|| panic!("{text}"));
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let more = told(&stdout(&output));
    // 40 MiB instead of 16 MiB, and a little that the program has besides.
    assert!((100..=160).contains(&more), "{}", stdout(&output));
    assert_eq!(told(&report["warnings"].to_string()), more);
    let table = fs::read_to_string(&table).unwrap();
    let column =
        table.lines().next().unwrap().split(',').position(|name| name == "peak_memory_ratio").unwrap();
    let ratio = |line: &str| -> f64 { line.split(',').nth(column).unwrap().parse().unwrap() };
    for line in table.lines().skip(1) {
        let expected = if line.starts_with("thp,") { 2.0..2.6 } else { 1.0..1.0001 };
        assert!(expected.contains(&ratio(line)), "{line}");
    }
}

/// The session must end at its own pace after one interrupt: the program tells when it runs and waits for leave.
#[test]
fn an_interrupt_leaves_a_valid_document() {
    let scratch = tempfile::tempdir().unwrap();
    let fifo = |name: &str| {
        let path = scratch.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let (started, leave) = (fifo("started"), fifo("leave"));
    let script = format!("echo > {}; read x < {}", started.display(), leave.display());
    let child = firsttouch()
        .args(["tune", "--configs", "thp", "--no-warm", "--json", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Two probes, then one whole block and the half of another.
    for launch in 0..5 {
        let mut word = String::new();
        fs::File::open(&started).unwrap().read_to_string(&mut word).unwrap();
        if launch == 4 {
            assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        }
        fs::write(&leave, "\n").unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    let document = json(&stdout(&output));
    assert_eq!(document["interrupted"], true);
    let runs: usize = document["configurations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|configuration| configuration["runs"].as_array().unwrap().len())
        .sum();
    assert!((2..=3).contains(&runs), "{document}");
}

#[test]
fn strict_is_not_met_by_what_cannot_be_decided() {
    let strict = ["--strict", "--", "sh", "-c", "exit 0"];
    // Two runs rarely decide anything about a program that does nothing; the text says whether they did.
    let output = tiny(&[&["thp 4k"][..], &strict].concat());
    let text = stdout(&output);
    let expected = if text.contains("undecided") { 3 } else { 0 };
    assert_code(&output, expected);
}

#[test]
fn the_demo_is_a_program_like_any_other() {
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let demo = words("case demo --set table=8M --set reads=1000 --set order=20");
    let document = json_of(&tiny(&[&["thp", "--json", "--", own], &demo[..]].concat()));
    let receipt = &document["configurations"][1]["obtained"];
    assert!(receipt["obtained"]["peak_bytes"].as_u64().unwrap() >= 8 << 20, "{receipt}");
    // Nothing may be asked of a session that has its own program.
    assert_code(&run(&["tune", "--demo", "--", "true"]), 2);
}

#[test]
fn choices_of_openblas_are_taken_away_and_told() {
    let output = firsttouch()
        .args(TINY)
        .args(["thp", "--json", "--", "sh", "-c", "test -z \"$OPENBLAS_CORETYPE\""])
        .env("OPENBLAS_CORETYPE", "Haswell")
        .output()
        .unwrap();
    let document = json_of(&output);
    let warnings = document["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning.as_str().unwrap().contains("OPENBLAS_CORETYPE")),
        "{warnings:?}"
    );
}

/// A program that asks for huge pages by itself, as NumPy does, is not told that the machine gives them to everybody.
#[test]
fn huge_pages_of_the_baseline_are_told_with_who_asked_for_them() {
    let mode = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let demo = words("case demo --set table=64M --set reads=1000 --set order=20");
    let asks = ["4k", "--json", "--", own, "run", "--", own];
    let warnings = json_of(&tiny(&[&asks, &demo[..]].concat()))["warnings"].to_string();
    let told = |why: &str| warnings.contains(why);
    let (machine, program) = (told("the machine gives them unasked"), told("asks for them itself"));
    assert_eq!((machine, program), (mode.contains("[always]"), mode.contains("[madvise]")), "{warnings}");
}

#[test]
fn a_static_program_is_supervised_or_refused() {
    let Some(program) = crate::static_program() else { return };
    let output = run(&["tune", "--quick", "--max-runs", "2", "--no-warm", "--json", "--", program]);
    if output.status.code() == Some(1) {
        assert!(stderr(&output).contains("error: "), "{}", stderr(&output));
        return skipped("without the right to collapse from outside nothing is left to compare");
    }
    let document = json_of(&output);
    assert_eq!(document["configurations"][1]["name"], "supervise");
    let skipped = document["skipped"].as_array().unwrap();
    assert!(skipped.iter().any(|skip| skip["name"] == "thp"), "{skipped:?}");
}

#[test]
fn nodes_and_threads_are_placements_like_others() {
    let (node, cpu) = (first_allowed("Mems_allowed_list"), first_allowed("Cpus_allowed_list"));
    let (bound, on_cpu) = (format!("plain,bind={node}"), format!("thp,threads={cpu}"));
    let list = format!("{bound} {on_cpu} plain,bind=999");
    let document = json_of(&tiny(&[&list, "--json", "--", "sh", "-c", "exit 0"]));
    let configurations = document["configurations"].as_array().unwrap();
    let names: Vec<&str> = configurations.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["baseline", &bound, &on_cpu]);
    assert_eq!(configurations[1]["asked"]["memory"], format!("bind={node}"));
    assert_eq!(configurations[2]["asked"]["threads"], cpu.to_string());
    let thread = &configurations[2]["obtained"]["obtained"]["threads"][0];
    assert_eq!(thread["cpus_obtained"], serde_json::json!([cpu]), "{thread}");
    let skipped = &document["skipped"][0];
    assert_eq!(skipped["name"], "plain,bind=999");
    assert!(skipped["reason"].as_str().unwrap().contains("no node 999"), "{skipped}");
}

/// What they save is faults: a block of 64 MiB that is allocated anew eight times is touched once by whoever keeps it.
#[test]
fn what_keeps_freed_memory_touches_it_once() {
    let scratch = tempfile::tempdir().unwrap();
    let churn = scratch.path().join("churn");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/churn.c");
    let compiled = Command::new("cc").arg("-o").args([&churn, &source]).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        return skipped("there is no compiler `cc`");
    }
    let keep = ["4k", "plain,keep,via=glibc", "plain,keep,via=jemalloc", "plain,keep,via=mimalloc"];
    let document = json_of(&tiny(&[&keep.join(" "), "--json", "--", churn.to_str().unwrap(), "8", "64"]));
    let faults =
        |configuration: &serde_json::Value| configuration["runs"][0]["minor_faults"].as_u64().unwrap();
    let configurations = document["configurations"].as_array().unwrap();
    let all = 8 * (64 << 20) / 4096;
    assert!(faults(&configurations[0]) >= all, "the program alone touches every block anew: {document}");
    for name in keep {
        match configurations.iter().find(|one| one["name"] == name) {
            Some(one) => assert!(faults(one) < all / 4, "{name}: {one}"),
            None => skipped(&format!("{name}: not installed")),
        }
    }
}

/// Recycling on small pages is an arm of its own, so that it is not credited to huge pages.
#[test]
fn recycling_is_compared_without_huge_pages() {
    let arguments =
        ["tune", "--quick", "--max-runs", "2", "--no-warm", "--alternatives", "--json", "--", "true"];
    let document = json(&stdout(&run(&arguments)));
    let known = |name: &str| {
        let mut all =
            ["configurations", "skipped"].into_iter().flat_map(|key| document[key].as_array().unwrap());
        all.find(|one| one["name"] == name)
    };
    assert_eq!(known("4k").unwrap()["asked"]["pages"], "4k");
    let kept = &known("glibc-thp-keep").unwrap()["asked"];
    assert_eq!((&kept["via"], &kept["keep"]), (&"glibc".into(), &true.into()));
    for name in ["glibc-keep", "mimalloc", "mimalloc-large-keep", "jemalloc", "jemalloc-thp-keep"] {
        assert!(known(name).is_some(), "{name}");
    }
}

#[test]
fn a_short_budget_is_not_spent_on_looks() {
    let left_out = |configs: &[&str]| {
        let common = ["tune", "--quick", "--no-warm", "--budget", "2s", "--json"];
        let arguments = [&common[..], configs, &["--", "sleep", "0.3"]].concat();
        let document = json(&stdout(&run(&arguments)));
        document["skipped"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["reason"].to_string().contains("budget"))
            .count()
    };
    assert!(left_out(&[]) >= 1);
    assert_eq!(left_out(&["--configs", "a:4k b:4k c:4k d:4k e:4k"]), 0);
}

#[test]
fn memory_is_kept_warm_where_a_host_takes_it() {
    let arguments = ["tune", "--quick", "--max-runs", "2", "--configs", "4k", "--json", "--", "true"];
    let document = json(&stdout(&run(&arguments)));
    let reports = document["machine"]["free_page_reporting"] == true;
    let warnings = document["warnings"].to_string();
    assert_eq!(warnings.contains("were kept warm for every run"), reports, "{warnings}");
    assert!(!warnings.contains("the warm-up before a run failed"), "{warnings}");
    // The helper: it tells that memory is warm, and is gone with its input.
    let mut helper =
        firsttouch().args(["warm", "8388608"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = [0; 5];
    helper.stdout.as_mut().unwrap().read_exact(&mut told).unwrap();
    assert_eq!(told, *b"warm\n");
    drop(helper.stdin.take());
    assert!(helper.wait().unwrap().success());
}

/// Whoever is killed closes nothing that others have open, too.
#[test]
fn what_keeps_memory_warm_is_gone_with_who_asked_for_it() {
    let mut asking = Command::new("sh")
        .args(["-c", "exec 3<&0; \"$0\" warm 8388608 <&3 & wait", env!("CARGO_BIN_EXE_firsttouch")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = asking.stdout.take().unwrap();
    let mut told = [0; 5];
    output.read_exact(&mut told).unwrap();
    assert_eq!(told, *b"warm\n");
    // Its input, which ends when we are done, is not what ends it.
    let _input = asking.stdin.take().unwrap();
    asking.kill().unwrap();
    asking.wait().unwrap();
    assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
}
