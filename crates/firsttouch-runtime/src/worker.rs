//! A worker: the tasks it has, a step of each of them, and the arrival of others.

use crate::error::RuntimeError;
use crate::mail::{Inbox, Outbox, Partners, Sender};
use crate::program::{Context, Program};
use firsttouch_documents::{Span, WorkerStep};
use firsttouch_linux::clock::thread_processor_time;
use firsttouch_memory::{Pages, Region, RegionError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A task with all it has.
#[derive(Debug)]
pub(crate) struct Living {
    pub(crate) number: u32,
    pub(crate) state: Region,
    /// The node that its state was asked from, by its place in the machine.
    pub(crate) home: u32,
    /// Processor time since the last balancing.
    pub(crate) load: Duration,
    pub(crate) partners: Partners,
}

/// Where a worker runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuLocation {
    pub(crate) cpu: u32,
    /// Its node, by its place in the machine.
    pub(crate) node: u32,
    /// The node's number, where the kernel has such a node.
    pub(crate) memory: Option<u32>,
}

/// What all workers know in a step.
#[derive(Debug)]
pub(crate) struct Round<'a> {
    pub(crate) step: u64,
    /// The outboxes of the step before.
    pub(crate) sent: &'a [Outbox],
    /// The worker of each task.
    pub(crate) workers: &'a [u32],
    /// Somebody has failed: there is no next step.
    pub(crate) stop: &'a AtomicBool,
    /// When the program began.
    pub(crate) epoch: Instant,
}

/// A worker between two steps.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) number: u32,
    pub(crate) location: CpuLocation,
    pages: Pages,
    /// By their numbers.
    pub(crate) tasks: Vec<Living>,
    /// Tasks that are coming; their states are still where they were.
    pub(crate) arrivals: Vec<Living>,
    pub(crate) outbox: Outbox,
    inbox: Inbox,
    /// How the last step went.
    pub(crate) last: WorkerStep,
    pub(crate) failure: Option<RuntimeError>,
}

/// What became of the tasks that came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) rehoused: usize,
    pub(crate) bytes: u64,
    pub(crate) left_behind: usize,
    pub(crate) span: Option<Span>,
}

impl Worker {
    pub(crate) fn new(number: u32, location: CpuLocation, pages: Pages, workers: usize) -> Worker {
        Worker {
            number,
            location,
            pages,
            tasks: Vec::new(),
            arrivals: Vec::new(),
            outbox: Outbox::new(workers),
            inbox: Inbox::default(),
            last: WorkerStep { begun_s: 0.0, ended_s: 0.0, task_s: 0.0 },
            failure: None,
        }
    }

    /// Memory on this worker's node; where the machine is only pretended, wherever its thread touches it.
    fn memory(&self, bytes: usize) -> Result<Region, RegionError> {
        let asked = Region::of(bytes.max(1)).pages(self.pages);
        match self.location.memory {
            // Preferred, not bound: a node that is full must not end the program.
            Some(node) => asked.prefer(&[node]),
            None => asked,
        }
        .map()
    }

    /// Makes the tasks that begin here, and begins them.
    pub(crate) fn begin(&mut self, program: &impl Program, round: &Round<'_>) {
        let ours = |worker: &u32| *worker == self.number;
        let numbers: Vec<u32> =
            (0..).zip(round.workers).filter(|(_, worker)| ours(worker)).map(|(number, _)| number).collect();
        for number in numbers {
            let bytes = program.state_bytes(number);
            match self.memory(bytes) {
                Ok(state) => self.tasks.push(Living {
                    number,
                    state,
                    home: self.location.node,
                    load: Duration::ZERO,
                    partners: Partners::default(),
                }),
                Err(source) => return self.fail(RuntimeError::State { task: number, source }, round),
            }
        }
        self.all(round, |task, state| program.begin(task, state));
    }

    /// Makes a step of every task.
    pub(crate) fn step(&mut self, program: &impl Program, round: &Round<'_>) {
        self.all(round, |task, state| program.step(task, state));
    }

    fn fail(&mut self, error: RuntimeError, round: &Round<'_>) {
        self.failure = Some(error);
        round.stop.store(true, Ordering::Relaxed);
    }

    fn all(&mut self, round: &Round<'_>, what: impl Fn(&mut Context<'_>, &mut Region)) {
        let begun_s = round.epoch.elapsed().as_secs_f64();
        self.outbox.clear();
        self.inbox.gather(round.sent, self.number as usize);
        let first = thread_processor_time();
        let mut before = first;
        for living in &mut self.tasks {
            if round.stop.load(Ordering::Relaxed) {
                break;
            }
            let sender = Sender::new(living.number, &mut self.outbox, &mut living.partners, round.workers);
            let mut context =
                Context { step: round.step, mail: self.inbox.of(living.number), sent: round.sent, sender };
            // After a panic nobody looks at this state again: the run is over.
            let ended = catch_unwind(AssertUnwindSafe(|| what(&mut context, &mut living.state)));
            let now = thread_processor_time();
            living.load += now.saturating_sub(before);
            before = now;
            if let Err(panic) = ended {
                let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
                let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
                let (task, step) = (living.number, round.step);
                let words = words.unwrap_or_else(|| "without a word".to_owned());
                self.fail(RuntimeError::Panicked { task, step, words }, round);
                break;
            }
        }
        let ended_s = round.epoch.elapsed().as_secs_f64();
        self.last = WorkerStep { begun_s, ended_s, task_s: before.saturating_sub(first).as_secs_f64() };
    }

    /// What was delivered in the last step.
    pub(crate) fn delivered(&self) -> (u64, u64) {
        (self.inbox.messages() as u64, self.inbox.bytes())
    }

    /// Takes in the tasks that have come; those from another node get their states made anew on this one.
    pub(crate) fn settle(&mut self, epoch: Instant) -> Arrived {
        let mut arrived = Arrived::default();
        let begun_s = epoch.elapsed().as_secs_f64();
        for mut living in std::mem::take(&mut self.arrivals) {
            if living.home != self.location.node {
                let bytes = living.state.as_slice().len();
                match self.memory(bytes) {
                    Ok(mut state) => {
                        state.as_mut_slice()[..bytes].copy_from_slice(living.state.as_slice());
                        living.state = state;
                        living.home = self.location.node;
                        arrived.rehoused += 1;
                        arrived.bytes += bytes as u64;
                    }
                    // It works from there, too, only slower.
                    Err(_) => arrived.left_behind += 1,
                }
            }
            self.tasks.push(living);
        }
        self.tasks.sort_by_key(|living| living.number);
        let ended_s = epoch.elapsed().as_secs_f64();
        let did_something = arrived.rehoused + arrived.left_behind > 0;
        arrived.span = did_something.then_some(Span { worker: self.number, begun_s, ended_s });
        arrived
    }
}
