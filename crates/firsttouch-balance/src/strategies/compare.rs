//! What the strategies share: which task comes first, and which core is the first to be done.

use crate::{Machine, Mapping, Problem};

/// The tasks that may move, the heaviest first, those of one load by number.
pub(super) fn heaviest_first(problem: &Problem) -> Vec<u32> {
    let tasks = problem.tasks();
    let mut order: Vec<u32> = (0..tasks.len() as u32).filter(|task| !tasks[*task as usize].pinned).collect();
    order.sort_by(|a, b| tasks[*b as usize].load.total_cmp(&tasks[*a as usize].load));
    order
}

/// When each core is done with its background and its tasks, communication left out.
#[derive(Clone, Debug)]
pub(super) struct Finish {
    times: Vec<f64>,
    slowness: Vec<f64>,
}

impl Finish {
    /// Of a mapping, of those tasks that `counts` lets through.
    pub(super) fn of(
        problem: &Problem,
        machine: &Machine,
        mapping: &Mapping,
        counts: impl Fn(usize) -> bool,
    ) -> Finish {
        let slowness: Vec<f64> = machine.cores().iter().map(|core| 1.0 / core.speed).collect();
        let times = machine.cores().iter().map(|core| core.background).collect();
        let mut finish = Finish { times, slowness };
        for (index, task) in problem.tasks().iter().enumerate().filter(|(index, _)| counts(*index)) {
            finish.add(mapping.core(index), task.load);
        }
        finish
    }

    pub(super) fn time(&self, core: u32) -> f64 {
        self.times[core as usize]
    }

    /// When a core would be done with another load.
    pub(super) fn with(&self, core: u32, load: f64) -> f64 {
        self.times[core as usize] + load * self.slowness[core as usize]
    }

    pub(super) fn add(&mut self, core: u32, load: f64) {
        self.times[core as usize] = self.with(core, load);
    }

    pub(super) fn take(&mut self, core: u32, load: f64) {
        self.times[core as usize] = self.with(core, -load);
    }

    /// The core that would be done first with another load; of several the first.
    pub(super) fn first_with(&self, load: f64) -> u32 {
        let mut first = 0;
        for core in 1..self.times.len() as u32 {
            if self.with(core, load) < self.with(first, load) {
                first = core;
            }
        }
        first
    }

    pub(super) fn last(&self) -> f64 {
        self.times.iter().copied().fold(0.0, f64::max)
    }
}
