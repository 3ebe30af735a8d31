//! What a run promises: the same answer wherever tasks are, each message once, and a clear end when a task fails.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use firsttouch_balance::generate::{KNeighbor, LbTest, Topology, Work};
use firsttouch_balance::{Machine, Mapping, Problem, strategies};
use firsttouch_linux::numa;
use firsttouch_memory::{Pages, Region};
use firsttouch_runtime::programs::{Jacobi, Synthetic};
use firsttouch_runtime::{Context, Program, Runtime, RuntimeError, Settings};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// So many workers in all on the CPUs that this process may use, on two nodes that are pretended.
fn crowd(workers: usize) -> (Machine, Vec<u32>) {
    let allowed: Vec<u32> = numa::affinity(0).unwrap().iter().collect();
    let cpus = (0..workers).map(|worker| allowed[worker % allowed.len()]).collect();
    (Machine::parse(&format!("{}:2 + 1:3", workers / 2)).unwrap(), cpus)
}

fn start<P: Program>(program: P, workers: usize, strategy: &str, every: u64) -> Runtime<P> {
    let (machine, cpus) = crowd(workers);
    let strategy = strategies::named(strategy).unwrap();
    Runtime::pretending(program, machine, &cpus, Settings { strategy, every, ..Settings::default() }).unwrap()
}

fn moved<P: Program>(runtime: &Runtime<P>) -> usize {
    runtime.account().balancings.iter().map(|balancing| balancing.moved).sum()
}

/// The results of all tasks of a problem after some steps, and how many tasks moved meanwhile.
fn results(problem: &Problem, workers: usize, strategy: &str, every: u64) -> (Vec<u64>, usize) {
    let mut runtime = start(Synthetic::new(problem.clone(), 1e6, 6000), workers, strategy, every);
    runtime.run(12).unwrap();
    let results = (0..problem.len() as u32).map(|task| Synthetic::result(runtime.state(task))).collect();
    (results, moved(&runtime))
}

fn same_wherever_tasks_are(problem: &Problem) {
    let (alone, _) = results(problem, 2, "none", 0);
    assert!(alone.iter().all(|result| *result != 0));
    for strategy in ["greedy", "greedy-refine", "numa", "best", "recbipart"] {
        let (balanced, moved) = results(problem, 4, strategy, 2);
        assert_eq!(balanced, alone, "{strategy}");
        if strategy == "greedy" || strategy == "recbipart" {
            assert!(moved > 0, "{strategy} moved nothing: the test shows nothing");
        }
    }
}

#[test]
fn lb_test_computes_the_same() {
    let lb_test = LbTest { tasks: 60, least_s: 5e-6, most_s: 200e-6, topology: Topology::RandGraph, seed: 0 };
    same_wherever_tasks_are(&lb_test.problem().unwrap());
}

#[test]
fn kneighbor_computes_the_same() {
    let ring = KNeighbor {
        tasks: 40,
        neighbours: 8,
        stride: 1,
        message_bytes: 1024.0,
        work_s: 1e-3,
        work: Work::Skewed,
    };
    same_wherever_tasks_are(&ring.problem().unwrap());
}

#[test]
fn jacobi_is_the_sequential_solver_to_the_last_bit() {
    let jacobi = Jacobi::new(60, 10, 3).unwrap();
    let bits = |array: Vec<f64>| array.into_iter().map(f64::to_bits).collect::<Vec<u64>>();
    for steps in [1, 30] {
        let sequential = bits(jacobi.sequential(steps));
        assert!(sequential.iter().any(|value| *value != 0));
        for (strategy, every) in [("none", 0), ("greedy", 3), ("numa", 7), ("best", 10)] {
            let mut runtime = start(jacobi, 4, strategy, every);
            runtime.run(steps as u64).unwrap();
            assert_eq!(bits(Jacobi::solution(&mut runtime)), sequential, "{strategy} after {steps}");
        }
    }
    assert!(Jacobi::new(60, 7, 1).unwrap_err().to_string().contains("divides"));
}

/// Tasks that each send the numbers of their messages to whom chance says, and note down what they get.
struct Numbers {
    tasks: u32,
    seed: u64,
}

/// What a task has to note: how many it sent, and how many came with the sums of their numbers and of their squares.
const NOTES: usize = 4;

impl Numbers {
    fn send(&self, task: &mut Context<'_>, notes: &mut [u64]) {
        let mut chance = self.seed ^ (u64::from(task.number()) << 32) ^ task.step();
        let mut draw = || {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) as u32
        };
        for _ in 0..draw() % 5 {
            let number = notes[0] * u64::from(self.tasks) + u64::from(task.number());
            notes[0] += 1;
            task.send(draw() % self.tasks, draw(), &[number]);
        }
    }
}

impl Program for Numbers {
    fn tasks(&self) -> u32 {
        self.tasks
    }
    fn state_bytes(&self, _: u32) -> usize {
        NOTES * 8
    }
    fn begin(&self, task: &mut Context<'_>, state: &mut Region) {
        self.send(task, &mut state.as_mut_slice_of::<u64>()[..NOTES]);
    }
    fn step(&self, task: &mut Context<'_>, state: &mut Region) {
        let notes = &mut state.as_mut_slice_of::<u64>()[..NOTES];
        for message in task.inbox() {
            let number = message.elements::<u64>()[0];
            assert_eq!(number % u64::from(self.tasks), u64::from(message.from));
            notes[1] += 1;
            notes[2] = notes[2].wrapping_add(number);
            notes[3] = notes[3].wrapping_add(number.wrapping_mul(number));
        }
        // In the last two steps what is on its way arrives.
        if task.step() < 8 {
            self.send(task, notes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn each_message_arrives_once(tasks in 1_u32..40, workers in 1_usize..4, seed: u64, every in 1_u64..3) {
        let mut runtime = start(Numbers { tasks, seed }, 2 * workers, "greedy", every);
        runtime.run(9).unwrap();
        let notes: Vec<Vec<u64>> =
            (0..tasks).map(|task| runtime.state(task).as_slice_of::<u64>()[..NOTES].to_vec()).collect();
        let sent = |task: usize| (0..notes[task][0]).map(move |turn| turn * u64::from(tasks) + task as u64);
        let numbers: Vec<u64> = (0..tasks as usize).flat_map(sent).collect();
        let got = |note: usize| notes.iter().fold(0_u64, |sum, notes| sum.wrapping_add(notes[note]));
        prop_assert_eq!(got(1), numbers.len() as u64);
        prop_assert_eq!(got(2), numbers.iter().sum::<u64>());
        let square = |sum: u64, number: &u64| sum.wrapping_add(number.wrapping_mul(*number));
        prop_assert_eq!(got(3), numbers.iter().fold(0, square));
        let delivered: u64 = runtime.account().steps.iter().map(|step| step.messages).sum();
        prop_assert_eq!(delivered, numbers.len() as u64);
    }
}

/// A task that fails, or sends to nobody.
struct Fails {
    nobody: bool,
}

impl Program for Fails {
    fn tasks(&self) -> u32 {
        30
    }
    fn state_bytes(&self, _: u32) -> usize {
        1
    }
    fn begin(&self, _: &mut Context<'_>, _: &mut Region) {}
    fn step(&self, task: &mut Context<'_>, _: &mut Region) {
        if task.step() == 3 && task.number() == 17 {
            if self.nobody {
                task.send(30, 0, &[0_u8]);
            }
            panic!("no more {}", "ink");
        }
    }
}

#[test]
fn a_task_that_panics_is_named() {
    for (nobody, said) in [(false, "no more ink"), (true, "task 17 sends to task 30, but there are only 30")]
    {
        let mut runtime = start(Fails { nobody }, 4, "none", 0);
        match runtime.run(10) {
            Err(RuntimeError::Panicked { task: 17, step: 3, words }) => assert_eq!(words, said),
            other => panic!("{other:?}"),
        }
        assert!(matches!(runtime.run(1), Err(RuntimeError::Over)));
        assert_eq!(runtime.account().steps.len(), 2);
    }
}

/// Tasks whose number says how long they work; the first is pinned.
struct Uneven;

impl Program for Uneven {
    fn tasks(&self) -> u32 {
        16
    }
    fn state_bytes(&self, task: u32) -> usize {
        (task as usize + 1) * 10_000
    }
    fn is_pinned(&self, task: u32) -> bool {
        task == 0
    }
    fn begin(&self, task: &mut Context<'_>, state: &mut Region) {
        state.as_mut_slice().fill(task.number() as u8);
    }
    fn step(&self, task: &mut Context<'_>, state: &mut Region) {
        let numbers = state.as_mut_slice_of::<u64>();
        for turn in 0..u64::from(task.number() + 1) * 2000 {
            let place = turn as usize % numbers.len();
            numbers[place] = std::hint::black_box(numbers[place]);
        }
        task.send((task.number() + 1) % 16, 0, &[0_u8; 100]);
    }
}

#[test]
fn loads_and_messages_are_measured_and_tasks_move_with_their_states() {
    let balanced = || {
        let (machine, cpus) = crowd(2);
        let strategy = strategies::named("greedy-refine").unwrap();
        // All of them on one of the two workers.
        let settings = Settings {
            start: Some(Mapping::new(vec![0; 16])),
            strategy,
            every: 5,
            pages: Pages::Base,
            ..Settings::default()
        };
        let mut runtime = Runtime::pretending(Uneven, machine, &cpus, settings).unwrap();
        runtime.run(10).unwrap();
        runtime
    };
    let mut runtime = balanced();
    // What a host takes from the processor is counted as work of the task that was at it, which may then outweigh all others.
    for _ in 0..4 {
        if runtime.account().balancings[0].imbalance_after >= 0.2 {
            runtime = balanced();
        }
    }
    let first = runtime.account().balancings[0].clone();
    // Two workers, all work on one: twice the mean.
    assert!((first.imbalance_before - 1.0).abs() < 1e-9, "{first:?}");
    assert!(first.imbalance_after < 0.2, "{first:?}");
    assert_eq!((first.after_step, first.rehoused, first.left_behind), (5, first.moved, 0));
    assert_eq!(runtime.mapping().core(0), 0);
    let moved: Vec<u32> = (0..16).filter(|task| runtime.mapping().core(*task as usize) == 1).collect();
    assert!(first.moved > 0 && first.moved < 16);
    let step = &runtime.account().steps[6];
    assert_eq!((step.messages, step.bytes, step.workers.len()), (16, 1600, 2));
    assert!(step.efficiency() > 0.0 && step.efficiency() <= 1.01, "{step:?}");
    for task in 0..16 {
        let bytes = (task as usize + 1) * 10_000;
        assert!(runtime.state(task).as_slice()[..bytes].iter().all(|byte| *byte == task as u8));
    }
    let task_locations = runtime.task_locations();
    let by_worker: BTreeMap<u32, u32> = task_locations.iter().map(|one| (one.task, one.worker)).collect();
    assert!(moved.iter().all(|task| by_worker[task] == 1));
}

#[test]
fn what_cannot_be_run_is_refused() {
    let (machine, cpus) = crowd(4);
    let refused = |machine: Machine, cpus: &[u32], start| {
        let settings = Settings { start, ..Settings::default() };
        let error = Runtime::pretending(Uneven, machine, cpus, settings).map(drop).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    assert!(refused(machine.clone(), &cpus[1..], None).contains("4 cores, but 3 CPUs"));
    assert!(refused(machine.clone(), &cpus, Some(Mapping::new(vec![4; 16]))).contains("0 to 3"));
    assert!(refused(machine.clone(), &cpus, Some(Mapping::new(vec![0; 3]))).contains("3 tasks"));
    let absent = refused(machine.clone(), &[cpus[0], cpus[0], cpus[0], 1_000_000], None);
    assert!(absent.contains("cannot be bound to CPU 1000000"), "{absent}");
    let no_cpu = Runtime::new(Uneven, machine, Settings::default()).map(drop).unwrap_err();
    assert!(no_cpu.to_string().starts_with("core 0 of"), "{no_cpu}");
}
