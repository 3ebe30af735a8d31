//! How long each strategy takes: `cargo run --release -p firsttouch-balance --example speed [STRATEGY]...`.
//!
//! 200 tasks with random messages on the larger machine of Pilla et al. (2011), and 100,000 tasks with a million messages on 64 cores, where
//! most tasks talk to neighbours. The last tasks are twice as heavy as the first, so that the start is out of balance. The least
//! of several times of the first, one time of the second.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its findings")]

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use firsttouch_balance::{Machine, Message, Metrics, Problem, SolveOptions, Task, strategies};

fn random_problem(tasks: u32, messages: u32, near: u32, cores: u32) -> Problem {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut below = |bound: u32| ((u64::from(random.next_u32()) * u64::from(bound)) >> 32) as u32;
    let task = |index: u32, part: u32| Task {
        bytes: 1 << 16,
        // A steep spread of loads, as unbalanced programs have.
        ..Task::new(
            (0.05 + 0.15 * (f64::from(part) / 1000.0).powi(4)) * (1.0 + f64::from(index) / f64::from(tasks)),
        )
        .at((u64::from(index) * u64::from(cores) / u64::from(tasks)) as u32)
    };
    let all = (0..tasks).map(|index| task(index, below(1000))).collect();
    let message = |_| {
        let from = below(tasks);
        let to = if below(10) < 9 { (from + 1 + below(near)) % tasks } else { below(tasks) };
        Message { from, to, count: 10.0, bytes: 11_200.0 }
    };
    let messages: Vec<Message> = (0..messages).map(message).collect();
    Problem::new(all, &messages).unwrap()
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|one| one == name);
    for (tasks, messages, near, machine, repetitions) in
        [(200, 420, 199, "numa32", 200), (100_000, 1_000_000, 300, "16:4 + 1:10", 1)]
    {
        let machine = Machine::parse(machine).unwrap();
        let problem = random_problem(tasks, messages, near, machine.cores().len() as u32);
        let start = problem.start(&machine).unwrap();
        println!("{tasks} tasks, {} pairs, {} cores", problem.pairs(), machine.cores().len());
        for strategy in strategies::all().into_iter().filter(|one| wanted(one.name())) {
            let solve = || strategy.solve(&problem, &machine, &start, &SolveOptions::default());
            let solution = match solve() {
                Ok(solution) => solution,
                Err(error) => {
                    println!("  {:14} {error}", strategy.name());
                    continue;
                }
            };
            let outside = ["metis", "scotch"].contains(&strategy.name());
            let times = (1..if outside { 1 } else { repetitions }).map(|_| solve().unwrap().elapsed);
            let least = times.min().unwrap_or(solution.elapsed).min(solution.elapsed);
            let metrics = Metrics::of(&problem, &machine, &solution.mapping, &start);
            println!(
                "  {:14} {:10.3} ms, imbalance {:.3}, {:.3} a byte, {:3.0} % moved",
                strategy.name(),
                least.as_secs_f64() * 1e3,
                metrics.imbalance,
                metrics.cost_per_byte.unwrap_or(0.0),
                metrics.migrations.fraction * 100.0
            );
        }
    }
}
