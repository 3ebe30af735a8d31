//! `firsttouch apsp` and `sssp --shard-dir`, `apsp --mpi`: several processes on one run, by their variables and by Open MPI; some of
//! them killed.

use crate::{assert_code, assert_said, firsttouch, json, json_of, run, skipped, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const RANKS: u32 = 4;
/// On a machine that others work on, whoever is to be killed may be done before we get to it.
const ATTEMPTS: u32 = 5;
/// What every process is asked. Searches, because sweeps would be done before anybody could be killed.
const ASKED: [&str; 6] =
    ["--num-threads", "1", "--algorithm", "heap", "--reduce", "diameter,radius,histogram"];

fn streets(folder: &Path) -> PathBuf {
    let graph = folder.join("streets.gr.gz");
    assert_code(&run(&["graph", "generate", "streets", "10", graph.to_str().unwrap()]), 0);
    graph
}

/// What one process alone finds.
fn alone(graph: &Path) -> Value {
    json_of(&run(&["apsp", graph.to_str().unwrap(), "--reduce", "diameter,radius,histogram", "--json"]))
}

#[track_caller]
fn assert_same(found: &Value, wanted: &Value) {
    for key in ["checksum", "reached", "farthest", "sources", "searched", "diameter", "radius", "histogram"] {
        assert_eq!(found[key], wanted[key], "{key}");
    }
}

fn process(graph: &Path, folder: &Path, rank: u32) -> Command {
    let mut command = firsttouch();
    command.args(["apsp", graph.to_str().unwrap(), "--shard-dir", folder.to_str().unwrap(), "--json"]);
    command.args(ASKED).env("SLURM_PROCID", rank.to_string()).env("SLURM_NTASKS", RANKS.to_string());
    command
}

/// Waits until it tells that it has found something.
fn first_line(child: &mut Child) -> String {
    BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap()
}

#[test]
fn processes_share_a_run_and_make_up_for_one_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let graph = streets(folder.path());
    let wanted = alone(&graph);
    let shared = folder.path().join("shared");
    let merge = ["apsp", "--merge", shared.to_str().unwrap(), "--json"];
    let mut attempts = 0..ATTEMPTS;
    let early = loop {
        assert!(attempts.next().is_some(), "it was always done before it was killed");
        let mut killed = process(&graph, &shared, 2)
            .arg("--progress")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(first_line(&mut killed).contains("of 1024 sources"));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let early = run(&merge);
        if early.status.success() {
            std::fs::remove_dir_all(&shared).unwrap();
            continue;
        }
        break early;
    };
    assert_code(&early, 1);
    let missing = json(&stdout(&early))["missing"].clone();
    assert!(!missing.as_array().unwrap().is_empty(), "{missing}");
    assert!(stderr(&early).contains("run the same command again"), "{}", stderr(&early));

    let spawn = |rank| process(&graph, &shared, rank).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let others: Vec<Child> = [0, 1, 3].map(|rank| spawn(rank).unwrap()).into();
    let outputs: Vec<_> = others.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    outputs.iter().for_each(|output| assert_code(output, 0));
    assert_same(&json(&stdout(&outputs[0])), &wanted);
    assert!(stdout(&outputs[1]).is_empty() && stdout(&outputs[2]).is_empty());

    let rows = shared.join("nodes.csv");
    let merged =
        run(&[&merge[..], &["--reduce", "diameter,radius", "--export-csv", rows.to_str().unwrap()]].concat());
    let merged = json_of(&merged);
    assert_same(&merged, &{
        let mut wanted = wanted.clone();
        wanted["histogram"] = merged["histogram"].clone();
        wanted
    });
    assert_eq!(merged["missing"], Value::Array(Vec::new()));
    assert_eq!(std::fs::read_to_string(&rows).unwrap().lines().count(), 1025);

    // A lost part is named, and found again.
    std::fs::remove_file(shared.join("000003.part")).unwrap();
    assert_eq!(json(&stdout(&run(&merge)))["missing"], json("[[96, 127]]"));
    let again = process(&graph, &shared, 0).output().unwrap();
    let again = json_of(&again);
    assert_same(&again, &wanted);
    assert_eq!(again["resumed"], 1024 - 32);
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, shared) = (streets(folder.path()), folder.path().join("shared"));
    let named = ["apsp", graph.to_str().unwrap(), "--shard-dir", shared.to_str().unwrap()];
    if !cfg!(feature = "mpi") {
        assert_said(&run(&["apsp", graph.to_str().unwrap(), "--mpi"]), 2, &["--features mpi"]);
    }
    assert_said(&run(&named), 2, &["srun or mpirun"]);
    assert_code(&run(&[&named[..], &["--shard", "4/4"]].concat()), 2);
    assert_code(&run(&[&named[..], &["--shard", "0/1"]].concat()), 0);
    // The same folder for another graph, and for other figures.
    let other = folder.path().join("other.gr");
    std::fs::write(&other, "p sp 2 1\na 1 2 3\n").unwrap();
    let refused =
        run(&["apsp", other.to_str().unwrap(), "--shard-dir", shared.to_str().unwrap(), "--shard", "0/1"]);
    assert_said(&refused, 2, &["another graph"]);
    let refused = run(&[&named[..], &["--shard", "0/1", "--reduce", "histogram"]].concat());
    assert_said(&refused, 1, &["all processes keep a histogram"]);
    assert_said(&run(&["apsp", "--merge", folder.path().to_str().unwrap()]), 1, &["no run was begun"]);
}

#[test]
fn open_mpi_starts_them_and_a_run_that_it_aborts_goes_on() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        return skipped("Open MPI's mpirun is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let (graph, shared) = (streets(folder.path()), folder.path().join("shared"));
    let wanted = alone(&graph);
    let mpirun = || {
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "4"]);
        command.arg(env!("CARGO_BIN_EXE_firsttouch"));
        command.args(["apsp", graph.to_str().unwrap(), "--shard-dir", shared.to_str().unwrap(), "--json"]);
        command.args(ASKED);
        command
    };
    // The claims tell who is at it.
    let at_it = || {
        let claims = std::fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().path());
        let words = claims
            .filter(|path| path.extension().is_some_and(|extension| extension == "claim"))
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .find(|words| words.starts_with("process ") && words.contains(": "))?;
        let process: i32 = words.trim().rsplit(' ').next().unwrap().parse().unwrap();
        rustix::process::Pid::from_raw(process)
    };
    let mut attempts = 0..ATTEMPTS;
    loop {
        assert!(attempts.next().is_some(), "they were always done before one was killed");
        let mut aborted =
            mpirun().arg("--progress").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let first = first_line(&mut aborted);
        assert!(first.contains("of 1024 sources"), "{first}");
        let killed = at_it().is_some_and(|process| {
            rustix::process::kill_process(process, rustix::process::Signal::KILL).is_ok()
        });
        let ended_well = aborted.wait().unwrap().success();
        if killed && !ended_well {
            break;
        }
        std::fs::remove_dir_all(&shared).unwrap();
    }

    let found = json_of(&mpirun().output().unwrap());
    assert_same(&found, &wanted);
}

/// What every process is asked of `sssp`.
fn distances(graph: &Path, folder: &Path, rank: u32, more: &[&str]) -> Command {
    let mut command = firsttouch();
    command
        .args(["sssp", graph.to_str().unwrap(), "--random", "40", "--num-threads", "1", "--json"])
        .args(more);
    command.arg("--shard-dir").arg(folder);
    command.env("PMI_RANK", rank.to_string()).env("PMI_SIZE", RANKS.to_string());
    command
}

#[test]
fn processes_export_together_what_one_exports_alone() {
    let folder = tempfile::tempdir().unwrap();
    let graph = streets(folder.path());
    let path = |name: &str| folder.path().join(name);
    let [alone, together, later] = ["alone.csv", "together.csv", "later.csv"].map(path);
    for (name, more) in [
        ("rows", &["--algorithm", "heap", "--parents"][..]),
        ("near", &["--algorithm", "delta", "--limit", "900"]),
        ("swept", &["--algorithm", "phast", "--targets", "3,700,3"]),
    ] {
        let one = ["sssp", graph.to_str().unwrap(), "--random", "40", "--json", "--export-csv"];
        let one = run(&[&one[..], &[alone.to_str().unwrap()], more].concat());
        assert_code(&one, 0);
        let wanted = std::fs::read_to_string(&alone).unwrap();

        let shared = path(name);
        let export = [more, &["--export-csv", together.to_str().unwrap()]].concat();
        let ranks: Vec<Child> = (0..RANKS)
            .map(|rank| {
                let mut command = distances(&graph, &shared, rank, &export);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let outputs: Vec<_> = ranks.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        outputs.iter().for_each(|output| assert_code(output, 0));
        let (one, all) = (json(&stdout(&one)), json(&stdout(&outputs[0])));
        for key in ["checksum", "reached", "farthest", "sources", "searched", "algorithm"] {
            assert_eq!(all[key], one[key], "{name}: {key}");
        }
        assert_eq!(all["ranks"], RANKS);
        assert_eq!(std::fs::read_to_string(&together).unwrap(), wanted, "{name}");
        std::fs::remove_file(&together).unwrap();

        let merge =
            ["sssp", "--merge", shared.to_str().unwrap(), "--json", "--export-csv", later.to_str().unwrap()];
        assert_code(&run(&merge), 0);
        assert_eq!(std::fs::read_to_string(&later).unwrap(), wanted);
        // A lost part is named, and its rows are left out; damaged rows are told of.
        std::fs::remove_file(shared.join("000000.part")).unwrap();
        let lost = run(&merge);
        assert_code(&lost, 1);
        let missing = json(&stdout(&lost))["missing"].clone();
        assert_eq!(missing[0][0], 0, "{missing}");
        if name == "rows" {
            assert_eq!(missing, json("[[0, 0]]"));
            let left = std::fs::read_to_string(&later).unwrap();
            assert_eq!(left.lines().count(), wanted.lines().count() - 1024);
            let rows = shared.join("000007.rows");
            let mut bytes = std::fs::read(&rows).unwrap();
            bytes[100] ^= 1;
            std::fs::write(&rows, bytes).unwrap();
            assert_said(&run(&merge), 1, &["checksum"]);
        }
    }
    // Whoever asks for rows cannot go on where none were kept.
    let shared = path("without");
    assert_code(&distances(&graph, &shared, 0, &[]).output().unwrap(), 0);
    let refused = distances(&graph, &shared, 0, &["--export-csv", later.to_str().unwrap()]).output().unwrap();
    assert_said(&refused, 1, &["--export-csv"]);
    let nothing =
        run(&["sssp", "--merge", shared.to_str().unwrap(), "--export-csv", later.to_str().unwrap()]);
    assert_said(&nothing, 2, &["kept no rows"]);
}

/// Four ranks that MPI started, all of them, and then one killed.
#[cfg(feature = "mpi")]
#[test]
fn ranks_of_mpi_find_what_one_finds_alone_and_go_on_from_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let graph = streets(folder.path());
    let wanted = alone(&graph);
    let checkpoint = folder.path().join("checkpoint");
    let mpirun = |more: &[&str]| {
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "4"]);
        command.arg(env!("CARGO_BIN_EXE_firsttouch"));
        command.args(["apsp", graph.to_str().unwrap(), "--mpi", "--num-threads", "1", "--json"]).args(more);
        command.args(["--reduce", "diameter,radius,histogram"]);
        command
    };
    for more in [&["--algorithm", "heap"][..], &["--reorder", "dfs", "--algorithm", "phast", "--pages", "4k"]]
    {
        let found = json_of(&mpirun(more).output().unwrap());
        assert_same(&found, &wanted);
        assert_eq!(found["ranks"], RANKS);
    }
    // Rank 0 tells all others that there is no such graph.
    let missing = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n", "4", env!("CARGO_BIN_EXE_firsttouch")])
        .args(["apsp", "no-such-graph.gr", "--mpi"])
        .output()
        .unwrap();
    assert!(!missing.status.success());
    assert!(stderr(&missing).contains("no-such-graph.gr is not read"), "{}", stderr(&missing));

    // Told to stop, it keeps what was found, and goes on.
    let kept = ["--algorithm", "heap", "--checkpoint", checkpoint.to_str().unwrap()];
    let mut stopped = mpirun(&[&kept[..], &["--progress"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(first_line(&mut stopped).contains("of 1024 sources"));
    let mpirun_itself = rustix::process::Pid::from_child(&stopped);
    rustix::process::kill_process(mpirun_itself, rustix::process::Signal::TERM).unwrap();
    assert!(!stopped.wait().unwrap().success());
    let found = json_of(&mpirun(&[&kept[..], &["--resume"]].concat()).output().unwrap());
    assert_same(&found, &wanted);
    assert!(found["resumed"].as_u64().is_some_and(|resumed| resumed > 0), "{found}");
}
