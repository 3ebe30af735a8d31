//! Experts of a mixture-of-experts model on the devices of a few nodes: `cargo run --release -p firsttouch-balance --example experts`.
//!
//! An expert's load is the tokens it gets, a device's the sum of its experts; the slowest device decides. Experts that the
//! same tokens choose talk, and between nodes that is dear. Loads drift: every interval some experts become popular and others
//! are forgotten. Packing them anew each time balances as well, but moves nearly all weights; `best` starts from where they
//! are and moves what it must. Figures are of a model of such loads (a power law over experts), not of a recorded service.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its findings")]

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use firsttouch_balance::{
    Machine, Mapping, Message, Metrics, Problem, SolveOptions, Strategy, Task, strategies,
};

const EXPERTS: usize = 256;
const GROUP: usize = 8;
const INTERVALS: usize = 12;
/// The weights of an expert.
const BYTES: u64 = 44 << 20;
/// Seconds that a device works for a token.
const TOKEN_S: f64 = 1e-6;
const TOKENS: f64 = 1e6;
/// Bytes of a token's activations.
const ACTIVATION: f64 = 14_336.0;

/// How popular experts are, and how that changes.
struct Popularity {
    random: ChaCha8Rng,
    weights: Vec<f64>,
}

impl Popularity {
    fn new() -> Popularity {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut weights: Vec<f64> = (1..=EXPERTS).map(|rank| (rank as f64).powf(-0.4)).collect();
        for place in (1..EXPERTS).rev() {
            weights.swap(place, random.next_u64() as usize % (place + 1));
        }
        Popularity { random, weights }
    }

    /// Eight experts change places in popularity with others, and all drift a little.
    fn drift(&mut self) {
        for _ in 0..8 {
            let pair = [0; 2].map(|_| self.random.next_u64() as usize % EXPERTS);
            self.weights.swap(pair[0], pair[1]);
        }
        for weight in &mut self.weights {
            *weight *= 0.95 + 0.1 * (self.random.next_u32() as f64 / f64::from(u32::MAX));
        }
    }

    /// The problem of one interval; experts of a group are chosen together.
    fn problem(&self, homes: Option<&Mapping>) -> Problem {
        let sum: f64 = self.weights.iter().sum();
        let tokens = |expert: usize| self.weights[expert] / sum * TOKENS;
        let task = |expert: usize| {
            let home = homes.map(|mapping| mapping.core(expert));
            Task { bytes: BYTES, home, ..Task::new(tokens(expert) * TOKEN_S) }
        };
        let mut messages = Vec::new();
        for group in (0..EXPERTS).step_by(GROUP) {
            for from in group..group + GROUP {
                for to in (group..group + GROUP).filter(|to| *to != from) {
                    let together = tokens(from).min(tokens(to)) / GROUP as f64;
                    let (from, to) = (from as u32, to as u32);
                    messages.push(Message { from, to, count: together, bytes: together * ACTIVATION });
                }
            }
        }
        Problem::new((0..EXPERTS).map(task).collect(), &messages).unwrap()
    }
}

fn main() {
    // Four nodes of eight devices; a byte between nodes costs ten times one within.
    let machine = Machine::parse("8:4 + 1:10").unwrap();
    let cold = strategies::named("treematch").unwrap();
    println!(
        "{EXPERTS} experts on {} devices of {} nodes, {INTERVALS} intervals",
        machine.cores().len(),
        machine.nodes().len()
    );
    // All begin alike: packed from nothing, along the nodes first, and then within the tolerance.
    let nowhere = Popularity::new().problem(None);
    let blocks = nowhere.start(&machine).unwrap();
    let packed = cold.solve(&nowhere, &machine, &blocks, &SolveOptions::default()).unwrap().mapping;
    let packed = improved(&nowhere, &machine, &packed);
    let rows: [(&str, &str, bool); 5] = [
        ("left as they are", "none", true),
        ("anew by load, the heaviest first", "greedy", false),
        ("anew along the nodes", "treematch", false),
        ("from where they are, by load", "greedy-refine", true),
        ("from where they are, all things", "best", true),
    ];
    println!(
        "{:34} {:>14} {:>12} {:>12} {:>12} {:>10}",
        "", "imbalance", "worst", "between nodes", "moved a time", "GB a time"
    );
    for (what, strategy, is_incremental) in rows {
        let strategy = strategies::named(strategy).unwrap();
        let mut popularity = Popularity::new();
        let mut places = packed.clone();
        let (mut imbalances, mut remote, mut moved) = (Vec::new(), 0.0, 0);
        for _ in 0..INTERVALS {
            popularity.drift();
            let problem = popularity.problem(is_incremental.then_some(&places));
            let start = problem.start(&machine).unwrap();
            let found = strategy.solve(&problem, &machine, &start, &SolveOptions::default()).unwrap().mapping;
            moved += (0..EXPERTS).filter(|expert| found.core(*expert) != places.core(*expert)).count();
            let metrics = Metrics::of(&problem, &machine, &found, &start);
            imbalances.push(metrics.imbalance);
            remote += metrics.remote_bytes / metrics.bytes;
            places = found;
        }
        let intervals = INTERVALS as f64;
        println!(
            "{what:34} {:14.3} {:12.3} {:10.0} % {:12.1} {:10.2}",
            imbalances.iter().sum::<f64>() / intervals,
            imbalances.iter().copied().fold(0.0, f64::max),
            remote / intervals * 100.0,
            moved as f64 / intervals,
            moved as f64 / intervals * BYTES as f64 / 1e9
        );
    }
}

/// The loads of a packing evened out, which costs nothing while no expert is loaded yet.
fn improved(problem: &Problem, machine: &Machine, start: &Mapping) -> Mapping {
    let options = SolveOptions { improve: true, rounds: Some(20), ..SolveOptions::default() };
    strategies::Best.solve(problem, machine, start, &options).unwrap().mapping
}
