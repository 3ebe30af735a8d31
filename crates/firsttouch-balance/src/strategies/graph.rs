//! A problem as search wants it: tasks in an order of their own, and for each the tasks it talks to.
//!
//! The order depends on what the tasks are, not on their numbers: whoever numbers the same tasks otherwise gets the same
//! mapping, as long as no two tasks are alike in everything that is looked at.

use crate::{Machine, Mapping, Problem};
use std::cmp::Ordering;
use std::ops::Range;

/// What a task exchanges with another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) other: u32,
    /// Bytes to it.
    pub(super) out: f64,
    /// Bytes from it.
    pub(super) back: f64,
}

/// Tasks, numbered anew, with their links.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// The numbers in the problem.
    pub(super) tasks: Vec<u32>,
    pub(super) loads: Vec<f64>,
    offsets: Vec<u32>,
    links: Vec<Link>,
}

impl Graph {
    pub(super) fn of(problem: &Problem) -> Graph {
        let tasks = order(problem);
        let mut places = vec![0_u32; tasks.len()];
        for (place, task) in tasks.iter().enumerate() {
            places[*task as usize] = place as u32;
        }
        let mut offsets = vec![0_u32; tasks.len() + 1];
        for message in problem.messages() {
            offsets[places[message.from as usize] as usize + 1] += 1;
            offsets[places[message.to as usize] as usize + 1] += 1;
        }
        for place in 0..tasks.len() {
            offsets[place + 1] += offsets[place];
        }
        // Going through the tasks in their new order fills every list in that order, so it need not be sorted.
        let mut next = offsets.clone();
        let mut links = vec![Link { other: 0, out: 0.0, back: 0.0 }; 2 * problem.pairs()];
        for (place, task) in tasks.iter().enumerate() {
            let other = place as u32;
            for arc in problem.sent(*task as usize) {
                let entry = &mut next[places[arc.to as usize] as usize];
                links[*entry as usize] = Link { other, out: 0.0, back: arc.bytes };
                *entry += 1;
            }
            for (from, arc) in problem.received(*task as usize) {
                let entry = &mut next[places[from as usize] as usize];
                links[*entry as usize] = Link { other, out: arc.bytes, back: 0.0 };
                *entry += 1;
            }
        }
        let loads = tasks.iter().map(|task| problem.tasks()[*task as usize].load).collect();
        let mut graph = Graph { tasks, loads, offsets, links };
        graph.join();
        graph
    }

    /// Makes one link of the two directions of a pair.
    fn join(&mut self) {
        let (mut kept, mut begin) = (0_usize, 0_usize);
        for place in 0..self.tasks.len() {
            let end = self.offsets[place + 1] as usize;
            let first = kept;
            for index in begin..end {
                let link = self.links[index];
                if kept > first && self.links[kept - 1].other == link.other {
                    self.links[kept - 1].out += link.out;
                    self.links[kept - 1].back += link.back;
                } else {
                    self.links[kept] = link;
                    kept += 1;
                }
            }
            begin = end;
            self.offsets[place + 1] = kept as u32;
        }
        self.links.truncate(kept);
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn links(&self, task: u32) -> &[Link] {
        let task = task as usize;
        &self.links[self.span(task)]
    }

    fn span(&self, task: usize) -> Range<usize> {
        self.offsets[task] as usize..self.offsets[task + 1] as usize
    }

    /// The cores of a mapping in this order.
    pub(super) fn cores_of(&self, mapping: &Mapping) -> Vec<u32> {
        self.tasks.iter().map(|task| mapping.core(*task as usize)).collect()
    }

    /// The mapping of cores in this order.
    pub(super) fn mapping_of(&self, cores: &[u32]) -> Mapping {
        let mut mapping = vec![0; cores.len()];
        for (task, core) in self.tasks.iter().zip(cores) {
            mapping[*task as usize] = *core;
        }
        Mapping::new(mapping)
    }
}

/// The heaviest task first; after that whatever tells tasks apart, their numbers last.
fn order(problem: &Problem) -> Vec<u32> {
    let tasks = problem.tasks();
    let sent = |task: usize| problem.sent(task).iter().map(|arc| arc.bytes).sum::<f64>();
    let received = |task: usize| problem.received(task).map(|(_, arc)| arc.bytes).sum::<f64>();
    let apart = |a: &u32, b: &u32| -> Ordering {
        let (one, two) = (&tasks[*a as usize], &tasks[*b as usize]);
        two.load.total_cmp(&one.load).then_with(|| {
            let key = |task: &crate::Task| (task.home, task.pinned, task.bytes, task.memory);
            key(one)
                .cmp(&key(two))
                .then_with(|| sent(*b as usize).total_cmp(&sent(*a as usize)))
                .then_with(|| received(*b as usize).total_cmp(&received(*a as usize)))
                .then(a.cmp(b))
        })
    };
    let mut order: Vec<u32> = (0..tasks.len() as u32).collect();
    order.sort_unstable_by(apart);
    order
}

/// How much load each core can take of what is not fixed to it, if all cores were done at the same time.
pub(super) fn capacities(problem: &Problem, machine: &Machine) -> Vec<f64> {
    let mut floor: Vec<f64> = machine.cores().iter().map(|core| core.background).collect();
    let mut load = 0.0;
    for task in problem.tasks() {
        match task.home.filter(|_| task.pinned) {
            Some(core) => floor[core as usize] += task.load / machine.cores()[core as usize].speed,
            None => load += task.load,
        }
    }
    let speed: f64 = machine.cores().iter().map(|core| core.speed).sum();
    let (mut low, mut high) = (0.0, load / speed + floor.iter().copied().fold(0.0, f64::max) + 1.0);
    let room = |until: f64| {
        let room = machine
            .cores()
            .iter()
            .zip(&floor)
            .map(move |(core, floor)| (until - floor).max(0.0) * core.speed);
        room.collect::<Vec<f64>>()
    };
    // Fifty halvings exhaust the digits of the answer.
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if room(middle).iter().sum::<f64>() < load { low = middle } else { high = middle }
    }
    room(high)
}
