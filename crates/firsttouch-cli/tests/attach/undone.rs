//! What was done to a process is taken back: after it was cut off, on a full disk, in another cpuset, for what was started since.

use crate::attached::{Attached, assert_private, attach, command, journals};
use crate::machine::group;
use crate::meanwhile::{Midway, changes, cpus, ended};
use crate::target::{Target, folder, installed};
use crate::{Outcome, Test};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_linux::process::children;
use firsttouch_linux::root::Root;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

pub(crate) fn tests() -> Vec<Test> {
    let test = |name: &str, test: fn() -> Outcome| -> Test { (name.to_owned(), Box::new(test)) };
    vec![
        test("undo on a full disk restores the threads", undone_without_room),
        test("undo from a folder that is read-only restores the threads", undone_by_reading),
        test("undo restores threads that a cpuset has moved", undone_in_cpuset),
        test("attach is killed, and is undone", killed),
        test("undo restores the threads", || undone(|_| ())),
        test("undo restores processes that were started since", undone_for_heirs),
        test("undo restores processes of two attaches", undone_for_heirs_of_two),
        test("undo restores a thread that has executed", undone_after_exec),
        test("undo restores a tree that grew meanwhile", undone_in_tree),
        test("undo reads journals from before there were kinds", || undone(make_old)),
    ]
}

/// A program whose threads an attach has bound to CPU 0, with what they had before.
struct Bound {
    folder: TempDir,
    state: TempDir,
    target: Target,
    before: Vec<(String, String)>,
}

impl Bound {
    fn new() -> Outcome<Bound> {
        let (folder, state) = (folder(), folder());
        let target = changes(folder.path())?;
        let before = cpus(target.pid);
        attach(state.path(), target.pid, &["--threads", "0"]).done(target.pid);
        Ok(Bound { folder, state, target, before })
    }
}

/// What cannot be noted is done all the same.
fn undone_without_room() -> Outcome {
    let Bound { folder: _folder, state, target, before } = Bound::new()?;
    let ours = command(state.path());
    // Files are not to become larger than 512 bytes, which the journal is.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]);
    limited.arg(ours.get_program()).args(ours.get_args()).args([&target.pid.to_string(), "--undo", "--json"]);
    limited.env("XDG_STATE_HOME", state.path());
    let undone = Attached::of(&limited.output().unwrap());
    assert_eq!(ended(&undone.report()), "journal-failed", "{undone:?}");
    assert_eq!((undone.code, cpus(target.pid)), (Some(1), before), "{undone:?}");
    assert_eq!(journals(state.path()).len(), 1);
    attach(state.path(), target.pid, &["--undo"]).done(target.pid);
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// What cannot be noted because nothing can be written there is done as well.
fn undone_by_reading() -> Outcome {
    installed("unshare")?;
    let Bound { folder: _folder, state, target, before } = Bound::new()?;
    let ours = command(state.path());
    let mut read_only = Command::new("unshare");
    let script = "mount --bind $XDG_STATE_HOME $XDG_STATE_HOME && mount -o remount,bind,ro $XDG_STATE_HOME && exec \"$0\" \"$@\"";
    read_only.args(["-m", "sh", "-c", script]).arg(ours.get_program()).args(ours.get_args());
    read_only.args([&target.pid.to_string(), "--undo", "--json"]).env("XDG_STATE_HOME", state.path());
    let undone = Attached::of(&read_only.output().unwrap());
    assert_eq!((ended(&undone.report()), cpus(target.pid)), ("journal-failed", before), "{undone:?}");
    // Elsewhere there is none, and none is made.
    let elsewhere = folder();
    let report = attach(elsewhere.path(), target.pid, &["--undo"]).done(target.pid);
    assert!(report["notes"].to_string().contains(&elsewhere.path().display().to_string()), "{report}");
    assert!(fs::read_dir(elsewhere.path()).unwrap().next().is_none());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// The kernel gives threads the CPUs of a cpuset that has none of theirs, and from Linux 6.2 on gives them theirs again when it can:
/// an undo meanwhile is one for good.
fn undone_in_cpuset() -> Outcome {
    let Bound { folder: _folder, state, target, before } = Bound::new()?;
    let group = group("cpuset", ["cpuset.cpus"; 2], "1")?;
    let enter = group.enter().replace("$$", &target.pid.to_string());
    assert!(Command::new("sh").args(["-c", &enter]).status().unwrap().success());
    assert!(cpus(target.pid).iter().all(|(_, cpus)| cpus == "1"), "{:?}", cpus(target.pid));
    // What that does not have is nothing to ask for.
    let outside = attach(state.path(), target.pid, &["--threads", "0"]);
    assert!(outside.code == Some(125) && outside.stderr.contains("cpuset"), "{outside:?}");
    let report = attach(state.path(), target.pid, &["--undo"]).done(target.pid);
    drop(group);
    assert_eq!(cpus(target.pid), before, "{report}");
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn killed() -> Outcome {
    let own = cpus(std::process::id());
    let mut midway = Midway::new(&["--threads", "0"])?;
    assert!(cpus(midway.target.pid).iter().all(|(_, cpus)| cpus == "0"), "threads come first");
    midway.attaching.kill().unwrap();
    let (_, target, _folder, state) = midway.end();
    journals(state.path()).iter().for_each(|journal| assert_private(journal));
    let undone = attach(state.path(), target.pid, &["--undo"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert!(cpus(target.pid).iter().all(|(_, cpus)| *cpus == own[0].1), "{own:?} {:?}", cpus(target.pid));
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// A journal as it was written before documents had kinds.
fn make_old(journal: &Path) {
    const KIND: &str = r#""kind":"attach-journal","schema_version":1,"#;
    let lines = fs::read_to_string(journal).unwrap();
    let old: String = lines
        .lines()
        .map(|line| {
            assert!(line.contains(KIND), "{line}");
            let version = if line.contains(r#""step":"begin""#) { r#""schema_version":1,"# } else { "" };
            line.replace(KIND, version) + "\n"
        })
        .collect();
    fs::write(journal, old).unwrap();
}

/// A child that was started while its maker had CPUs of ours has those of its maker back; one that had the same before keeps them, and so
/// does one that somebody has bound to others since.
fn undone_for_heirs() -> Outcome {
    let (folder, state) = (folder(), folder());
    let mut target = changes(folder.path())?;
    let pid = target.pid;
    let before = cpus(pid);
    let all = before[0].1.clone();
    let cpus_of = |child: u32| cpus(child)[0].1.clone();
    let bind = |child: u32, cpus: &[u32]| numa::set_affinity(child, &CpuBits::of(cpus).unwrap()).unwrap();
    let mut child = || {
        let known = children(&Root::live(), pid).unwrap();
        target.change("child");
        *children(&Root::live(), pid).unwrap().iter().find(|child| !known.contains(child)).unwrap()
    };
    let earlier = child();
    bind(earlier, &[0]);
    attach(state.path(), pid, &["--threads", "0"]).done(pid);
    let (heir, other) = (child(), child());
    let apart = all.split(['-', ',']).next_back().unwrap().parse().unwrap();
    bind(other, &[apart]);
    let told = attach(state.path(), pid, &["--undo"]).done(pid);
    assert_eq!((cpus(pid), cpus_of(heir)), (before, all), "{told}");
    assert_eq!((cpus_of(earlier), cpus_of(other)), ("0".to_owned(), apart.to_string()), "{told}");
    let notes = told["notes"].to_string();
    assert!(notes.contains("started since") && notes.contains(&format!("before: {heir}\"")), "{told}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// What the second attach takes away, the first has given: neither is what was there before.
fn undone_for_heirs_of_two() -> Outcome {
    let Bound { folder: _folder, state, mut target, before } = Bound::new()?;
    attach(state.path(), target.pid, &["--threads", "1"]).done(target.pid);
    target.change("child");
    let heir = children(&Root::live(), target.pid).unwrap()[0];
    let told = attach(state.path(), target.pid, &["--undo"]).done(target.pid);
    assert_eq!(cpus(heir)[0].1, before[0].1, "{told}");
    assert_eq!(cpus(target.pid), before, "{told}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// Children that are started while their maker is at its place have its CPUs, and those of the order then: both go.
fn undone_in_tree() -> Outcome {
    let all = cpus(std::process::id())[0].1.clone();
    let mut midway = Midway::new(&["--tree", "--threads", "0,1"])?;
    let pid = midway.target.pid;
    midway.target.change("child");
    midway.target.change("child");
    midway.go_on();
    let (attached, target, _folder, state) = midway.end();
    let report = attached.report();
    let family: Vec<u32> = [pid].into_iter().chain(children(&Root::live(), pid).unwrap()).collect();
    let mut given: Vec<String> = family.iter().map(|pid| cpus(*pid)[0].1.clone()).collect();
    given[1..].sort();
    assert_eq!(given, ["0", "0", "1"], "{report}");
    let told = attach(state.path(), pid, &["--undo", "--tree"]).done(pid);
    for pid in family {
        assert!(cpus(pid).iter().all(|(_, cpus)| *cpus == all), "{told}");
    }
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// Whichever thread executes becomes the first one, and has its own CPUs still.
fn undone_after_exec() -> Outcome {
    let (folder, state) = (folder(), folder());
    let mut target = changes(folder.path())?;
    let all = cpus(target.pid)[0].1.clone();
    attach(state.path(), target.pid, &["--threads", "0,1"]).done(target.pid);
    target.change("relay");
    assert!(cpus(target.pid).iter().all(|(_, cpus)| cpus == "1"), "{:?}", cpus(target.pid));
    let told = attach(state.path(), target.pid, &["--undo"]).done(target.pid);
    assert!(cpus(target.pid).iter().all(|(_, cpus)| *cpus == all), "{told}");
    assert!(!told["notes"].to_string().contains("has bound it"), "{told}");
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

fn undone(meanwhile: fn(&Path)) -> Outcome {
    let Bound { folder: _folder, state, target, before } = Bound::new()?;
    journals(state.path()).iter().for_each(|journal| meanwhile(journal));
    assert!(cpus(target.pid).iter().all(|(_, cpus)| cpus == "0"), "{:?}", cpus(target.pid));
    let undone = attach(state.path(), target.pid, &["--undo"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(cpus(target.pid), before);
    let again = attach(state.path(), target.pid, &["--undo"]);
    assert!(
        again.code == Some(0)
            && again.report()["notes"][0].as_str().unwrap().starts_with("there is nothing to take back: "),
        "{again:?}"
    );
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}
