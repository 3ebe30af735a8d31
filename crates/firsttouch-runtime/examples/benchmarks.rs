//! The three benchmarks of Pilla et al. (2011) for real, on the CPUs that there are, from a start that is out of balance:
//! `cargo run --release -p firsttouch-runtime --example benchmarks -- [BUDGET_S] [FOLDER]`.
//!
//! Each run is a fresh runtime; a run of every strategy in random order is a block, and each strategy is compared with
//! none by the ratios within blocks (`firsttouch-experiment`). A run's time is all of it, balancing and migrating included. With a
//! folder, the last run of each strategy is drawn there.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its findings")]

use firsttouch_balance::generate::{KNeighbor, LbTest, Topology, Work};
use firsttouch_balance::{CpuSelection, Machine, Mapping, Problem, strategies};
use firsttouch_experiment::{Launcher, Plan, RunRequest, Silent, TimedRun};
use firsttouch_linux::numa;
use firsttouch_machine::Root;
use firsttouch_report::workers_figure;
use firsttouch_runtime::programs::{Jacobi, Synthetic, rounds_per_second};
use firsttouch_runtime::{Account, Program, Runtime, Settings};
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The first is the baseline.
const STRATEGIES: [&str; 4] = ["none", "greedy-refine", "numa", "best"];
const STEPS: u64 = 40;
const EVERY: u64 = 5;
const STATE_BYTES: usize = 64 << 10;
const SEED: u64 = 1;

fn main() {
    let mut words = std::env::args().skip(1);
    let budget = Duration::from_secs(words.next().map_or(120, |word| word.parse().unwrap()));
    let folder = words.next().map(PathBuf::from);
    let machine = firsttouch_machine::Machine::read(&Root::live()).unwrap();
    let allowed = numa::affinity(0).unwrap();
    let machine = Machine::of(&machine, None, CpuSelection::Cores, |cpu| allowed.contains(cpu)).unwrap();
    let rate = rounds_per_second();
    println!("{} workers, {STEPS} steps, balanced after every {EVERY}, seed {SEED}", machine.cores().len());

    let lb_test =
        LbTest { tasks: 200, least_s: 20e-6, most_s: 200e-6, topology: Topology::RandGraph, seed: 0 };
    let lb_test = lb_test.problem().unwrap();
    let by_load = heavy_half(&lb_test);
    let ring = KNeighbor {
        tasks: 200,
        neighbours: 8,
        stride: 1,
        message_bytes: 16e3,
        work_s: 10e-3,
        work: Work::Skewed,
    };
    let ring = ring.problem().unwrap();
    let jacobi = Jacobi::new(640, 64, 4).unwrap();

    let run = |strategy: &str, start: Option<Mapping>| Settings {
        start,
        strategy: strategies::named(strategy).unwrap(),
        every: if strategy == STRATEGIES[0] { 0 } else { EVERY },
        ..Settings::default()
    };
    let synthetic = |problem: &Problem| Synthetic::new(problem.clone(), rate, STATE_BYTES);
    let share = budget / 3;
    compare("kNeighbor", share, folder.as_ref(), |strategy| {
        account(synthetic(&ring), &machine, run(strategy, None))
    });
    compare("lb_test", share, folder.as_ref(), |strategy| {
        account(synthetic(&lb_test), &machine, run(strategy, Some(by_load.clone())))
    });
    compare("jacobi2D", share, folder.as_ref(), |strategy| account(jacobi, &machine, run(strategy, None)));
}

/// Tasks by their loads: the heavier ones with the first worker, which no program would do on purpose, and which random
/// loads do not do on two cores by themselves.
fn heavy_half(problem: &Problem) -> Mapping {
    let mut order: Vec<usize> = (0..problem.len()).collect();
    order.sort_by(|a, b| problem.tasks()[*b].load.total_cmp(&problem.tasks()[*a].load));
    let mut mapping = Mapping::new(vec![0; problem.len()]);
    order[problem.len() / 2..].iter().for_each(|task| mapping.put(*task, 1));
    mapping
}

fn account<P: Program>(program: P, machine: &Machine, settings: Settings) -> Account {
    let mut runtime = Runtime::new(program, machine.clone(), settings).unwrap();
    runtime.run(STEPS).unwrap();
    runtime.account().clone()
}

struct Runs<F> {
    run: F,
    begun: Instant,
    /// The last of each strategy.
    last: Vec<Account>,
}

impl<F: Fn(&str) -> Account> Launcher for Runs<F> {
    type Error = Infallible;

    fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, Infallible> {
        let account = (self.run)(STRATEGIES[request.configuration]);
        let ended_s = account
            .balancings
            .iter()
            .map(|one| one.ended_s)
            .chain(account.steps.iter().map(|one| one.ended_s));
        let wall_s = ended_s.fold(0.0, f64::max) - account.steps[0].begun_s;
        self.last[request.configuration] = account;
        Ok(TimedRun { wall_s, ..TimedRun::default() })
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn interrupted(&self) -> bool {
        false
    }
}

fn compare(name: &str, budget: Duration, folder: Option<&PathBuf>, run: impl Fn(&str) -> Account) {
    let last = vec![Account::default(); STRATEGIES.len()];
    let mut runs = Runs { run, begun: Instant::now(), last };
    let names = STRATEGIES.map(str::to_owned).to_vec();
    let plan = Plan { budget: Some(budget), ..Plan::new(names, SEED) };
    let outcome = firsttouch_experiment::run(&plan, &mut runs, &mut Silent);
    println!("{name}");
    for ((strategy, result), account) in STRATEGIES.iter().zip(&outcome.configurations).zip(&runs.last) {
        let moved: usize = account.balancings.iter().map(|balancing| balancing.moved).sum();
        let after = account.mean_step_s(EVERY + 1).unwrap_or(0.0);
        let efficiency: Vec<f64> = account
            .steps
            .iter()
            .filter(|step| step.step > EVERY)
            .map(firsttouch_runtime::Step::efficiency)
            .collect();
        let ratio = result.ratio.map_or(String::new(), |ratio| {
            format!("{:.3} times as fast ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
        });
        let verdict = result.verdict().map_or(String::new(), |verdict| format!(", {verdict}"));
        println!(
            "  {:14} {:7.3} ms a step in {:2} runs, {ratio}{verdict}; last run: {:.3} ms after the first balancing, {:.0} % efficient, {moved} moves",
            strategy,
            result.mean_wall_s / STEPS as f64 * 1e3,
            result.runs.len(),
            after * 1e3,
            efficiency.iter().sum::<f64>() / efficiency.len() as f64 * 100.0,
        );
    }
    if let Some(confirmed) = &outcome.confirmation
        && let (Some(ratio), Some(recommended)) = (confirmed.ratio, outcome.recommended)
    {
        println!(
            "  on fresh runs {} is {:.3} times as fast as none ({:.3} to {:.3}, {:?})",
            STRATEGIES[recommended], ratio.value, ratio.low, ratio.high, confirmed.state
        );
    }
    outcome.warnings.iter().for_each(|warning| println!("  {warning}"));
    if let Some(folder) = folder {
        for (strategy, account) in STRATEGIES.iter().zip(&runs.last) {
            let file = folder.join(format!("{name}-{strategy}.svg"));
            std::fs::write(file, workers_figure(account, &format!("{name}, {strategy}"))).unwrap();
        }
    }
}
