//! Sessions that are killed right before each of the system calls by which they change something: the next one mends it.

use crate::tree::Machine;
use crate::{Case, Outcome, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn tests() -> Vec<Case> {
    vec![
        ("killed while it changes a written machine", changing),
        ("killed while it takes everything back", taking_back),
        ("killed while it takes a topic back", taking_back_a_topic),
        ("killed while it mends what another one left", mending),
        ("asked to stop, it takes back what it has changed", interrupted),
    ]
}

/// At least so many kills, all tests of this file together.
const KILLS: u64 = 100;
const WORDS: [&[&str]; 2] = [
    &["pages", "2m=1024", "1g=2", "--persist", "--apply"],
    &["thp", "madvise", "thp-defrag=defer", "64k=madvise", "--persist", "--apply"],
];

/// The program that kills another one at a call.
pub(crate) fn killer(folder: &Path) -> Outcome<PathBuf> {
    let program = folder.join("kill_at");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup/c/kill_at.c");
    let made = Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&program).arg(source).output();
    let Ok(made) = made else { return skip("there is no compiler `cc`") };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let probe = Command::new(&program).args(["0", "/dev/null", "/bin/true"]).status().unwrap();
    if !probe.success() {
        return skip("tracing is not allowed");
    }
    Ok(program)
}

/// Runs `setup` until its Nth changing call; how many it made, and whether that was its end.
fn until(killer: &Path, machine: &Machine, calls: u64, words: &[&str]) -> (u64, bool) {
    let (count, code) = signalled(killer, machine, &calls.to_string(), words);
    assert!([0, 137].contains(&code), "{code}");
    (count, code == 137)
}

/// The same with any signal; how many calls it made, and what it ended with.
fn signalled(killer: &Path, machine: &Machine, calls: &str, words: &[&str]) -> (u64, i32) {
    let count = killer.with_file_name("count");
    let output = Command::new(killer)
        .arg(calls)
        .arg(&count)
        .args([env!("CARGO_BIN_EXE_firsttouch"), "setup"])
        .args(words)
        .arg("--root")
        .arg(machine.folder.path())
        .output()
        .unwrap();
    let code = output.status.code().unwrap();
    assert!([0, 130, 137].contains(&code), "{output:?}");
    (std::fs::read_to_string(count).unwrap().trim().parse().unwrap(), code)
}

fn changing() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let killer = killer(scratch.path())?;
    let mut kills = 0;
    for words in WORDS {
        for calls in 1.. {
            let machine = Machine::new();
            let before = machine.tree();
            let (_, killed) = until(&killer, &machine, calls, words);
            if !killed {
                break;
            }
            kills += 1;
            // The next one is whoever comes: one that asks for the same, or one that takes everything back.
            if calls % 2 == 0 {
                machine.setup(words).ends(0);
                assert_eq!((machine.pool(0, 2048), machine.thp("enabled")), finished(words));
            }
            machine.setup(&["--undo"]).ends(0);
            assert!(machine.tree() == before, "{words:?}, call {calls}");
        }
    }
    assert!(kills >= KILLS, "{kills} kills");
    Ok(())
}

fn finished(words: &[&str]) -> (String, String) {
    let (pages, mode) = match words[0] {
        "pages" => ("512", "always madvise [never]\n"),
        _ => ("0", "always [madvise] never\n"),
    };
    (pages.to_owned(), mode.to_owned())
}

fn taking_back() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let killer = killer(scratch.path())?;
    for calls in 1.. {
        let machine = Machine::new();
        let before = machine.tree();
        WORDS.iter().for_each(|words| drop(machine.setup(words).ends(0)));
        let (_, killed) = until(&killer, &machine, calls, &["--undo"]);
        if !killed {
            break;
        }
        // An undo that was begun is ended, even by who asks for something new.
        let journal = machine.folder.path().join("var/lib/firsttouch/setup.jsonl");
        let journal = std::fs::read_to_string(journal).unwrap_or_default();
        if calls % 2 == 0 && journal.contains("\"action\":\"undo\"") {
            machine.setup(&["thp", "always", "--apply"]).ends(0);
            assert_eq!(
                (machine.pool(0, 2048), machine.thp("enabled")),
                ("0".into(), "[always] madvise never\n".into())
            );
        }
        machine.setup(&["--undo"]).ends(0);
        assert!(machine.tree() == before, "call {calls}");
    }
    Ok(())
}

fn taking_back_a_topic() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let killer = killer(scratch.path())?;
    for calls in 1.. {
        let machine = Machine::new();
        let before = machine.tree();
        WORDS.iter().for_each(|words| drop(machine.setup(words).ends(0)));
        let (_, killed) = until(&killer, &machine, calls, &["pages", "--undo"]);
        if !killed {
            break;
        }
        // Who comes next ends it, and takes nothing else back.
        machine.setup(&["boot", "1g=1", "--apply"]).ends(0);
        assert!(["0", "512"].contains(&machine.pool(0, 2048).as_str()), "call {calls}");
        machine.setup(&["pages", "--undo"]).ends(0);
        assert_eq!(
            (machine.pool(0, 2048), machine.thp("enabled")),
            ("0".into(), "always [madvise] never\n".into()),
            "call {calls}"
        );
        machine.setup(&["--undo"]).ends(0);
        assert!(machine.tree() == before, "call {calls}");
    }
    Ok(())
}

fn mending() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let killer = killer(scratch.path())?;
    let whole = until(&killer, &Machine::new(), 0, WORDS[0]).0;
    for calls in (1..).step_by(3) {
        let machine = Machine::new();
        let before = machine.tree();
        assert!(until(&killer, &machine, whole - 6, WORDS[0]).1);
        let (_, killed) = until(&killer, &machine, calls, &["--undo"]);
        if !killed {
            break;
        }
        machine.setup(&["--undo"]).ends(0);
        assert!(machine.tree() == before, "call {calls}");
    }
    Ok(())
}

fn interrupted() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let killer = killer(scratch.path())?;
    let whole = signalled(&killer, &Machine::new(), "0", WORDS[1]).0;
    let mut taken_back = 0;
    for calls in (1..=whole).step_by(3) {
        let machine = Machine::new();
        let before = machine.tree();
        let (_, code) = signalled(&killer, &machine, &format!("{calls}:2"), WORDS[1]);
        // Too late for a stop, all was done.
        if code == 130 {
            taken_back += 1;
        } else {
            assert_eq!(
                (code, machine.thp("enabled").as_str()),
                (0, "always [madvise] never\n"),
                "call {calls}"
            );
            machine.setup(&["--undo"]).ends(0);
        }
        assert!(machine.tree() == before, "call {calls}");
    }
    assert!(taken_back > 5, "{taken_back}");
    Ok(())
}
