//! `attach`: what it prints, what it ends with, and what it leaves alone.

use crate::{assert_code, firsttouch, json, run, skipped, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

/// A program that waits until it is let go.
struct Waiting {
    child: Child,
    input: Option<ChildStdin>,
    _output: ChildStdout,
    state: tempfile::TempDir,
}

impl Waiting {
    fn start() -> Waiting {
        Waiting::of(&mut Command::new("cat"))
    }

    /// A command that has `cat` answer.
    fn of(command: &mut Command) -> Waiting {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take();
        let mut output = child.stdout.take().unwrap();
        // Once it answers it has become `cat`; before, it may still be on the way from one program to another.
        input.as_mut().unwrap().write_all(b"x").unwrap();
        output.read_exact(&mut [0]).unwrap();
        Waiting { child, input, _output: output, state: tempfile::tempdir().unwrap() }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn attach(&self, words: &[&str]) -> Output {
        attach(self.state.path(), words)
    }

    /// The CPUs that its thread may run on, as a list.
    fn cpus(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        line.split_once(':').unwrap().1.trim().to_owned()
    }

    fn ends_well(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn attach(state: &Path, words: &[&str]) -> Output {
    firsttouch().arg("attach").args(words).env("XDG_STATE_HOME", state).output().unwrap()
}

/// The last of several CPUs; `None`, which is said, on a machine with one.
fn last_cpu(cpus: &str) -> Option<String> {
    let last = cpus.rsplit([',', '-']).next().unwrap();
    if last == cpus {
        skipped("one CPU");
    }
    (last != cpus).then(|| last.to_owned())
}

/// Whether this machine and user may collapse; it is said if not.
fn may(output: &Output) -> bool {
    let refused = output.status.code() == Some(125)
        && ["no-capability", "kernel-too-old"].iter().any(|word| stderr(output).contains(word));
    if refused {
        skipped(&stderr(output));
    }
    !refused
}

#[test]
fn threads_go_and_come_back() {
    let waiting = Waiting::start();
    let (pid, before) = (waiting.pid(), waiting.cpus());
    let Some(cpu) = last_cpu(&before) else { return };
    let output = waiting.attach(&[&pid, "--threads", &cpu]);
    assert_code(&output, 0);
    assert!(stdout(&output).contains("1 thread bound"), "{}", stdout(&output));
    assert!(stdout(&output).contains(&format!("firsttouch attach --undo {pid}")), "{}", stdout(&output));
    assert_eq!(waiting.cpus(), cpu);
    let listed = waiting.attach(&["--list"]);
    assert_code(&listed, 0);
    assert!(stdout(&listed).contains(&pid) && stdout(&listed).contains("alive"), "{}", stdout(&listed));
    let back = waiting.attach(&["--undo", &pid, "--json"]);
    assert_code(&back, 0);
    let document = json(&stdout(&back));
    assert_eq!((document["action"].as_str(), document["bound_threads"].as_u64()), (Some("undo"), Some(1)));
    assert_eq!(document["journal"], Value::Null);
    assert_eq!(waiting.cpus(), before);
    let again = waiting.attach(&["--undo", &pid]);
    assert_code(&again, 0);
    assert!(stdout(&again).contains("nothing to take back"), "{}", stdout(&again));
    waiting.ends_well();
}

/// The words of a process are those of whoever started it.
#[test]
fn the_command_of_a_process_is_shown_and_not_obeyed() {
    let waiting =
        Waiting::of(Command::new("sh").args(["-c", "cat; true", "größe\u{202e}txt.exe\u{9b}2J\u{1b}[2J"]));
    let Some(cpu) = last_cpu(&waiting.cpus()) else { return };
    assert_code(&waiting.attach(&[&waiting.pid(), "--threads", &cpu]), 0);
    let listed = stdout(&waiting.attach(&["--list"]));
    assert!(listed.contains("größe\\u{202e}txt.exe\\u{9b}2J\\u{1b}[2J"), "{listed}");
    waiting.ends_well();
}

/// Where we run ourselves, in a shell that is bound for example, says nothing about the process.
#[test]
fn our_own_cpus_are_not_its_limit() {
    let target = Waiting::start();
    let Some(last) = last_cpu(&target.cpus()) else { return };
    let first = target.cpus().split([',', '-']).next().unwrap().to_owned();
    let attached = Command::new("taskset")
        .args(["-c", &first, env!("CARGO_BIN_EXE_firsttouch"), "attach", &target.pid(), "--threads", &last])
        .env("XDG_STATE_HOME", target.state.path())
        .output()
        .unwrap();
    assert_code(&attached, 0);
    assert_eq!(target.cpus(), last);
    target.ends_well();
}

#[test]
fn the_document_has_the_keys_of_the_contract() {
    let waiting = Waiting::start();
    let output = waiting.attach(&[&waiting.pid(), "--json", "--pages", "thp"]);
    if !may(&output) {
        return;
    }
    assert_code(&output, 0);
    let document = json(&stdout(&output));
    for key in [
        "kind",
        "schema_version",
        "pid",
        "asked",
        "before",
        "after",
        "moved_bytes",
        "worst_pause_ms",
        "shortfalls",
        "journal",
    ] {
        assert!(document.get(key).is_some(), "{key} is missing in {document}");
    }
    assert_eq!(document["pid"].as_u64(), Some(u64::from(waiting.child.id())));
    assert_eq!((document["executor"].as_str(), document["ended"].as_str()), (Some("remote"), Some("done")));
    assert!(document["before"]["obtained"]["bytes_by_page_size"]["4096"].as_u64() > Some(0));
    waiting.ends_well();
}

#[test]
fn descendants_go_along_and_come_back() {
    let waiting = Waiting::of(Command::new("sh").args(["-c", "cat; true"]));
    let pid = waiting.pid();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let child = match fs::read_to_string(&children) {
        Ok(text) => text.trim().to_owned(),
        Err(error) => {
            return skipped(&format!("{children}: {error}"));
        }
    };
    let before = waiting.cpus();
    let Some(cpu) = last_cpu(&before) else { return };
    let cpus_of = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap().to_owned();
        line.split_once(':').unwrap().1.trim().to_owned()
    };
    let output = waiting.attach(&[&pid, "--tree", "--threads", &cpu, "--json"]);
    assert_code(&output, 0);
    let document = json(&stdout(&output));
    assert_eq!(document["children"][0]["pid"].to_string(), child);
    assert_eq!((cpus_of(&pid), cpus_of(&child)), (cpu.clone(), cpu));
    assert_code(&waiting.attach(&["--undo", &pid, "--tree"]), 0);
    assert_eq!((cpus_of(&pid), cpus_of(&child)), (before.clone(), before));
    waiting.ends_well();
}

/// As much as a database shares, which is left alone unless it is asked for.
#[test]
fn shared_memory_that_is_left_alone_is_told() {
    let program = "import mmap, sys; m = mmap.mmap(-1, 64 << 20); m.write(b'x' * (64 << 20)); sys.stdout.write('x'); \
                   sys.stdout.flush(); sys.stdin.read()";
    let waiting = Waiting::of(Command::new("python3").args(["-c", program]));
    let noted = |words: &[&str]| {
        let output = waiting.attach(&[&[waiting.pid().as_str(), "--dry-run", "--json"], words].concat());
        assert_code(&output, 0);
        json(&stdout(&output))["notes"].to_string().contains("--files collapses them")
    };
    assert!(noted(&[]));
    assert!(!noted(&["--files"]));
    waiting.ends_well();
}

#[test]
fn a_dry_run_writes_nothing() {
    let waiting = Waiting::start();
    let (pid, before) = (waiting.pid(), waiting.cpus());
    let Some(cpu) = last_cpu(&before) else { return };
    let output = waiting.attach(&[&pid, "--dry-run", "--threads", &cpu]);
    assert_code(&output, 0);
    // Lines end somewhere.
    let told = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("1 thread to bind"), "{told}");
    assert_eq!(waiting.cpus(), before);
    assert_eq!(fs::read_dir(waiting.state.path()).unwrap().count(), 0);
    waiting.ends_well();
}

#[test]
fn the_journals_of_the_gone_can_be_forgotten() {
    let waiting = Waiting::start();
    let (pid, before) = (waiting.pid(), waiting.cpus());
    let Some(cpu) = last_cpu(&before) else { return };
    assert_code(&waiting.attach(&[&pid, "--threads", &cpu]), 0);
    let state = tempfile::tempdir().unwrap();
    let folder = waiting.state.path().join("firsttouch");
    fs::rename(folder, state.path().join("firsttouch")).unwrap();
    waiting.ends_well();
    let listed = json(&stdout(&attach(state.path(), &["--list", "--json"])));
    assert_eq!(
        (listed["journals"][0]["alive"].as_bool(), listed["journals"][0]["pid"].to_string()),
        (Some(false), pid.clone())
    );
    let output = attach(state.path(), &["--undo", &pid]);
    assert_code(&output, 125);
    assert!(stderr(&output).contains("--forget"), "{}", stderr(&output));
    assert_code(&attach(state.path(), &["--forget"]), 0);
    assert_eq!(json(&stdout(&attach(state.path(), &["--list", "--json"])))["journals"], json("[]"));
}

#[test]
fn who_cannot_be_attached_to_is_refused_with_a_hint() {
    let state = tempfile::tempdir().unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    let ended_pid = ended.id().to_string();
    while !fs::read_to_string(format!("/proc/{ended_pid}/stat")).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    let mut cases = vec![
        ("1", "process 1 is not attached to"),
        ("4194305", "there is no process"),
        (&ended_pid, "zombie"),
    ];
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        cases.push(("2", "thread of the kernel"));
    } else {
        skipped("no thread of the kernel is to be seen here");
    }
    for (pid, words) in cases {
        for action in [&["--pages", "thp"][..], &["--undo"], &["--dry-run"]] {
            let output = attach(state.path(), &[&[pid], action].concat());
            assert_code(&output, 125);
            assert!(stderr(&output).contains(words), "{pid}: {}", stderr(&output));
            assert!(
                stderr(&output).contains("\n\nhint: ") && output.stdout.is_empty(),
                "{}",
                stderr(&output)
            );
        }
    }
    ended.wait().unwrap();
    // The shell becomes firsttouch: the number is its own.
    let own = Command::new("sh")
        .args(["-c", "exec \"$0\" attach $$", env!("CARGO_BIN_EXE_firsttouch")])
        .env("XDG_STATE_HOME", state.path())
        .output()
        .unwrap();
    assert_code(&own, 125);
    assert!(stderr(&own).contains("this firsttouch itself"), "{}", stderr(&own));
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn wishes_that_cannot_be_are_refused_before_anything_is_touched() {
    let waiting = Waiting::start();
    let (pid, before) = (waiting.pid(), waiting.cpus());
    for (words, told) in [
        (&["--pages", "2m"][..], "only `thp` can be had"),
        (&["--node", "999"], "no node 999"),
        (&["--threads", "7999"], "no CPU 7999"),
        (&["--memory", "local"], "means nothing"),
        (&["--pages", "plain"], "asks for nothing"),
        (&["--undo", "--threads", "0"], "cannot be used with"),
        (&["--budget-stall", "0"], "expected a time"),
    ] {
        let output = waiting.attach(&[&[pid.as_str()], words].concat());
        assert_code(&output, 125);
        assert!(stderr(&output).contains(told), "{words:?}: {}", stderr(&output));
    }
    assert_code(&run(&["attach"]), 125);
    let homeless =
        firsttouch().args(["attach", &pid]).env_remove("XDG_STATE_HOME").env_remove("HOME").output().unwrap();
    assert_code(&homeless, 125);
    assert!(stderr(&homeless).contains("hint: set XDG_STATE_HOME or HOME"), "{}", stderr(&homeless));
    let listed = firsttouch().args(["attach", "--list"]).env("XDG_STATE_HOME", "/dev/null").output().unwrap();
    assert_code(&listed, 125);
    assert!(stderr(&listed).contains("/dev/null/firsttouch/attach"), "{}", stderr(&listed));
    assert_eq!((waiting.cpus(), fs::read_dir(waiting.state.path()).unwrap().count()), (before, 0));
    waiting.ends_well();
}

/// Runs as root without some of its rights, where the machine has `setpriv` and we are root.
fn with_less(less: &[&str], state: &Path, words: &[&str]) -> Option<Output> {
    // A copy that others may read and run.
    let file = state.join("firsttouch-copy");
    crate::copy_program(Path::new(env!("CARGO_BIN_EXE_firsttouch")), &file, "755");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    let output = Command::new("setpriv")
        .args(less)
        .arg("--")
        .arg(&file)
        .arg("attach")
        .args(words)
        .env("XDG_STATE_HOME", state.join("state"))
        .output();
    match output {
        Ok(output) if is_root && output.status.code() != Some(127) => Some(output),
        _ => {
            skipped("no setpriv, or not root");
            None
        }
    }
}

#[test]
fn without_the_right_it_is_refused_and_told() {
    let waiting = Waiting::start();
    let (pid, before) = (waiting.pid(), waiting.cpus());
    let place = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let without_nice = ["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"];
    let Some(output) = with_less(&without_nice, place.path(), &[&pid, "--pages", "thp"]) else { return };
    assert_code(&output, 125);
    assert!(
        stderr(&output).contains("no-capability") && stderr(&output).contains("setcap"),
        "{}",
        stderr(&output)
    );
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let output = with_less(&nobody, place.path(), &[&pid, "--threads", "0"]).unwrap();
    assert_code(&output, 125);
    assert!(stderr(&output).contains("belongs to user 0, and we are user 65534"), "{}", stderr(&output));
    assert!(!place.path().join("state").exists());
    assert_eq!(waiting.cpus(), before);
    waiting.ends_well();
}
