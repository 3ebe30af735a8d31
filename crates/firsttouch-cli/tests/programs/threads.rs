//! Threads of programs that know nothing of us: each on the CPU that was asked, read back from the kernel, and the
//! program otherwise as it would be.

use crate::requirements::{compiled, installed};
use crate::skipped::skipped;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The CPUs we may use, in a turned order, so that it is not the usual one; `None`, said, where there is only one.
fn order() -> Option<Vec<u32>> {
    let mut cpus: Vec<u32> = firsttouch_linux::numa::affinity(0).unwrap().iter().collect();
    cpus.rotate_left(1);
    cpus.truncate(8);
    if cpus.len() < 2 {
        skipped("threads on CPUs: there is only one CPU");
        return None;
    }
    Some(cpus)
}

fn words(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn run(options: &[&str], program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_firsttouch"))
        .arg("run")
        .args(options)
        .arg("--")
        .arg(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn read(receipt: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(receipt).unwrap()).unwrap()
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

/// `WHO NUMBER on CPU … told N N` as number of the thread and the rest.
fn cpus_of(lines: &[String], who: &str) -> Vec<(u32, Vec<u32>)> {
    let line = |line: &String| {
        let (number, rest) = line.strip_prefix(who)?.trim().split_once(" on ")?;
        let cpus = rest.split(" told").next()?.split(' ').map(|cpu| cpu.parse().unwrap()).collect();
        Some((number.parse().unwrap(), cpus))
    };
    lines.iter().filter_map(line).collect()
}

/// Where the programs of these tests find what they have in common.
const HEADERS: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/tests/programs");

fn program(folder: &Path) -> Option<PathBuf> {
    compiled(folder, "threads", include_str!("threads.c"), &["-pthread", HEADERS])
}

#[test]
fn threads_go_to_their_cpus_one_after_another_and_round_again() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), program(folder.path())) else { return };
    let receipt = folder.path().join("receipt");
    let options = ["--threads", &words(&order), "--receipt", receipt.to_str().unwrap()];
    let output = run(&options, &program, &["threads", "9"], &[]);
    let lines = lines(&output);
    assert_eq!(cpus_of(&lines, "main"), [(0, vec![order[0]])]);
    let threads: BTreeMap<u32, Vec<u32>> = cpus_of(&lines, "thread").into_iter().collect();
    assert_eq!(threads.len(), 9, "{lines:?}");
    for (number, cpus) in threads {
        assert_eq!(cpus, [order[number as usize % order.len()]], "thread {number}: {lines:?}");
    }
    // Asked for its CPUs, each thread is told of all: it has them to give away.
    let told = format!("told {0} {0} {0}", order.len());
    assert!(lines.iter().all(|line| line.ends_with(&told)), "{lines:?}");
    let receipt = read(&receipt);
    let reported = receipt["obtained"]["threads"].as_array().unwrap();
    assert_eq!(reported.len(), 10, "{receipt}");
    for (number, thread) in reported.iter().enumerate() {
        assert_eq!(thread["number"], number);
        assert_eq!(thread["cpu_asked"], order[number % order.len()]);
        assert_eq!(thread["cpus_obtained"][0], order[number % order.len()], "{thread}");
    }
    assert_eq!(reported[0]["name"], "threads");
    assert_eq!(reported[1]["name"], Value::Null, "it had ended");
}

#[test]
fn threads_that_are_skipped_run_anywhere_and_take_no_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), program(folder.path())) else { return };
    let options = ["--pages", "plain", "--threads", &words(&order), "--skip-threads", "1,3"];
    let threads: BTreeMap<u32, Vec<u32>> =
        cpus_of(&lines(&run(&options, &program, &["threads", "4"], &[])), "thread").into_iter().collect();
    assert_eq!((threads[&1].len(), threads[&3].len()), (order.len(), order.len()));
    assert_eq!((&threads[&2], &threads[&4]), (&vec![order[1]], &vec![order[2 % order.len()]]));
}

#[test]
fn threads_of_a_later_phase_get_the_cpus_of_the_earlier() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), program(folder.path())) else { return };
    let count = order.len() - 1;
    let output = run(&["--threads", &words(&order)], &program, &["phases", &count.to_string()], &[]);
    let threads = cpus_of(&lines(&output), "thread");
    assert_eq!(threads.len(), 5 * count);
    for (number, cpus) in threads {
        assert_eq!(cpus, [order[number as usize]]);
    }
}

#[test]
fn what_the_program_binds_itself_stays_as_it_wants() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), program(folder.path())) else { return };
    let receipt = folder.path().join("receipt");
    let options = ["--threads", &words(&order), "--receipt", receipt.to_str().unwrap()];
    // The first CPU of the order is one that ours would not be given.
    let output = run(&options, &program, &["own", &order[0].to_string()], &[]);
    let lines = lines(&output);
    for who in ["own", "bound"] {
        let cpus = cpus_of(&lines, who);
        assert!(!cpus.is_empty() && cpus.iter().all(|(_, cpus)| *cpus == [order[0]]), "{lines:?}");
    }
    assert!(lines.iter().all(|line| line.ends_with("told 1 1 1")), "the truth about its own: {lines:?}");
    let receipt = read(&receipt);
    let notes = receipt["notes"].to_string();
    assert!(notes.contains("bound by the program itself"), "{receipt}");
}

#[test]
fn programs_that_a_bound_thread_starts_have_all_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), program(folder.path())) else { return };
    let output = run(&["--threads", &words(&order)], &program, &["children"], &[]);
    let lines = lines(&output);
    let mut all = order.clone();
    all.sort_unstable();
    let children: Vec<&String> = lines.iter().filter(|line| line.starts_with("Cpus_allowed_list:")).collect();
    assert_eq!(children.len(), 10, "{lines:?}");
    let first = children[0].split_whitespace().nth(1).unwrap();
    let expected = if all.len() == 2 && all[1] == all[0] + 1 {
        format!("{}-{}", all[0], all[1])
    } else {
        first.to_owned()
    };
    assert!(children.iter().all(|line| line.split_whitespace().nth(1) == Some(&expected)), "{lines:?}");
    // Threads of a forked child are not bound: every child would begin with the same CPU.
    assert!(cpus_of(&lines, "thread").iter().all(|(_, cpus)| *cpus == all), "{lines:?}");
    // And the thread that started them is where it was.
    assert_eq!(cpus_of(&lines, "after"), [(0, vec![order[0]]), (0, vec![order[1]])]);
}

#[test]
fn threads_end_as_they_do_without_us() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), program(folder.path())) else { return };
    let output = run(&["--threads", &words(&order)], &program, &["endings"], &[]);
    assert_eq!(lines(&output), ["cancelled 1 cleaned 2"]);
    let many = run(&["--threads", &words(&order)], &program, &["many", "40"], &[]);
    assert_eq!(lines(&many).len(), 40 * 60);
}

/// Every thread of a team, by number; each line twice, because the team meets twice.
fn team(output: &Output) -> (Vec<String>, BTreeMap<u32, Vec<u32>>) {
    let lines = lines(output);
    let processors = lines.iter().filter(|line| line.starts_with("processors")).cloned().collect();
    (processors, cpus_of(&lines, "thread").into_iter().collect())
}

fn gnu(folder: &Path) -> Option<PathBuf> {
    compiled(folder, "gnu", include_str!("openmp.c"), &["-fopenmp", HEADERS])
}

/// LLVM's library understands what GCC compiles. GNU's, which nothing is left for, is not to be loaded as well: it would bind the main thread.
fn llvm(folder: &Path) -> Option<PathBuf> {
    let library = ["-Wl,--no-as-needed", "-l:libomp.so.5", "-Wl,--as-needed"];
    compiled(folder, "llvm", include_str!("openmp.c"), &[&["-fopenmp", HEADERS], &library[..]].concat())
}

#[test]
fn openmp_threads_are_where_they_were_asked_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let Some(order) = order() else { return };
    for program in [gnu(folder.path()), llvm(folder.path())].into_iter().flatten() {
        for pages in ["plain", "thp"] {
            let options = ["--pages", pages, "--threads", &words(&order)];
            let output = run(&options, &program, &[], &[("OMP_NUM_THREADS", "4")]);
            let (_, threads) = team(&output);
            assert_eq!(threads.len(), 4, "{threads:?}");
            for (number, cpus) in threads {
                assert_eq!(cpus, [order[number as usize % order.len()]], "{} {number}", program.display());
            }
        }
        let (processors, threads) = team(&run(&["--threads", &words(&order)], &program, &[], &[]));
        assert_eq!(threads.len(), order.len(), "as many threads as CPUs were given: {}", program.display());
        assert!(
            processors.iter().all(|line| *line == format!("processors {}", order.len())),
            "{processors:?}"
        );
    }
}

#[test]
fn openmp_that_binds_its_threads_has_the_last_word() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program)) = (order(), gnu(folder.path())) else { return };
    let receipt = folder.path().join("receipt");
    let options = ["--threads", &words(&order), "--receipt", receipt.to_str().unwrap()];
    let places = format!("{{{}}}", order[1]);
    let environment = [("OMP_PLACES", places.as_str()), ("OMP_PROC_BIND", "true"), ("OMP_NUM_THREADS", "3")];
    let (_, threads) = team(&run(&options, &program, &[], &environment));
    assert!(threads.values().all(|cpus| *cpus == [order[1]]), "{threads:?}");
    let receipt = read(&receipt);
    assert!(receipt["notes"].to_string().contains("the program"), "{receipt}");
}

/// LLVM's asks for its CPUs by the number of the system call, and only where it is asked for something about them.
#[test]
fn openmp_of_llvm_binds_its_threads_as_it_does_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(order), Some(program), Some(taskset)) = (order(), llvm(folder.path()), installed("taskset"))
    else {
        return;
    };
    let first = format!("{{{}}}", order[1]);
    for (name, value) in [
        ("OMP_PROC_BIND", "close"),
        ("OMP_PROC_BIND", "spread"),
        ("OMP_PLACES", "threads"),
        ("OMP_PLACES", &first),
        ("GOMP_CPU_AFFINITY", &words(&order)),
        ("KMP_AFFINITY", "compact"),
        ("KMP_AFFINITY", "scatter"),
        ("KMP_AFFINITY", "granularity=fine,compact"),
        ("KMP_HW_SUBSET", "1s"),
    ] {
        let (cpus, asked) = (words(&order), [(name, value)]);
        let mut alone = Command::new(&taskset);
        let alone = alone.args(["-c", &cpus]).arg(&program).envs(asked).output().unwrap();
        assert!(!team(&alone).1.is_empty(), "{alone:?}");
        assert_eq!(team(&run(&["--threads", &cpus], &program, &[], &asked)), team(&alone), "{name}={value}");
    }
    // Asked to bind none it leaves them to us.
    for asked in [("KMP_AFFINITY", "none"), ("KMP_AFFINITY", "disabled"), ("OMP_PROC_BIND", "false")] {
        let (_, threads) = team(&run(&["--threads", &words(&order)], &program, &[], &[asked]));
        let placed = order.iter().map(|cpu| vec![*cpu]).enumerate();
        assert_eq!(threads, placed.map(|(number, cpu)| (number as u32, cpu)).collect(), "{asked:?}");
    }
}

#[test]
fn every_thread_of_java_is_where_it_was_asked_to_be() {
    let (Some(order), Some(java), Some(compiler)) = (order(), installed("java"), installed("javac")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("Threads.java");
    std::fs::write(&source, include_str!("Threads.java")).unwrap();
    let compiled = Command::new(compiler).arg(&source).output().unwrap();
    if !compiled.status.success() {
        return skipped(&format!("javac: {}", String::from_utf8_lossy(&compiled.stderr)));
    }
    let class_path = folder.path().to_str().unwrap();
    let receipt = folder.path().join("receipt");
    let options = ["--threads", &words(&order), "--receipt", receipt.to_str().unwrap()];
    let output = run(&options, &java, &["-cp", class_path, "Threads"], &[]);
    let lines = lines(&output);
    assert_eq!(lines[0], format!("processors {}", order.len()), "{lines:?}");
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for line in &lines[1..] {
        let cpus = line.rsplit(' ').next().unwrap();
        *count.entry(cpus.parse().unwrap_or_else(|_| panic!("not one CPU: {line}"))).or_default() += 1;
    }
    assert_eq!(count.len(), order.len(), "{lines:?}");
    let (least, most) = (count.values().min().unwrap(), count.values().max().unwrap());
    assert!(most - least <= 2, "in turn over the CPUs, but for threads that have ended: {lines:?}");
    let receipt = read(&receipt);
    let threads = receipt["obtained"]["threads"].as_array().unwrap();
    assert!(threads.len() > 10, "{receipt}");
    for thread in threads {
        assert_eq!(thread["cpus_obtained"], serde_json::json!([thread["cpu_asked"]]), "{thread}");
    }
}

#[test]
fn workers_of_tbb_are_where_they_were_asked_to_be() {
    let (Some(order), Some(compiler)) = (order(), installed("g++")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("pool.cpp"), folder.path().join("pool"));
    std::fs::write(&source, include_str!("pool.cpp")).unwrap();
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-o"])
        .arg(&program)
        .arg(&source)
        .args([HEADERS, "-ltbb", "-pthread"])
        .output()
        .unwrap();
    if !compiled.status.success() {
        return skipped("the workers of TBB: its headers are not installed");
    }
    let (processors, threads) = team(&run(&["--threads", &words(&order)], &program, &[], &[]));
    assert_eq!(processors, [format!("processors {}", order.len())]);
    let mut cpus: Vec<u32> = threads.into_values().flatten().collect();
    cpus.sort_unstable();
    let mut asked = order.clone();
    asked.sort_unstable();
    assert_eq!(cpus, asked, "each worker on a CPU of its own");
}

#[test]
fn python_threads_are_bound_and_its_workers_are_not() {
    let (Some(order), Some(python)) = (order(), installed("python3")) else { return };
    let code = "\
import os, threading, multiprocessing
def mask(): return open(f'/proc/self/task/{threading.get_native_id()}/status').read().split('Cpus_allowed_list:')[1].split()[0]
def show(name): print(name, 'on', mask(), len(os.sched_getaffinity(0)), flush=True)
show('main')
threads = [threading.Thread(target=show, args=(f'thread{i}',)) for i in range(1)]
[t.start() for t in threads]; [t.join() for t in threads]
worker = multiprocessing.get_context('fork').Process(target=show, args=('worker',))
worker.start(); worker.join()
";
    let output = run(&["--threads", &words(&order)], &python, &["-c", code], &[]);
    let lines = lines(&output);
    assert_eq!(lines[0], format!("main on {} {}", order[0], order.len()));
    assert_eq!(lines[1], format!("thread0 on {} {}", order[1], order.len()));
    let mask = lines[2].strip_prefix("worker on ").unwrap();
    assert!(mask.contains(['-', ',']) && mask.ends_with(&format!(" {}", order.len())), "{lines:?}");
}
