//! Programs people run, attached to while they work: they say what they say without, and their memory is on huge pages.

use crate::attached::{assert_private, attach, huge_bytes, journals};
use crate::machine::memory_group;
use crate::target::{Coverage, Target, compiled, folder, installed, reaches, run_alone, sources};
use crate::{Outcome, Test, skip};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of the table of each program, which is there all the time; and its bytes.
const MIB: &str = "256";
const TABLE: u64 = 256 << 20;
/// Attaches at most: blocks that the kernel had in its hands, or found no room for, are for the next one.
const ATTEMPTS: u32 = 3;
/// Lines that show that a program works, and goes on working.
const ROUNDS: usize = 4;

/// What a program does with its memory between any two looks at it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heap {
    /// It keeps it.
    Steady,
    /// It keeps its table; beside it, it makes and frees as much again as a collector lets it.
    ComesAndGoes,
    /// The collector moves parts of the table, too.
    Moves,
}

impl Heap {
    /// Of the table, how much attach finds in whole blocks, and finds again.
    fn least_share(self) -> f64 {
        if self == Heap::Moves { 0.8 } else { 0.97 }
    }
}

/// Words that start a program; the number of rounds and the size come behind them.
type Start = fn(&Path) -> Outcome<Vec<OsString>>;

pub(crate) fn tests() -> Vec<Test> {
    let cases: [(&str, Start, Heap); 6] = [
        ("C", gather, Heap::Steady),
        ("Python", python, Heap::Steady),
        ("R", r, Heap::ComesAndGoes),
        ("Java", java, Heap::Moves),
        ("Node.js", node, Heap::ComesAndGoes),
        ("static Go", go, Heap::ComesAndGoes),
    ];
    let test = |(name, start, heap): (&'static str, Start, Heap)| -> Test {
        (format!("{name} attached while it works"), Box::new(move || works_on(start, heap)))
    };
    let mut tests: Vec<Test> = cases.into_iter().map(test).collect();
    tests.push(("shared memory, while another process writes it".to_owned(), Box::new(shared)));
    tests
        .push(("shared memory where its file system has little room".to_owned(), Box::new(shared_in_little)));
    tests.push(("memory under a userfaultfd is left alone".to_owned(), Box::new(watched)));
    tests.push(("memory that may not be written".to_owned(), Box::new(protected)));
    tests.push(("memory that is not written, or a child's as well".to_owned(), Box::new(not_written)));
    tests.push(("memory that has to do for the program as well".to_owned(), Box::new(little_room)));
    tests.push(("PostgreSQL attached under load".to_owned(), Box::new(postgres)));
    tests
}

fn source(name: &str) -> OsString {
    sources("programs").join(name).into()
}

fn gather(folder: &Path) -> Outcome<Vec<OsString>> {
    Ok(vec![compiled(folder, &sources("programs").join("gather.c"))?.into()])
}

/// The interpreter itself: what stands in PATH may be a script.
fn python(_: &Path) -> Outcome<Vec<OsString>> {
    for name in ["python3", "/usr/bin/python3"] {
        let code = "import numpy, sys; print(sys.executable)";
        let Ok(output) = Command::new(name).args(["-c", code]).output() else { continue };
        if output.status.success() {
            let python = String::from_utf8(output.stdout).unwrap();
            return Ok(vec![python.trim_end().into(), source("heap.py")]);
        }
    }
    skip("there is no Python 3 with NumPy")
}

fn r(_: &Path) -> Outcome<Vec<OsString>> {
    Ok(vec![installed("Rscript")?.into(), "--vanilla".into(), source("heap.R")])
}

fn java(folder: &Path) -> Outcome<Vec<OsString>> {
    let java = installed("java")?;
    let compiler = Command::new(installed("javac")?).arg("-d").arg(folder).arg(source("Heap.java")).output();
    let compiler = compiler.unwrap();
    assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
    Ok(vec![java.into(), "-Xmx512m".into(), "-cp".into(), folder.into(), "Heap".into()])
}

fn node(_: &Path) -> Outcome<Vec<OsString>> {
    Ok(vec![installed("node")?.into(), source("heap.js")])
}

fn go(folder: &Path) -> Outcome<Vec<OsString>> {
    let program = folder.join("heap");
    let built = Command::new(installed("go")?)
        .args(["build", "-o"])
        .args([program.as_os_str(), &source("heap.go")])
        .envs([("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local"), ("GO111MODULE", "off"), ("GOFLAGS", "")])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Ok(vec![program.into()])
}

fn works_on(start: Start, heap: Heap) -> Outcome {
    let (folder, state) = (folder(), folder());
    let words = start(folder.path())?;
    let with = |rounds: usize| -> Vec<OsString> {
        words.iter().cloned().chain([rounds.to_string().into(), MIB.into()]).collect()
    };
    let mut target = Target::start(&with(0), folder.path());
    target.hear(ROUNDS);
    let first = Coverage::of(&[target.pid]);
    assert!(first.share() < 0.5, "it was on huge pages before: {first:?}");
    let mut attempts = 0;
    let report = loop {
        attempts += 1;
        let (report, after) = attached_once(&mut target, state.path(), heap);
        let least_bytes = (heap.least_share() * TABLE as f64) as u64;
        if after.huge >= least_bytes || attempts == ATTEMPTS {
            reaches(after.huge, least_bytes, &report)?;
            break report;
        }
    };
    let journal = PathBuf::from(report["journal"].as_str().unwrap());
    assert_eq!(journals(state.path()), [journal.as_path()]);
    assert_private(&journal);

    let (code, said) = target.finish();
    let (code_alone, said_alone) = run_alone(&with(said.len()), folder.path());
    assert_eq!((code, &said), (code_alone, &said_alone), "it computed something else");
    assert_eq!(code, Some(0));
    Ok(())
}

/// Attaches to a program at work, and compares what is told with what the kernel tells us.
fn attached_once(target: &mut Target, state: &Path, heap: Heap) -> (Value, Coverage) {
    let before = Coverage::of(&[target.pid]);
    let attached = attach(state, target.pid, &["--pages", "thp"]);
    let after = Coverage::of(&[target.pid]);
    target.hear(ROUNDS);
    let report = attached.done(target.pid);
    println!("    {before:?} -> {after:?}, worst pause {} ms", report["worst_pause_ms"]);
    let told = report["collapsed_bytes"].as_u64().unwrap();
    let planned = report["planned"]["collapse_bytes"].as_u64().unwrap();
    let told_after = huge_bytes(&report["after"]);
    // Nobody else makes huge pages here, and whatever the program frees or moves meanwhile makes them fewer.
    assert!(after.huge <= told_after && after.huge <= before.huge + told, "{after:?} {report}");
    assert!(told <= planned, "{report}");
    if heap == Heap::Steady {
        assert!(told.abs_diff(after.huge - before.huge) <= after.huge / 5, "{before:?} {after:?} {report}");
        assert!(told_after.abs_diff(after.huge) <= after.huge / 5, "{after:?} {report}");
    }
    (report, after)
}

/// Processes below one, and itself.
fn family(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let below = children.split_whitespace().flat_map(|child| family(child.parse().unwrap()));
    [pid].into_iter().chain(below).collect()
}

/// Collapsed for both who have it, if asked for and if the address allows it; whoever writes meanwhile loses nothing.
fn shared() -> Outcome {
    const HUGE: u64 = 2 << 20;
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("shared.c"))?;
    for (offset, options, huge) in
        [("0", &["--files"][..], 256 << 20), ("0", &[], 0), ("4096", &["--files"][..], 0)]
    {
        let words = [program.as_os_str(), "256".as_ref(), offset.as_ref()];
        let mut target = Target::start(&words, folder.path());
        let options = [&["--pages", "thp"], options].concat();
        let mut once = || {
            let report = attach(state.path(), target.pid, &options).done(target.pid);
            (report, target.ask("huge").as_u64().unwrap())
        };
        let (mut report, mut seen) = once();
        for _ in 1..ATTEMPTS {
            if seen + 4 * HUGE < huge {
                (report, seen) = once();
            }
        }
        assert!(seen <= huge, "{seen} of {huge} bytes: {report}");
        reaches(seen + 4 * HUGE, huge, &report)?;
        let shortfalls = report["shortfalls"].as_array().unwrap();
        let displaced = shortfalls.iter().any(|shortfall| {
            shortfall["reason"] == "no-whole-block" && shortfall["bytes"].as_u64() >= Some(256 << 20)
        });
        assert_eq!(displaced, offset != "0", "{report}");
        assert_eq!(target.finish().0, Some(0), "a word was lost");
    }
    Ok(())
}

/// A huge page there would be memory that the program does not have: of what it only read, and of what it shares since a fork.
/// The pages that a program has not written are its file system's to give, to the program itself or to others.
fn shared_in_little() -> Outcome {
    installed("unshare")?;
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("sparse.c"))?;
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = "mount -t tmpfs -o size=16M none \"$0\" && exec \"$1\" \"$0/file\" 14";
    let words = ["unshare".as_ref(), "-m".as_ref(), "sh".as_ref(), "-c".as_ref(), script.as_ref()];
    let mut target =
        Target::start(&[&words[..], &[disk.as_os_str(), program.as_os_str()]].concat(), folder.path());
    let before = target.ask("free");
    let report = attach(state.path(), target.pid, &["--pages", "thp", "--files"]).done(target.pid);
    assert_eq!(target.ask("free"), before, "{report}");
    let told = report["shortfalls"].to_string();
    assert!(before.as_u64() > Some(4 << 20) && told.contains("of shared memory less than all"), "{report}");
    assert_eq!(target.finish().0, Some(0));
    Ok(())
}

/// Also where the process is too large for its mappings to be read at once within a pause.
fn watched() -> Outcome {
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("watched.c"))?;
    let target = Target::start(&[program.as_os_str(), "64".as_ref()], folder.path());
    for pause in ["20ms", "1ms"] {
        let report =
            attach(state.path(), target.pid, &["--pages", "thp", "--budget-stall", pause]).done(target.pid);
        assert_eq!(Coverage::of(&[target.pid]), Coverage { resident: 64 << 20, huge: 0 }, "{report}");
        assert_eq!(short(&report, "userfaultfd"), 64 << 20, "{report}");
    }
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok(())
}

/// Bytes of a shortfall.
fn short(report: &Value, reason: &str) -> u64 {
    let all = report["shortfalls"].as_array().unwrap().iter();
    all.filter(|short| short["reason"] == reason).map(|short| short["bytes"].as_u64().unwrap()).sum()
}

/// What is left has a reason, and all that is left has one: but for the pages of a few files that the program has written to.
fn protected() -> Outcome {
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("not_written.c"))?;
    let words = [program.as_os_str(), "64".as_ref(), "protected".as_ref()];
    for pause in ["20ms", "1ms"] {
        let mut target = Target::start(&words, folder.path());
        let report =
            attach(state.path(), target.pid, &["--pages", "thp", "--budget-stall", pause]).done(target.pid);
        assert_eq!(short(&report, "not-writable"), 64 << 20, "{report}");
        let private = &report["after"]["tree"]["at_peak"]["private"];
        let [all, huge] = ["bytes", "huge_bytes"].map(|key| private[key].as_u64().unwrap());
        let told = report["shortfalls"].as_array().unwrap().iter();
        let told: u64 = told.map(|short| short["bytes"].as_u64().unwrap()).sum();
        assert!((told..told + (4 << 20)).contains(&(all - huge)), "{report}");
        target.ask("own");
        assert_eq!(target.finish().0, Some(0), "memory was lost");
    }
    Ok(())
}

fn not_written() -> Outcome {
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("not_written.c"))?;
    for how in ["read", "forked"] {
        let words = [program.as_os_str(), MIB.as_ref(), how.as_ref()];
        let mut target = Target::start(&words, folder.path());
        let before = target.ask("own").as_u64().unwrap();
        let report = attach(state.path(), target.pid, &["--pages", "thp"]).done(target.pid);
        let after = target.ask("own").as_u64().unwrap();
        assert!(after < before + (8 << 20), "{how}: {before} bytes, then {after}: {report}");
        assert_eq!(target.finish().0, Some(0), "{how}");
    }
    Ok(())
}

/// Huge pages take memory that the program has not written, which it cannot have twice: half of what its control group leaves is left to it.
/// What it gave up, the kernel can still take back; where it cannot be told apart, because the process is too large for its mappings to be
/// read at once within a pause, half of what can be had is left as well.
fn little_room() -> Outcome {
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("not_written.c"))?;
    for (how, limit, pause, expected, more) in [
        ("half", "150M", "20ms", "cgroup-limit", "more 20"),
        ("freed", "260M", "20ms", "no-whole-block", "more 150"),
        ("freed", "260M", "4ms", "", "more 100"),
    ] {
        let group = memory_group(limit)?;
        let enter = format!("{} && exec \"$@\"", group.enter());
        let mut target = Target::start(
            &[
                "sh".as_ref(),
                "-c".as_ref(),
                enter.as_ref(),
                "sh".as_ref(),
                program.as_os_str(),
                "200".as_ref(),
                how.as_ref(),
            ],
            folder.path(),
        );
        let report =
            attach(state.path(), target.pid, &["--pages", "thp", "--budget-stall", pause]).done(target.pid);
        assert!(report["shortfalls"].to_string().contains(expected), "{how}: {report}");
        // Alone it could have 46 MiB more, and all of its 200 again.
        target.ask(more);
        assert_eq!(target.finish().0, Some(0), "{how}: {report}");
    }
    Ok(())
}

/// Sessions come and go meanwhile, each a process: those that end are left in peace, and no query fails.
fn postgres() -> Outcome {
    let servers = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    if installed("pgbench").is_err() && servers.count() == 0 {
        return skip("PostgreSQL is not installed");
    }
    let (folder, state) = (folder(), folder());
    let script = sources("programs").join("postgres.sh");
    let with =
        |rounds: usize| -> [OsString; 3] { [script.clone().into(), rounds.to_string().into(), MIB.into()] };
    let mut target = Target::start(&with(0), folder.path());
    target.hear(1);
    let attached = attach(state.path(), target.pid, &["--pages", "thp", "--tree"]);
    let report = attached.done(target.pid);
    let family = family(target.pid);
    assert!(family.len() >= 5, "the server has its processes: {family:?}");
    target.hear(1);
    let children = report["children"].as_array().unwrap();
    assert!(children.len() >= 4, "{report}");
    println!("    {} processes, {}", 1 + children.len(), report["worst_pause_ms"]);
    let (code, said) = target.finish();
    assert_eq!(code, Some(0));
    let (code_alone, said_alone) = run_alone(&with(said.len()), folder.path());
    assert_eq!((code, &said), (code_alone, &said_alone), "other tables came of it");
    Ok(())
}
