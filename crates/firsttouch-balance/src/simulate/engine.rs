//! Cores that do one job after the other, and the clock that goes from event to event.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A job that is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Done<J> {
    pub(super) job: J,
    pub(super) began: f64,
    pub(super) at: f64,
}

/// What happens at a time; of several at once, in the order in which they were arranged.
#[derive(Debug)]
struct Event<J> {
    at: f64,
    number: u64,
    core: u32,
    /// A job that comes to the core; `None` if the core is done with what it does.
    comes: Option<J>,
}

impl<J> PartialEq for Event<J> {
    fn eq(&self, other: &Event<J>) -> bool {
        self.number == other.number
    }
}

impl<J> Eq for Event<J> {}

impl<J> Ord for Event<J> {
    fn cmp(&self, other: &Event<J>) -> Ordering {
        // The heap gives the greatest first, and the earliest is wanted.
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl<J> PartialOrd for Event<J> {
    fn partial_cmp(&self, other: &Event<J>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug)]
struct Core<J> {
    waiting: VecDeque<J>,
    doing: Option<(J, f64)>,
    /// It begins nothing before.
    not_before: f64,
    busy: f64,
}

/// Cores, and what is arranged for later.
#[derive(Debug)]
pub(super) struct Engine<J> {
    cores: Vec<Core<J>>,
    events: BinaryHeap<Event<J>>,
    /// Cores that may have something to begin.
    woken: VecDeque<u32>,
    now: f64,
    number: u64,
}

impl<J> Engine<J> {
    pub(super) fn new(cores: usize) -> Engine<J> {
        let core = || Core { waiting: VecDeque::new(), doing: None, not_before: 0.0, busy: 0.0 };
        Engine {
            cores: (0..cores).map(|_| core()).collect(),
            events: BinaryHeap::new(),
            woken: VecDeque::new(),
            now: 0.0,
            number: 0,
        }
    }

    /// Lets no core begin anything before a time of its own.
    pub(super) fn delay(&mut self, until: &[f64]) {
        for (core, until) in self.cores.iter_mut().zip(until) {
            core.not_before = core.not_before.max(*until);
        }
    }

    /// Gives a core a job, after those it has.
    pub(super) fn put(&mut self, core: u32, job: J) {
        self.cores[core as usize].waiting.push_back(job);
        self.woken.push_back(core);
    }

    /// Gives a core a job at a later time.
    pub(super) fn later(&mut self, at: f64, core: u32, job: J) {
        self.arrange(at, core, Some(job));
    }

    fn arrange(&mut self, at: f64, core: u32, comes: Option<J>) {
        self.events.push(Event { at, number: self.number, core, comes });
        self.number += 1;
    }

    /// The next job that is done. `end` says when a job that a core begins at a time will be.
    pub(super) fn next(&mut self, mut end: impl FnMut(f64, u32, &J) -> f64) -> Option<Done<J>> {
        loop {
            while let Some(index) = self.woken.pop_front() {
                let core = &mut self.cores[index as usize];
                if core.doing.is_some() {
                    continue;
                }
                let Some(job) = core.waiting.pop_front() else { continue };
                let began = core.not_before.max(self.now);
                let at = end(began, index, &job);
                core.doing = Some((job, began));
                self.arrange(at, index, None);
            }
            let event = self.events.pop()?;
            self.now = event.at;
            self.woken.push_back(event.core);
            let core = &mut self.cores[event.core as usize];
            match event.comes {
                Some(job) => core.waiting.push_back(job),
                None => {
                    let (job, began) = core.doing.take()?;
                    core.busy += event.at - began;
                    return Some(Done { job, began, at: event.at });
                }
            }
        }
    }

    /// How long each core was busy.
    pub(super) fn into_busy(self) -> Vec<f64> {
        self.cores.into_iter().map(|core| core.busy).collect()
    }
}
