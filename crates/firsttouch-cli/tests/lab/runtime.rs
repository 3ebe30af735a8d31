//! Tasks of the runtime, and threads of a program that is observed, where there are two nodes: whoever moves lies and runs
//! where it was moved to, by the kernel's own account.
//!
//! What runs in the guest is this very program: [`in_guest`] is its other face.

use crate::bench::Setting;
use crate::bench::Test;
use crate::counts::{counts, only, succeeded};
use crate::regions::ours;
use firsttouch_balance::{CpuSelection, Machine, Mapping, strategies};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_machine::Root;
use firsttouch_runtime::programs::Jacobi;
use firsttouch_runtime::{Runtime, Settings};
use firsttouch_threads::threads_of;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Blocks of 16 x 16 points with their frames, twice, take two pages.
const TASKS: u64 = 16;
const PAGES: u64 = 2;
/// Steps after which tasks are mapped anew, and how often that may be.
const ROUND: u64 = 5;
const MOST_ROUNDS: u64 = 32;

pub(crate) fn tests() -> Vec<Test> {
    vec![tasks_move(), threads_move()]
}

fn tasks_move() -> Test {
    let commands = ["greedy-refine", "best"].map(|strategy| ours(&["tasks", strategy]));
    let setting = Setting::of("two-node");
    Test::new(
        "the states of tasks move to the nodes of their workers",
        setting,
        commands.to_vec(),
        |_, ran| {
            for one in ran {
                succeeded(one);
                // All on node 0, by its first worker.
                assert_eq!(counts(one, "before"), only(0, TASKS * PAGES), "{one:?}");
                let after = counts(one, "after");
                assert_eq!(after.values().sum::<u64>(), TASKS * PAGES, "{one:?}");
                assert!(after.contains_key(&0) && after.contains_key(&1), "{one:?}");
                assert_eq!(counts(one, "asked"), after, "{one:?}");
                assert!(
                    one.stdout.contains("elsewhere 0\n") && one.stdout.contains("same true\n"),
                    "{one:?}"
                );
            }
        },
    )
}

fn threads_move() -> Test {
    let commands = vec![ours(&["threads"])];
    let setting = Setting::of("two-node");
    Test::new(
        "threads that are observed are spread over both nodes, and come back",
        setting,
        commands,
        |_, ran| {
            succeeded(&ran[0]);
            assert_eq!(counts(&ran[0], "before"), only(0, 4), "{ran:?}");
            // Four threads, and four CPUs on two nodes.
            let each = (0..4).map(|cpu| (cpu, 1)).collect();
            assert_eq!(counts(&ran[0], "meanwhile"), each, "{ran:?}");
            assert_eq!(counts(&ran[0], "afterwards"), only(0, 4), "{ran:?}");
        },
    )
}

/// What the commands above do where they run; `None` if they are none of these.
pub(crate) fn in_guest(words: &[&str]) -> Option<()> {
    match words {
        ["tasks", strategy] => move_tasks(strategy),
        ["threads"] => move_threads(),
        _ => return None,
    }
    Some(())
}

fn print(word: &str, found: &BTreeMap<u32, u64>) {
    let found: Vec<String> = found.iter().map(|(place, count)| format!("{place}:{count}")).collect();
    println!("{word} {}", found.join(" "));
}

fn move_tasks(strategy: &str) {
    let machine = firsttouch_machine::Machine::read(&Root::live()).unwrap();
    let machine = Machine::of(&machine, None, CpuSelection::Cores, |_| true).unwrap();
    let jacobi = Jacobi::new(64, 16, 3).unwrap();
    let strategy = strategies::named(strategy).unwrap();
    let start = Some(Mapping::new(vec![0; TASKS as usize]));
    let settings = Settings { start, strategy, every: ROUND, ..Settings::default() };
    let mut runtime = Runtime::new(jacobi, machine, settings).unwrap();
    let pages = |runtime: &mut Runtime<Jacobi>| {
        let (mut lie, mut asked, mut elsewhere) = (BTreeMap::new(), BTreeMap::new(), 0);
        for one in runtime.task_locations() {
            for (node, bytes) in one.bytes_by_node.unwrap() {
                let pages = bytes as u64 / 4096;
                *lie.entry(node).or_insert(0) += pages;
                *asked.entry(one.node.unwrap()).or_insert(0) += pages;
                elsewhere += if one.node == Some(node) { 0 } else { pages };
            }
        }
        (lie, asked, elsewhere)
    };
    runtime.run(4).unwrap();
    print("before", &pages(&mut runtime).0);
    // What tasks are measured to take is what a busy machine lets them take: the first mappings may leave all on one node.
    let (steps, (lie, asked, elsewhere)) = (1..=MOST_ROUNDS)
        .map(|round| {
            runtime.run(ROUND).unwrap();
            (4 + round * ROUND, pages(&mut runtime))
        })
        .find(|(_, (lie, ..))| lie.len() > 1)
        .expect("tasks on both nodes");
    print("after", &lie);
    print("asked", &asked);
    println!("elsewhere {elsewhere}");
    let bits = |array: Vec<f64>| array.into_iter().map(f64::to_bits).collect::<Vec<u64>>();
    println!("same {}", bits(Jacobi::solution(&mut runtime)) == bits(jacobi.sequential(steps as usize)));
    println!("{:?}", runtime.account().balancings);
}

fn move_threads() {
    let (running, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let me = std::process::id();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                numa::set_affinity(0, &CpuBits::of(&[0]).unwrap()).unwrap();
                running.fetch_add(1, Ordering::Relaxed);
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        while running.load(Ordering::Relaxed) < 4 {
            thread::yield_now();
        }
        let crowd = |word: &str| {
            let mut crowd = BTreeMap::new();
            for thread in threads_of(&Root::live(), me).unwrap() {
                if let ([cpu], true) = (&thread.cpus[..], thread.id != me) {
                    *crowd.entry(*cpu).or_insert(0) += 1;
                }
            }
            print(word, &crowd);
        };
        let firsttouch = |words: &[&str]| {
            let output = Command::new("firsttouch").args(words).output().unwrap();
            println!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            output.status.success()
        };
        crowd("before");
        let pid = me.to_string();
        let there = firsttouch(&["attach", "--balance", &pid, "--interval", "2s"]);
        crowd("meanwhile");
        let back = firsttouch(&["attach", "--undo", &pid, "--budget-stall", "2s"]);
        crowd("afterwards");
        over.store(true, Ordering::Relaxed);
        assert!(there && back);
    });
}
