//! `status`: the keys that are a contract.

use crate::{assert_code, json, run, stderr, stdout};

#[test]
fn the_document_has_its_keys() {
    let output = run(&["status", "--json"]);
    assert_code(&output, 0);
    let document = json(&stdout(&output));
    assert_eq!(document["schema_version"], 1);
    for key in ["cpus", "cores", "packages", "nodes", "caches", "tiers", "devices", "pools"] {
        assert!(document["machine"][key].is_array(), "machine.{key}");
    }
    assert!(document["machine"]["thp"].is_object());
    assert!(!document["can"].as_array().unwrap().is_empty());
}

#[test]
fn people_get_text() {
    let output = run(&["status"]);
    assert_code(&output, 0);
    assert!(!output.stdout.is_empty());
    assert!(!stdout(&output).contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn a_folder_that_is_no_machine_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    for root in ["/no/such/folder", empty.path().to_str().unwrap()] {
        let output = run(&["status", "--root", root]);
        assert_code(&output, 1);
        assert!(stderr(&output).contains(root), "{}", stderr(&output));
    }
}

#[test]
fn a_described_machine_gives_the_same_document() {
    let live = json(&stdout(&run(&["status", "--json"])));
    let output = run(&["status", "--machine", "pack:4 [numa] l3:1 core:6 pu:1", "--json"]);
    assert_code(&output, 0);
    let document = json(&stdout(&output));
    let keys = |document: &serde_json::Value| {
        document["machine"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&document), keys(&live));
    assert_eq!(document["machine"]["cpus_online"], 24);
    assert_eq!(document["machine"]["nodes"][3]["kind"], "dram");
    assert_eq!(document["machine"]["memory_available_bytes"], serde_json::Value::Null, "not known, not 0");
}

#[test]
fn a_recorded_machine_reads_the_same_as_a_folder_and_by_either_option() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("proc")).unwrap();
    std::fs::write(
        folder.path().join("proc/cpuinfo"),
        "processor : 0\nmodel name : Größe 漢 \u{1b}[31m\u{9b}0m\u{202e}tseT\n",
    )
    .unwrap();
    let path = folder.path().to_str().unwrap();
    let by_root = run(&["status", "--root", path, "--json"]);
    let by_machine = run(&["status", "--machine", path, "--json"]);
    assert_code(&by_root, 0);
    assert_eq!(stdout(&by_root), stdout(&by_machine));
    let text = stdout(&run(&["status", "--machine", path]));
    // What a terminal would obey is written out; what is merely not ASCII stays.
    assert!(text.contains("processor     Größe 漢 \\u{1b}[31m\\u{9b}0m\\u{202e}tseT\n"), "{text}");
}

#[test]
fn machines_that_are_none_are_refused_with_a_hint() {
    for named in ["pack:4 rack:2 pu:1", "/no/such/file.xml", "/etc/passwd"] {
        let output = run(&["status", "--machine", named]);
        assert_code(&output, 1);
        assert!(stderr(&output).contains("hint:"), "{}", stderr(&output));
    }
    assert_code(&run(&["status", "--machine", "pu:1", "--root", "/tmp"]), 2);
    assert_code(&run(&["status", "--machine", "pu:1", "--apic"]), 2);
}

/// A tar of files, whose paths come before them in entries of their own as GNU tar writes long ones.
fn archive_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let entry = |name: &str, kind: u8, contents: &[u8]| {
        let mut block = [0; 512];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, name.as_bytes());
        put(100, b"0000644");
        put(124, format!("{:011o}", contents.len()).as_bytes());
        put(148, b"        ");
        put(156, &[kind]);
        put(257, b"ustar  ");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut bytes = [&block, contents].concat();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    };
    let both = |(path, contents): &(&str, &[u8])| {
        let beginning = &path[..path.len().min(99)];
        [entry("././@LongLink", b'L', path.as_bytes()), entry(beginning, b'0', contents)].concat()
    };
    [files.iter().map(both).collect::<Vec<_>>().concat(), vec![0; 1024]].concat()
}

#[test]
fn an_archive_with_a_path_of_endless_components_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep.tar");
    let write = |components| {
        let deep = "m/sys".to_owned() + &"/a".repeat(components);
        let files: [(&str, &[u8]); 2] = [("m/proc/cpuinfo", b"processor : 0\n"), (&deep, b"")];
        std::fs::write(&file, archive_of(&files)).unwrap();
    };
    write(200_000);
    let output = run(&["status", "--machine", file.to_str().unwrap()]);
    assert_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("deep.tar\n") && said.contains("400005 bytes and 200002 components"), "{said}");
    assert!(said.contains("\n\nhint: ") && said.len() < 500, "{said}");
    // The same archive with a path as machines have them.
    write(100);
    assert_code(&run(&["status", "--machine", file.to_str().unwrap()]), 0);
}

#[test]
fn what_an_error_quotes_of_an_archive_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outside.tar");
    std::fs::write(&file, archive_of(&[("../größe\u{202e}rat\u{9b}2J\u{1b}[2J\tx", b"")])).unwrap();
    let output = run(&["status", "--machine", file.to_str().unwrap()]);
    assert_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("(../größe\\u{202e}rat\\u{9b}2J\\u{1b}[2J\\tx)"), "{said:?}");
}

#[test]
fn a_picture_is_text_or_a_figure() {
    let machine = "pack:2 [numa] core:2 pu:2";
    let output = run(&["status", "--machine", machine, "--picture"]);
    assert_code(&output, 0);
    assert!(stdout(&output).contains("─ package 1 ─"), "{}", stdout(&output));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.svg");
    let output = run(&["status", "--machine", machine, "--picture", file.to_str().unwrap()]);
    assert_code(&output, 0);
    assert!(output.stdout.is_empty());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg xmlns="));
    let output = run(&["status", "--picture", "/no/such/folder/m.svg"]);
    assert_code(&output, 1);
    assert!(stderr(&output).contains("/no/such/folder/m.svg"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_cpu_tells_its_apic_id() {
    let document = json(&stdout(&run(&["status", "--apic", "--json"])));
    let apic = &document["machine"]["apic"];
    assert!(apic["leaf"].as_u64().is_some_and(|leaf| [1, 11, 31].contains(&leaf)), "{apic}");
    let cpus = document["machine"]["cpus"].as_array().unwrap();
    let unanswered = apic["unanswered"].as_array().unwrap().len();
    let online = cpus.iter().filter(|cpu| cpu["online"] == true).count();
    assert!(unanswered < online);
    let mut ids: Vec<u64> = cpus.iter().filter_map(|cpu| cpu["apic_id"].as_u64()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "no two CPUs have one id");
    assert!(stdout(&run(&["status", "--apic"])).contains("\napic ids\n"));
}
