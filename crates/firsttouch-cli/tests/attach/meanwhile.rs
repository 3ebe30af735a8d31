//! What happens while somebody is at work on a process: it ends, becomes another program, forks, unmaps, is stopped or
//! traced; or the one at work is killed. The process lives on, its memory is whole, and the report says what was so.

use crate::attached::{Attached, assert_private, attach, command, journals};
use crate::target::{Coverage, Target, compiled, folder, sources};
use crate::{Outcome, Test};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: &str = "512";

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
    tests.push(("attach is interrupted, and goes on".to_owned(), Box::new(interrupted)));
    tests.push(("attach is killed, and is undone".to_owned(), Box::new(killed)));
    tests.push(("undo restores the threads".to_owned(), Box::new(undone)));
    tests.push(("the first thread has ended".to_owned(), Box::new(without_first_thread)));
    tests.push(("a dry run changes nothing".to_owned(), Box::new(dry)));
    tests.push(("journals are listed and forgotten".to_owned(), Box::new(listed)));
    tests
}

fn changes(folder: &Path) -> Outcome<Target> {
    let program = compiled(folder, &sources("c").join("changes.c"))?;
    Ok(Target::start(&[program.as_os_str(), MIB.as_ref()], folder))
}

/// Starts attaching, in steps that take a while, and waits until the first is written down.
fn begin(state: &Path, pid: u32, options: &[&str]) -> std::process::Child {
    let child = command(state)
        .arg(pid.to_string())
        .args(["--pages", "thp", "--budget-stall", "1ms", "--json"])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let under_way = || journals(state).iter().any(|file| fs::metadata(file).is_ok_and(|file| file.len() > 0));
    let mut child = child;
    while !under_way() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

fn disturbed_by(word: &str, ended: &str) -> Outcome {
    let (folder, state) = (folder(), folder());
    let mut target = changes(folder.path())?;
    let attaching = begin(state.path(), target.pid, &[]);
    match word {
        "exit" | "stop" | "trace" => target.tell(word),
        _ => target.change(word),
    }
    let attached = Attached::of(&attaching.wait_with_output().unwrap());
    let report = attached.report();
    println!(
        "    {word}: exit status {:?}, {}, {} bytes",
        attached.code, report["ended"], report["collapsed_bytes"]
    );
    assert_eq!(report["ended"], ended, "{report}");
    match word {
        "stop" => signal(target.pid, "CONT"),
        "trace" => drop(File::create(folder.path().join("release")).unwrap()),
        _ => {}
    }
    if matches!(word, "stop" | "trace") {
        assert_eq!(target.line(), format!("done {word}"));
    }
    let coverage = Coverage::of(&[target.pid]);
    match word {
        // What came after is another program, which nobody asked about.
        "exec" => assert!(coverage.huge <= coverage.resident / 4, "{coverage:?} {report}"),
        "unmap" => assert!(report["collapsed_bytes"].as_u64().unwrap() > 200 << 20, "{report}"),
        "fork" => assert!(coverage.share() > 0.9, "{coverage:?} {report}"),
        _ => {}
    }
    assert_eq!(target.finish().0, Some(0), "memory was lost");
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

fn ended(report: &Value) -> &str {
    report["ended"].as_str().unwrap()
}

fn interrupted() -> Outcome {
    let (folder, state) = (folder(), folder());
    let target = changes(folder.path())?;
    let attaching = begin(state.path(), target.pid, &[]);
    signal(attaching.id(), "INT");
    let attached = Attached::of(&attaching.wait_with_output().unwrap());
    assert_eq!(attached.code, Some(130), "{attached:?}");
    assert_eq!(ended(&attached.report()), "interrupted");
    let again = attach(state.path(), target.pid, &["--pages", "thp"]);
    again.done(target.pid);
    assert!(Coverage::of(&[target.pid]).share() > 0.97, "{again:?}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn killed() -> Outcome {
    let (folder, state) = (folder(), folder());
    let target = changes(folder.path())?;
    let before = cpus(target.pid);
    let mut attaching = begin(state.path(), target.pid, &["--threads", "0"]);
    attaching.kill().unwrap();
    attaching.wait().unwrap();
    journals(state.path()).iter().for_each(|journal| assert_private(journal));
    let undone = attach(state.path(), target.pid, &["--undo"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(cpus(target.pid), before);
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn undone() -> Outcome {
    let (folder, state) = (folder(), folder());
    let target = changes(folder.path())?;
    let before = cpus(target.pid);
    attach(state.path(), target.pid, &["--threads", "0"]).done(target.pid);
    assert!(cpus(target.pid).iter().all(|(_, cpus)| cpus == "0"), "{:?}", cpus(target.pid));
    let undone = attach(state.path(), target.pid, &["--undo"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(cpus(target.pid), before);
    let again = attach(state.path(), target.pid, &["--undo"]);
    assert!(
        again.code == Some(0) && again.report()["notes"][0] == "there is nothing to take back",
        "{again:?}"
    );
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
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
    assert!(refused.stderr.contains("hint: start the program by `firsttouch run`"), "{refused:?}");
    assert!(journals(state.path()).is_empty());

    let report = attach(state.path(), pid, &["--threads", "0", "--memory", "bind=0"]).done(pid);
    assert!(living().iter().all(|(_, cpus)| cpus == "0"), "{report}");
    let resident = report["after"]["obtained"]["placed_bytes"].as_u64().unwrap();
    assert!(resident >= MIB.parse::<u64>().unwrap() << 20, "{report}");
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
    assert_eq!(target.finish().0, Some(0));
    forget();
    assert!(!there(&list()) && journals(state.path()).is_empty(), "{:?}", list());
    Ok(())
}
