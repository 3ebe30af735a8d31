//! What `balance simulate` assumes and the paper does not say, tried out: `cargo run --release -p firsttouch-balance --example
//! calibrate -- HANDLING WORK POINT HOT`.
//!
//! HANDLING is what a message costs the run time (seconds of the core that receives it), WORK what kNeighbor works in an iteration
//! (seconds of all cores), POINT what a point of jacobi2D takes (seconds), HOT how many times as long those of its hot quarter do. For each
//! benchmark and machine: the time without balancing, then the speedup of each strategy with the paper's in brackets, then how far
//! these are apart on average (root of the mean square of the logarithms of their ratios). Needs `gpmetis` and `scotch_gmap`.

#![expect(clippy::print_stdout, reason = "an example's output")]

use firsttouch_balance::generate::{Jacobi2D, KNeighbor, Start, Work, at_home};
use firsttouch_balance::simulate::run;
use firsttouch_balance::strategies::named;
use firsttouch_balance::trial::{Benchmark, MACHINES};
use firsttouch_balance::{Machine, Problem, SolveOptions, Task};
use std::error::Error;

/// As the paper has them: parts are numbered by chance.
const STRATEGIES: [&str; 5] = ["numa", "greedy", "metis-raw", "recbipart", "scotch-raw"];

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<f64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let [handling, work_s, point_s, hot] = numbers?[..] else {
        return Err("usage: calibrate HANDLING WORK POINT HOT, as in: calibrate 85e-6 0.073 1e-5 2".into());
    };
    let neighbours = KNeighbor {
        tasks: 200,
        neighbours: 8,
        stride: 1,
        message_bytes: 16_000.0,
        work_s,
        work: Work::Skewed,
    };
    let blocks = Jacobi2D { array: 320, block: 32, point_s, hot };
    for (benchmark, problem) in
        [(Benchmark::KNeighbor, neighbours.problem()?), (Benchmark::Jacobi2D, blocks.problem()?)]
    {
        let problem = handled(&problem, handling)?;
        for name in MACHINES {
            let machine = Machine::parse(name)?;
            let home = at_home(&problem, Start::Block(machine.cores().len() as u32), 0)?;
            let start = home.start(&machine)?;
            let seen = run(&home, &machine, &start)?;
            let mut measured = home.clone();
            measured.set_loads(&seen.task_s)?;
            print!("{} {name}: {:.2} ms;", benchmark.name(), seen.elapsed_s * 1e3);
            let mut squares = 0.0;
            for strategy in STRATEGIES {
                let own = strategy.strip_suffix("-raw");
                let options = SolveOptions { receiving: true, raw: own.is_some(), ..SolveOptions::default() };
                let solution =
                    named(own.unwrap_or(strategy))?.solve(&measured, &machine, &start, &options)?;
                let after = run(&home, &machine, &solution.mapping)?;
                let speedup = seen.elapsed_s / after.elapsed_s;
                let published = |strategy| benchmark.published_s(name, strategy).ok_or("not in the paper");
                let paper = published("none")? / published(strategy)?;
                squares += (speedup / paper).ln().powi(2);
                print!(" {strategy} {speedup:.2} ({paper:.2})");
            }
            println!("; {:.0} % apart", (squares / STRATEGIES.len() as f64).sqrt() * 100.0);
        }
    }
    Ok(())
}

/// The same tasks, each with the time of the messages that it receives.
fn handled(problem: &Problem, handling: f64) -> Result<Problem, Box<dyn Error>> {
    let messages: Vec<_> = problem.messages().collect();
    let mut tasks: Vec<Task> = problem.tasks().to_vec();
    messages.iter().for_each(|message| tasks[message.to as usize].load += message.count * handling);
    Ok(Problem::new(tasks, &messages)?)
}
