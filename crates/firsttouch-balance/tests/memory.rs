//! What `best` needs of memory grows as tasks and messages do, whether tasks are somewhere already or nowhere yet.
//!
//! `cargo test --release -p firsttouch-balance --test memory -- --nocapture --include-ignored` prints it for up to 400,000 tasks.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that fails says why, and this one is also a measurement"
)]

use firsttouch_balance::strategies::Best;
use firsttouch_balance::{Machine, Message, Problem, SolveOptions, Strategy, Task};
use std::process::Command;

const CORES: u32 = 64;
/// Messages of a task: most to tasks with numbers near its own.
const MESSAGES: u32 = 10;
/// How a test tells the process it starts what to solve.
const TASKS: &str = "FIRSTTOUCH_TEST_TASKS";
const COLD: &str = "FIRSTTOUCH_TEST_COLD";

fn problem(tasks: u32, cold: bool) -> Problem {
    let task = |index: u32| {
        let task = Task::new(f64::from(1 + index * 7 % 13 + 8 * index / tasks));
        if cold { task } else { task.at((u64::from(index) * u64::from(CORES) / u64::from(tasks)) as u32) }
    };
    let message = |from: u32, place: u32| {
        let step = if place == 0 { tasks / 3 } else { 1 + from * 31 % 40 + place * place };
        Message { from, to: (from + step) % tasks, count: 1.0, bytes: 1000.0 }
    };
    let messages: Vec<Message> =
        (0..tasks).flat_map(|from| (0..MESSAGES).map(move |place| message(from, place))).collect();
    Problem::new((0..tasks).map(task).collect(), &messages).unwrap()
}

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Not a test: what a test starts, in a process of its own because memory that was freed is used again.
#[test]
fn solved_in_a_process_of_its_own() {
    let Ok(tasks) = std::env::var(TASKS) else { return };
    let before = peak();
    let machine = Machine::parse("16:4 + 1:10").unwrap();
    let problem = problem(tasks.parse().unwrap(), std::env::var(COLD).is_ok());
    let start = problem.start(&machine).unwrap();
    let solution = Best.solve(&problem, &machine, &start, &SolveOptions::default()).unwrap();
    assert!(solution.mapping != start);
    println!("peak {} in {} ms", peak() - before, solution.elapsed.as_millis());
}

/// The bytes that so many tasks need, problem and all.
fn needed(tasks: u32, cold: bool) -> f64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "solved_in_a_process_of_its_own", "--nocapture"]).env(TASKS, tasks.to_string());
    if cold {
        command.env(COLD, "1");
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let said = text.lines().find_map(|line| line.split("peak ").nth(1)).expect(&text);
    println!("{tasks} tasks{}: {said}", if cold { " that are nowhere" } else { "" });
    said.split(' ').next().unwrap().parse().unwrap()
}

fn grows_linearly(sizes: &[u32]) {
    for cold in [false, true] {
        let needs: Vec<f64> = sizes.iter().map(|tasks| needed(*tasks, cold)).collect();
        for (size, need) in sizes.iter().zip(&needs) {
            let times = f64::from(*size) / f64::from(sizes[0]);
            assert!(*need <= 1.15 * times * needs[0], "{size} tasks, cold {cold}: {needs:?}");
        }
    }
}

#[test]
fn memory_grows_as_the_problem_does() {
    grows_linearly(&[25_000, 50_000, 100_000]);
}

#[test]
#[ignore = "takes a while: for the figures of the documentation"]
fn memory_grows_as_large_problems_do() {
    grows_linearly(&[25_000, 50_000, 100_000, 200_000, 400_000]);
}
