//! How long a step takes: tasks and messages, one event after the other.
//!
//! The model. A core does one thing at a time, in the order in which things could begin, for as long as they take: it runs
//! tasks (load over speed), then it receives. What a task sends lies with it when it has run, as in shared memory; the core that
//! receives fetches it, which takes it the messages' latency each and their bytes over the bandwidth of the distance. The step
//! is over when all have run and received.
//!
//! Migration: the core that a task leaves packs its bytes (at the bandwidth within a core), the core that it goes to fetches
//! them (at that of the distance). Each core packs first, and then unpacks in the order in which tasks were ready.

mod engine;

use crate::{Machine, Mapping, Message, Problem};
use engine::Engine;

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// A distance of which latency or bandwidth is not known.
    #[error("what a message costs over the distance `{level}` of {machine} is not known")]
    Unknown {
        /// The machine.
        machine: String,
        /// The class of distances.
        level: String,
    },
    /// The mapping is none of this problem on this machine.
    #[error("the mapping is none of these tasks on this machine")]
    Mapping,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// When the step was over, in seconds.
    pub elapsed_s: f64,
    /// How long each core ran tasks or received, in seconds.
    pub busy_s: Vec<f64>,
    /// How long each task kept its core busy, in seconds: what a run time would measure as its load.
    pub task_s: Vec<f64>,
}

impl Run {
    /// The share of the time that cores were busy.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        let all = self.elapsed_s * self.busy_s.len() as f64;
        if all > 0.0 { self.busy_s.iter().sum::<f64>() / all } else { 1.0 }
    }
}

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Job {
    /// Runs a task.
    Run { task: u32 },
    /// Fetches messages.
    Fetch(Message),
    /// Makes a task ready to go.
    Pack { task: u32 },
    /// Takes a task in.
    Unpack { task: u32 },
}

struct Model<'a> {
    problem: &'a Problem,
    machine: &'a Machine,
    costs: Vec<(f64, f64)>,
    /// Of a migration the one that tasks come from.
    mapping: &'a Mapping,
}

impl<'a> Model<'a> {
    fn new(
        problem: &'a Problem,
        machine: &'a Machine,
        mapping: &'a Mapping,
    ) -> Result<Model<'a>, SimulationError> {
        let unknown = |level: &&crate::Level| level.latency.is_none() || level.bandwidth.is_none();
        let costs = machine.message_costs().ok_or_else(|| SimulationError::Unknown {
            machine: machine.name().to_owned(),
            level: machine.levels().iter().find(unknown).map_or_else(String::new, |level| level.name.clone()),
        })?;
        if !mapping.is_valid(problem, machine) {
            return Err(SimulationError::Mapping);
        }
        Ok(Model { problem, machine, costs, mapping })
    }

    fn core(&self, task: u32) -> u32 {
        self.mapping.core(task as usize)
    }

    /// When a job that begins now is over.
    fn end(&self, now: f64, core: u32, job: &Job) -> f64 {
        let transfer = |from: u32, count: f64, bytes: f64| {
            let (latency, bandwidth) = self.costs[self.machine.level(self.core(from), core)];
            now + count * latency + bytes / bandwidth
        };
        let bytes = |task: u32| self.problem.tasks()[task as usize].bytes as f64;
        match *job {
            Job::Run { task } => {
                let speed = self.machine.cores()[core as usize].speed;
                now + self.problem.tasks()[task as usize].load / speed
            }
            Job::Fetch(Message { from, count, bytes, .. }) => transfer(from, count, bytes),
            Job::Pack { task } => now + bytes(task) / self.costs[0].1,
            Job::Unpack { task } => transfer(task, 1.0, bytes(task)),
        }
    }
}

/// Simulates a step of tasks on a mapping.
///
/// # Errors
///
/// A machine of which not all latencies and bandwidths are known, a mapping that is none.
pub fn run(problem: &Problem, machine: &Machine, mapping: &Mapping) -> Result<Run, SimulationError> {
    let model = Model::new(problem, machine, mapping)?;
    let mut engine = Engine::new(machine.cores().iter().map(|core| core.background));
    for task in 0..problem.len() as u32 {
        engine.put(model.core(task), Job::Run { task });
    }
    let mut task_s = vec![0.0; problem.len()];
    // A core with a background is busy with that, too.
    let mut elapsed_s = machine.cores().iter().map(|core| core.background).fold(0.0, f64::max);
    while let Some(done) = engine.next(|now, core, job| model.end(now, core, job)) {
        let task = match done.job {
            Job::Run { task: from } => {
                for arc in problem.sent(from as usize) {
                    let message = Message { from, to: arc.to, count: arc.count, bytes: arc.bytes };
                    engine.put(model.core(arc.to), Job::Fetch(message));
                }
                from
            }
            Job::Fetch(message) => message.to,
            Job::Pack { .. } | Job::Unpack { .. } => continue,
        };
        task_s[task as usize] += done.at - done.began;
        elapsed_s = elapsed_s.max(done.at);
    }
    Ok(Run { elapsed_s, busy_s: engine.into_busy(), task_s })
}

/// How long it takes to bring every task from where it is in `start` to where it is in `mapping`, in seconds. Tasks without a
/// home are nowhere yet and cost nothing.
///
/// # Errors
///
/// A machine of which not all latencies and bandwidths are known, a mapping that is none.
pub fn migration(
    problem: &Problem,
    machine: &Machine,
    mapping: &Mapping,
    start: &Mapping,
) -> Result<f64, SimulationError> {
    if !mapping.is_valid(problem, machine) {
        return Err(SimulationError::Mapping);
    }
    let model = Model::new(problem, machine, start)?;
    let mut engine = Engine::new(machine.cores().iter().map(|_| 0.0));
    for task in mapping.moved(problem, start) {
        engine.put(start.core(task), Job::Pack { task: task as u32 });
    }
    let mut end = 0.0;
    while let Some(done) = engine.next(|now, core, job| model.end(now, core, job)) {
        end = f64::max(end, done.at);
        if let Job::Pack { task } = done.job {
            engine.put(mapping.core(task as usize), Job::Unpack { task });
        }
    }
    Ok(end)
}

#[cfg(test)]
mod tests;
