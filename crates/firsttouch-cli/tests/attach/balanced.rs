//! `firsttouch attach --balance` on threads that crowd one CPU: they are spread, by the kernel's own account, and come back.

use crate::attached::{Attached, attach, command, journals};
use crate::meanwhile::cpus;
use crate::target::{LIMIT, Target, compiled, folder, sources};
use crate::{Outcome, Test, skip};
use firsttouch_linux::remote::ProcessHandle;
use signal_hook::consts::{SIGCONT, SIGINT, SIGSTOP};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("threads that crowd one CPU are spread, and come back".to_owned(), Box::new(spread)),
        ("Ctrl-C while threads are looked at changes nothing".to_owned(), Box::new(interrupted)),
    ]
}

/// The same surroundings as an attach has.
fn observe(state: &Path, words: &[&str]) -> Attached {
    let like = command(state);
    let mut command = Command::new(like.get_program());
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let words = ["attach", "--balance"].iter().chain(words).chain(&["--interval", "300ms", "--json"]);
    Attached::of(&command.args(words).output().unwrap())
}

/// How many of the working threads may use which CPUs; the first thread only waits.
fn crowd(pid: u32) -> BTreeMap<String, usize> {
    let mut crowd = BTreeMap::new();
    for (thread, cpus) in cpus(pid) {
        if thread != pid.to_string() {
            *crowd.entry(cpus).or_insert(0) += 1;
        }
    }
    crowd
}

/// Also where that is before the wait begins: right after it listens, it is stopped and told.
fn interrupted() -> Outcome {
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("busy.c"))?;
    let target = Target::start(&[program.as_os_str(), "4".as_ref()], folder.path());
    let mut command = command(state.path());
    command.args(["--balance", &target.pid.to_string(), "--interval", "10m", "--json"]);
    let mut looking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let handle = ProcessHandle::open(looking.id()).unwrap();
    let begun = Instant::now();
    while !catches_interrupts(looking.id()) {
        assert!(begun.elapsed() < LIMIT, "it does not listen for signals");
        std::thread::yield_now();
    }
    for signal in [SIGSTOP, SIGINT, SIGCONT] {
        handle.signal(signal).unwrap();
    }
    if !handle.wait_ended(Some(LIMIT)).unwrap() {
        looking.kill().unwrap();
        panic!("it waits for the end of the interval");
    }
    let ended = Attached::of(&looking.wait_with_output().unwrap());
    assert!(ended.code == Some(130) && ended.stderr.contains("interrupted"), "{ended:?}");
    assert!(journals(state.path()).is_empty());
    Ok(())
}

fn catches_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 1 != 0
}

fn spread() -> Outcome {
    let allowed: Vec<u32> = firsttouch_linux::numa::affinity(0).unwrap().iter().collect();
    let [first, second, ..] = allowed[..] else { return skip("there is only one CPU") };
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("busy.c"))?;
    let target = Target::start(&[program.as_os_str(), "4".as_ref()], folder.path());
    let pid = target.pid.to_string();
    let crowded = BTreeMap::from([(first.to_string(), 4)]);
    assert_eq!(crowd(target.pid), crowded);

    let dry = observe(state.path(), &[&pid, "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let report = dry.report();
    assert_eq!(report["observed"]["busy"], 4, "{report}");
    assert_eq!((crowd(target.pid), journals(state.path()).len()), (crowded.clone(), 0));
    // Each of them would use a CPU of its own.
    let asked = report["observed"]["busiest_before"].as_f64().unwrap();
    assert!(asked > 3.0, "{report}");

    let done = observe(state.path(), &[&pid]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let report = done.report();
    assert_eq!(report["attach"]["asked"]["strategy"], "best", "{report}");
    let spread = crowd(target.pid);
    assert_eq!(spread.values().sum::<usize>(), 4);
    if allowed.len() == 2 {
        let half = BTreeMap::from([(first.to_string(), 2), (second.to_string(), 2)]);
        assert_eq!(spread, half, "{report}");
        assert_eq!(
            (&report["observed"]["moved"], &report["attach"]["bound_threads"]),
            (&2.into(), &2.into())
        );
    } else {
        assert!(spread.len() > 1 && spread.keys().all(|cpus| cpus.parse::<u32>().is_ok()), "{spread:?}");
    }
    // Where others are at work, too, threads seem to differ by more than is tolerated without saying so.
    let again = observe(state.path(), &[&pid, "--tolerance", "0.5"]);
    assert_eq!((&again.report()["observed"]["moved"], crowd(target.pid)), (&0.into(), spread), "{again:?}");

    attach(state.path(), target.pid, &["--undo"]).done(target.pid);
    assert_eq!((crowd(target.pid), journals(state.path()).len()), (crowded, 0));
    let (code, said) = target.finish();
    assert_eq!((code, said.last().map(String::as_str)), (Some(0), Some("done")));
    Ok(())
}
