//! What a run of the runtime did with its time.

use serde::{Deserialize, Serialize};

/// What one worker did in a step. Times are in seconds since the program began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WorkerStep {
    /// When it began with its tasks.
    pub begun_s: f64,
    /// When its last task was done; until the end of the step it is idle.
    pub ended_s: f64,
    /// Processor time of its tasks, in seconds.
    pub task_s: f64,
}

/// One step of all tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Step {
    /// Which one, from 1.
    pub step: u64,
    /// When it began, in seconds since the program began.
    pub begun_s: f64,
    /// When the last worker was done.
    pub ended_s: f64,
    /// Messages that were delivered.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// By worker.
    pub workers: Vec<WorkerStep>,
}

impl Step {
    /// How long it took, in seconds.
    #[must_use]
    pub fn wall_s(&self) -> f64 {
        self.ended_s - self.begun_s
    }

    /// Processor time of all tasks over what the workers had: 1 is no time lost. Time that others had a worker's CPU is
    /// lost, too.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        let had = self.wall_s() * self.workers.len() as f64;
        let used: f64 = self.workers.iter().map(|worker| worker.task_s).sum();
        if had > 0.0 { used / had } else { 0.0 }
    }
}

/// A time that a worker spent on something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Span {
    /// The worker.
    pub worker: u32,
    /// From then, in seconds since the program began.
    pub begun_s: f64,
    /// To then.
    pub ended_s: f64,
}

/// One look at loads and messages, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Balancing {
    /// After which step.
    pub after_step: u64,
    /// The strategy.
    pub strategy: String,
    /// When it began, in seconds since the program began.
    pub begun_s: f64,
    /// When the strategy had its mapping; tasks moved from then on.
    pub decided_s: f64,
    /// When all tasks were where they were to be.
    pub ended_s: f64,
    /// The imbalance that was measured: the busiest worker's load over the mean, minus 1.
    pub imbalance_before: f64,
    /// The same for the new mapping, if loads stay as they are.
    pub imbalance_after: f64,
    /// Tasks that changed their workers.
    pub moved: usize,
    /// Of those, tasks whose state moved to another node.
    pub rehoused: usize,
    /// The bytes of these states.
    pub bytes: u64,
    /// Tasks that moved, but whose state stayed where it was, because the new node had no memory for it.
    pub left_behind: usize,
    /// When workers made states anew.
    pub migrating: Vec<Span>,
}

/// What a run did with its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Account {
    /// The CPU of each worker.
    pub cpus: Vec<u32>,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The balancings, in their order.
    pub balancings: Vec<Balancing>,
}

impl Account {
    /// The wall time of a step, the mean over the steps from one on, balancing not included, in seconds; `None` if there
    /// is no such step.
    #[must_use]
    pub fn mean_step_s(&self, from_step: u64) -> Option<f64> {
        let steps: Vec<f64> =
            self.steps.iter().filter(|step| step.step >= from_step).map(Step::wall_s).collect();
        (!steps.is_empty()).then(|| steps.iter().sum::<f64>() / steps.len() as f64)
    }
}
