//! What holds for every problem, every machine and every strategy.

#![allow(clippy::unwrap_used, reason = "a test that fails says why")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_balance::strategies::{self, Best};
use firsttouch_balance::{
    Machine, Mapping, Message, Metrics, Problem, SolveOptions, Strategy, StrategyError, Task,
};
use proptest::prelude::{ProptestConfig, prop, proptest};
use proptest::strategy::Strategy as Values;
use proptest::{prop_assert, prop_assert_eq};
use skipped::skipped;

const MACHINES: [&str; 5] = ["numa16", "numa32", "2:2:2 + 1:10:100", "mesh:3x2", "3 + 1"];

/// Loads that are whole numbers of 1/64 s: their sums are exact in any order.
fn load() -> impl Values<Value = f64> {
    (0_u32..256).prop_map(|load| f64::from(load) / 64.0)
}

/// A task of a load, a size, a home by its share of the cores, and a pin in one of eight.
fn task() -> impl Values<Value = (f64, u64, f64, bool)> {
    (load(), 0_u64..1000, 0.0..1.0, (0_u8..8).prop_map(|one| one == 0))
}

fn problem(tasks: impl Into<proptest::collection::SizeRange>) -> impl Values<Value = (Machine, Problem)> {
    let machine = (0..MACHINES.len()).prop_map(|index| Machine::parse(MACHINES[index]).unwrap());
    let messages = prop::collection::vec((0.0..1.0, 0.0..1.0, 1_u32..9, 1_u32..5000), 0..60);
    (machine, prop::collection::vec(task(), tasks), messages).prop_map(|(machine, tasks, messages)| {
        let cores = machine.cores().len() as f64;
        let make = |(load, bytes, home, pinned): &(f64, u64, f64, bool)| Task {
            bytes: *bytes,
            pinned: *pinned,
            ..Task::new(*load).at((home * cores) as u32)
        };
        let tasks: Vec<Task> = tasks.iter().map(make).collect();
        let count = tasks.len() as f64;
        let message = |(from, to, count_of, bytes): &(f64, f64, u32, u32)| Message {
            from: (from * count) as u32,
            to: (to * count) as u32,
            count: f64::from(*count_of),
            bytes: f64::from(*bytes),
        };
        let messages: Vec<Message> = messages.iter().map(message).collect();
        (machine, Problem::new(tasks, &messages).unwrap())
    })
}

/// Those strategies that need nothing installed.
fn own() -> Vec<Box<dyn Strategy>> {
    strategies::all().into_iter().filter(|one| !["metis", "scotch"].contains(&one.name())).collect()
}

fn metrics(problem: &Problem, machine: &Machine, mapping: &Mapping, start: &Mapping) -> Metrics {
    Metrics::of(problem, machine, mapping, start)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn mappings_are_total_and_lose_nothing((machine, problem) in problem(1..60)) {
        let start = problem.start(&machine).unwrap();
        let before = metrics(&problem, &machine, &start, &start);
        for strategy in own() {
            let solution = strategy.solve(&problem, &machine, &start, &SolveOptions::default()).unwrap();
            prop_assert!(solution.mapping.is_valid(&problem, &machine), "{}", strategy.name());
            let after = metrics(&problem, &machine, &solution.mapping, &start);
            prop_assert_eq!(after.total_s, before.total_s, "{}", strategy.name());
            prop_assert_eq!(after.bytes, before.bytes, "{}", strategy.name());
            prop_assert!(after.makespan_s >= after.lower_bound_s * (1.0 - 1e-12), "{}", strategy.name());
            let again = strategy.solve(&problem, &machine, &start, &SolveOptions::default()).unwrap();
            prop_assert_eq!(again.mapping, solution.mapping, "{}", strategy.name());
        }
    }

    #[test]
    fn best_is_never_worse_than_its_start((machine, problem) in problem(1..60), improve: bool, rounds in 0_u32..2) {
        let start = problem.start(&machine).unwrap();
        let options = SolveOptions { improve, rounds: Some(rounds), ..SolveOptions::default() };
        let solution = Best.solve(&problem, &machine, &start, &options).unwrap();
        let before = metrics(&problem, &machine, &start, &start);
        let after = metrics(&problem, &machine, &solution.mapping, &start);
        prop_assert!((after.makespan_s, after.cost) <= (before.makespan_s, before.cost));
        if before.imbalance <= options.tolerance && !improve {
            prop_assert_eq!(after.migrations.tasks, 0);
        }
    }

    #[test]
    fn what_is_nowhere_yet_is_put_within_the_tolerance_or_not_worse((machine, problem) in problem(1..60)) {
        let tasks = problem.tasks().iter().map(|task| Task { home: None, pinned: false, ..task.clone() }).collect();
        let problem = Problem::new(tasks, &problem.messages().collect::<Vec<_>>()).unwrap();
        // Only made up: blocks.
        let start = problem.start(&machine).unwrap();
        let before = metrics(&problem, &machine, &start, &start);
        let target = (before.average_s * 1.05).max(before.lower_bound_s) * (1.0 + 1e-9);
        let solution = Best.solve(&problem, &machine, &start, &SolveOptions::default()).unwrap();
        let after = metrics(&problem, &machine, &solution.mapping, &start);
        prop_assert_eq!(after.migrations.tasks, 0);
        prop_assert!(
            (after.makespan_s.max(target), after.cost) <= (before.makespan_s.max(target), before.cost)
        );
    }

    #[test]
    fn with_messages_counted_best_is_as_fast_as_any((machine, problem) in problem(1..60)) {
        let start = problem.start(&machine).unwrap();
        let options = SolveOptions { receiving: true, ..SolveOptions::default() };
        let before = metrics(&problem, &machine, &start, &start);
        let predicted = |strategy: &dyn Strategy| {
            let solution = strategy.solve(&problem, &machine, &start, &options).unwrap();
            prop_assert!(solution.mapping.is_valid(&problem, &machine));
            Ok(metrics(&problem, &machine, &solution.mapping, &start).predicted_s)
        };
        let Some(best) = predicted(&Best)? else { return Ok(()) };
        prop_assert!(best <= before.makespan_s * (1.0 + 1e-9));
        // A start that is good enough is left alone.
        if before.makespan_s > before.lower_bound_s.max(before.average_s * 1.05) * (1.0 + 1e-9) {
            for other in own() {
                let other_s = predicted(other.as_ref())?.unwrap();
                prop_assert!(best <= other_s * (1.0 + 1e-9), "{}: {best} {other_s}", other.name());
            }
        }
    }

    #[test]
    fn best_keeps_its_budget((machine, problem) in problem(1..60), most in 0_usize..10, bytes in 0_u64..3000) {
        let start = problem.start(&machine).unwrap();
        let options = SolveOptions {
            most_migrations: Some(most),
            most_migrated_bytes: Some(bytes),
            rounds: Some(1),
            improve: true,
            ..SolveOptions::default()
        };
        let solution = Best.solve(&problem, &machine, &start, &options).unwrap();
        let after = metrics(&problem, &machine, &solution.mapping, &start);
        prop_assert!(after.migrations.tasks <= most && after.migrations.bytes <= bytes);
    }

    #[test]
    fn other_numbers_for_the_tasks_change_nothing((machine, problem) in problem(2..40), seed: u64) {
        // Tasks that are alike in everything could be exchanged: loads make each one different.
        let tasks = problem.tasks().iter().enumerate();
        let tasks: Vec<Task> =
            tasks.map(|(index, task)| Task { load: task.load + index as f64 / 4096.0, ..task.clone() }).collect();
        let messages: Vec<Message> = problem.messages().collect();
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        let mut state = seed | 1;
        for place in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(place, (state >> 33) as usize % (place + 1));
        }
        // Task `order[new]` gets the number `new`.
        let mut number = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old] = new as u32;
        }
        let renamed = |message: &Message| Message {
            from: number[message.from as usize],
            to: number[message.to as usize],
            ..*message
        };
        let other = Problem::new(
            order.iter().map(|old| tasks[*old].clone()).collect(),
            &messages.iter().map(renamed).collect::<Vec<_>>(),
        )
        .unwrap();
        let problem = Problem::new(tasks, &messages).unwrap();
        for strategy in own() {
            let solve = |problem: &Problem| {
                let start = problem.start(&machine).unwrap();
                let options = SolveOptions { rounds: Some(1), ..SolveOptions::default() };
                strategy.solve(problem, &machine, &start, &options).unwrap().mapping
            };
            let (one, two) = (solve(&problem), solve(&other));
            for (new, old) in order.iter().enumerate() {
                prop_assert_eq!(one.core(*old), two.core(new), "{}, task {}", strategy.name(), old);
            }
        }
    }

    #[test]
    fn few_tasks_are_mapped_as_well_as_possible((_, problem) in problem(1..7), own_time: bool) {
        let machine = Machine::parse("2:2 + 1:10").unwrap().with_seconds_per_byte(if own_time { 1e-4 } else { 0.0 });
        let tasks: Vec<Task> =
            problem.tasks().iter().map(|task| Task { home: task.home.map(|home| home % 4), ..task.clone() }).collect();
        let problem = Problem::new(tasks, &problem.messages().collect::<Vec<_>>()).unwrap();
        let start = problem.start(&machine).unwrap();
        let options = SolveOptions { migration_weight: 0.0, improve: true, ..SolveOptions::default() };
        let solution = Best.solve(&problem, &machine, &start, &options).unwrap();
        let ours = metrics(&problem, &machine, &solution.mapping, &start);
        // Every mapping there is: the least makespan, and the least cost of those within the tolerance.
        let free: Vec<usize> = (0..problem.len()).filter(|task| !problem.tasks()[*task].pinned).collect();
        let all: Vec<(f64, f64)> = (0..4_usize.pow(free.len() as u32))
            .map(|mut code| {
                let mut mapping = start.clone();
                for task in &free {
                    mapping.put(*task, (code % 4) as u32);
                    code /= 4;
                }
                let metrics = metrics(&problem, &machine, &mapping, &start);
                (metrics.makespan_s, metrics.cost)
            })
            .collect();
        let before = metrics(&problem, &machine, &start, &start);
        let mean = problem.total_load() / 4.0;
        let target = (mean * 1.05).max(before.lower_bound_s).min(before.makespan_s) * (1.0 + 1e-9);
        let least = all.iter().map(|(makespan, _)| *makespan).fold(f64::INFINITY, f64::min);
        let cap = target.max(least * (1.0 + 1e-9));
        let cheapest = all.iter().filter(|(makespan, _)| *makespan <= cap).map(|(_, cost)| *cost);
        let cheapest = cheapest.fold(f64::INFINITY, f64::min);
        prop_assert!(ours.makespan_s <= cap, "{} {cap}", ours.makespan_s);
        prop_assert!(ours.cost <= cheapest * (1.0 + 1e-9), "{} {cheapest}", ours.cost);
    }
}

#[test]
fn equal_loads_in_balance_stay_where_they_are() {
    let machine = Machine::parse("numa32").unwrap();
    let tasks = (0..192).map(|task| Task::new(1.0).at(task % 32)).collect();
    let ring: Vec<Message> =
        (0..192).map(|from| Message { from, to: (from + 1) % 192, count: 1.0, bytes: 1000.0 }).collect();
    let problem = Problem::new(tasks, &ring).unwrap();
    let start = problem.start(&machine).unwrap();
    let solution = Best.solve(&problem, &machine, &start, &SolveOptions::default()).unwrap();
    assert_eq!(solution.mapping, start);
}

#[test]
fn the_front_trades_one_for_the_other() {
    let machine = Machine::parse("numa32").unwrap();
    let tasks = (0..128_u32).map(|task| Task::new(f64::from(1 + task * 7 % 13)).at(task / 4)).collect();
    let messages: Vec<Message> = (0..128_u32)
        .flat_map(|from| {
            [1, 5, 31].map(|step| Message { from, to: (from + step) % 128, count: 1.0, bytes: 100.0 })
        })
        .collect();
    let problem = Problem::new(tasks, &messages).unwrap();
    let start = problem.start(&machine).unwrap();
    let options = SolveOptions { front: true, ..SolveOptions::default() };
    let front = Best.solve(&problem, &machine, &start, &options).unwrap().front;
    assert!(front.len() > 2, "{}", front.len());
    for one in &front {
        assert!(one.mapping.is_valid(&problem, &machine));
        let better = |other: &firsttouch_balance::Point| {
            (other.makespan_s, other.cost, other.migrations) != (one.makespan_s, one.cost, one.migrations)
                && other.makespan_s <= one.makespan_s
                && other.cost <= one.cost
                && other.migrations <= one.migrations
        };
        assert!(!front.iter().any(better));
    }
}

#[test]
fn partitioners_of_others_map_everything_or_say_what_is_missing() {
    let machine = Machine::parse("numa16").unwrap();
    let tasks = (0..200_u32).map(|task| Task::new(f64::from(1 + task % 5)).at(task * 16 / 200)).collect();
    let messages: Vec<Message> =
        (0..200_u32).map(|from| Message { from, to: (from + 1) % 200, count: 1.0, bytes: 100.0 }).collect();
    let problem = Problem::new(tasks, &messages).unwrap();
    let start = problem.start(&machine).unwrap();
    for name in ["metis", "scotch"] {
        let strategy = strategies::named(name).unwrap();
        let solve = |raw| {
            strategy.solve(&problem, &machine, &start, &SolveOptions { raw, ..SolveOptions::default() })
        };
        match (solve(false), solve(true)) {
            (Ok(ours), Ok(raw)) => {
                let [ours, raw] = [ours, raw].map(|one| {
                    assert!(one.mapping.is_valid(&problem, &machine), "{name}");
                    Metrics::of(&problem, &machine, &one.mapping, &start)
                });
                assert!(ours.imbalance < 0.3, "{name}: {}", ours.imbalance);
                assert!(
                    ours.migrations.tasks < raw.migrations.tasks,
                    "{name}: parts keep tasks where they are"
                );
            }
            (Err(StrategyError::Missing { hint, .. }), _) => {
                skipped(&format!("{name} is not installed"));
                assert!(hint.contains("apt install"));
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let machine = Machine::parse("2 + 1").unwrap();
    let problem = Problem::new(vec![Task::new(1.0)], &[]).unwrap();
    let start = problem.start(&machine).unwrap();
    let refused = |options: SolveOptions, start: &Mapping| {
        strategies::all().iter().all(|strategy| strategy.solve(&problem, &machine, start, &options).is_err())
    };
    assert!(refused(SolveOptions { tolerance: f64::NAN, ..SolveOptions::default() }, &start));
    for steps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(SolveOptions { steps: Some(steps), ..SolveOptions::default() }, &start));
    }
    assert!(refused(SolveOptions::default(), &Mapping::new(vec![2])));
    assert!(refused(SolveOptions::default(), &Mapping::new(vec![0, 0])));
}
