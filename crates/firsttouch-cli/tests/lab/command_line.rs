//! The command itself, a boot each: what it forwards, and what it says when a guest does not come to its end.

use crate::runner::{Outcome, Skip};
use crate::setting::{self, Setting};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A test that boots for itself.
pub(crate) type Single = (&'static str, fn() -> Outcome);

pub(crate) fn tests() -> Vec<Single> {
    vec![
        ("the command forwards streams, status and files", forwards),
        ("the command tells everything as JSON", tells),
        ("a temporary folder with a comma in its name is one folder", commas),
        ("libraries are where LD_LIBRARY_PATH says, here and there", libraries),
        ("a guest that takes too long is stopped", hangs),
        ("a kernel that panics is told with its last words", panics),
    ]
}

/// Runs `firsttouch lab` on the machine of two nodes, in a folder of its own.
fn lab(folder: &Path, options: &[&str], program: &[&str]) -> Result<Output, Skip> {
    Ok(command(folder, options, program)?.output().unwrap())
}

fn command(folder: &Path, options: &[&str], program: &[&str]) -> Result<Command, Skip> {
    setting::ready(&Setting::of("two-node"))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
    command.current_dir(folder).args(["lab", "--machine", "two-node"]).args(options).arg("--").args(program);
    Ok(command)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn forwards() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("given"), "from here\n").unwrap();
    let options = ["--copy-in", "given", "--copy-out", "made", "--copy-out", "made:renamed", "--cpus", "2"];
    // The shell alone: other programs would have to be taken in.
    let line = "read word < given; echo got $word; echo problem >&2; while read name value; do \
                case $name in Cpus_allowed_list:) echo $value > made;; esac; done < /proc/self/status; exit 3";
    let output = lab(scratch.path(), &options, &["sh", "-c", line])?;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("got from here\n".into(), "problem\n".into()));
    for file in ["made", "renamed"] {
        assert_eq!(fs::read_to_string(scratch.path().join(file)).unwrap(), "2\n");
    }
    Ok(())
}

fn tells() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    // A file that is named without a folder.
    fs::write(scratch.path().join("script"), "echo out; kill -TERM $$").unwrap();
    let output = lab(scratch.path(), &["--json", "--single-thread"], &["sh", "script"])?;
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["stdout"], "out\n");
    assert_eq!((&document["signal"], &document["exit_code"]), (&15.into(), &143.into()));
    assert!(document["boot_s"].as_f64().unwrap() > 0.0);
    Ok(())
}

fn libraries() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let (here, elsewhere) = (scratch.path().join("here"), scratch.path().join("elsewhere"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    fs::write(here.join("library.c"), "int answer(void) { return 42; }\n").unwrap();
    fs::write(here.join("program.c"), "int answer(void);\nint main(void) { return answer(); }\n").unwrap();
    for words in [
        "-shared -fPIC library.c -o ../elsewhere/libanswer.so",
        "program.c -o program -L../elsewhere -lanswer",
    ] {
        let mut compiler = Command::new("cc");
        assert!(compiler.current_dir(&here).args(words.split(' ')).status().unwrap().success());
    }
    let output = command(&here, &[], &["./program"])?.env_remove("LD_LIBRARY_PATH").output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(125) && said.contains("hint: LD_LIBRARY_PATH"), "{said}");
    let mut found = command(&here, &[], &["./program"])?;
    let output = found.env("LD_LIBRARY_PATH", "/absent::../elsewhere").output().unwrap();
    assert_eq!(output.status.code(), Some(42), "{output:?}");
    Ok(())
}

/// The emulator separates options by commas.
fn commas() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let (here, temporary) = (scratch.path().join("here"), scratch.path().join("a,server=on,,b"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&temporary).unwrap();
    let mut command = command(&here, &[], &["sh", "-c", "echo inside"])?;
    let output = command.env("TMPDIR", &temporary).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "inside\n".into()), "{output:?}");
    // Nothing of it lies elsewhere, and nothing stays.
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!((entries(scratch.path()), entries(&here), entries(&temporary)), (2, 0, 0));
    Ok(())
}

fn hangs() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let output = lab(scratch.path(), &["--timeout", "2s"], &["sleep", "1000"])?;
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("error: the guest took longer than 2 s; ") && said.contains("hint: "), "{said}");
    Ok(())
}

fn panics() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let output = lab(scratch.path(), &[], &["sh", "-c", "echo c > /proc/sysrq-trigger"])?;
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("the guest ended before") && said.contains("sysrq triggered crash"), "{said}");
    Ok(())
}
