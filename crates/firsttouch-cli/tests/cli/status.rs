//! `status`: the keys that are a contract.

#[path = "../../../firsttouch-machine/tests/written/cpuid.rs"]
mod cpuid;

use crate::{assert_code, assert_said, assert_shown, json, json_of, run, skipped, stderr, stdout, text_of};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn the_document_has_its_keys() {
    let document = json_of(&run(&["status", "--json"]));
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

/// The first process of a container has a parent that it cannot see, which says nothing about others.
#[test]
fn the_first_process_of_a_namespace_may_do_what_others_may() {
    let supervise = |prefix: &[&str]| {
        let words = [prefix, &[env!("CARGO_BIN_EXE_firsttouch"), "status", "--json"]].concat();
        let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
        let status = output.status.success().then(|| json(&stdout(&output)))?;
        status["can"].as_array()?.iter().find(|it| it["what"] == "supervise").cloned()
    };
    let Some(inside) = supervise(&["unshare", "--pid", "--fork", "--mount-proc"]) else {
        return skipped("no PID namespace");
    };
    assert_eq!(Some(inside), supervise(&[]));
}

/// A container may have no /sys: nothing that only /sys tells is said to be missing then.
#[test]
fn without_sys_nothing_is_told_of_pages() {
    let under = |words: &[&str]| {
        let script = "umount --lazy /sys && exec \"$@\"";
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_firsttouch")])
            .args(words)
            .output();
        output.ok().filter(|output| output.status.success()).map(|output| stdout(&output))
    };
    let Some(status) = under(&["status", "--json"]) else {
        return skipped("no mount namespace");
    };
    let status = json(&status);
    for what in ["thp", "64k", "2m", "1g"] {
        let ability = status["can"].as_array().unwrap().iter().find(|it| it["what"] == what).unwrap();
        assert_eq!(ability["possible"], Value::Null, "{ability}");
        assert_eq!(ability["why"], "/sys, which tells, is not mounted", "{ability}");
        assert_eq!(ability["remedy"], "sudo mount -t sysfs none /sys", "{ability}");
    }
    let text = under(&["status"]).unwrap();
    assert!(text.contains("/sys is missing") && !text.contains("was built without"), "{text}");
    let doctor = under(&["doctor", "--json"]).unwrap();
    assert!(
        doctor.contains("/sys is not mounted") && !doctor.contains("transparent_hugepage is not there"),
        "{doctor}"
    );
    // Where it cannot be told, pages are asked for.
    let words = ["run", "--strict", "--pages", "thp", "--", "sh", "-c", "exit 0"];
    assert!(under(&words).is_some());
}

#[test]
fn a_folder_that_is_no_machine_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    for root in ["/no/such/folder", empty.path().to_str().unwrap()] {
        assert_said(&run(&["status", "--root", root]), 1, &[root]);
    }
}

#[test]
fn a_described_machine_gives_the_same_document() {
    let live = json(&stdout(&run(&["status", "--json"])));
    let document = json_of(&run(&["status", "--machine", "pack:4 [numa] l3:1 core:6 pu:1", "--json"]));
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
    assert_eq!(text_of(&by_root), stdout(&by_machine));
    let text = stdout(&run(&["status", "--machine", path]));
    // What a terminal would obey is written out; what is merely not ASCII stays.
    assert!(text.contains("processor     Größe 漢 \\u{1b}[31m\\u{9b}0m\\u{202e}tseT\n"), "{text}");
}

#[test]
fn machines_that_are_none_are_refused_with_a_hint() {
    for named in ["pack:4 rack:2 pu:1", "/no/such/file.xml", "/etc/passwd"] {
        assert_said(&run(&["status", "--machine", named]), 1, &["hint:"]);
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

/// What `status --machine` says of an archive, as a document.
#[track_caller]
fn machine_of(named: &str) -> Value {
    json_of(&run(&["status", "--machine", named, "--json"]))["machine"].take()
}

fn lengths<const N: usize>(machine: &Value, lists: [&str; N]) -> [usize; N] {
    lists.map(|list| machine[list].as_array().unwrap().len())
}

/// Files of CPUs as POWER7 says them: threads of a core and no number of a package; what is read ends in NULs.
fn power_files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let cpus = "sys/devices/system/cpu";
    let of = |cpu: usize| {
        let core = cpu / 4 * 4;
        let mask = format!("00000000,{:08x}\n", 0xf << core);
        let files = [
            ("topology/physical_package_id", "-1\n".to_owned()),
            ("topology/core_id", format!("{core}\n")),
            ("topology/thread_siblings", mask.clone()),
            ("topology/core_siblings", mask.clone()),
            ("cache/index0/level", "1\n".to_owned()),
            ("cache/index0/size", "32K\n".to_owned()),
            ("cache/index0/shared_cpu_map", mask),
        ];
        files.map(|(name, text)| (format!("{folder}/{cpus}/cpu{cpu}/{name}"), (text + "\0\0").into_bytes()))
    };
    let online = (format!("{folder}/{cpus}/online"), b"0-15\n\0".to_vec());
    (0..16).flat_map(of).chain([online]).collect()
}

fn write_archive(file: &Path, files: &[(String, Vec<u8>)]) {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    std::fs::write(file, archive_of(&files)).unwrap();
}

#[test]
fn files_that_end_in_nuls_and_packages_without_numbers_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("power.tar");
    write_archive(&file, &power_files("m"));
    let machine = machine_of(file.to_str().unwrap());
    assert_eq!(lengths(&machine, ["cpus", "cores", "packages", "caches"]), [16, 4, 4, 4]);
    assert_eq!(machine["cpus_online"], 16);
    assert_eq!(machine["packages"][3]["id"], 3);
    assert_eq!(machine["packages"][3]["cpus"], serde_json::json!([12, 13, 14, 15]));
    assert_eq!(machine["cores"][3]["package"], 3);
}

#[test]
fn answers_of_cpuid_are_a_machine_without_memory() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, files: cpuid::Files| {
        let file = folder.path().join(format!("{name}.tar"));
        let files: Vec<(String, Vec<u8>)> =
            files.into_iter().map(|(file, text)| (format!("{name}/{file}"), text.into_bytes())).collect();
        write_archive(&file, &files);
        file.to_str().unwrap().to_owned()
    };
    let nehalem = write("nehalem", cpuid::nehalem());
    let machine = machine_of(&nehalem);
    assert_eq!(lengths(&machine, ["cpus", "cores", "packages", "caches", "nodes"]), [16, 8, 2, 26, 0]);
    assert_eq!(machine["memory_bytes"], Value::Null, "not known, not 0");
    assert_eq!(machine["cpu_model"], "Intel(R) Xeon(R) CPU X5550 @ 2.67GHz");
    let text = stdout(&run(&["status", "--machine", &nehalem]));
    assert!(text.contains("16 online (0-15), 8 cores, 2 packages\n"), "{text}");
    assert!(
        text.contains("answers of CPUID alone: memory, nodes, kernel and devices are unknown\n"),
        "{text}"
    );
    let picture = stdout(&run(&["status", "--machine", &nehalem, "--picture"]));
    assert!(picture.contains("package 1"), "{picture}");
    let machine = machine_of(&write("naples", cpuid::naples()));
    assert_eq!(lengths(&machine, ["cpus", "cores", "packages", "nodes"]), [96, 48, 2, 8]);
    assert_eq!(machine["nodes"][7]["size_bytes"], Value::Null);
    assert_eq!(machine["nodes"][7]["cpus"].as_array().unwrap().len(), 12);
}

#[test]
fn of_several_machines_in_an_archive_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("several.tar");
    let mut files = power_files("first");
    files.extend(
        cpuid::core_2().into_iter().map(|(name, text)| (format!("dumps/core/{name}"), text.into_bytes())),
    );
    files.push(("last/proc/cpuinfo".to_owned(), b"processor : 0\n".to_vec()));
    write_archive(&file, &files);
    let file = file.to_str().unwrap();
    let output = run(&["status", "--machine", file]);
    assert_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("it holds 3 machines: dumps/core, first, last"), "{said}");
    assert!(said.contains(&format!("hint: name one of them behind the file: {file}:dumps/core")), "{said}");
    let named = |machine: &str| machine_of(&format!("{file}:{machine}"));
    assert_eq!(lengths(&named("first"), ["cpus", "packages"]), [16, 4]);
    assert_eq!(lengths(&named("core"), ["cpus", "packages"]), [8, 2]);
    assert_eq!(lengths(&named("dumps/core"), ["cpus", "packages"]), [8, 2]);
    assert_eq!(lengths(&named("last"), ["cpus", "packages"]), [1, 0]);
    assert_said(
        &run(&["status", "--machine", &format!("{file}:none")]),
        1,
        &["it holds no machine none; it holds dumps/core, first, last"],
    );
    // The same word where work is balanced.
    let matrix = folder.path().join("bytes.csv");
    std::fs::write(&matrix, "0,1\n1,0\n").unwrap();
    let solve = |machine: &str| {
        run(&["balance", "solve", "--matrix", matrix.to_str().unwrap(), "--machine", machine, "--json"])
    };
    assert_said(&solve(file), 1, &["it holds 3 machines: dumps/core, first, last", "hint: name one"]);
    let output = solve(&format!("{file}:first"));
    assert_eq!(json_of(&output)["cores"], 4);
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
    assert_said(&output, 1, &["(../größe\\u{202e}rat\\u{9b}2J\\u{1b}[2J\\tx)"]);
}

#[test]
fn a_picture_is_text_or_a_figure() {
    let machine = "pack:2 [numa] core:2 pu:2";
    assert_shown(&run(&["status", "--machine", machine, "--picture"]), &["─ package 1 ─"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.svg");
    let output = run(&["status", "--machine", machine, "--picture", file.to_str().unwrap()]);
    assert_code(&output, 0);
    assert!(output.stdout.is_empty());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg xmlns="));
    assert_said(&run(&["status", "--picture", "/no/such/folder/m.svg"]), 1, &["/no/such/folder/m.svg"]);
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
