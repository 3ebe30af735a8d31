//! What the trial found, as a document.

use super::{Benchmark, SIZES, Trial};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a strategy made of a benchmark on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrialRow {
    /// The benchmark.
    pub benchmark: String,
    /// The machine.
    pub machine: String,
    /// The strategy.
    pub strategy: String,
    /// How many executions it is the mean of.
    #[serde(default)]
    pub executions: u32,
    /// The mean time of an iteration, in seconds.
    pub iteration_s: f64,
    /// Where that mean lies, with this document's confidence; `None` of one execution.
    pub ci95: Option<[f64; 2]>,
    /// How many times as fast as without balancing; `None` where that is not in the trial.
    pub speedup: Option<f64>,
    /// What the iteration was thought to take before it was simulated, in seconds.
    pub predicted_s: f64,
    /// The share of time that cores were busy.
    pub efficiency: f64,
    /// The share of tasks that moved.
    pub migrated_fraction: f64,
    /// How long the strategy took, in milliseconds.
    pub strategy_ms: f64,
    /// How long the migration takes, in seconds, by the size of a task.
    pub migration_s: BTreeMap<String, f64>,
    /// The time of an iteration that the paper has, in seconds.
    pub published_value: Option<f64>,
    /// The share of tasks that moved there.
    pub published_migrated_fraction: Option<f64>,
}

impl TrialRow {
    /// The means of executions; `half` is half the width of the interval of their times, where there is one.
    #[must_use]
    pub fn of(
        benchmark: Benchmark,
        machine: &str,
        strategy: &str,
        trials: &[Trial],
        half: Option<f64>,
    ) -> TrialRow {
        let count = trials.len().max(1) as f64;
        let mean = |value: &dyn Fn(&Trial) -> f64| trials.iter().map(value).sum::<f64>() / count;
        let iteration_s = mean(&|trial| trial.iteration_s);
        let migration =
            |size: &'static str| mean(&|trial| trial.migration_s.get(size).copied().unwrap_or(0.0));
        TrialRow {
            benchmark: benchmark.name().to_owned(),
            machine: machine.to_owned(),
            strategy: strategy.to_owned(),
            executions: trials.len() as u32,
            iteration_s,
            ci95: half.map(|half| [iteration_s - half, iteration_s + half]),
            speedup: None,
            predicted_s: mean(&|trial| trial.predicted_s),
            efficiency: mean(&|trial| trial.efficiency),
            migrated_fraction: mean(&|trial| trial.moved),
            strategy_ms: mean(&|trial| trial.strategy.as_secs_f64() * 1e3),
            migration_s: SIZES.iter().map(|(size, _)| ((*size).to_owned(), migration(size))).collect(),
            published_value: benchmark.published_s(machine, strategy),
            published_migrated_fraction: benchmark.published_moved(machine, strategy),
        }
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrialReport {
    /// The fewest executions that a row is the mean of.
    pub seeds: u32,
    /// How surely the intervals hold the means.
    pub confidence: f64,
    /// By benchmark, machine and strategy.
    pub rows: Vec<TrialRow>,
    /// What was left out, and why.
    pub missing: Vec<String>,
    /// What failed, and why.
    pub failed: Vec<String>,
}

impl TrialReport {
    /// One without rows yet.
    #[must_use]
    pub fn new(seeds: u32, confidence: f64) -> TrialReport {
        let (rows, missing, failed) = (Vec::new(), Vec::new(), Vec::new());
        TrialReport { seeds, confidence, rows, missing, failed }
    }

    /// Adds a row, and says how many times as fast it is as the row without balancing, which comes first.
    pub fn add(&mut self, mut row: TrialRow) {
        let same = |other: &&TrialRow| other.benchmark == row.benchmark && other.machine == row.machine;
        let none = self.rows.iter().filter(same).find(|other| other.strategy == "none");
        row.speedup = none
            .map_or(row.strategy.eq("none").then_some(1.0), |none| Some(none.iteration_s / row.iteration_s));
        self.rows.push(row);
    }
}
