//! Fills the corpus with what fuzzing begins with: `seeds FOLDER`.
//!
//! Most of it is the tests' own data: text between quotes in their sources, so that a case that is added to a test is a seed
//! from then on; golden files; machines that they write. To that come the committed seeds (`seeds/TARGET`), among them
//! inputs that once made a reader fail, and data beside the repository, where there is some.

use firsttouch_documents::to_json;
use firsttouch_fuzz::{NAMED_FORMATS, Scripted, SharedRun, with_team};
use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions};
use firsttouch_graph::{AllPairs, Graph, Graphs, Place, Queue, ReadOptions, Searches, read_from};
use firsttouch_report::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "../../../../crates/firsttouch-report/tests/common/mod.rs"]
mod documents;
mod literals;
#[path = "../../../../crates/firsttouch-machine/tests/written/mod.rs"]
mod written;

/// Longer ones are cut by the fuzzer, and say no more.
const MOST_BYTES: usize = 64 << 10;

/// Sources of tests whose texts are seeds of a target; `choices` is how many first bytes it tells apart, 0 where it takes
/// the text alone.
const TESTS: &[(&str, u8, &[&str])] = &[
    ("graph_text", NAMED_FORMATS, &["crates/firsttouch-graph/src/formats/tests.rs"]),
    ("graph_beside", 2, &["crates/firsttouch-graph/src/formats/tests.rs"]),
    ("machine_xml", 0, &["crates/firsttouch-machine/tests/sources.rs"]),
    (
        "machine_words",
        4,
        &[
            "crates/firsttouch-machine/tests/sources.rs",
            "crates/firsttouch-balance/src/machine/described.rs",
            "crates/firsttouch-balance/src/machine/tables.rs",
        ],
    ),
    (
        "balance_text",
        6,
        &[
            "crates/firsttouch-balance/src/formats/csv.rs",
            "crates/firsttouch-balance/src/formats/hopbyte.rs",
            "crates/firsttouch-balance/src/formats/matrix.rs",
            "crates/firsttouch-balance/src/formats/metis.rs",
        ],
    ),
    ("balance_runs", 2, &["crates/firsttouch-balance/src/formats/vt.rs"]),
    (
        "profile",
        0,
        &[
            "crates/firsttouch-placement/src/profile.rs",
            "crates/firsttouch-placement/src/placement.rs",
            "crates/firsttouch-placement/src/memory.rs",
            "crates/firsttouch-placement/src/threads.rs",
        ],
    ),
    ("measured", 0, &["crates/firsttouch-report/tests/measured.rs"]),
    ("record", 0, &["crates/firsttouch-placement/src/record.rs"]),
    ("channel", 0, &["crates/firsttouch-linux/src/channel.rs"]),
    (
        "procfs",
        0,
        &[
            "crates/firsttouch-linux/src/cpulist.rs",
            "crates/firsttouch-linux/src/maps.rs",
            "crates/firsttouch-linux/src/network.rs",
            "crates/firsttouch-linux/src/process.rs",
            "crates/firsttouch-linux/src/smaps.rs",
            "crates/firsttouch-linux/src/sysinfo.rs",
        ],
    ),
];

/// Folders whose files are seeds; what is missing is left out, as data beside the repository may be.
const FOLDERS: &[(&str, Option<u8>, &str)] = &[
    ("document", None, "crates/firsttouch-report/tests/golden"),
    ("measured", None, "crates/firsttouch-report/tests/elsewhere"),
    ("measured", None, "crates/firsttouch-report/tests/elsewhere/criterion/new"),
    ("machine_words", Some(3), "crates/firsttouch-lab/machines"),
    ("machine_archive", None, "../shared/data/machines"),
    ("balance_runs", Some(0), "../shared/data/balance/charm-lbdump"),
    ("balance_runs", Some(1), "../shared/data/balance/lbaf/synthetic-blocks"),
    ("balance_text", Some(1), "../shared/data/balance/commstats/tests"),
    ("balance_text", Some(2), "../shared/data/balance/graphs"),
];

/// What the kernel says of this process and machine.
const LIVE: &[&str] = &[
    "self/maps",
    "self/smaps",
    "self/smaps_rollup",
    "self/numa_maps",
    "self/status",
    "self/stat",
    "self/schedstat",
    "self/sched",
    "self/cgroup",
    "self/mountinfo",
    "self/limits",
    "net/tcp",
    "net/tcp6",
    "net/route",
    "net/ipv6_route",
    "net/if_inet6",
    "meminfo",
    "vmstat",
    "cpuinfo",
];

/// Where the corpus is, and how many seeds it has been given.
struct Corpus {
    folder: PathBuf,
    count: usize,
}

impl Corpus {
    fn add(&mut self, target: &str, choice: Option<u8>, bytes: &[u8]) -> std::io::Result<()> {
        if bytes.is_empty() || bytes.len() > MOST_BYTES {
            return Ok(());
        }
        let folder = self.folder.join(target);
        fs::create_dir_all(&folder)?;
        let bytes: Vec<u8> = choice.into_iter().chain(bytes.iter().copied()).collect();
        // Named by what is in it: the same seed is there once.
        fs::write(folder.join(format!("seed-{:08x}", crc32fast::hash(&bytes))), &bytes)?;
        self.count += 1;
        Ok(())
    }

    /// Every file of a folder; none where there is no such folder.
    fn add_folder(&mut self, target: &str, choice: Option<u8>, folder: &Path) -> std::io::Result<()> {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry?.path();
            if path.is_file() {
                self.add(target, choice, &fs::read(path)?)?;
            }
        }
        Ok(())
    }
}

fn fill(corpus: &mut Corpus) -> Result<(), Box<dyn std::error::Error>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = fuzz.join("..");
    for (target, choices, sources) in TESTS {
        for source in *sources {
            let source =
                fs::read_to_string(top.join(source)).map_err(|error| format!("{source}: {error}"))?;
            for text in literals::of(&source) {
                if *choices == 0 {
                    corpus.add(target, None, text.as_bytes())?;
                }
                for choice in 0..*choices {
                    corpus.add(target, Some(choice), text.as_bytes())?;
                }
            }
        }
    }
    for (target, choice, folder) in FOLDERS {
        corpus.add_folder(target, *choice, &top.join(folder))?;
    }
    for target in fs::read_dir(fuzz.join("seeds"))? {
        let target = target?;
        corpus.add_folder(&target.file_name().to_string_lossy(), None, &target.path())?;
    }
    for file in LIVE {
        if let Ok(bytes) = fs::read(Path::new("/proc").join(file)) {
            corpus.add("procfs", None, &bytes)?;
        }
    }
    corpus.add("elf", None, &fs::read("/bin/true").unwrap_or_default())?;
    for machine in [written::two_nodes(), written::devices::four_nodes()] {
        add_machine(corpus, machine.path())?;
    }
    for (name, files) in written::cpuid::all() {
        add_answers(corpus, name, &files)?;
    }
    add_several(corpus)?;
    let machine = written::process::machine();
    written::process::open(&machine, 3, "/data/x", 23, 10);
    written::process::sockets(&machine, &[("010200C0:0016", "020200C0:C350")]);
    corpus.add("own_devices", None, machine_text(machine.path())?.as_bytes())?;
    for (_, session) in documents::all() {
        corpus.add("document", None, json::tune(&session).as_bytes())?;
        for receipt in
            session.configurations.iter().filter_map(|configuration| configuration.obtained.as_ref())
        {
            corpus.add("document", None, to_json(receipt).as_bytes())?;
        }
    }
    for recording in [documents::recorded::two_nodes(), documents::recorded::awkward()] {
        corpus.add("document", None, to_json(&recording).as_bytes())?;
    }
    let measurement = documents::measured::three_nodes();
    corpus.add("document", None, to_json(&measurement).as_bytes())?;
    let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 6), (2, 3, 0), (3, 0, 7)])?;
    let index = corpus.folder.join("index");
    Hierarchy::build(&graph, &HierarchyOptions::default())?.save(&index)?;
    corpus.add("graph_beside", Some(2), &fs::read(&index)?)?;
    fs::remove_file(index)?;
    add_run(corpus)?;
    add_ranks(corpus)
}

/// The files of a shared run; the checkpoint also with what all of them begin and end with.
fn add_run(corpus: &mut Corpus) -> std::io::Result<()> {
    let run = SharedRun::made();
    let chunk = [run.says(SharedRun::ROWS), b"--\n", run.says(SharedRun::PART)].concat();
    corpus.add("shared_run", Some(0), &chunk)?;
    corpus.add("shared_run", Some(1), run.says(SharedRun::CHECKPOINT))?;
    let whole = run.saying(SharedRun::CHECKPOINT, run.says(SharedRun::CHECKPOINT));
    corpus.add("shared_run", Some(3), &whole)
}

/// What two ranks say to each other: a graph, and a run of which the second one does all.
fn add_ranks(corpus: &mut Corpus) -> Result<(), Box<dyn std::error::Error>> {
    let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 6), (2, 3, 0), (3, 0, 7)])?;
    with_team(|team| {
        let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
        let text = &b"p sp 3 2\na 1 2 5\na 2 3 6\n"[..];
        let teller = Scripted::new(0, &[]);
        read_from(text, None, &options, team)?.tell(&teller)?;
        corpus.add("ranks", Some(0), &teller.said())?;

        // Distances are counted; nodes 0 to 3; their places among all, two at a time.
        let mut asked = vec![1];
        asked.extend((0..4_u32).flat_map(u32::to_le_bytes));
        let mut handed = (asked.len() as u64).to_le_bytes().to_vec();
        handed.extend(asked);
        for range in [[0_u64, 2], [2, 4], [4, 4]] {
            handed.extend(16_u16.to_le_bytes());
            handed.extend(range.into_iter().flat_map(u64::to_le_bytes));
        }
        corpus.add("ranks", Some(2), &handed)?;
        let follower = Scripted::new(1, &handed);
        AllPairs::default()
            .follow(&mut Searches::new(Graphs::new(&graph, None), team, Queue::Heap), &follower)?;
        corpus.add("ranks", Some(1), &follower.said())?;
        Ok(())
    })
}

/// A machine as an archive, and as text.
fn add_machine(corpus: &mut Corpus, folder: &Path) -> std::io::Result<()> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    archive.append_dir_all(".", folder)?;
    corpus.add("machine_archive", None, &archive.into_inner()?)?;
    corpus.add("machine_files", None, machine_text(folder)?.as_bytes())
}

/// Answers of CPUID as an archive. Those of many CPUs are cut to the first ones, which say the same.
fn add_answers(corpus: &mut Corpus, name: &str, files: &written::cpuid::Files) -> std::io::Result<()> {
    const CPUS: usize = 16;
    let mut archive = tar::Builder::new(Vec::new());
    for (file, text) in files.iter().take(1 + CPUS) {
        add_text(&mut archive, &format!("{name}/{file}"), text)?;
    }
    corpus.add("machine_archive", None, &archive.into_inner()?)
}

/// Machines of all kinds in one archive.
fn add_several(corpus: &mut Corpus) -> std::io::Result<()> {
    let mut archive = tar::Builder::new(Vec::new());
    for (file, text) in written::cpuid::core_2() {
        add_text(&mut archive, &format!("m/cpuid/{file}"), &text)?;
    }
    for folder in ["m", "n/m", "o"] {
        add_text(&mut archive, &format!("{folder}/proc/cpuinfo"), "processor : 0\n\0")?;
        add_text(
            &mut archive,
            &format!("{folder}/sys/devices/system/cpu/cpu0/topology/physical_package_id"),
            "-1\n",
        )?;
        add_text(
            &mut archive,
            &format!("{folder}/sys/devices/system/cpu/cpu0/topology/core_siblings"),
            "1\n\0",
        )?;
    }
    corpus.add("machine_archive", None, &archive.into_inner()?)
}

fn add_text(archive: &mut tar::Builder<Vec<u8>>, path: &str, text: &str) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, path, text.as_bytes())
}

/// A machine as targets take it.
fn machine_text(folder: &Path) -> std::io::Result<String> {
    let (mut text, mut left) = (String::new(), vec![folder.to_owned()]);
    while let Some(path) = left.pop() {
        let name = path.strip_prefix(folder).unwrap_or(&path).display();
        if path.is_symlink() {
            text += &format!("== {name}\n-> {}\n", fs::read_link(&path)?.display());
        } else if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        } else {
            text += &format!("== {name}\n{}", fs::read_to_string(&path)?);
        }
    }
    Ok(text)
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: seeds FOLDER");
        return ExitCode::from(2);
    };
    let mut corpus = Corpus { folder: folder.into(), count: 0 };
    match fill(&mut corpus) {
        Ok(()) => {
            println!("{} seeds", corpus.count);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("seeds: {error}");
            ExitCode::FAILURE
        }
    }
}
