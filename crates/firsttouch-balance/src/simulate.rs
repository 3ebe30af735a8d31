//! How long a step takes: tasks and messages, one event after the other.
//!
//! The model. A core does one thing at a time, in the order in which things could begin, for as long as they take: it runs
//! tasks (load over speed), then it receives. A task sends when it has run. How its messages travel is chosen:
//!
//! * [`Carriage::Fetched`], as in shared memory: they lie with the sender, and the core that receives fetches them, which takes
//!   it their latency each and their bytes over the bandwidth of the distance;
//! * [`Carriage::Delivered`], as by a network: they arrive after that time, and cores spend nothing.
//!
//! A step ends for a task when it has run and received all that others send it. With `together` nobody begins the next
//! step before all have ended this one; else each task goes on when it can. With `memory_bandwidth` contention is looked at: what a
//! node gives to other cores (or, delivered, to other nodes) it gives one after the other, at that bandwidth.
//!
//! Migration: the core that a task leaves packs its bytes (at the bandwidth within a core), the core that it goes to fetches
//! them (at that of the distance). Each core packs first, and then unpacks in the order in which tasks were ready.

mod engine;

use crate::{Machine, Mapping, Message, Problem};
use engine::Engine;
use std::collections::VecDeque;

/// How messages get to where they are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Carriage {
    /// The core that receives fetches them.
    #[default]
    Fetched,
    /// They arrive by themselves.
    Delivered,
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// How many steps.
    pub steps: u32,
    /// Whether all tasks begin a step together.
    pub together: bool,
    /// How messages travel.
    pub carriage: Carriage,
    /// How many bytes a second each node's memory gives away; `None` is as many as are asked for.
    pub memory_bandwidth: Option<f64>,
}

impl Default for Simulation {
    fn default() -> Simulation {
        Simulation { steps: 1, together: true, carriage: Carriage::Fetched, memory_bandwidth: None }
    }
}

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    /// A bandwidth that is no number above 0.
    #[error("a memory bandwidth of {0} bytes a second is none")]
    Bandwidth(f64),
}

impl SimulationError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            SimulationError::Unknown { .. } => "name numa16 or numa32, or give the machine its levels",
            SimulationError::Mapping => "map every task to a core that the machine has",
            SimulationError::Bandwidth(_) => "give a number above 0, or leave it out",
        }
    }
}

/// What was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// When the last step was over, in seconds.
    pub elapsed_s: f64,
    /// When each step was over for the last task, in seconds from the beginning.
    pub step_ends_s: Vec<f64>,
    /// How long each core ran tasks or received, in seconds.
    pub busy_s: Vec<f64>,
    /// How long each task kept its core busy in a step, on average, in seconds: what a run time would measure as its load.
    pub task_s: Vec<f64>,
}

impl Run {
    /// The mean of all steps, in seconds.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        self.elapsed_s / self.step_ends_s.len().max(1) as f64
    }

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
    /// Fetches messages of a step.
    Fetch(Message, u32),
    /// Takes notice of messages of a step that arrived.
    Notice(Message, u32),
    /// Makes a task ready to go.
    Pack { task: u32 },
    /// Takes a task in.
    Unpack { task: u32 },
}

/// How far a task is.
#[derive(Clone, Debug, Default)]
struct TaskProgress {
    /// Steps it has run, and steps it has ended.
    run: u32,
    ended: u32,
    /// From how many senders it still misses messages, for the step it is in and those after it: some senders are ahead.
    missing: VecDeque<u32>,
}

impl TaskProgress {
    /// One sender's messages of a step are here.
    fn note(&mut self, step: u32, senders: u32) {
        let ahead = (step - self.ended) as usize;
        while self.missing.len() <= ahead {
            self.missing.push_back(senders);
        }
        self.missing[ahead] -= 1;
    }
}

struct Model<'a> {
    problem: &'a Problem,
    machine: &'a Machine,
    simulation: Simulation,
    costs: Vec<(f64, f64)>,
    mapping: &'a Mapping,
    /// When each node's memory is free again.
    memory_free: Vec<f64>,
    task_s: Vec<f64>,
}

impl<'a> Model<'a> {
    fn new(
        problem: &'a Problem,
        machine: &'a Machine,
        mapping: &'a Mapping,
        simulation: Simulation,
    ) -> Result<Model<'a>, SimulationError> {
        let unknown = |level: &&crate::Level| level.latency.is_none() || level.bandwidth.is_none();
        let costs = machine.message_costs().ok_or_else(|| SimulationError::Unknown {
            machine: machine.name().to_owned(),
            level: machine.levels().iter().find(unknown).map_or_else(String::new, |level| level.name.clone()),
        })?;
        if !mapping.is_valid(problem, machine) {
            return Err(SimulationError::Mapping);
        }
        if let Some(bandwidth) = simulation.memory_bandwidth.filter(|one| !one.is_finite() || *one <= 0.0) {
            return Err(SimulationError::Bandwidth(bandwidth));
        }
        let memory_free = vec![0.0; machine.nodes().len()];
        let task_s = vec![0.0; problem.len()];
        Ok(Model { problem, machine, simulation, costs, mapping, memory_free, task_s })
    }

    fn core(&self, task: u32) -> u32 {
        self.mapping.core(task as usize)
    }

    /// When a transfer that begins now is over.
    fn transfer(&mut self, now: f64, from: u32, to: u32, count: f64, bytes: f64) -> f64 {
        let (latency, bandwidth) = self.costs[self.machine.level(from, to)];
        let own = now + count * latency + bytes / bandwidth;
        let node = |core: u32| self.machine.cores()[core as usize].node;
        let (source, target) = (node(from), node(to));
        let shared = match self.simulation.carriage {
            Carriage::Fetched => from != to,
            Carriage::Delivered => source != target,
        };
        let Some(all) = self.simulation.memory_bandwidth.filter(|_| shared) else { return own };
        let free = &mut self.memory_free[source as usize];
        *free = free.max(now) + bytes / all;
        own.max(*free)
    }

    /// When a job that begins now is over.
    fn end(&mut self, now: f64, core: u32, job: &Job) -> f64 {
        match *job {
            Job::Run { task } => {
                let speed = self.machine.cores()[core as usize].speed;
                now + self.problem.tasks()[task as usize].load / speed
            }
            Job::Fetch(Message { from, count, bytes, .. }, _) => {
                self.transfer(now, self.core(from), core, count, bytes)
            }
            Job::Notice(..) => now,
            Job::Pack { task } => now + self.problem.tasks()[task as usize].bytes as f64 / self.costs[0].1,
            Job::Unpack { task } => {
                let bytes = self.problem.tasks()[task as usize].bytes as f64;
                // The mapping of a migration is the one that tasks come from.
                self.transfer(now, self.core(task), core, 1.0, bytes)
            }
        }
    }

    fn step(mut self) -> Run {
        let senders: Vec<u32> =
            (0..self.problem.len()).map(|task| self.problem.received(task).count() as u32).collect();
        let mut progress = vec![TaskProgress::default(); self.problem.len()];
        let mut engine = Engine::new(self.machine.cores().len());
        let background = |core: usize| self.machine.cores()[core].background;
        let mut floor: Vec<f64> = (0..self.machine.cores().len()).map(background).collect();
        engine.delay(&floor);
        for task in 0..self.problem.len() as u32 {
            engine.put(self.core(task), Job::Run { task });
        }
        let mut left = vec![self.problem.len(); self.simulation.steps as usize];
        let mut step_ends_s = vec![0.0; self.simulation.steps as usize];
        while let Some(done) = engine.next(|now, core, job| self.end(now, core, job)) {
            let task = match done.job {
                Job::Run { task } => {
                    self.send(&mut engine, task, progress[task as usize].run, done.at);
                    progress[task as usize].run += 1;
                    task
                }
                Job::Fetch(message, step) | Job::Notice(message, step) => {
                    progress[message.to as usize].note(step, senders[message.to as usize]);
                    message.to
                }
                Job::Pack { .. } | Job::Unpack { .. } => continue,
            };
            self.task_s[task as usize] += done.at - done.began;
            let one = &mut progress[task as usize];
            let missing = one.missing.front().copied().unwrap_or(senders[task as usize]);
            if one.run == one.ended || missing > 0 {
                continue;
            }
            one.missing.pop_front();
            let step = one.ended as usize;
            one.ended += 1;
            left[step] -= 1;
            step_ends_s[step] = f64::max(step_ends_s[step], done.at);
            let last = one.ended == self.simulation.steps;
            if !self.simulation.together && !last {
                engine.put(self.core(task), Job::Run { task });
            }
            if self.simulation.together && left[step] == 0 && !last {
                floor.iter_mut().enumerate().for_each(|(core, until)| *until = done.at + background(core));
                engine.delay(&floor);
                (0..self.problem.len() as u32)
                    .for_each(|task| engine.put(self.core(task), Job::Run { task }));
            }
        }
        let steps = f64::from(self.simulation.steps.max(1));
        self.task_s.iter_mut().for_each(|time| *time /= steps);
        // A core with a background is busy with that, too.
        let idle_end = floor.iter().copied().fold(0.0, f64::max);
        let elapsed_s = step_ends_s.last().copied().unwrap_or(0.0).max(idle_end);
        Run { elapsed_s, step_ends_s, busy_s: engine.into_busy(), task_s: self.task_s }
    }

    /// A task has run: what it sends is there to be fetched, or on its way.
    fn send(&mut self, engine: &mut Engine<Job>, from: u32, step: u32, now: f64) {
        for arc in self.problem.sent(from as usize) {
            let message = Message { from, to: arc.to, count: arc.count, bytes: arc.bytes };
            let to = self.core(arc.to);
            match self.simulation.carriage {
                Carriage::Fetched => engine.put(to, Job::Fetch(message, step)),
                Carriage::Delivered => {
                    let at = self.transfer(now, self.core(from), to, arc.count, arc.bytes);
                    engine.later(at, to, Job::Notice(message, step));
                }
            }
        }
    }
}

/// Simulates steps of tasks on a mapping.
///
/// # Errors
///
/// A machine of which not all latencies and bandwidths are known, a mapping that is none.
pub fn run(
    problem: &Problem,
    machine: &Machine,
    mapping: &Mapping,
    simulation: &Simulation,
) -> Result<Run, SimulationError> {
    Ok(Model::new(problem, machine, mapping, *simulation)?.step())
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
    simulation: &Simulation,
) -> Result<f64, SimulationError> {
    if !mapping.is_valid(problem, machine) {
        return Err(SimulationError::Mapping);
    }
    let mut model = Model::new(problem, machine, start, *simulation)?;
    let mut engine = Engine::new(machine.cores().len());
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
