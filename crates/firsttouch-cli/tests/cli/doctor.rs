//! `doctor`: this machine, one that is written, profiles, and what it ends with.

use crate::{assert_code, assert_said, firsttouch, json, json_of, run, stderr, stdout, text_of};
use firsttouch_documents::Quantity;
use firsttouch_linux::process::children;
use firsttouch_linux::remote::ProcessHandle;
use firsttouch_linux::root::Root;
use signal_hook::consts::SIGTERM;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";

/// A machine of which little is known, with a setting of transparent huge pages.
fn written(folder: &Path, thp: &str) -> String {
    let files = [
        ("proc/cpuinfo", "processor : 0\nmodel name : Test\n"),
        ("proc/sys/kernel/hostname", "planted\n"),
        ("sys/devices/system/cpu/online", "0\n"),
        (THP, thp),
    ];
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

fn ids(text: &str) -> Vec<String> {
    let document = json(text);
    assert_eq!((document["kind"].as_str(), document["schema_version"].as_u64()), (Some("doctor"), Some(1)));
    let findings = document["hosts"][0]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn this_machine_is_judged_by_what_the_kernel_says() {
    let output = run(&["doctor", "--json"]);
    let (document, found) = (json_of(&output), ids(&stdout(&output)));
    let setting = fs::read_to_string(Path::new("/").join(THP)).unwrap_or_default();
    for (id, mode) in [("thp-never", "[never]"), ("thp-always", "[always]")] {
        assert_eq!(found.iter().any(|one| one == id), setting.contains(mode), "{setting}: {found:?}");
    }
    // Every file that is named as evidence says what it is said to say.
    for finding in document["hosts"][0]["findings"].as_array().unwrap() {
        for proof in finding["evidence"].as_array().unwrap() {
            let (file, text) = (proof["source"].as_str().unwrap(), proof["text"].as_str().unwrap());
            if file.starts_with("/proc/sys/") {
                assert_eq!(fs::read_to_string(file).unwrap().trim(), text, "{file}");
            }
        }
    }
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(document["hosts"][0]["name"].as_str(), Some(name.trim()));
    // The same words end the text of status.
    let status = stdout(&run(&["status"]));
    for id in &found {
        assert!(status.contains(id.as_str()), "{id}: {status}");
    }
}

#[test]
fn a_planted_fault_is_told_with_what_mends_it_for_good() {
    let scratch = tempfile::tempdir().unwrap();
    let root = written(scratch.path(), "always madvise [never]\n");
    let text = text_of(&run(&["doctor", "--root", &root]));
    assert!(text.starts_with("planted: 1 finding\n\noverrides placements\n\nthp-never\n"), "{text}");
    for line in [
        "/sys/kernel/mm/transparent_hugepage/enabled: never",
        "hint: sudo firsttouch setup thp madvise --apply",
        "keep: sudo firsttouch setup thp madvise --apply --persist",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("\nnot looked at\n"), "{text}");
    let narrow = firsttouch().args(["doctor", "--root", &root]).env("COLUMNS", "80").output().unwrap();
    let narrow = stdout(&narrow);
    let wide = narrow.lines().filter(|line| line.chars().count() > 80);
    assert!(
        wide.clone().all(|line| line.contains("hint: ") || line.contains("keep: ")),
        "{:?}",
        wide.collect::<Vec<_>>()
    );
    // The same machine as document, and shown again.
    let output = run(&["doctor", "--machine", &root, "--json"]);
    assert_eq!(ids(&stdout(&output)), ["thp-never"]);
    let file = scratch.path().join("doctor.json");
    fs::write(&file, stdout(&output)).unwrap();
    assert_eq!(stdout(&run(&["report", file.to_str().unwrap()])), text);
}

#[test]
fn strict_ends_with_3_where_something_weighs_more_than_a_remark() {
    let scratch = tempfile::tempdir().unwrap();
    let root = written(scratch.path(), "always madvise [never]\n");
    assert_code(&run(&["doctor", "--root", &root, "--strict"]), 3);
    let profile = scratch.path().join("mine.toml");
    let profile = profile.to_str().unwrap();
    fs::write(profile, "[findings]\nthp-never = \"ignore\"\n").unwrap();
    assert_code(&run(&["doctor", "--root", &root, "--strict", "--profile", profile]), 0);
    written(scratch.path(), "[always] madvise never\n");
    assert_code(&run(&["doctor", "--root", &root, "--strict"]), 0);
    let output = run(&["doctor", "--root", &root, "--strict", "--profile", "database"]);
    assert_code(&output, 3);
    assert!(
        stdout(&output).starts_with("planted: 1 finding, as the profile database weighs it\n"),
        "{}",
        stdout(&output)
    );
    assert_code(&run(&["doctor", "--root", &root, "--strict", "--profile", "hpc"]), 0);
}

#[test]
fn what_is_no_profile_or_no_machine_is_refused_with_a_hint() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("mine.toml");
    fs::write(&file, "[findings]\nthp-alwas = \"remark\"\n").unwrap();
    let output = run(&["doctor", "--profile", file.to_str().unwrap()]);
    assert_said(&output, 2, &["there is no finding `thp-alwas`"]);
    assert!(stderr(&output).contains("thp-always"), "{}", stderr(&output));
    let output = run(&["doctor", "--profile", "databases"]);
    assert_said(&output, 2, &["hpc, database, data-science, low-latency, container"]);
    assert_code(&run(&["doctor", "--root", scratch.path().to_str().unwrap()]), 1);
    assert_code(&run(&["doctor", "--machine", "/no/such/file.tar"]), 1);
}

#[test]
fn memory_is_measured_and_held_against_what_was_measured() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // A machine that is better than there are any.
    let without = stdout(&run(&["doctor", "--json"]));
    let mut document = json(&without);
    for quantity in &Quantity::ALL {
        let better: u64 = if quantity.more_is_better { 100_000_000_000_000 } else { 100 };
        document["hosts"][0]["measured"][quantity.word_of(None)] = better.into();
    }
    let better = file("better.json", &document.to_string());
    let output = run(&["doctor", "--measure", "--against", &better, "--strict", "--json"]);
    assert_code(&output, 3);
    let document = json(&stdout(&output));
    let measured = document["hosts"][0]["measured"].as_object().unwrap();
    for (word, value) in measured {
        // From the slowest memory that anybody has to the fastest.
        let plausible = match word.ends_with("_ps") {
            true => 1_000..1_000_000_000,
            false => 10_000_000..10_000_000_000_000,
        };
        assert!(value.as_u64().is_some_and(|value| plausible.contains(&value)), "{word}: {value}");
    }
    assert!(
        measured.contains_key("creation_thp_bytes_per_s") && measured.contains_key("latency_ps"),
        "{measured:?}"
    );
    let found = ids(&stdout(&output));
    assert!(
        ["bandwidth-low", "latency-high", "creation-slow"].iter().all(|id| found.contains(&(*id).into()))
    );
    let text = stdout(&run(&["report", &file("measured.json", &stdout(&output))]));
    assert!(text.contains("\nmeasured\n  bandwidth of memory: "), "{text}");
    assert!(text.contains("bandwidth-low\n"), "{text}");

    let without = file("without.json", &without);
    let other = file("other.json", &stdout(&run(&["status", "--json"])));
    for file in [&without, &other] {
        let output = run(&["doctor", "--measure", "--against", file]);
        assert_said(&output, 2, &["firsttouch doctor --measure --json > FILE"]);
    }
    assert_code(&run(&["doctor", "--against", &better]), 2);
    assert_code(&run(&["doctor", "--measure", "--machine", "pack:1 core:2 pu:1"]), 2);
}

#[test]
fn what_measures_ends_with_who_started_it() {
    let mut doctor = firsttouch()
        .args(["doctor", "--measure"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let case = loop {
        assert!(doctor.try_wait().unwrap().is_none(), "it measures nothing");
        match children(&Root::live(), doctor.id()).unwrap_or_default().first() {
            // Its own signals are those of its parent, until it is the program.
            Some(case)
                if fs::read_to_string(format!("/proc/{case}/cmdline"))
                    .is_ok_and(|words| words.contains("\0case\0")) =>
            {
                break ProcessHandle::open(*case).unwrap();
            }
            _ => std::thread::yield_now(),
        }
    };
    ProcessHandle::open(doctor.id()).unwrap().signal(SIGTERM).unwrap();
    let output = doctor.wait_with_output().unwrap();
    assert_code(&output, 130);
    assert!(case.wait_ended(Some(Duration::ZERO)).unwrap(), "it goes on");
    assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
}
