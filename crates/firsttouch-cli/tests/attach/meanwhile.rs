//! What happens while somebody is at work on a process: it ends, becomes another program, forks, unmaps, is stopped or
//! traced; or the one at work is killed. The process lives on, its memory is whole, and the report says what was so.

use crate::attached::{Attached, attach, command, journals};
use crate::machine::memory_group;
use crate::refused::state_of;
use crate::single::skip;
use crate::target::{Coverage, LIMIT, Target, compiled, folder, reaches, sources};
use crate::{Outcome, Test};
use firsttouch_linux::process::Stat;
use firsttouch_linux::remote::ProcessHandle;
use firsttouch_linux::root::Root;
use firsttouch_memory::Room;
use serde_json::Value;
use signal_hook::consts::SIGINT;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

const MIB: &str = "512";
const BYTES: u64 = 512 << 20;
/// How often an attach is begun that is to be stopped in its middle.
const ATTEMPTS: u32 = 20;

pub(crate) fn tests() -> Vec<Test> {
    let disturbed = [
        ("exit", "target-ended"),
        ("exec", "target-exec"),
        ("fork", "done"),
        ("unmap", "done"),
        ("stop", "target-stopped"),
        ("trace", "target-traced"),
    ];
    let mut tests: Vec<Test> = disturbed
        .into_iter()
        .map(|(word, ended)| -> Test {
            (format!("the program does `{word}` meanwhile"), Box::new(move || disturbed_by(word, ended)))
        })
        .collect();
    tests.push(("what the program shares with a child since has its limit".to_owned(), Box::new(forked)));
    tests.push(("attach is interrupted, and goes on".to_owned(), Box::new(interrupted)));
    tests.push(("attach to a tree is interrupted at a child".to_owned(), Box::new(interrupted_in_tree)));
    tests.push(("attach is interrupted before a step at a child".to_owned(), Box::new(interrupted_before)));
    tests.push(("the order of CPUs goes on from process to process".to_owned(), Box::new(ordered_in_tree)));
    tests.push(("a thread that cannot be bound is left, and told".to_owned(), Box::new(with_deadlines)));
    tests.push(("the first thread has ended".to_owned(), Box::new(without_first_thread)));
    tests.push(("a dry run changes nothing".to_owned(), Box::new(dry)));
    tests.push(("journals are listed and forgotten".to_owned(), Box::new(listed)));
    tests
}

pub(crate) fn changes(folder: &Path) -> Outcome<Target> {
    let program = compiled(folder, &sources("c").join("changes.c"))?;
    Ok(Target::start(&[program.as_os_str(), MIB.as_ref()], folder))
}

/// A program, and an attach to it that stands still in its middle: most of its steps are yet to come.
pub(crate) struct Midway {
    folder: TempDir,
    state: TempDir,
    pub(crate) target: Target,
    pub(crate) attaching: Child,
}

impl Midway {
    /// Attaches in steps that take a while, and stops that at the first of them. On a machine that others work on it may be
    /// further before we get to it, and is begun anew with another program.
    pub(crate) fn new(options: &[&str]) -> Outcome<Midway> {
        Midway::at(|pid| pid, &[], options)
    }

    /// The same of a program that other words start, at a process by that of the program.
    fn at(whom: fn(u32) -> u32, before: &[&str], options: &[&str]) -> Outcome<Midway> {
        for _ in 0..ATTEMPTS {
            let (folder, state) = (folder(), folder());
            let program = compiled(folder.path(), &sources("c").join("changes.c"))?;
            let words = before.iter().map(|word| word.as_ref()).chain([program.as_os_str(), MIB.as_ref()]);
            let target = Target::start(&words.collect::<Vec<_>>(), folder.path());
            let pid = whom(target.pid);
            let mut attaching = begin(state.path(), pid, options);
            if attaching.try_wait().unwrap().is_none() {
                signal(attaching.id(), "STOP");
                wait_for_state(attaching.id(), &['T', 'Z']);
                if (1..BYTES / 2).contains(&begun_bytes(state.path())) {
                    return Ok(Midway { folder, state, target, attaching });
                }
                signal(attaching.id(), "CONT");
            }
            Attached::of(&attaching.wait_with_output().unwrap()).done(pid);
        }
        panic!("attach was done before it could be stopped, {ATTEMPTS} times");
    }

    /// Has the program do something that it does not come back from by itself, and waits until it has.
    fn tell(&mut self, word: &str, state: char) {
        self.target.tell(word);
        wait_for_state(self.target.pid, &[state]);
    }

    pub(crate) fn go_on(&self) {
        signal(self.attaching.id(), "CONT");
    }

    /// How attaching ended; the program, and the folder of the journal.
    pub(crate) fn end(self) -> (Attached, Target, TempDir, TempDir) {
        let attached = Attached::of(&self.attaching.wait_with_output().unwrap());
        (attached, self.target, self.folder, self.state)
    }
}

/// Bytes that have been, or are about to be collapsed, by the journal.
fn begun_bytes(state: &Path) -> u64 {
    let texts = journals(state).into_iter().filter_map(|file| fs::read_to_string(file).ok());
    let bytes_of = |line: &str| {
        let entry: Value = serde_json::from_str(line).ok()?;
        if entry["step"] == "collapse" { entry["bytes"].as_u64() } else { None }
    };
    texts.map(|text| text.lines().filter_map(bytes_of).sum::<u64>()).sum()
}

/// Starts attaching, and waits until the first block is about to be collapsed, or it has ended.
fn begin(state: &Path, pid: u32, options: &[&str]) -> Child {
    let mut child = command(state)
        .arg(pid.to_string())
        .args(["--pages", "thp", "--json"])
        .args(if options.contains(&"--budget-stall") { &[][..] } else { &["--budget-stall", "1ms"] })
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while begun_bytes(state) == 0 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Until a process is in one of these states; `Z` also where it has been collected.
fn wait_for_state(pid: u32, states: &[char]) {
    let begun = Instant::now();
    while !states.contains(&state_of(pid).and_then(|state| state.chars().next()).unwrap_or('Z')) {
        assert!(begun.elapsed() < LIMIT, "process {pid} is {:?}", state_of(pid));
        std::thread::yield_now();
    }
}

fn disturbed_by(word: &str, ended: &str) -> Outcome {
    // The CPUs of its threads could be given back, if it were there still.
    let options: &[&str] = if word == "exit" { &["--threads", "0"] } else { &[] };
    let mut midway = Midway::new(options)?;
    match word {
        "exit" => midway.tell(word, 'Z'),
        "stop" => midway.tell(word, 'T'),
        "trace" => midway.tell(word, 't'),
        // At the same time.
        "fork" => {
            midway.go_on();
            midway.target.change(word);
        }
        _ => midway.target.change(word),
    }
    if word != "fork" {
        midway.go_on();
    }
    let (attached, mut target, folder, _state) = midway.end();
    let report = attached.report();
    println!(
        "    {word}: exit status {:?}, {}, {} bytes",
        attached.code, report["ended"], report["collapsed_bytes"]
    );
    if word == "fork" && report["ended"] == "stall-limit" {
        assert_eq!(target.finish().0, Some(0), "memory was lost");
        return skip("the machine is too busy for pauses of a millisecond");
    }
    assert_eq!(report["ended"], ended, "{report}");
    if word == "exit" {
        let about = (&report["undo_steps"], &report["notes"]);
        assert_eq!(about, (&0.into(), &Value::Null), "{report}");
        assert!(report["bound_threads"].as_u64() > Some(0), "{report}");
    }
    match word {
        "stop" => signal(target.pid, "CONT"),
        "trace" => drop(File::create(folder.path().join("release")).unwrap()),
        _ => {}
    }
    if matches!(word, "stop" | "trace") {
        assert_eq!(target.line(), format!("done {word}"));
    }
    let coverage = Coverage::of(&[target.pid]);
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    match word {
        // What came after is another program, which nobody asked about.
        "exec" => assert!(coverage.huge <= coverage.resident / 4, "{coverage:?} {report}"),
        "unmap" => return reaches(report["collapsed_bytes"].as_u64().unwrap(), 200 << 20, &report),
        "fork" => return coverage.reaches(0.9, &report),
        _ => {}
    }
    Ok(())
}

/// Allowed CPUs of every thread.
pub(crate) fn cpus(pid: u32) -> Vec<(String, String)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut all: Vec<_> = tasks
        .map(|task| {
            let task = task.unwrap();
            let status = fs::read_to_string(task.path().join("status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
            (task.file_name().into_string().unwrap(), line.trim().to_owned())
        })
        .collect();
    all.sort();
    all
}

pub(crate) fn ended(report: &Value) -> &str {
    report["ended"].as_str().unwrap()
}

/// Collapsing memory that a child has as well copies it: of what the control group leaves, half is left to the program then, too. Within
/// so long a pause it is read that the program has given nothing up.
fn forked() -> Outcome {
    let group = memory_group("812M")?;
    let enter = format!("{} && exec \"$0\" \"$@\"", group.enter());
    let mut midway = Midway::at(|pid| pid, &["sh", "-c", &enter], &["--budget-stall", "20ms"])?;
    midway.target.change("child");
    midway.go_on();
    let (attached, target, _folder, _state) = midway.end();
    let report = attached.report();
    if report["ended"] == "stall-limit" {
        return skip("the machine is too busy for pauses of a millisecond");
    }
    assert_eq!(report["ended"], "done", "{report}");
    let file = CString::new(format!("/proc/{}/cgroup", target.pid)).unwrap();
    let left_bytes = Room::read(&file, usize::MAX).unwrap().bytes;
    // Alone it has left some 290 MiB, and more than half of its 512 would be copied.
    assert!(left_bytes >= 120 << 20, "{left_bytes} {report}");
    assert!(report["shortfalls"].to_string().contains("cgroup-limit"), "{report}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn interrupted() -> Outcome {
    let midway = Midway::new(&[])?;
    signal(midway.attaching.id(), "INT");
    midway.go_on();
    let (attached, target, _folder, state) = midway.end();
    assert_eq!(attached.code, Some(130), "{attached:?}");
    let report = attached.report();
    assert_eq!(ended(&report), "interrupted");
    // Of what was not reached nothing is known, and so no reason is told.
    let told =
        report["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("not reached"));
    let mut shortfalls = report["shortfalls"].as_array().unwrap().iter();
    assert!(told && shortfalls.all(|shortfall| shortfall["bytes"].as_u64().unwrap() < 64 << 20), "{report}");
    let again = attach(state.path(), target.pid, &["--pages", "thp"]);
    let report = again.done(target.pid);
    let coverage = Coverage::of(&[target.pid]);
    // What was collapsed has no way back.
    assert_eq!(report["undo_steps"], 0, "{report}");
    let back = attach(state.path(), target.pid, &["--undo"]);
    assert!(back.done(target.pid)["notes"][0].as_str().unwrap().contains("stay huge"), "{back:?}");
    assert!(!back.stderr.contains("took back"), "{back:?}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    coverage.reaches(0.97, &report)
}

fn interrupted_in_tree() -> Outcome {
    let parent = |pid| Stat::read(&Root::live(), pid).unwrap().parent;
    let midway = Midway::at(parent, &["sh", "-c", "\"$0\" \"$@\"; exit $?"], &["--tree"])?;
    signal(midway.attaching.id(), "INT");
    midway.go_on();
    let (attached, target, _folder, _state) = midway.end();
    let report = attached.report();
    assert_eq!((ended(&report), ended(&report["children"][0])), ("done", "interrupted"));
    assert_eq!(attached.code, Some(130), "{attached:?}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// A program, and the shell that has started it.
fn below_shell(folder: &Path) -> Outcome<(Target, u32)> {
    let program = compiled(folder, &sources("c").join("changes.c"))?;
    let words: [&OsStr; 5] =
        ["sh".as_ref(), "-c".as_ref(), "\"$0\" \"$@\"; exit $?".as_ref(), program.as_ref(), "2".as_ref()];
    let target = Target::start(&words, folder);
    let shell = Stat::read(&Root::live(), target.pid).unwrap().parent;
    Ok((target, shell))
}

/// While it still looks at the child, of which there is much to see.
fn interrupted_before() -> Outcome {
    let (folder, state) = (folder(), folder());
    let (mut target, shell) = below_shell(folder.path())?;
    target.change("scatter");
    let mut attaching = command(state.path());
    attaching.args([&shell.to_string(), "--pages", "thp", "--tree", "--json"]);
    let attaching = attaching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pagemap, begun) = (format!("/proc/{}/pagemap", target.pid), Instant::now());
    let is_looking = || {
        let files = fs::read_dir(format!("/proc/{}/fd", attaching.id())).unwrap().flatten();
        files.flat_map(|file| fs::read_link(file.path())).any(|link| link == Path::new(&pagemap))
    };
    while !is_looking() {
        assert!(begun.elapsed() < LIMIT, "it does not come to the child");
        std::thread::yield_now();
    }
    ProcessHandle::open(attaching.id()).unwrap().signal(SIGINT).unwrap();
    let attached = Attached::of(&attaching.wait_with_output().unwrap());
    let report = attached.report();
    assert_eq!((ended(&report), &report["children"]), ("done", &Value::Array(Vec::new())), "{report}");
    assert!(report["notes"].to_string().contains("was left as it is"), "{report}");
    assert_eq!(attached.code, Some(130), "{attached:?}");
    assert!(journals(state.path()).is_empty());
    Ok(())
}

fn ordered_in_tree() -> Outcome {
    let (folder, state) = (folder(), folder());
    let (target, shell) = below_shell(folder.path())?;
    let report = attach(state.path(), shell, &["--threads", "0,1", "--tree"]).done(shell);
    // The shell has the first place, and the program's threads those behind it.
    let given: Vec<String> = [shell, target.pid].into_iter().flat_map(cpus).map(|(_, cpus)| cpus).collect();
    assert_eq!(given, ["0", "1", "0"], "{report}");
    Ok(())
}

/// The kernel binds no thread that runs by deadlines.
fn with_deadlines() -> Outcome {
    let (folder, state) = (folder(), folder());
    let mut target = changes(folder.path())?;
    let before = cpus(target.pid);
    target.change("deadline");
    let report = attach(state.path(), target.pid, &["--threads", "0"]).done(target.pid);
    let given: Vec<String> = cpus(target.pid).into_iter().map(|(_, cpus)| cpus).collect();
    assert_eq!((&given[0], given[1].as_str()), (&before[0].1, "0"), "{report}");
    assert!(report["notes"].to_string().contains("SCHED_DEADLINE"), "{report}");
    attach(state.path(), target.pid, &["--undo"]).done(target.pid);
    assert_eq!(cpus(target.pid), before);
    Ok(())
}

/// A process whose `main` ended by `pthread_exit` looks like a zombie. Its threads can be bound and its pages moved; its
/// memory cannot be collapsed: the kernel looks for it by the first thread.
fn without_first_thread() -> Outcome {
    let (folder, state) = (folder(), folder());
    let mut target = changes(folder.path())?;
    let pid = target.pid;
    target.tell("leave");
    // Answers from now on are those of another thread, when the first one is gone.
    let ended = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('Z')
    };
    while !ended() {
        std::thread::yield_now();
    }
    let living =
        || cpus(pid).into_iter().filter(|(thread, _)| *thread != pid.to_string()).collect::<Vec<_>>();
    let before = living();
    let refused = attach(state.path(), pid, &["--pages", "thp"]);
    assert!(refused.code == Some(125) && refused.stderr.contains("first-thread-ended"), "{refused:?}");
    assert!(refused.stderr.contains("hint: place it from its start, by `firsttouch run`"), "{refused:?}");
    assert!(journals(state.path()).is_empty());

    let report = attach(state.path(), pid, &["--threads", "0", "--memory", "bind=0"]).done(pid);
    assert!(living().iter().all(|(_, cpus)| cpus == "0"), "{report}");
    let resident = report["after"]["obtained"]["placed_bytes"].as_u64().unwrap();
    assert!(resident >= BYTES, "{report}");
    let undone = attach(state.path(), pid, &["--undo"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(living(), before);
    target.change("idle");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn dry() -> Outcome {
    let (folder, state) = (folder(), folder());
    let target = changes(folder.path())?;
    let before = (cpus(target.pid), Coverage::of(&[target.pid]));
    let told = attach(state.path(), target.pid, &["--pages", "thp", "--threads", "0", "--dry-run"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!((cpus(target.pid), Coverage::of(&[target.pid])), before);
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn listed() -> Outcome {
    let (folder, state) = (folder(), folder());
    let target = changes(folder.path())?;
    let pid = target.pid;
    attach(state.path(), pid, &["--threads", "0"]).done(pid);
    let list = || Attached::of(&command(state.path()).arg("--list").arg("--json").output().unwrap());
    let forget = || assert!(command(state.path()).arg("--forget").status().unwrap().success());
    let there = |list: &Attached| list.report().to_string().contains(&pid.to_string());
    assert!(there(&list()), "{:?}", list());
    forget();
    assert!(there(&list()), "a process that lives was forgotten: {:?}", list());
    // Nobody can see it from another PID namespace, whose numbers are other ones.
    let ours = command(state.path());
    let mut elsewhere = Command::new("unshare");
    elsewhere.args(["--pid", "--fork", "--mount-proc"]).arg(ours.get_program()).args(["attach", "--forget"]);
    assert!(elsewhere.env("XDG_STATE_HOME", state.path()).status().unwrap().success());
    assert!(there(&list()), "a process that lives elsewhere was forgotten: {:?}", list());
    // Nor from another machine that has this folder.
    let journal = journals(state.path()).remove(0);
    let text = fs::read_to_string(&journal).unwrap();
    let change = |text: &str, key: &str| {
        let (head, rest) = text.split_once(&format!("\"{key}\":\"")).unwrap();
        format!("{head}\"{key}\":\"other{rest}")
    };
    fs::write(&journal, change(&change(&text, "boot_id"), "host")).unwrap();
    forget();
    assert!(there(&list()), "a process of another machine was forgotten: {:?}", list());
    fs::write(&journal, text).unwrap();
    assert_eq!(target.finish().0, Some(0));
    forget();
    assert!(!there(&list()) && journals(state.path()).is_empty(), "{:?}", list());
    Ok(())
}
