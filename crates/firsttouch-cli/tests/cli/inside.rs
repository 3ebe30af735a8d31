//! `run --attachable` and `attach --executor in-process`: a program placed by its own user, who has no privilege whatever.

use crate::{assert_code, assert_said, firsttouch, json_of, skipped, stdout};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A user without a name, and without rights.
const SOMEBODY: u32 = 12345;

/// A folder of that user's with the program in it.
struct Home {
    folder: TempDir,
    is_root: bool,
}

impl Home {
    /// `None` where the test cannot run, which is said.
    fn new() -> Option<Home> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/c/pages.c");
        let program = folder.path().join("pages");
        let made = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
        if !made.is_ok_and(|status| status.success()) {
            skipped("there is no compiler `cc`");
            return None;
        }
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        if is_root {
            chown(folder.path(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        }
        let home = Home { folder, is_root };
        if !home
            .plainly(Command::new(env!("CARGO_BIN_EXE_firsttouch")))
            .arg("--version")
            .output()
            .is_ok_and(|it| it.status.success())
        {
            skipped(&format!("another user cannot run {}", env!("CARGO_BIN_EXE_firsttouch")));
            return None;
        }
        Some(home)
    }

    /// A command of the user's without rights.
    fn plainly(&self, mut command: Command) -> Command {
        command
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env("XDG_STATE_HOME", self.folder.path().join("state"));
        if self.is_root {
            command.uid(SOMEBODY).gid(SOMEBODY);
        }
        command
    }

    fn start(&self, options: &[&str]) -> Started {
        let mut command = self.plainly(firsttouch());
        command.arg("run").args(options).arg("--").arg(self.folder.path().join("pages")).arg(self.data());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), child.id().to_string());
        Started(child)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn attach(&self, started: &Started, options: &[&str]) -> Output {
        let mut command = self.plainly(firsttouch());
        command.arg("attach").arg(started.0.id().to_string()).args(options).output().unwrap()
    }
}

/// The program, which ends with its input.
struct Started(Child);

impl Started {
    /// Lets it look at its memory and end.
    fn end(mut self) {
        drop(self.0.stdin.take());
        assert_eq!(self.0.wait().unwrap().code(), Some(0), "its memory is not what it was");
    }

    /// Names and CPUs of its threads.
    fn threads(&self) -> Vec<(String, String)> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let mut threads: Vec<(String, String)> = tasks
            .map(|task| {
                let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
                let field = |key: &str| {
                    status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned()
                };
                (field("Name:"), field("Cpus_allowed_list:"))
            })
            .collect();
        threads.sort();
        threads
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn document(output: &Output) -> Value {
    json_of(output)
}

#[test]
fn its_own_user_collapses_a_program_that_is_attachable() {
    let Some(home) = Home::new() else { return };
    let program = home.start(&["--attachable", "--pages", "plain"]);
    let mut attempts = 0..3;
    loop {
        assert!(attempts.next().is_some(), "there are pages that the kernel has in its hands each time");
        let report = document(&home.attach(&program, &["--json", "--budget-stall", "1s"]));
        // As root with every right nobody needs the agent; here nobody has any.
        assert_eq!(
            (&report["executor"], &report["ended"]),
            (&Value::from("in-process"), &Value::from("done"))
        );
        // The kernel's own thread may have been there before.
        let huge = report["after"]["obtained"]["bytes_by_page_size"]["2097152"].as_u64().unwrap();
        if huge >= 64 << 20 {
            break;
        }
        let mut reasons = report["shortfalls"].as_array().unwrap().iter().map(|it| &it["reason"]);
        assert!(reasons.any(|reason| reason == "busy-pages"), "{report}");
    }
    let report = document(&home.attach(&program, &["--undo", "--json", "--executor", "in-process"]));
    assert_eq!(report["executor"], "in-process");
    program.end();
}

#[test]
fn threads_are_bound_and_the_listener_is_none_of_them() {
    let Some(home) = Home::new() else { return };
    let program = home.start(&["--attachable", "--pages", "plain"]);
    let before = program.threads();
    assert_eq!(before.len(), 2);
    let cpus = before[0].1.clone();
    let report =
        document(&home.attach(&program, &["--threads", "compact", "--json", "--executor", "in-process"]));
    assert_eq!(report["after"]["obtained"]["threads"].as_array().unwrap().len(), 1, "{report}");
    let bound = program.threads();
    assert_eq!(bound[0], ("firsttouch".to_owned(), cpus), "the listener stays where it was");
    assert!(bound[1].1.parse::<u32>().is_ok(), "{bound:?}");
    document(&home.attach(&program, &["--undo", "--json"]));
    assert_eq!(program.threads(), before);
    program.end();
}

#[test]
fn without_a_channel_the_way_to_one_is_told() {
    let Some(home) = Home::new() else { return };
    let program = home.start(&["--pages", "plain"]);
    for (options, error, hint) in [
        (&[][..], "cannot collapse pages", "firsttouch run --attachable"),
        (&["--executor", "remote"], "cannot collapse pages", "firsttouch run --attachable"),
        (&["--executor", "in-process"], "has no control channel", "firsttouch run --attachable -- PROGRAM"),
    ] {
        assert_said(&home.attach(&program, options), 125, &[error, hint]);
    }
    program.end();
}

#[test]
fn another_user_is_not_listened_to() {
    let Some(home) = Home::new() else { return };
    if !home.is_root {
        return skipped("only root can be two users");
    }
    let program = home.start(&["--attachable"]);
    let output = firsttouch()
        .env("XDG_STATE_HOME", home.folder.path())
        .args(["attach", &program.0.id().to_string(), "--executor", "in-process"])
        .output()
        .unwrap();
    assert_said(&output, 125, &["does not listen to us", "as the user of that process"]);
    program.end();
}

#[test]
fn a_program_out_of_reach_has_no_channel() {
    let output =
        firsttouch().args(["run", "--attachable", "--via", "supervise", "--", "true"]).output().unwrap();
    assert_code(&output, 125);
    let Some(program) = crate::static_program() else { return };
    let output =
        firsttouch().args(["run", "--attachable", "--pages", "plain", "--", program]).output().unwrap();
    assert_said(&output, 0, &["without a control channel"]);
}

#[test]
fn the_devices_of_a_program_are_told_before_anything_is_moved() {
    let Some(home) = Home::new() else { return };
    let program = home.start(&["--pages", "plain"]);
    let device = home.data().metadata().unwrap().dev();
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & !0xff);
    let disk = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
    let output = home.attach(&program, &["--near-own-devices", "--dry-run", "--json"]);
    match disk {
        Ok(disk) if output.status.success() => {
            let report = document(&output);
            let own = report["own_devices"]["devices"].as_array().unwrap();
            let name = disk.file_name().unwrap().to_str().unwrap();
            let found =
                own.iter().find(|device| device["name"] == name).unwrap_or_else(|| panic!("{report}"));
            let file = format!("open file {}", home.data().display());
            assert!(found["how"].as_array().unwrap().iter().any(|how| *how == *file), "{found}");
            assert!(!report["asked"]["near"].as_array().unwrap().is_empty());
            assert_eq!((&report["action"], &report["journal"]), (&Value::from("dry-run"), &Value::Null));
            let text = stdout(&home.attach(&program, &["--near-own-devices", "--dry-run"]));
            assert!(text.contains("devices in use") && text.contains("the process goes to node"), "{text}");
        }
        // In a container, or on a machine whose firmware says nothing, the reason is told.
        _ => {
            assert_said(&output, 125, &["device"]);
        }
    }
    for options in [&["--near-own-devices", "--node", "0"][..], &["--near-own-devices", "--near", "eth0"]] {
        assert_code(&home.attach(&program, options), 125);
    }
    assert_code(&home.attach(&program, &["--near", "no-such-device"]), 125);
    program.end();
}
