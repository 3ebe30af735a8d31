//! `lab` without a machine: what is refused before anything is booted, and what it lists.

use crate::{assert_code, assert_said, assert_shown, firsttouch, json, run, stderr, stdout};
use std::fs;
use std::process::Output;

#[test]
fn machines_are_listed() {
    assert_shown(&run(&["lab", "--list"]), &["knl-flat"]);
    let document = json(&stdout(&run(&["lab", "--list", "--json"])));
    let machines = document["machines"].as_array().unwrap();
    let holes = machines.iter().find(|machine| machine["name"] == "holes").unwrap();
    let ids: Vec<u64> =
        holes["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [0, 2, 5]);
}

#[test]
fn a_bad_machine_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let cases = [
        ("", "cannot use"),
        ("about = 'x'", "missing field"),
        ("about = 'x'\nnodes = []\nprocessor = { packages = 1, cores = 1 }", "there is no node"),
        (
            "about = 'x'\nnodes = [{ id = 0, cpus = '0', memory = '1G' }]\nprocessor = { packages = 1, cores = 2 }",
            "CPUs 1 are in no node",
        ),
        ("about = 'x'\nspeed = 3", "unknown field `speed`"),
    ];
    for (text, why) in cases {
        fs::write(&file, text).unwrap();
        let output = run(&["lab", "--machine", file.to_str().unwrap(), "--", "true"]);
        assert_said(&output, 125, &[why, "mine.toml", "\nhint: "]);
    }
    for (machine, why) in [("nowhere", "there is no machine `nowhere`"), ("./absent.toml", "cannot read")] {
        assert_said(&run(&["lab", "--machine", machine, "--", "true"]), 125, &[why]);
    }
}

#[test]
fn what_is_missing_says_how_to_get_it() {
    let empty = tempfile::tempdir().unwrap();
    let output = firsttouch().args(["lab", "--", "true"]).env("PATH", empty.path()).output().unwrap();
    assert_said(&output, 125, &["hint: sudo apt-get install --no-install-recommends qemu-system-x86"]);

    // Any program of that name will do: the kernel is asked for before it runs.
    let qemu = empty.path().join("qemu-system-x86_64");
    std::os::unix::fs::symlink("/bin/true", qemu).unwrap();
    let command = |kernel: &str| {
        let mut command = firsttouch();
        command.env("PATH", empty.path()).env("XDG_CACHE_HOME", empty.path());
        command.args(["lab", "--kernel", kernel, "--", "true"]).output().unwrap()
    };
    assert_said(&command("6.12"), 125, &["hint: firsttouch lab --fetch --kernel 6.12"]);
    assert_said(&command("5.4"), 125, &["`5.4` is none of 5.10, 6.1, 6.12"]);
}

#[test]
fn a_program_that_cannot_be_run_here_ends_as_run_does() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, text) = (folder.path().join("vmlinuz"), folder.path().join("text"));
    // Any program of that name, and any kernel: both are looked for before the program, and neither runs.
    std::os::unix::fs::symlink("/bin/true", folder.path().join("qemu-system-x86_64")).unwrap();
    fs::write(&kernel, "").unwrap();
    fs::write(&text, "text").unwrap();
    let path = format!("{}:/bin:/usr/bin", folder.path().display());
    for (program, code) in [("no-such-program-here", 127), (text.to_str().unwrap(), 126), ("/tmp", 126)] {
        let words = ["lab", "--kernel", kernel.to_str().unwrap(), "--", program];
        assert_code(&firsttouch().args(words).env("PATH", &path).output().unwrap(), code);
    }
    assert_code(&run(&["lab", "--fetch", "--", "true"]), 125);
}

#[test]
fn an_emulator_that_refuses_is_quoted() {
    let (output, _) = with_emulator("echo 'Invalid CPU topology' >&2; exit 1");
    assert_said(&output, 125, &["QEMU refuses the machine: Invalid CPU topology"]);
}

#[test]
fn a_kernel_that_panics_while_it_starts_is_booted_again() {
    let panics =
        "echo 'BIOS'; echo 'Kernel panic - not syncing: Fatal exception in interrupt'; echo 'and more'";
    let (output, starts) = with_emulator(&format!("({panics}) > \"$console\"; exit 0"));
    assert_code(&output, 125);
    let said = stderr(&output);
    assert!(said.contains("panicked while it started, 3 times out of 3"), "{said}");
    assert!(said.contains("\nKernel panic - not syncing: Fatal") && !said.contains("BIOS"), "{said}");
    assert_eq!(starts, 3);

    // What ended otherwise is not tried again: it may have been the program.
    let (output, starts) = with_emulator("echo 'reboot: machine restart' > \"$console\"; exit 0");
    assert_said(&output, 125, &["ended before it had run everything"]);
    assert_eq!(starts, 1);
}

/// What the command says with an emulator that does this and no more, with the console's file in `$console`, and how often it
/// was started.
fn with_emulator(script: &str) -> (Output, usize) {
    let folder = tempfile::tempdir().unwrap();
    let (file, qemu) = (folder.path().join("script"), folder.path().join("qemu-system-x86_64"));
    let starts = folder.path().join("starts");
    let text = format!(
        "#!/bin/sh\necho >> {}\nfor word; do case $word in file,id=console,path=*) console=${{word#*path=}} ;; esac; done\n\
         {script}\n",
        starts.display()
    );
    fs::write(&file, text).unwrap();
    crate::copy_program(&file, &qemu, "755");
    let kernel = folder.path().join("vmlinuz");
    fs::write(&kernel, "").unwrap();
    let path = format!("{}:/bin:/usr/bin", folder.path().display());
    let words = ["lab", "--kernel", kernel.to_str().unwrap(), "--", "true"];
    let output = firsttouch().args(words).env("PATH", path).output().unwrap();
    (output, fs::read_to_string(starts).unwrap().lines().count())
}

#[test]
fn the_guests_commands_do_nothing_here() {
    for word in ["guest-init", "guest-shell"] {
        assert_said(&run(&[word]), 1, &["of a lab's guest may do this"]);
    }
}
