//! `balance simulate`: the benchmarks of Pilla et al. (2011), balanced by every strategy and simulated, with intervals over executions.

use crate::args::Simulate;
use crate::exit::FAILED;
use crate::output::{self, Failure, Outcome};
use firsttouch_balance::trial::{
    Benchmark, MACHINES, Trial, TrialError, TrialReport, TrialRow, contestants, trial,
};
use firsttouch_balance::{Machine, StrategyError};
use firsttouch_documents::to_json;
use firsttouch_experiment::statistics::student::MeanInterval;
use firsttouch_report::{Style, text};

/// Intervals miss with this probability: the paper's 95 %.
const ALPHA: f64 = 0.05;

pub(super) fn run(args: &Simulate) -> Outcome {
    let mut report = TrialReport::new(args.seeds, 1.0 - ALPHA);
    let mut contestants = contestants();
    for benchmark in Benchmark::ALL {
        for name in MACHINES {
            output::message(&format!("{} on {name}\n", benchmark.name()));
            let machine = Machine::parse(name).map_err(Failure::new)?;
            // What is not installed is left out once, and said.
            contestants.retain(|one| {
                let all: Result<Vec<Trial>, TrialError> =
                    (0..args.seeds).map(|seed| trial(benchmark, &machine, one, seed)).collect();
                match all {
                    Ok(trials) => report.add(row(benchmark, name, &one.name, &trials)),
                    Err(TrialError::Strategy(error @ StrategyError::Missing { .. })) => {
                        report.missing.push(error.to_string());
                        return false;
                    }
                    Err(error) => report.failed.push(format!("{} on {name}: {error}", benchmark.name())),
                }
                true
            });
        }
    }
    output::data(&if args.json {
        to_json(&report)
    } else {
        text::balance_trials(&report, output::width(), Style::Ansi)
    })?;
    Ok(if report.failed.is_empty() { 0 } else { FAILED })
}

fn row(benchmark: Benchmark, machine: &'static str, strategy: &str, trials: &[Trial]) -> TrialRow {
    let times: Vec<f64> = trials.iter().map(|trial| trial.iteration_s).collect();
    let half = MeanInterval::of(&times, ALPHA).and_then(|interval| interval.half_width);
    TrialRow::of(benchmark, machine, strategy, trials, half)
}
