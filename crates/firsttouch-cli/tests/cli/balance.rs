//! `firsttouch balance`: ranks of an MPI program on the CPUs that a communication matrix asks for, and threads of a program
//! that runs.

use crate::jobs::cpus;
use crate::{
    assert_code, assert_said, copy_program, firsttouch, json, json_of, run, skipped, stderr, stdout, text_of,
    words,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Four ranks of which 0 and 2 talk, and 1 and 3.
const MATRIX: &str = "0,1,5000,1\n1,0,1,5000\n5000,1,0,1\n1,5000,1,0\n";

#[test]
fn ranks_of_an_mpi_program_sit_where_the_rankfile_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("bytes.csv"), MATRIX).unwrap();
    let (matrix, ranks) = (path("bytes.csv"), path("ranks"));
    let solve = |more: &[&str]| {
        let words = ["balance", "solve", "--matrix", &matrix, "--strategy", "best"];
        text_of(&run(&[&words[..], more].concat()))
    };
    solve(&["--machine", "live", "--cpus", "--to", "rankfile", "-o", &ranks]);
    let rankfile = fs::read_to_string(&ranks).unwrap();
    let seat = |line: &str| {
        let (rank, slot) = line.strip_prefix("rank ")?.split_once("=localhost slot=")?;
        Some((rank.parse().ok()?, slot.parse().ok()?))
    };
    let asked: BTreeMap<u32, u32> = rankfile.lines().map(|line| seat(line).expect(line)).collect();
    assert_eq!(asked.len(), 4, "{rankfile}");
    // For Slurm the same, on two hosts of two cores each: who talks shares a host.
    let two = ["--machine", "2:2 + 1:10", "--hosts", "a,b", "--to"];
    let hosts = solve(&[&two[..], &["slurm-hostfile"]].concat());
    let hosts: Vec<&str> = hosts.lines().collect();
    assert_eq!((hosts[0], hosts[1]), (hosts[2], hosts[3]));
    assert_ne!(hosts[0], hosts[1]);
    assert!(solve(&[&two[..], &["cpu-bind"]].concat()).starts_with("--cpu-bind=map_cpu:"));
    for unnamed in ["", "a,"] {
        let words = ["balance", "solve", "--matrix", &matrix, "--to", "rankfile", "--hosts", unnamed];
        assert_code(&run(&words), 2);
    }

    let cpus = cpus();
    if cpus.len() == 2 {
        assert!(asked[&0] == asked[&2] && asked[&1] == asked[&3] && asked[&0] != asked[&1], "{asked:?}");
    }
    if Command::new("mpirun").arg("--version").output().is_err() {
        return skipped("mpirun (Debian's openmpi-bin) is not installed: the rankfile was not used");
    }
    if cpus != (0..cpus.len() as u32).collect::<Vec<_>>() {
        return skipped("Open MPI counts CPUs from 0, and this process may not use all of them");
    }
    let script = "echo seat $OMPI_COMM_WORLD_RANK $(sed -n 's/^Cpus_allowed_list://p' /proc/self/status)";
    let output = Command::new("mpirun")
        .args(["-np", "4", "--oversubscribe", "--rankfile", &ranks, "sh", "-c", script])
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .unwrap();
    let text = text_of(&output);
    let obtained: BTreeMap<u32, u32> = text
        .lines()
        .filter_map(|line| line.strip_prefix("seat ")?.split_once(' '))
        .map(|(rank, cpus)| (rank.parse().unwrap(), cpus.trim().parse().unwrap()))
        .collect();
    assert_eq!(obtained, asked, "{text}");
}

#[test]
fn observing_is_refused_as_attaching_is() {
    let state = tempfile::tempdir().unwrap();
    let refused = |words: &[&str], code: i32, why: &str| {
        let output = firsttouch()
            .args(["attach", "--balance"])
            .args(words)
            .env("XDG_STATE_HOME", state.path())
            .output()
            .unwrap();
        assert_said(&output, code, &[why, "hint: "]);
    };
    refused(&["4000000"], 125, "no process 4000000");
    refused(&["1", "--interval", "1ms"], 125, "process 1");
    refused(&["7", "--strategy", "magic"], 125, "there is no strategy `magic`");
    refused(&["--", "/no/such/program"], 127, "/no/such/program");
    for wrong in
        [&["--balance"][..], &["--balance", "7", "--", "true"], &["7", "--strategy", "numa"], &["--", "true"]]
    {
        assert_code(&run(&[&["attach"], wrong].concat()), 125);
    }
}

#[test]
fn a_program_keeps_its_output_and_its_status() {
    let state = tempfile::tempdir().unwrap();
    let over = state.path().join("over");
    // The shell itself works until it was seen; it ends by itself if nobody looks.
    let script = format!(
        "i=0; until [ -e {} ] || [ $i -gt 100000000 ]; do i=$((i+1)); done; echo counted; exit 7",
        over.display()
    );
    let observe = |after: &str| {
        let _ = fs::remove_file(&over);
        let words =
            ["attach", "--balance", "--json", "--after", after, "--interval", "20ms", "--", "sh", "-c"];
        let mut child = firsttouch()
            .args(words)
            .arg(&script)
            .env("XDG_STATE_HOME", state.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The report is told while the program runs.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut text = String::new();
        for line in lines {
            text += &line;
            if line == "}" {
                fs::write(&over, "").unwrap();
            }
        }
        assert_said(&child.wait_with_output().unwrap(), 7, &["counted"]);
        json(&text)
    };
    // On a machine that others work on, a shell may take a while until it works itself.
    let mut report = observe("10ms");
    for after in ["1s", "10s"] {
        if report["observed"]["busy"] == 0 {
            report = observe(after);
        }
    }
    let observed = &report["observed"];
    // One thread alone has no better place.
    assert_eq!((&observed["busy"], &observed["moved"]), (&1.into(), &0.into()), "{report}");
    assert_eq!(report["attach"]["bound_threads"], 0);
    assert!(report["interval_s"].as_f64().unwrap() >= 0.02);
}

/// A column of a table, by its name.
fn column(table: &str, name: &str) -> Vec<f64> {
    let mut lines = table.lines();
    let place = lines.next().unwrap().split(',').position(|word| word == name).expect(name);
    lines.map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

#[test]
fn seconds_that_are_none_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = dir.path().join("tasks.csv");
    fs::write(&tasks, "id,load\n0,1\n1,2\n").unwrap();
    for option in ["--seconds-per-byte", "--alpha"] {
        for seconds in ["nan", "inf", "1e400", "-1", "many"] {
            let words = ["balance", "solve", "--machine", "2", "--tasks", tasks.to_str().unwrap()];
            let output = run(&[&words[..], &[&format!("{option}={seconds}")]].concat());
            assert_said(&output, 2, &["no number of seconds"]);
        }
    }
}

#[test]
fn generated_benchmarks_have_the_originals_numbers_and_are_solved() {
    let folder = tempfile::tempdir().unwrap();
    let stem = folder.path().join("case").display().to_string();
    let generate = |words: &[&str]| text_of(&run(&[&["balance", "generate"], words].concat()));
    assert!(generate(&["lb_test", "--cores", "32", "--bytes", "4K", "-o", &stem]).is_empty());
    let [tasks, messages] = ["tasks", "messages"].map(|kind| format!("{stem}.{kind}.csv"));
    let [loads, sent] = [&tasks, &messages].map(|path| fs::read_to_string(path).unwrap());
    let total: f64 = column(&loads, "load").iter().sum();
    assert!((total - 0.156_776).abs() < 5e-7, "{total}");
    assert_eq!(column(&loads, "home").last(), Some(&31.0));
    assert!(column(&loads, "bytes").iter().all(|bytes| *bytes == 4096.0));
    assert_eq!(column(&sent, "count").len(), 420);
    let solve = format!("balance solve --tasks {tasks} --messages {messages} --machine numa32 --json");
    let report = json_of(&run(&words(&solve)));
    assert_eq!((&report["tasks"], &report["cores"]), (&200.into(), &32.into()));
    let imbalance = |when: &str| report[when]["imbalance"].as_f64().unwrap();
    assert!(imbalance("after") <= 0.05 && imbalance("before") > 0.05, "{report}");

    // The same in METIS's form, where a pair that talks in both directions is one; in turn on cores; and nowhere yet.
    assert!(generate(&["lb_test", "--to", "metis"]).starts_with("200 419 "));
    let turns = generate(&["kneighbor", "--tasks", "12", "--equal", "--cores", "4", "--round-robin"]);
    let table = turns.split("\nfrom,").next().unwrap();
    let homes: Vec<f64> = (0..12).map(|task| f64::from(task % 4)).collect();
    assert_eq!(column(table, "home"), homes);
    let blocks = generate(&["jacobi2d", "--array", "64", "--block", "32", "--hot", "3"]);
    let table = blocks.split("\nfrom,").next().unwrap();
    let loads = column(table, "load");
    assert!(loads.len() == 4 && (loads[0] / loads[3] - 3.0).abs() < 1e-9, "{blocks}");
    assert_code(&run(&["balance", "generate", "kneighbor", "--round-robin"]), 2);
    let refused = run(&["balance", "generate", "jacobi2d", "--array", "100", "--block", "32"]);
    assert_said(&refused, 2, &["it divides the side of the array"]);
}

#[test]
fn the_benchmarks_are_compared_as_the_document_does() {
    let report = json_of(&run(&["balance", "simulate", "--seeds", "2", "--json"]));
    assert_eq!((&report["schema_version"], &report["seeds"]), (&1.into(), &2.into()));
    assert_eq!(report["failed"], json("[]"));
    let rows = report["rows"].as_array().unwrap();
    let of = |benchmark: &str, machine: &str, strategy: &str| {
        let is = |row: &&Value| {
            row["benchmark"] == benchmark && row["machine"] == machine && row["strategy"] == strategy
        };
        rows.iter().find(is).unwrap_or_else(|| panic!("no {strategy} of {benchmark} on {machine}"))
    };
    let number = |row: &Value, key: &str| row[key].as_f64().expect(key);
    for benchmark in ["kNeighbor", "lb_test", "jacobi2D", "kNeighbor-skewed"] {
        for machine in ["numa16", "numa32"] {
            let none = of(benchmark, machine, "none");
            assert_eq!((number(none, "migrated_fraction"), number(none, "speedup")), (0.0, 1.0));
            let best = of(benchmark, machine, "best");
            for name in ["greedy", "greedy-refine", "refine", "recbipart", "numa", "treematch"] {
                let other = of(benchmark, machine, name);
                let [ours, theirs] = [best, other].map(|row| number(row, "iteration_s"));
                assert!(ours <= theirs * (1.0 + 1e-9), "{benchmark} on {machine}: {ours} {name} {theirs}");
                let [low, high] = [0, 1].map(|end| other["ci95"][end].as_f64().unwrap());
                assert!(low <= theirs && theirs <= high);
                let migration = |size: &str| number(&other["migration_s"], size);
                assert!(migration("1KB") <= migration("100MB"), "{other}");
            }
        }
    }
    assert_eq!(number(of("kNeighbor", "numa16", "numa"), "published_value"), 0.0224);
    assert!(of("kNeighbor-skewed", "numa16", "numa")["published_value"].is_null());
    // Two executions are the least that have an interval.
    assert_code(&run(&["balance", "simulate", "--seeds", "1"]), 2);
}

#[test]
fn what_is_no_strategy_no_machine_and_no_number_is_wrong_usage() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("tasks.csv");
    fs::write(&file, "id,load\n0,1e308\n1,1e308\n").unwrap();
    let sound = scratch.path().join("sound.csv");
    fs::write(&sound, "id,load\n0,1\n1,1\n").unwrap();
    let tasks = ["balance", "solve", "--tasks", file.to_str().unwrap()];
    let sound = ["balance", "solve", "--tasks", sound.to_str().unwrap()];
    for (words, code, said) in [
        (&[&tasks[..], &["--strategy", "nope"]].concat()[..], 2, "there is no strategy `nope`"),
        (&[&sound[..], &["--machine", "foo"]].concat(), 2, "describe a machine"),
        (&[&tasks[..], &["--machine", "numa16"]].concat(), 1, "more than a number holds"),
        (&["balance", "generate", "lb_test", "--tasks", "0"], 2, "the number of tasks is 0"),
    ] {
        let refused = run(words);
        assert_code(&refused, code);
        assert!(refused.stdout.is_empty() && stderr(&refused).contains(said), "{}", stderr(&refused));
    }
}

/// What a strategy that is a program works in is gone, whoever ended first.
#[test]
fn an_interrupted_simulation_leaves_no_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    fs::create_dir(path("temporary")).unwrap();
    for name in ["began", "leave"] {
        assert!(Command::new("mkfifo").arg(path(name)).status().unwrap().success());
    }
    let program = path("gpmetis");
    std::fs::write(
        path("script"),
        format!("#!/bin/sh\ncd '{}'; echo > began; read x < leave; exit 1\n", scratch.path().display()),
    )
    .unwrap();
    copy_program(&path("script"), &program, "755");
    let child = firsttouch()
        .args(["balance", "simulate", "--seeds", "2", "--json"])
        .env("PATH", format!("{}:{}", scratch.path().display(), std::env::var("PATH").unwrap()))
        .env("TMPDIR", path("temporary"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::read(path("began")).unwrap();
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    std::fs::write(path("leave"), "\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    assert_eq!(json(&stdout(&output))["failed"], json("[]"));
    assert_eq!(std::fs::read_dir(path("temporary")).unwrap().count(), 0);
}

/// The folder that METIS works in goes when both have ended: we by whatever signal, and METIS, which may write until then.
#[test]
fn a_partitioning_that_is_ended_leaves_no_folder() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        let temporary = || fs::read_dir(path("temporary")).unwrap().count();
        fs::create_dir(path("temporary")).unwrap();
        for name in ["began", "leave"] {
            assert!(Command::new("mkfifo").arg(path(name)).status().unwrap().success());
        }
        let folder = scratch.path().display();
        let script = format!("#!/bin/sh\necho > '{folder}/began'; read x < '{folder}/leave'; echo > late\n");
        fs::write(path("script"), script).unwrap();
        copy_program(&path("script"), &path("gpmetis"), "755");
        fs::write(path("bytes.csv"), MATRIX).unwrap();
        // Who is started in the background, as the tests may be, ignores SIGINT, and so do those whom it starts.
        let mut solving = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_firsttouch"), "balance", "solve"])
            .args(["--strategy", "metis", "--machine", "2:2 + 1:10", "--matrix"])
            .arg(path("bytes.csv"))
            .env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()))
            .env("TMPDIR", path("temporary"))
            .spawn()
            .unwrap();
        fs::read(path("began")).unwrap();
        assert_eq!(temporary(), 1, "{signal}");
        assert!(Command::new("kill").args([signal, &solving.id().to_string()]).status().unwrap().success());
        assert!(!solving.wait().unwrap().success(), "{signal}");
        fs::write(path("leave"), "\n").unwrap();
        // Whoever removes it has nobody who waits for that.
        let mut looks = 0;
        while temporary() > 0 {
            looks += 1;
            assert!(looks < 6000, "{signal}: the folder stays");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// 32 ranks of a periodic box of 4 x 2 x 4, and what some send themselves, as a file of hop-bytes: the traffic of a molecular dynamics code on
/// half the cores of a mesh.
fn hop_bytes() -> String {
    let mut text = String::new();
    for rank in 0..32_u32 {
        let [a, b, c] = [rank % 4, rank / 4 % 2, rank / 8];
        let at = |a: u32, b: u32, c: u32| a % 4 + 4 * (b % 2) + 8 * (c % 4);
        for (other, bytes) in [(at(a + 1, b, c), 9e6), (at(a + 3, b, c), 9e6), (at(a, b + 1, c), 5e6)] {
            text += &format!("{rank} {other} {bytes:e} 1\n");
        }
        for other in [at(a, b, c + 1), at(a, b, c + 3)] {
            text += &format!("{rank} {other} 7e6\n");
        }
        text += &format!("{rank} {rank} 1e9 0\n");
    }
    text
}

#[test]
fn best_is_not_worse_than_simpler_strategies_on_a_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("box").display().to_string();
    fs::write(&file, hop_bytes()).unwrap();
    let solve = |words: &[&str]| {
        let output =
            run(&[&["balance", "solve", "--json", "--machine", "mesh:4x4x4", "--hopbyte", &file], words]
                .concat());
        json_of(&output)
    };
    let cost = |report: &Value| report["after"]["cost"].as_f64().unwrap();
    let best = solve(&[]);
    for simpler in ["none", "greedy", "greedy-refine", "refine", "recbipart", "numa", "treematch"] {
        let other = solve(&["--strategy", simpler]);
        assert!(cost(&best) <= cost(&other), "{simpler}: {} {}", cost(&best), cost(&other));
    }
    // Rounds are told, bring something here, and bring the same the next time.
    let first = solve(&["--rounds", "0"]);
    assert_eq!(first["rounds"], 0);
    assert!(best["rounds"].as_u64() > Some(0) && cost(&best) < cost(&first), "{best}");
    assert_eq!((&best["cut_short"], &best["mapping"]), (&false.into(), &solve(&[])["mapping"]));
    // What ranks send themselves does not travel.
    assert_eq!(best["after"]["bytes"], 32.0 * 37e6);
    // Cores are numbered along the first side first: 0 and 4 are a hop apart, 3 and 4 four.
    let pair = folder.path().join("pair");
    fs::write(&pair, "0 1 100\n").unwrap();
    for (cores, hops) in [("0\n4\n", 1.0), ("3\n4\n", 4.0), ("0\n16\n", 1.0)] {
        let start = folder.path().join("start");
        fs::write(&start, cores).unwrap();
        let [pair, start] = [&pair, &start].map(|path| path.display().to_string());
        let judge = format!("balance eval --json --machine mesh:4x4x4 --hopbyte {pair} --start {start}");
        assert_eq!(cost(&json_of(&run(&words(&judge)))), hops * 100.0, "{cores}");
    }
}

#[test]
fn a_folder_of_several_runs_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, rank: u32, load: f64| {
        let task = format!(
            r#"{{"entity":{{"id":{rank},"home":{rank},"migratable":true,"type":"object"}},"node":{rank},"resource":"cpu","time":{load}}}"#
        );
        let text = format!(r#"{{"metadata":{{"rank":{rank}}},"phases":[{{"id":0,"tasks":[{task}]}}]}}"#);
        fs::write(path(name), text).unwrap();
    };
    for rank in 0..2 {
        write(&format!("first.{rank}.json"), rank, 1.0);
        write(&format!("second.run.{rank}.json"), rank, 5.0);
    }
    let solve = |words: &[&str]| run(&[&["balance", "solve", "--json", "--vt"], words].concat());
    let refused = |words: &[&str], why: &[&str]| {
        let output = solve(words);
        assert_code(&output, 1);
        let said = stderr(&output);
        assert!(why.iter().all(|part| said.contains(part)), "{why:?}: {said}");
    };
    let all = path("");
    let hint = format!("--vt {}", path("first"));
    refused(&[&all], &["holds 2 runs: first (2 ranks), second.run (2 ranks); which one?", "hint: ", &hint]);
    // Each of them by its folder and stem, on as many cores as it has ranks.
    for (stem, load) in [("first", 1.0), ("second.run", 5.0)] {
        let report = json_of(&solve(&[&path(stem)]));
        assert_eq!((&report["tasks"], &report["cores"]), (&2.into(), &2.into()));
        assert_eq!(report["after"]["makespan_s"], load);
    }
    let [one, two] = ["first.0.json", "second.run.0.json"].map(path);
    refused(&[&one, &two], &["phase 0: task 0 is in files 0 and 1 (counted from 0): are these of two runs?"]);
    refused(&[&path("third")], &["cannot read", "third"]);
    fs::copy(path("first.0.json"), path("first.0.json.br")).unwrap();
    refused(&[&all], &["rank 0 is there twice: first.0.json and first.0.json.br"]);
}
