//! `run --ranks` behind real launchers and without one: each rank on CPUs of its own, as the program itself reads them.

use crate::{
    assert_code, assert_said, assert_shown, firsttouch, json_file, json_of, run, skipped, stderr, stdout,
    text_of, words,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

/// What a rank prints: its CPUs.
const SHOW: [&str; 3] = ["sed", "-n", "s/^Cpus_allowed_list:\\t//p"];

/// The CPUs that this process may use.
pub(crate) fn cpus() -> Vec<u32> {
    firsttouch_linux::numa::affinity(0).unwrap().iter().collect()
}

/// So many ranks by a launcher that binds nothing; `None`, which is said, where it is not installed.
fn launcher(name: &str, ranks: usize) -> Option<Command> {
    if Command::new(name).arg("--version").output().is_err() {
        skipped(&format!("{name} (Debian's openmpi-bin, mpich) is not installed"));
        return None;
    }
    let mut command = Command::new(name);
    if name == "mpirun.openmpi" {
        command.args(["--oversubscribe", "--bind-to", "none"]);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    command.args(["-n", &ranks.to_string()]);
    Some(command)
}

const LAUNCHERS: [&str; 2] = ["mpirun.openmpi", "mpirun.mpich"];

/// Our program behind that launcher.
fn ours(mut launcher: Command) -> Command {
    let own = firsttouch();
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => launcher.env(name, value),
            None => launcher.env_remove(name),
        };
    }
    launcher.arg(own.get_program());
    launcher
}

/// What a job comes to whose launcher is not ended by SIGPIPE: where ranks end at once on a busy machine, MPICH's may write to its own helper,
/// which has ended, too.
fn of_a_whole_launcher(mut job: impl FnMut() -> Output, broke: impl Fn(&Output) -> bool) -> Output {
    const TRIES: usize = 5;
    let mut outputs = std::iter::repeat_with(&mut job).take(TRIES);
    outputs.find(|output| !broke(output)).expect("a launcher that SIGPIPE does not end each time")
}

/// `firsttouch run` with options on the program that shows its CPUs, by that launcher.
pub(crate) fn show(launcher: Command, options: &[&str]) -> Output {
    let mut command = ours(launcher);
    command.args(["run", "--pages", "plain"]).args(options).arg("--");
    command.args(SHOW).arg("/proc/self/status");
    of_a_whole_launcher(
        || command.output().unwrap(),
        |output| output.status.signal() == Some(Signal::PIPE.as_raw()),
    )
}

/// The CPUs of each rank, which must be apart.
#[track_caller]
pub(crate) fn apart(output: &Output) -> Vec<Vec<u32>> {
    let lines = text_of(output);
    let shares: Vec<Vec<u32>> =
        lines.lines().map(|line| firsttouch_linux::cpulist::parse_list(line).unwrap()).collect();
    let mut seen = BTreeSet::new();
    assert!(shares.iter().flatten().all(|cpu| seen.insert(*cpu)), "{lines}");
    shares
}

#[test]
fn every_rank_has_cpus_of_its_own() {
    let all = cpus();
    let Some(half) = all.len().checked_div(2).filter(|half| *half > 0) else {
        return skipped("two ranks need two CPUs");
    };
    for name in LAUNCHERS {
        let Some(two) = launcher(name, 2) else { continue };
        let mut shares = apart(&show(two, &["--ranks", "auto"]));
        assert_eq!(shares.len(), 2, "{name}");
        assert!(shares.iter().all(|share| share.len() >= half), "{name}: {shares:?}");
        shares.sort();
        assert_eq!(BTreeSet::from_iter(shares.concat()), BTreeSet::from_iter(all.clone()), "{name}");
        // A thread of a rank is bound to a CPU of the rank's.
        let Some(two) = launcher(name, 2) else { continue };
        let bound = apart(&show(two, &["--ranks", "auto", "--threads", "cores=1x1"]));
        assert!(bound.iter().all(|share| share.len() == 1), "{name}: {bound:?}");
    }
}

#[test]
fn ranks_that_are_not_listed_run_as_the_launcher_starts_them() {
    let all = cpus();
    if all.len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    let scratch = tempfile::tempdir().unwrap();
    for name in LAUNCHERS {
        let Some(two) = launcher(name, 2) else { continue };
        let receipt = scratch.path().join(name);
        let options = ["--ranks", "auto", "--only-ranks", "1", "--receipt", receipt.to_str().unwrap()];
        assert_code(&show(two, &options), 0);
        let job = json_file(&receipt);
        let cpus_of = |rank: usize| job["ranks"][rank]["receipt"]["asked"]["cpus"].clone();
        assert_eq!((cpus_of(0), cpus_of(1).is_null()), (serde_json::Value::Null, false), "{name}: {job}");
        let notes = job["ranks"][0]["receipt"]["notes"].as_array().unwrap();
        assert!(notes.contains(&"rank 0 is not placed: --only-ranks 1".into()), "{name}: {job}");
        let Some(two) = launcher(name, 2) else { continue };
        let output = show(two, &["--ranks", "auto", "--only-ranks", "0,2-3"]);
        assert_said(&output, 125, &["there is no rank 3: the job has 2"]);
    }
}

/// Not one more than the others: 4 and 8 on machines of 2 and 4 CPUs.
#[test]
fn more_ranks_than_cpus_are_refused() {
    let all = cpus().len();
    for name in LAUNCHERS {
        for ranks_here in [2 * all, 4 * all] {
            let Some(many) = launcher(name, ranks_here) else { continue };
            let output = show(many, &["--ranks", "auto"]);
            let said = stderr(&output);
            assert_eq!(stdout(&output), "", "{name} started a rank");
            assert_code(&output, 125);
            assert!(said.contains(&format!("error: {ranks_here} ranks have {all} CPU")), "{said}");
            assert!(said.contains(&format!("start no more than {all} here (mpirun")), "{said}");
        }
        let Some(two) = launcher(name, 2) else { continue };
        let output = show(two, &["--ranks", "auto", "--threads", &format!("cores={all}x1")]);
        if all > 1 {
            assert_said(&output, 125, &["cores with 1 CPUs each that may be used"]);
        }
    }
}

#[test]
fn ranks_that_the_launcher_bound_apart_keep_their_cpus() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    if Command::new("mpirun.openmpi").arg("--version").output().is_err() {
        return skipped("mpirun.openmpi (Debian's openmpi-bin) is not installed");
    }
    let mut bound = Command::new("mpirun.openmpi");
    bound.args(["-n", "2", "--bind-to", "core"]);
    bound.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let mut plain = Command::new("mpirun.openmpi");
    plain.args(bound.get_args()).args(SHOW).arg("/proc/self/status");
    plain.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let mut launchers_own = apart(&plain.output().unwrap());
    let mut ours = apart(&show(bound, &["--ranks", "auto"]));
    launchers_own.sort();
    ours.sort();
    assert_eq!(ours, launchers_own);
}

/// Workers of a pool that nobody numbers, by a shell, twice in a row.
#[test]
fn processes_of_one_parent_are_ranks_where_no_launcher_is() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    let line = "for round in 1 2; do for worker in 1 2; do \"$0\" run --pages plain --ranks 2 -- \"$@\" & done; wait; done";
    let own = firsttouch();
    let scratch = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(own.get_program()).args(SHOW).arg("/proc/self/status");
    let output = shell.env("TMPDIR", scratch.path()).output().unwrap();
    let mut lists: Vec<String> = text_of(&output).lines().map(str::to_owned).collect();
    assert_eq!(lists.len(), 4, "{lists:?} {}", stderr(&output));
    lists.sort();
    // Each share once in each round.
    assert!(lists[0] == lists[1] && lists[2] == lists[3] && lists[1] != lists[2], "{lists:?}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "a file of the meeting is left");
}

/// Of two the second is started once the first has said that it is missed.
#[test]
fn ranks_that_are_waited_for_long_are_asked_for() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    let scratch = tempfile::tempdir().unwrap();
    let rank = || {
        let mut command = firsttouch();
        command.args(["run", "--pages", "plain", "--ranks", "2", "--"]).args(SHOW).arg("/proc/self/status");
        command.env("TMPDIR", scratch.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut first = rank();
    let mut said = BufReader::new(first.stderr.take().unwrap()).lines();
    let warning = said.next().unwrap().unwrap();
    assert!(warning.contains("1 of 2 ranks of this machine have come"), "{warning}");
    let second = rank().wait_with_output().unwrap();
    let shares = [first.wait_with_output().unwrap(), second].map(|output| apart(&output).concat());
    let both = BTreeSet::from_iter(shares.concat());
    assert_eq!(both, BTreeSet::from_iter(cpus()));
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    assert!(rest.len() == 1 && rest[0].contains("or say how many come: --ranks N"), "{rest:?}");
}

#[test]
fn who_is_no_rank_is_told_how_to_become_one() {
    let alone = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = firsttouch();
        command.args(["run", "--pages", "plain"]).args(words).args(["--", "true"]);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let output = alone(&["--ranks", "auto"], &[]);
    assert_said(&output, 125, &["no launcher says how many ranks run on this machine"]);
    let hydra =
        |rank| [("PMI_RANK", rank), ("PMI_SIZE", "4"), ("MPI_LOCALRANKID", rank), ("MPI_LOCALNRANKS", "4")];
    let output = alone(&["--ranks", "2"], &hydra("3"));
    assert_said(&output, 125, &["MPICH calls this process 3, counted from 0, of the 2"]);
    // Nobody asked for ranks, and they get in each other's way.
    let output = alone(&["--threads", "compact"], &hydra("0"));
    assert_code(&output, 0);
    let said = stderr(&output);
    let warning = "MPICH runs 4 ranks on this machine, and each binds its threads to the same CPUs";
    assert!(said.contains(warning) && said.contains("firsttouch run --ranks auto"), "{said}");
    assert_eq!(stderr(&alone(&["--threads", "compact", "--quiet"], &hydra("0"))), "");
    assert_eq!(stderr(&alone(&["--ranks", "1", "--threads", "compact"], &hydra("0"))), "");
}

#[test]
fn ranks_whose_receipts_are_one_file_are_told_so_once() {
    let scratch = tempfile::tempdir().unwrap();
    let of_rank = |rank: &str, name: &str, quiet: bool| {
        let mut command = firsttouch();
        command.args(["run", "--pages", "plain", "--receipt", name]).current_dir(&scratch);
        command.args(quiet.then_some("--quiet")).args(["--", "true"]);
        command.envs([("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", "4")]);
        let output = command.output().unwrap();
        assert_code(&output, 0);
        stderr(&output)
    };
    let said = of_rank("0", "receipt.json", false);
    for words in ["Open MPI runs several ranks", "receipt.json: the receipt of the last", "run --ranks auto"]
    {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(of_rank("1", "receipt.json", false), "", "one has said so");
    assert_eq!(of_rank("0", "receipt.json", true), "");
    assert_eq!(of_rank("0", "receipt.0.json", false), "", "the first one's own");
}

/// Ranks that share a search find what one process finds.
pub(crate) fn shards_find_what_one_finds(launcher: Command, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("streets.gr.gz");
    let graph = graph.to_str().unwrap();
    assert_code(&run(&["graph", "generate", "streets", "10", graph]), 0);
    let asked = ["apsp", graph, "--reduce", "diameter,radius,histogram", "--json"];
    let alone = json_of(&run(&asked));
    let mut ranks = ours(launcher);
    let ranks = ranks.args(asked).arg("--shard-dir").arg(folder.path().join("shared")).output().unwrap();
    let together = json_of(&ranks);
    for key in ["checksum", "reached", "farthest", "sources", "searched", "diameter", "radius", "histogram"] {
        assert_eq!(together[key], alone[key], "{name}: {key}");
    }
    assert_eq!(together["ranks"], 2, "{name}");
}

#[test]
fn ranks_of_every_launcher_share_a_search() {
    for name in LAUNCHERS {
        let Some(two) = launcher(name, 2) else { continue };
        shards_find_what_one_finds(two, name);
    }
}

#[test]
fn receipts_of_all_ranks_are_one_document() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    for name in LAUNCHERS {
        let Some(two) = launcher(name, 2) else { continue };
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("receipt.json");
        let options = ["--ranks", "auto", "--threads", "cores=1x1", "--receipt", file.to_str().unwrap()];
        let shares = apart(&show(two, &options));
        let job = json_file(&file);
        assert_eq!((&job["kind"], &job["size"]), (&"job".into(), &2.into()), "{name}: {job}");
        assert_eq!(job["missing"], serde_json::json!([]), "{name}: {job}");
        let ranks = job["ranks"].as_array().unwrap();
        let mut told: Vec<u64> = Vec::new();
        for (number, rank) in (0_u64..).zip(ranks) {
            assert_eq!(
                (&rank["rank"], &rank["local_rank"]),
                (&number.into(), &number.into()),
                "{name}: {rank}"
            );
            assert_eq!(rank["receipt"]["ending"], "exit status 0", "{name}: {rank}");
            told.push(rank["receipt"]["obtained"]["threads"][0]["cpus_obtained"][0].as_u64().unwrap());
        }
        let mut shares: Vec<u64> = shares.concat().into_iter().map(u64::from).collect();
        told.sort_unstable();
        shares.sort_unstable();
        assert_eq!(told, shares, "{name}");
        assert_eq!(
            std::fs::read_dir(scratch.path()).unwrap().count(),
            1,
            "{name}: what was gathered is left"
        );
        assert_shown(&run(&["report", file.to_str().unwrap()]), &["2 of 2 ranks by"]);
    }
}

/// The launcher of a script may name a program as it was typed, or where it is.
#[test]
fn a_program_is_the_same_by_whichever_name_it_is_started() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    let scratch = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", scratch.path().join("same")).unwrap();
    let script = "for program in ./same \"$PWD/same\"; do \"$0\" run --pages plain --ranks 2 --receipt job.json -- $program & done; wait";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_firsttouch")])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&output, 0);
    let job = json_file(&scratch.path().join("job.json"));
    assert_eq!(job["ranks"].as_array().unwrap().len(), 2, "{job}");
    assert!(!job["differs"].to_string().contains("same"), "{}", job["differs"]);
}

/// One rank is killed with all that stands beside it; the others' receipts, and which is missing, are told all the same.
#[test]
fn a_rank_that_dies_is_missed_by_the_others() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    let scratch = tempfile::tempdir().unwrap();
    let (file, folder) = (scratch.path().join("receipt.json"), scratch.path().join("shared"));
    let line = "for rank in 0 1; do MPI_LOCALRANKID=$rank PMI_RANK=$rank \"$0\" run --pages plain --ranks auto \
                --receipt \"$1\" --gather \"$2\" -- sh -c \"$3\" rank \"$2\" & done; wait";
    // Rank 1 kills who waits for it; rank 0 ends when that is gone. Nobody is left to wait for both.
    let dies = "if [ $PMI_RANK = 1 ]; then kill -KILL $PPID; exit; fi
                until [ -f \"$1/rank-1.begun\" ]; do :; done
                read pid rest < \"$1/rank-1.begun\"
                while kill -0 $pid 2> /dev/null; do
                    read state < /proc/$pid/stat || break
                    case $state in *') Z '*) break;; esac
                done";
    let own = firsttouch();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(own.get_program()).arg(&file).arg(&folder).arg(dies);
    shell.env("PMI_SIZE", "2").env("MPI_LOCALNRANKS", "2");
    let output = shell.output().unwrap();
    let said = stderr(&output);
    let job = json_file(&file);
    assert_eq!(job["missing"], serde_json::json!([1]), "{job} {said}");
    assert_eq!(job["ranks"][0]["rank"], 0, "{job}");
    assert!(said.contains("rank 1 of the job left no receipt: it was killed"), "{said}");
    let shown = stdout(&run(&["report", file.to_str().unwrap()]));
    assert!(shown.contains("1 of 2 ranks by MPICH") && shown.contains("rank 1 left no receipt"), "{shown}");
    assert!(!folder.exists());

    // Nobody knows that the other will not come: what is there is shown.
    let mut alone = firsttouch();
    alone
        .args(["run", "--pages", "plain", "--ranks", "1", "--gather"])
        .arg(&folder)
        .arg("--receipt")
        .arg(&file);
    alone.envs([("PMI_RANK", "2"), ("PMI_SIZE", "4"), ("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "1")]);
    assert_code(&alone.args(["--", "true"]).output().unwrap(), 0);
    assert_shown(&run(&["report", folder.to_str().unwrap()]), &["rank 0-1,3 left no receipt"]);
}

/// A session whose runs are jobs: the baseline's ranks have all CPUs, and the one rank that is placed half of them, by what each wrote
/// down.
#[test]
fn a_job_is_tuned_rank_by_rank() {
    let all = cpus();
    if all.len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    for name in LAUNCHERS {
        let Some(two) = launcher(name, 2) else { continue };
        let scratch = tempfile::tempdir().unwrap();
        let written = scratch.path().join("cpus");
        let line = format!("sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status >> {}", written.display());
        let mut tune = firsttouch();
        tune.envs(two.get_envs().filter_map(|(name, value)| Some((name, value?))));
        tune.args(words(
            "tune --job --configs ranks:plain,cpus=all --only-ranks 0 --no-warm --max-runs 2 --json --",
        ));
        tune.arg(two.get_program()).args(two.get_args()).args(["sh", "-c", &line]);
        let session = || {
            std::fs::write(&written, "").unwrap();
            tune.output().unwrap()
        };
        let output = of_a_whole_launcher(session, |output| stderr(output).contains("killed by signal 13"));
        let report = json_of(&output);
        let commands = [0, 1].map(|place| report["configurations"][place]["command"].to_string());
        let ours = r#""run","--quiet","--pages","plain","--cpus","nodes=all","--ranks","auto","--only-ranks","0","--","sh""#;
        assert!(!commands[0].contains("--ranks") && commands[1].contains(ours), "{name}: {commands:?}");
        let lists = std::fs::read_to_string(&written).unwrap();
        let sizes: Vec<usize> =
            lists.lines().map(|list| firsttouch_linux::cpulist::parse_list(list).unwrap().len()).collect();
        // As many runs of each, of two ranks, of which one is placed.
        let whole = sizes.iter().filter(|size| **size == all.len()).count();
        assert!(whole >= 6 && 3 * sizes.len() == 4 * whole, "{name}: {lists}");
    }
}

#[test]
fn the_place_of_ranks_in_a_launchers_line_is_found_or_asked_for() {
    let output = run(&["tune", "--job", "--", "mpirun", "-n", "2", "no-such-program"]);
    assert_said(&output, 2, &["{run} ./simulate"]);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("job.sh");
    let tune = format!("tune --job --sbatch {} --metric cpu -- srun -n 2 {{run}}", file.display());
    assert_code(&run(&[&words(&tune)[..], &["a b"]].concat()), 0);
    let script = std::fs::read_to_string(&file).unwrap();
    let last = script.lines().last().unwrap();
    assert!(script.starts_with("#!/bin/sh\n#SBATCH ") && last.starts_with("exec "), "{script}");
    assert!(last.ends_with(" tune --job --metric cpu -- srun -n 2 '{run}' 'a b'"), "{last}");
}

/// As in a container, where nobody is above it.
#[test]
fn the_first_process_is_a_rank_like_others() {
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let space = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let inside = |words: &[&str]| Command::new("unshare").args(space).args(words).output();
    if !inside(&["true"]).is_ok_and(|output| output.status.success()) {
        return skipped("no PID namespace can be made");
    }
    let output = inside(&[own, "run", "--ranks", "1", "--", "sh", "-c", "echo $$"]).unwrap();
    assert_eq!(text_of(&output), "1\n");
}
