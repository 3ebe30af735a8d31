//! The model against lstopo, hwloc's own reader, on every recorded machine, every format of its XML that it writes, and
//! descriptions.
//!
//! lstopo reads the same input and writes XML; the model reads both, and every CPU, core, package, cache, node, distance,
//! size and device has to be the same. Where the two mean different things, `expected` says which and why. A machine
//! that cannot be compared here is said in the end as `skipped: name: why`, and counted.
//!
//! Arguments are words of names, or paths of other recorded machines: `cargo test -p firsttouch-machine --test lstopo -- a.tar.bz2`.

#![allow(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test program of its own prints its results")]

mod compare;
#[path = "../../../../tests/runner.rs"]
mod runner;
#[path = "../../../../tests/single.rs"]
mod single;

use compare::{Differences, differences};
use firsttouch_machine::{Machine, Root};
use runner::{Asked, Outcome};
use single::{Test, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const LSTOPO: [&str; 2] = ["lstopo-no-graphics", "lstopo"];

/// Recorded machines: copies of /proc and /sys.
const RECORDED: [&str; 10] = [
    "128ia64-17n4s2c",
    "16amd64-8n2c",
    "32amd64-4s2n4c-cgroup2",
    "40intel64-2g2n4c+pcilocality",
    "48amd64-4pa2n6c-sparse",
    "64amd64-4s2n4ca2co",
    "fakeheteromemtiers",
    "memorysidecaches",
    "nvidiagpunumanodes",
    "offline-cpu0-node0",
];

/// Recorded machines: answers of CPUID.
const ANSWERED: [&str; 2] = ["AMD-K10-Istanbul-8xOpteron-8439SE", "Intel-Nehalem-2xXeon-X5550"];

/// Machines in a line: the two whose recordings hold answers of CPUID and no memory, then the rest of the grammar.
const DESCRIBED: [&str; 12] = [
    // Istanbul: eight Opteron 8439 SE. Nehalem: two Xeon X5550.
    "pack:8 [numa] l3:1(size=5118KiB) l2:6(size=512KiB) l1d:1(size=64KiB) core:1 pu:1",
    "pack:2 [numa(memory=12GiB)] l3:1(size=8MiB) l2:4(size=256KiB) l1d:1(size=32KiB) core:1 pu:2",
    "pack:4 [numa] l3:1 core:6 pu:1",
    "pack:2 [numa] l3:1 core:4 pu:2(indexes=core:pack)",
    "pack:2 node:1 l2:1 core:2 pu:1",
    "package:1 group:4 [numa] [numa(memory=4GB)] core:16 pu:4",
    "2 3 4 5 6",
    "node:3(memory=16MB) l2i:2(size=32kB) core:2 pu:2(indexes=8*3:4*2:1*4)",
    "pack:2 die:2 [numa(memory=1TiB)] core:2 pu:2",
    "[numa(indexes=5,3,1)] pack:2 [numa] pu:4",
    "socket:2(indexes=3,7) numanode:2(indexes=1,0,9,4) l3u:1 l2:2 core:2 pu:1",
    "pu:3",
];

fn main() -> ExitCode {
    let asked = Asked::read();
    let mut tests: Vec<Test> = Vec::new();
    for name in RECORDED.into_iter().chain(ANSWERED) {
        let file = format!("{name}.tar.bz2");
        tests.push((name.to_owned(), Box::new(move || recorded(&recordings()?.join(&file)))));
    }
    tests.push(("knl-quad-flat-hwloc1".to_owned(), Box::new(|| xml("knl-quad-flat-hwloc1.xml"))));
    for description in DESCRIBED {
        tests.push((description.to_owned(), Box::new(move || described(description))));
    }
    tests.push(("live".to_owned(), Box::new(live)));
    for path in asked.words.iter().map(PathBuf::from).filter(|path| path.is_file()) {
        tests.push((path.display().to_string(), Box::new(move || recorded(&path))));
    }
    single::run(&asked, "lstopo", tests, runner::processors())
}

fn recordings() -> Outcome<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/machines");
    if folder.is_dir() { Ok(folder) } else { skip(format!("no {}", folder.display())) }
}

/// What lstopo makes of an input; `None` where it is not installed.
fn lstopo(input: &[&str], folder: &Path) -> Option<Machine> {
    let program = LSTOPO.iter().find(|name| Command::new(name).arg("--version").output().is_ok())?;
    let file = folder.join("lstopo.xml");
    // Of files the files alone, not the processor that runs the test.
    let components = if input.contains(&"cpuid") { "x86,stop" } else { "-x86" };
    let output = Command::new(program)
        // Everything: CPUs outside the control group, every level, every kind of cache, memory of graphics cards.
        .args(["--disallowed", "--filter", "all:all", "--filter", "io:important", "--filter", "misc:none"])
        .env("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1")
        .env("HWLOC_COMPONENTS", components)
        .args(input)
        .args(["--of", "xml", "-f"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {input:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(Machine::from_source(file.to_str().unwrap()).unwrap())
}

fn check(name: &str, ours: &Machine, theirs: Option<Machine>, expected: &Differences) -> Outcome {
    let Some(theirs) = theirs else {
        return skip("lstopo is not installed (Debian: hwloc-nox)");
    };
    let found = differences(ours, &theirs);
    for (what, lines) in found.iter().filter(|(what, lines)| expected.get(*what) != Some(lines)) {
        eprintln!("{name}: {what} (+ the model alone, - lstopo alone), {} lines:", lines.len());
        lines.iter().for_each(|line| eprintln!("    {line}"));
    }
    assert!(&found == expected, "{name}: differences found, {} explained", expected.len());
    Ok(())
}

fn recorded(archive: &Path) -> Outcome {
    let name = archive.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.bz2");
    let ours = Machine::from_source(archive.to_str().unwrap()).unwrap();
    // lstopo reads folders.
    let folder = tempfile::tempdir().unwrap();
    let tar = Command::new("tar").arg("-xjf").arg(archive).arg("-C").arg(folder.path()).status().unwrap();
    assert!(tar.success());
    let mut tops = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let top = tops.find(|top| top.is_dir()).unwrap();
    let of_folder = Machine::from_source(top.to_str().unwrap()).unwrap();
    assert_eq!(of_folder, ours, "{name}: from the folder and from the archive");
    let kind = if top.join("sys").is_dir() { "fsroot" } else { "cpuid" };
    let mut theirs = lstopo(&["-i", top.to_str().unwrap(), "--if", kind], folder.path());
    // CPUID names no memory: lstopo puts one node of no size there, and leaves out those that the processor names.
    for theirs in theirs.iter_mut().filter(|_| kind == "cpuid") {
        theirs.nodes.clone_from(&ours.nodes);
    }
    check(name, &ours, theirs, &compare::explained(name))
}

fn xml(name: &str) -> Outcome {
    let file = recordings()?.join(name);
    let file = file.to_str().unwrap();
    let ours = Machine::from_source(file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let theirs = lstopo(&["-i", file, "--if", "xml"], folder.path());
    check(name, &ours, theirs, &compare::explained(name))
}

fn described(description: &str) -> Outcome {
    let ours = Machine::from_source(description).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut theirs = lstopo(&["-i", description, "--if", "synthetic"], folder.path());
    // hwloc's documentation gives a node 1 GiB; lstopo 2.9 forgets that of nodes in brackets.
    for node in theirs.iter_mut().flat_map(|machine| &mut machine.nodes) {
        node.size_bytes = node.size_bytes.or(Some(1 << 30));
    }
    check(description, &ours, theirs, &compare::explained(description))
}

fn live() -> Outcome {
    let ours = Machine::read(&Root::live()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let theirs = lstopo(&[], folder.path());
    check("live", &ours, theirs, &compare::explained("live"))
}
