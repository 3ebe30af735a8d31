//! `balance simulate`: the benchmarks of Pilla et al. (2011), balanced by every strategy and simulated, with intervals over executions.

use crate::args::Simulate;
use crate::exit::{FAILED, INTERRUPTED};
use crate::interrupt::Interrupt;
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
/// Its rule for how many executions there are: so many, and then until the interval is within so much of the mean.
const FEWEST: u32 = 25;
const RELATIVE_ERROR: f64 = 0.05;
/// What never settles ends, and shows its interval.
const MOST: u32 = 1000;

pub(super) fn run(args: &Simulate) -> Outcome {
    let mut report = TrialReport::new(args.seeds.unwrap_or(FEWEST), 1.0 - ALPHA);
    let mut contestants = contestants();
    // An end at once would leave the folder of a strategy that is a program.
    let interrupt = Interrupt::listen()?;
    for benchmark in Benchmark::ALL {
        for name in MACHINES {
            if interrupt.asked() {
                break;
            }
            output::message(&format!("{} on {name}\n", benchmark.name()));
            let machine = Machine::parse(name).map_err(Failure::new)?;
            // What is not installed is left out once, and said.
            contestants.retain(|one| {
                let trials = executions(args.seeds, &interrupt, |seed| trial(benchmark, &machine, one, seed));
                // What the signal ended, too, has not failed, and fewer executions than were asked for tell nothing.
                if interrupt.asked() {
                    return true;
                }
                match trials {
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
    Ok(match report.failed.is_empty() {
        _ if interrupt.asked() => INTERRUPTED,
        true => 0,
        false => FAILED,
    })
}

/// As many executions as were asked for, or as the paper's rule wants; fewer after an interrupt.
fn executions(
    asked: Option<u32>,
    interrupt: &Interrupt,
    mut trial: impl FnMut(u32) -> Result<Trial, TrialError>,
) -> Result<Vec<Trial>, TrialError> {
    let (fewest, most) = asked.map_or((FEWEST, MOST), |asked| (asked, asked));
    let mut trials = Vec::new();
    for seed in 0..most {
        if interrupt.asked() {
            break;
        }
        trials.push(trial(seed)?);
        if seed + 1 >= fewest && interval(&trials).is_some_and(|found| is_settled(&found)) {
            break;
        }
    }
    Ok(trials)
}

fn is_settled(interval: &MeanInterval) -> bool {
    interval.half_width.is_some_and(|half| half <= RELATIVE_ERROR * interval.mean)
}

fn interval(trials: &[Trial]) -> Option<MeanInterval> {
    let times: Vec<f64> = trials.iter().map(|trial| trial.iteration_s).collect();
    MeanInterval::of(&times, ALPHA)
}

fn row(benchmark: Benchmark, machine: &'static str, strategy: &str, trials: &[Trial]) -> TrialRow {
    let half = interval(trials).and_then(|interval| interval.half_width);
    TrialRow::of(benchmark, machine, strategy, trials, half)
}
