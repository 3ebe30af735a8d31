//! Cores that do one job after the other, and the clock that goes from one that is done to the next.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A job that is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Done<J> {
    pub(super) job: J,
    pub(super) began: f64,
    pub(super) at: f64,
}

/// A core is done with what it does at a time; of several at once, in the order in which they began.
#[derive(Debug)]
struct Event {
    at: f64,
    number: u64,
    core: u32,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.number == other.number
    }
}

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        // The heap gives the greatest first, and the earliest is wanted.
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
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
    events: BinaryHeap<Event>,
    /// Cores that may have something to begin.
    woken: VecDeque<u32>,
    now: f64,
    number: u64,
}

impl<J> Engine<J> {
    /// Cores that begin nothing before a time of their own.
    pub(super) fn new(not_before: impl Iterator<Item = f64>) -> Engine<J> {
        let core = |not_before| Core { waiting: VecDeque::new(), doing: None, not_before, busy: 0.0 };
        Engine {
            cores: not_before.map(core).collect(),
            events: BinaryHeap::new(),
            woken: VecDeque::new(),
            now: 0.0,
            number: 0,
        }
    }

    /// Gives a core a job, after those it has.
    pub(super) fn put(&mut self, core: u32, job: J) {
        self.cores[core as usize].waiting.push_back(job);
        self.woken.push_back(core);
    }

    /// The next job that is done. `end` says when a job that a core begins at a time will be.
    pub(super) fn next(&mut self, mut end: impl FnMut(f64, u32, &J) -> f64) -> Option<Done<J>> {
        while let Some(index) = self.woken.pop_front() {
            let core = &mut self.cores[index as usize];
            if core.doing.is_some() {
                continue;
            }
            let Some(job) = core.waiting.pop_front() else { continue };
            let began = core.not_before.max(self.now);
            let at = end(began, index, &job);
            core.doing = Some((job, began));
            self.events.push(Event { at, number: self.number, core: index });
            self.number += 1;
        }
        let event = self.events.pop()?;
        self.now = event.at;
        self.woken.push_back(event.core);
        let core = &mut self.cores[event.core as usize];
        let (job, began) = core.doing.take()?;
        core.busy += event.at - began;
        Some(Done { job, began, at: event.at })
    }

    /// How long each core was busy.
    pub(super) fn into_busy(self) -> Vec<f64> {
        self.cores.into_iter().map(|core| core.busy).collect()
    }
}
