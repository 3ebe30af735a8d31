//! What receiving messages costs a core: their latency, and their bytes over the bandwidth, by the distance they come from.

use crate::{Arc, Machine, Mapping, Problem};

/// Latency, and seconds for a byte, between domains of equal distance.
#[derive(Clone, Debug)]
pub(crate) struct Receiving {
    same_core: (f64, f64),
    between: Vec<(f64, f64)>,
    domains: usize,
    domain_of: Vec<u32>,
}

impl Receiving {
    /// Of a machine, if all its classes are known.
    pub(crate) fn of(machine: &Machine) -> Option<Receiving> {
        let costs = machine.message_costs()?;
        let cost = |class: usize| (costs[class].0, 1.0 / costs[class].1);
        let domains = machine.domains();
        let pairs = (0..domains as u32).flat_map(|from| (0..domains as u32).map(move |to| (from, to)));
        Some(Receiving {
            same_core: cost(0),
            between: pairs.map(|(from, to)| cost(machine.domain_level(from, to))).collect(),
            domains,
            domain_of: machine.cores().iter().map(|core| core.domain).collect(),
        })
    }

    /// What a core spends on receiving from another, in seconds.
    pub(crate) fn time(&self, from: u32, to: u32, arc: &Arc) -> f64 {
        let (latency, a_byte) = if from == to {
            self.same_core
        } else {
            let [from, to] = [from, to].map(|core| self.domain_of[core as usize] as usize);
            self.between[from * self.domains + to]
        };
        arc.count * latency + arc.bytes * a_byte
    }

    /// How long each task keeps its core busy in a step. Its load was measured in `start`, with what it received there; a task
    /// that was nowhere has not received anything yet.
    pub(crate) fn own(
        &self,
        problem: &Problem,
        machine: &Machine,
        mapping: &Mapping,
        start: &Mapping,
    ) -> Vec<f64> {
        let own = |(index, task): (usize, &crate::Task)| {
            let core = mapping.core(index);
            let mut own = task.load / machine.cores()[core as usize].speed;
            for (sender, arc) in problem.received(index) {
                own += self.time(mapping.core(sender as usize), core, arc);
                if task.home.is_some() {
                    own -= self.time(start.core(sender as usize), start.core(index), arc);
                }
            }
            own
        };
        problem.tasks().iter().enumerate().map(own).collect()
    }

    /// When the last core is done.
    pub(crate) fn last(
        &self,
        problem: &Problem,
        machine: &Machine,
        mapping: &Mapping,
        start: &Mapping,
    ) -> f64 {
        let mut busy: Vec<f64> = machine.cores().iter().map(|core| core.background).collect();
        for (core, own) in mapping.cores().iter().zip(self.own(problem, machine, mapping, start)) {
            busy[*core as usize] += own;
        }
        busy.into_iter().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Task};

    #[test]
    fn only_what_changes_since_the_loads_were_measured_counts() {
        let machine = Machine::parse("2:2 + 1:2").unwrap();
        let machine = machine.with_levels(&[(0.5, 10.0), (1.0, 10.0), (2.0, 5.0)]);
        let message = Message { from: 0, to: 1, count: 2.0, bytes: 10.0 };
        let receiving = Receiving::of(&machine).unwrap();
        let own = |receiver: Task, to: u32| {
            let problem = Problem::new(vec![Task::new(1.0).at(0), receiver], &[message]).unwrap();
            let (start, mapping) = (Mapping::new(vec![0, 1]), Mapping::new(vec![0, to]));
            receiving.own(&problem, &machine, &mapping, &start)
        };
        // Within the node receiving takes 2 + 1 s, from the other node 4 + 2 s, on the same core 1 + 1 s.
        let here = || Task::new(5.0).at(1);
        assert_eq!([own(here(), 1), own(here(), 2), own(here(), 0)], [[1.0, 5.0], [1.0, 8.0], [1.0, 4.0]]);
        assert_eq!(own(Task::new(5.0), 2), [1.0, 11.0]);
    }
}
