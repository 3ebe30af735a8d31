//! `firsttouch attach --balance` on threads that crowd one CPU: they are spread, by the kernel's own account, and come back.

use crate::attached::{Attached, attach, command, journals};
use crate::meanwhile::cpus;
use crate::target::{Target, compiled, folder, sources};
use crate::{Outcome, Test, skip};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub(crate) fn tests() -> Vec<Test> {
    vec![("threads that crowd one CPU are spread, and come back".to_owned(), Box::new(spread))]
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
