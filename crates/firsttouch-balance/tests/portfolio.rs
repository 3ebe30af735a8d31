//! `best` by default is never worse than a simpler strategy, ends by itself, and gives the same answer each time.

#![allow(clippy::unwrap_used, reason = "a test that fails says why")]

use firsttouch_balance::generate::{Jacobi2D, KNeighbor, LbTest, Start, Topology, Work, at_home};
use firsttouch_balance::strategies::{self, Best};
use firsttouch_balance::{Machine, Mapping, Message, Metrics, Problem, SolveOptions, Strategy, Task};

/// The benchmarks of `balance generate`, nowhere yet.
fn benchmarks() -> [(&'static str, Problem); 3] {
    let (topology, work) = (Topology::RandGraph, Work::Skewed);
    let lb_test = LbTest { tasks: 200, least_s: 5e-4, most_s: 2e-3, topology, seed: 0 };
    let neighbours =
        KNeighbor { tasks: 200, neighbours: 8, stride: 1, message_bytes: 16_384.0, work_s: 1.0, work };
    let jacobi = Jacobi2D { array: 320, block: 32, point_s: 5e-9, hot: 2.0 };
    [
        ("lb_test", lb_test.problem().unwrap()),
        ("kneighbor", neighbours.problem().unwrap()),
        ("jacobi2d", jacobi.problem().unwrap()),
    ]
}

/// Ranks of a box of cells that exchange bytes with those beside them; `wraps` joins the ends. Their numbers follow the first side
/// first, or are shuffled.
fn stencil(sides: [u32; 3], wraps: bool, shuffled: bool) -> Problem {
    let count: u32 = sides.iter().product();
    // Powers of two have no factor in common with 7: each rank gets a number of its own.
    let number = |rank: u32| if shuffled { rank * 7 % count } else { rank };
    let place = |rank: u32| [rank % sides[0], rank / sides[0] % sides[1], rank / sides[0] / sides[1]];
    let mut messages = Vec::new();
    for rank in 0..count {
        for side in 0..3 {
            let mut beside = place(rank);
            beside[side] = (beside[side] + 1) % sides[side];
            if beside[side] > 0 || wraps {
                let other = beside[0] + sides[0] * (beside[1] + sides[1] * beside[2]);
                let bytes = [9e6, 9e6, 5e6][side];
                let message = |from, to| Message { from, to, count: 1.0, bytes };
                messages.extend([message(number(rank), number(other)), message(number(other), number(rank))]);
            }
        }
    }
    Problem::new(vec![Task::new(1.0); count as usize], &messages).unwrap()
}

/// What is minimised: memory that does not fit; makespan, of which any within the tolerance is as good as another; bytes times
/// distances with what migrations cost. And how many tasks move.
fn objective(
    problem: &Problem,
    machine: &Machine,
    mapping: &Mapping,
    options: &SolveOptions,
) -> (u64, f64, f64, usize) {
    let start = problem.start(machine).unwrap();
    let metrics = Metrics::of(problem, machine, mapping, &start);
    let enough = (metrics.average_s * (1.0 + options.tolerance)).max(metrics.lower_bound_s) * (1.0 + 1e-12);
    let price = options.migration_weight * metrics.bytes / problem.len() as f64;
    let cost = metrics.cost + price * metrics.migrations.tasks as f64;
    (metrics.memory_over, metrics.makespan_s.max(enough), cost, metrics.migrations.tasks)
}

/// Fails where a strategy that needs nothing installed is better than `best`.
fn is_never_worse(name: &str, problem: &Problem, machine: &str, options: &SolveOptions) -> f64 {
    let machine = Machine::parse(machine).unwrap();
    let start = problem.start(&machine).unwrap();
    let solve = |strategy: &dyn Strategy| {
        let mapping = strategy.solve(problem, &machine, &start, options).unwrap().mapping;
        objective(problem, &machine, &mapping, options)
    };
    let (over, makespan, cost, moved) = solve(&Best);
    for other in strategies::all() {
        if ["best", "metis", "scotch"].contains(&other.name()) {
            continue;
        }
        let theirs = solve(other.as_ref());
        let what = format!("{name}: {cost} {}: {theirs:?}", other.name());
        assert!(over <= theirs.0, "{what}");
        if over == theirs.0 {
            assert!(makespan <= theirs.1 * (1.0 + 1e-9), "{makespan} {what}");
            // Who moves more may have saved more by it.
            let alike = makespan >= theirs.1 * (1.0 - 1e-9) && theirs.3 <= moved;
            assert!(!alike || cost <= theirs.2 * (1.0 + 1e-9), "{what}, {moved} moved");
        }
    }
    cost
}

#[test]
fn no_simpler_strategy_is_better_on_the_benchmarks() {
    for (name, problem) in benchmarks() {
        for (machine, in_turn) in [("mesh:4x4x4", false), ("numa32", true), ("4:2:8 + 1:10:100", false)] {
            is_never_worse(name, &problem, machine, &SolveOptions::default());
            let cores = Machine::parse(machine).unwrap().cores().len() as u32;
            let start = if in_turn { Start::RoundRobin(cores) } else { Start::Block(cores) };
            let placed = at_home(&problem, start, 4096).unwrap();
            for improve in [false, true] {
                // A start within the tolerance is left alone unless more is asked for: here none is.
                let options = SolveOptions { improve, ..SolveOptions::default() };
                is_never_worse(name, &placed, machine, &options);
            }
            let options = SolveOptions { improve: true, rounds: Some(1), ..SolveOptions::default() };
            is_never_worse(name, &placed, machine, &options);
        }
    }
}

#[test]
fn no_simpler_strategy_is_better_on_ranks_of_a_mesh() {
    // Twice as many cores as ranks: the start leaves gaps, and `greedy` none.
    for (sides, wraps) in [([4, 4, 2], false), ([4, 4, 2], true), ([4, 4, 4], true), ([2, 4, 4], true)] {
        for shuffled in [false, true] {
            let problem = stencil(sides, wraps, shuffled);
            let name = format!("{sides:?} {wraps} {shuffled}");
            for machine in ["mesh:4x4x4", "torus:4x4x4"] {
                let first = SolveOptions { rounds: Some(0), ..SolveOptions::default() };
                let first = is_never_worse(&name, &problem, machine, &first);
                let cost = is_never_worse(&name, &problem, machine, &SolveOptions::default());
                assert!(cost <= first, "{name}: rounds made it worse: {first} {cost}");
            }
        }
    }
}

/// Where each rank's neighbours can be its cores' neighbours no mapping costs less than one hop for each byte.
#[test]
fn rounds_find_the_box_in_ranks_whose_numbers_were_shuffled() {
    let machine = Machine::parse("mesh:4x4x4").unwrap();
    for sides in [[4, 4, 2], [4, 4, 4]] {
        let problem = stencil(sides, false, true);
        let start = problem.start(&machine).unwrap();
        let solve = |options: &SolveOptions| Best.solve(&problem, &machine, &start, options).unwrap();
        let of = |mapping: &Mapping| Metrics::of(&problem, &machine, mapping, &start);
        let solution = solve(&SolveOptions::default());
        let first = solve(&SolveOptions { rounds: Some(0), ..SolveOptions::default() });
        let (metrics, before) = (of(&solution.mapping), of(&first.mapping));
        assert!(before.cost > 1.2 * before.bytes, "the first answer is no optimum: {}", before.cost);
        assert_eq!(metrics.cost, metrics.bytes, "{sides:?}: {} rounds", solution.rounds);
        // Rounds end by themselves, not by the clock, and do the same each time.
        assert!(solution.rounds > 0 && !solution.cut_short);
        let again = solve(&SolveOptions::default());
        assert_eq!((again.mapping, again.rounds), (solution.mapping, solution.rounds));
    }
}

#[test]
fn rounds_are_left_out_where_tasks_run_already_or_nothing_talks() {
    let machine = Machine::parse("mesh:4x4x4").unwrap();
    let rounds = |problem: &Problem, rounds: Option<u32>| {
        let start = problem.start(&machine).unwrap();
        let options = SolveOptions { improve: true, rounds, ..SolveOptions::default() };
        Best.solve(problem, &machine, &start, &options).unwrap().rounds
    };
    let [(_, problem), ..] = benchmarks();
    let placed = at_home(&problem, Start::Block(64), 0).unwrap();
    assert_eq!((rounds(&placed, None), rounds(&placed, Some(1))), (0, 1));
    let silent = Problem::new(problem.tasks().to_vec(), &[]).unwrap();
    assert_eq!((rounds(&silent, None), rounds(&silent, Some(1))), (0, 1));
}
