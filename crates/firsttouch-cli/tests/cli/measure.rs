//! `measure`: the document, where it is kept, and what is refused.

use crate::{
    assert_code, assert_said, firsttouch, json, json_file, json_of, run, skipped, stderr, stdout, text_of,
};
use std::fs;
use std::process::{Command, Stdio};

/// As little as can be measured: the numbers are those of the caches, the rest is as always.
const SMALL: [&str; 4] = ["measure", "--quick", "--size", "16M"];

/// As little as is kept: twice the last-level caches, here of all nodes.
fn kept_size() -> String {
    let machine = json(&stdout(&run(&["status", "--json"])));
    let caches = machine["machine"]["caches"].as_array().unwrap();
    let last = caches.iter().filter_map(|cache| cache["level"].as_u64()).max();
    let last = caches.iter().filter(|cache| cache["level"].as_u64() == last);
    let bytes: u64 = last.filter_map(|cache| cache["size_bytes"].as_u64()).sum();
    (2 * bytes).next_multiple_of(2 << 20).max(16 << 20).to_string()
}

fn small(rest: &[&str]) -> std::process::Output {
    run(&[&SMALL[..], rest].concat())
}

#[test]
fn the_document_has_the_keys_of_the_contract() {
    let document = json_of(&small(&["--json", "--no-save"]));
    assert_eq!(document["schema_version"], 1);
    let nodes = document["nodes"].as_array().unwrap().len();
    for key in ["latency_ns", "read_gbps", "write_gbps", "copy_gbps", "numa_factor"] {
        let rows = document[key].as_array().unwrap();
        assert_eq!(rows.len(), nodes, "{key}");
        assert!(rows.iter().all(|row| row.as_array().unwrap().len() == nodes), "{key}");
        let measured: Vec<f64> = rows
            .iter()
            .flat_map(|row| row.as_array().unwrap())
            .filter_map(serde_json::Value::as_f64)
            .collect();
        assert!(!measured.is_empty() && measured.iter().all(|value| *value > 0.0), "{key}: {measured:?}");
    }
    assert_eq!(document["numa_factor"][0][0], 1.0);
    assert_eq!(document["pages"]["asked"], "thp");
    assert_eq!(document["pages"]["latency_bytes"], 16 << 20);
    assert_eq!(document["method"]["quick"], true);
    let spread = &document["spread"]["latency_ns"];
    let (low, high) = (spread["low"][0][0].as_f64().unwrap(), spread["high"][0][0].as_f64().unwrap());
    assert!((low..=high).contains(&document["latency_ns"][0][0].as_f64().unwrap()), "{spread}");
}

/// Every pair of the CPUs that we may use, once; and a later measurement of memory alone does not lose them.
#[test]
fn core_to_core_is_measured_and_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let kept = scratch.path().join("kept.json");
    let named = kept.to_str().unwrap();
    let document = json_of(&small(&["--cores", "--json", "--save", named]));
    let cores = &document["cores"];
    let (cpus, pairs) = (cores["cpus"].as_array().unwrap().len(), cores["pairs"].as_array().unwrap());
    if cpus <= 64 {
        assert_eq!(pairs.len(), cpus * (cpus - 1) / 2, "{cores}");
    }
    for pair in pairs {
        let ns = ["low_ns", "latency_ns", "high_ns"].map(|key| pair[key].as_f64().unwrap());
        assert!(ns[0] > 0.0 && ns.is_sorted() && pair["cpus"][0] != pair["cpus"][1], "{pair}");
    }
    let classes = cores["classes"].as_array().unwrap();
    let of_classes: u64 = classes.iter().map(|class| class["pairs"].as_u64().unwrap()).sum();
    assert_eq!(of_classes as usize, pairs.len(), "{cores}");
    let again = small(&["--save", named]);
    assert!(!text_of(&again).contains("core to core"), "{}", stdout(&again));
    assert_eq!(&json_file(&kept)["measurements"][0]["cores"], cores);
    let shown = run(&["report", named]);
    assert!(pairs.is_empty() || text_of(&shown).contains("core to core"), "{}", stdout(&shown));
}

#[test]
fn what_was_asked_on_small_pages_is_measured_on_small_pages() {
    let output = small(&["--json", "--no-save", "--pages", "4k"]);
    let pages = &json_of(&output)["pages"];
    assert_eq!((&pages["asked"], &pages["obtained"]), (&serde_json::json!("4k"), &serde_json::json!(["4k"])));
    assert!(pages["huge_share"].is_null() || pages["huge_share"] == 0.0, "{pages}");
}

/// Whether the pool has pages or not.
#[test]
fn the_pages_that_were_obtained_are_told() {
    let document = json_of(&small(&["--no-save", "--pages", "2m", "--export-json", "-"]));
    let (pages, notes) = (&document["pages"], document["notes"].to_string());
    assert!(!pages["obtained"].as_array().unwrap().is_empty(), "{pages}");
    assert_eq!(
        pages["obtained"] == serde_json::json!(["2m"]),
        !notes.contains("in place of 2m"),
        "{pages} {notes}"
    );
}

#[test]
fn the_result_is_kept_once_for_a_machine() {
    let scratch = tempfile::tempdir().unwrap();
    let usual = scratch.path().join("firsttouch/measured.json");
    let size = kept_size();
    for _ in 0..2 {
        let words = ["measure", "--quick", "--size", &size];
        let output = firsttouch().args(words).env("XDG_CACHE_HOME", scratch.path()).output().unwrap();
        assert_said(&output, 0, &[&format!("kept in {}", usual.display())]);
        assert!(stdout(&output).contains("latency, idle"), "{}", stdout(&output));
    }
    assert_eq!(json_file(&usual)["measurements"].as_array().unwrap().len(), 1);
    let named = scratch.path().join("named.json");
    let page = scratch.path().join("page.html");
    let output = small(&["--save", named.to_str().unwrap(), "--export-html", page.to_str().unwrap()]);
    assert_code(&output, 0);
    assert_eq!(json_file(&named)["measurements"].as_array().unwrap().len(), 1);
    assert_eq!(text_of(&run(&["report", page.to_str().unwrap()])), stdout(&output));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && !page.contains("http://") && page.ends_with("</html>\n"));
}

/// What is mostly the caches is no bandwidth that memory could be interleaved by: it is kept where somebody says so, and told.
#[test]
fn what_the_caches_answered_is_not_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let (usual, named) = (scratch.path().join("firsttouch/measured.json"), scratch.path().join("named.json"));
    let small = ["measure", "--quick", "--size", "2M"];
    let measure = |rest: &[&str]| {
        let output =
            firsttouch().args(small).args(rest).env("XDG_CACHE_HOME", scratch.path()).output().unwrap();
        assert_code(&output, 0);
        output
    };
    let output = measure(&["--json"]);
    if !json(&stdout(&output))["notes"].to_string().contains("mostly the caches") {
        return skipped("two megabytes are more than twice the caches, or these are not known");
    }
    assert!(stderr(&output).contains("warning: the result is not kept: "), "{}", stderr(&output));
    assert!(!usual.exists());
    measure(&["--save", named.to_str().unwrap()]);
    let kept = json_file(&named)["measurements"][0]["notes"].to_string();
    assert!(kept.contains("mostly the caches"), "{kept}");
}

#[test]
fn a_link_stays_one_and_leads_to_what_is_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let (file, link) = (scratch.path().join("kept.json"), scratch.path().join("link.json"));
    fs::write(&file, "{\"kind\": \"measurements\", \"schema_version\": 1, \"measurements\": []}").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_code(&small(&["--save", link.to_str().unwrap()]), 0);
    assert!(link.is_symlink());
    assert_eq!(json_file(&file)["measurements"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_that_holds_something_else_is_left_alone() {
    assert_said(&small(&["--save", "-"]), 2, &["hint: --json"]);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("mine.json");
    fs::write(&file, "{\"my\": \"data\"}").unwrap();
    let output = small(&["--save", file.to_str().unwrap()]);
    assert_said(&output, 1, &["is not a file of `firsttouch measure --save`"]);
    assert!(stderr(&output).contains("hint: firsttouch measure --save OTHER\n"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"my\": \"data\"}");
}

#[test]
fn what_another_version_kept_is_named_to_who_would_use_it() {
    let scratch = tempfile::tempdir().unwrap();
    let kept = scratch.path().join("firsttouch/measured.json");
    fs::create_dir(kept.parent().unwrap()).unwrap();
    let said = |words: &[&str]| {
        let output = firsttouch().args(words).env("XDG_CACHE_HOME", scratch.path()).output().unwrap();
        stderr(&output)
    };
    let weighted = ["run", "--pages", "plain", "--memory", "weighted", "--", "true"];
    // It ends with this test, however that ends.
    let mut target = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = target.id().to_string();
    let attached = ["attach", &pid, "--memory", "weighted", "--dry-run"];
    let tasks = scratch.path().join("tasks.csv");
    fs::write(&tasks, "id,load,home\n0,1,0\n1,2,0\n").unwrap();
    let solved = ["balance", "solve", "--machine", "live", "--tasks", tasks.to_str().unwrap()];
    // With another number, and from before there were kinds.
    for older in ["{\"kind\": \"measurements\", \"schema_version\": 0, \"measurements\": []}", "[]"] {
        fs::write(&kept, older).unwrap();
        for asked in [&weighted[..], &attached, &solved] {
            let message = said(asked);
            let told = message.matches("what was measured before is not used").count();
            assert_eq!(told, 1, "{asked:?}: {message}");
            let hint = format!("hint: rm {}; firsttouch measure ", kept.display());
            assert!(message.contains(&hint), "{asked:?}: {message}");
        }
        for other in [
            &["run", "--memory", "local", "--", "true"][..],
            &["run", "-q", "--memory", "weighted", "--", "true"],
        ] {
            assert!(!said(other).contains("measured before"), "{other:?}");
        }
    }
    drop(target.stdin.take());
    target.wait().unwrap();
    // The hint helps.
    fs::remove_file(&kept).unwrap();
    assert!(said(&["measure", "--quick", "--size", &kept_size()]).contains("kept in "));
    assert!(!said(&weighted).contains("measured before"));
}

/// Under a limit on processes what can wait for others is done by fewer threads, and what cannot is refused; nobody waits for a thread
/// that never came.
#[test]
fn threads_that_cannot_be_started_are_told_or_done_without() {
    let own = env!("CARGO_BIN_EXE_firsttouch");
    // Nobody else's processes count for this user.
    let limited = |most: &str, words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=64129", "--regid=64129", "--clear-groups", "prlimit"]);
        command.arg(format!("--nproc={most}")).args(words).stdin(Stdio::null()).output()
    };
    if !limited("1", &["test", "-x", own]).is_ok_and(|output| output.status.success()) {
        return skipped("no other user's program can be run here");
    }
    let mut refused = 0;
    for most in ["1", "2", "3", "4"] {
        let words = [&[own][..], &SMALL, &["--cores", "--no-save"]].concat();
        let output = limited(most, &words).unwrap();
        if !output.status.success() {
            assert_said(&output, 1, &["error: no thread can be started\n"]);
            assert!(
                stderr(&output).contains("hint: fewer threads, or a higher limit: "),
                "{}",
                stderr(&output)
            );
            refused += 1;
        }
    }
    assert!(refused > 0, "no limit was met");
    let warm = limited("1", &[own, "warm", "4194304"]).unwrap();
    assert_eq!(text_of(&warm), "warm\n");
    let tuned = limited("1", &[own, "tune", "--quick", "--", "true"]).unwrap();
    assert_said(&tuned, 1, &["hint: fewer threads, or a higher limit: "]);
}

#[test]
fn regions_of_nothing_are_refused() {
    for size in ["0", "1", "2047K"] {
        assert_said(&run(&["measure", "--no-save", "--size", size]), 2, &["less than one huge page"]);
    }
}

#[test]
fn too_little_memory_is_refused_with_a_hint() {
    let output = run(&["measure", "--no-save", "--size", "1000000G"]);
    assert_said(&output, 1, &["of free memory", "hint: "]);
    assert!(output.stdout.is_empty());
}
