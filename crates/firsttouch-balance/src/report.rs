//! What a balancing did, as a document.

use crate::{Alpha, Machine, Mapping, Metrics, Point, Problem, Solution};
use serde::{Deserialize, Serialize};

/// Alpha with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AlphaUsed {
    /// Seconds for each.
    pub seconds: f64,
    /// `message` or `byte`.
    pub per: String,
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskPlace {
    /// What its file calls it.
    pub task: String,
    /// Its core, by its place among the machine's.
    pub core: u32,
    /// The CPU of that core, where it is known.
    pub cpu: Option<u32>,
    /// The core it was on; `None` if it was nowhere.
    pub home: Option<u32>,
}

/// A trade-off between makespan, cost and migrations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FrontPoint {
    /// The imbalance it was looked for with.
    pub tolerance: f64,
    /// The work of its busiest core, in seconds.
    pub makespan_s: f64,
    /// Its bytes times distances.
    pub cost: f64,
    /// How many tasks it moves.
    pub migrations: usize,
}

/// What a mapping is worth, and where a strategy made it, what it was worth before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BalanceReport {
    /// The machine.
    pub machine: String,
    /// How many cores it has.
    pub cores: usize,
    /// How many tasks there are.
    pub tasks: usize,
    /// How many pairs (sender, receiver) talk.
    pub pairs: usize,
    /// The strategy; `None` where a given mapping was evaluated.
    pub strategy: Option<String>,
    /// How long it took, in seconds.
    pub strategy_s: Option<f64>,
    /// The alpha it used.
    pub alpha: Option<AlphaUsed>,
    /// Rounds after the first answer.
    pub rounds: u32,
    /// Whether the time limit ended the search.
    pub cut_short: bool,
    /// What the start is worth.
    pub before: Metrics,
    /// What the mapping is worth.
    pub after: Metrics,
    /// The mapping.
    pub mapping: Vec<TaskPlace>,
    /// Trade-offs, where they were asked for.
    pub front: Vec<FrontPoint>,
}

impl BalanceReport {
    /// Of a mapping that was given.
    #[must_use]
    pub fn of_mapping(
        problem: &Problem,
        machine: &Machine,
        mapping: &Mapping,
        start: &Mapping,
    ) -> BalanceReport {
        let place = |(index, task): (usize, &crate::Task)| {
            let core = mapping.core(index);
            TaskPlace {
                task: problem.label(index).into_owned(),
                core,
                cpu: machine.cores()[core as usize].cpu,
                home: task.home.map(|_| start.core(index)),
            }
        };
        BalanceReport {
            machine: machine.name().to_owned(),
            cores: machine.cores().len(),
            tasks: problem.len(),
            pairs: problem.pairs(),
            strategy: None,
            strategy_s: None,
            alpha: None,
            rounds: 0,
            cut_short: false,
            before: Metrics::of(problem, machine, start, start),
            after: Metrics::of(problem, machine, mapping, start),
            mapping: problem.tasks().iter().enumerate().map(place).collect(),
            front: Vec::new(),
        }
    }

    /// Of what a strategy found.
    #[must_use]
    pub fn of_solution(
        problem: &Problem,
        machine: &Machine,
        start: &Mapping,
        strategy: &str,
        solution: &Solution,
    ) -> BalanceReport {
        let alpha = match solution.alpha {
            Some(Alpha::PerMessage(seconds)) => Some(AlphaUsed { seconds, per: "message".to_owned() }),
            Some(Alpha::PerByte(seconds)) => Some(AlphaUsed { seconds, per: "byte".to_owned() }),
            Some(Alpha::Auto) | None => None,
        };
        let point = |point: &Point| FrontPoint {
            tolerance: point.tolerance,
            makespan_s: point.makespan_s,
            cost: point.cost,
            migrations: point.migrations,
        };
        BalanceReport {
            strategy: Some(strategy.to_owned()),
            strategy_s: Some(solution.elapsed.as_secs_f64()),
            alpha,
            rounds: solution.rounds,
            cut_short: solution.cut_short,
            front: solution.front.iter().map(point).collect(),
            ..BalanceReport::of_mapping(problem, machine, &solution.mapping, start)
        }
    }
}
