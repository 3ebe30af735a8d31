//! What a mapping is worth.
//!
//! The work of a core is its background, plus the loads of its tasks over its speed, plus, where the machine says what a
//! byte costs the core itself, that times the greater of what it sends to and receives from other cores (the work model of
//! LBAF and vt, Lifflander et al. 2024).

use crate::receiving::Receiving;
use crate::{Machine, Mapping, Problem};
use serde::{Deserialize, Serialize};

/// Traffic by class of distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LevelTraffic {
    /// The class.
    pub level: String,
    /// Bytes per step.
    pub bytes: f64,
    /// Messages per step.
    pub messages: f64,
}

/// What becomes of the tasks that had a home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Migrations {
    /// How many tasks are elsewhere now.
    pub tasks: usize,
    /// Their share of all tasks.
    pub fraction: f64,
    /// Their sizes, in bytes.
    pub bytes: u64,
}

/// What a mapping is worth on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Metrics {
    /// The work of the busiest core, in seconds.
    pub makespan_s: f64,
    /// The same if loads were measured in the start, messages and all, and what receiving takes changes with the distances;
    /// `None` where the machine does not say what messages cost.
    pub predicted_s: Option<f64>,
    /// The mean work of all cores, in seconds.
    pub average_s: f64,
    /// Makespan over average, minus 1.
    pub imbalance: f64,
    /// No mapping has a smaller makespan than this, in seconds.
    pub lower_bound_s: f64,
    /// The work of all cores, in seconds.
    pub total_s: f64,
    /// Bytes times their distances: hop-bytes on a mesh, bytes times NUMA factor on nodes.
    pub cost: f64,
    /// The same per byte; `None` without traffic.
    pub cost_per_byte: Option<f64>,
    /// All bytes.
    pub bytes: f64,
    /// Bytes between nodes.
    pub remote_bytes: f64,
    /// Messages between nodes.
    pub remote_messages: f64,
    /// Traffic by class of distance, the nearest first.
    pub levels: Vec<LevelTraffic>,
    /// Memory that does not fit into its node, in bytes.
    pub memory_over: u64,
    /// What moved since the start.
    pub migrations: Migrations,
}

impl Metrics {
    /// The metrics of a mapping, with the migrations since `start`.
    ///
    /// # Panics
    ///
    /// If a mapping is not of this problem and machine.
    #[must_use]
    pub fn of(problem: &Problem, machine: &Machine, mapping: &Mapping, start: &Mapping) -> Metrics {
        let work = work(problem, machine, mapping);
        let total: f64 = work.iter().sum();
        let average = total / work.len() as f64;
        let makespan = work.iter().copied().fold(0.0, f64::max);
        let mut metrics = Metrics {
            makespan_s: makespan,
            predicted_s: Receiving::of(machine)
                .map(|receiving| receiving.last(problem, machine, mapping, start)),
            average_s: average,
            imbalance: if average > 0.0 { makespan / average - 1.0 } else { 0.0 },
            lower_bound_s: lower_bound(problem, machine),
            total_s: total,
            cost: 0.0,
            cost_per_byte: None,
            bytes: 0.0,
            remote_bytes: 0.0,
            remote_messages: 0.0,
            levels: machine
                .levels()
                .iter()
                .map(|level| LevelTraffic { level: level.name.clone(), bytes: 0.0, messages: 0.0 })
                .collect(),
            memory_over: memory_over(problem, machine, mapping),
            migrations: migrations(problem, mapping, start),
        };
        for message in problem.messages() {
            let (from, to) = (mapping.core(message.from as usize), mapping.core(message.to as usize));
            metrics.bytes += message.bytes;
            metrics.cost += message.bytes * machine.distance(from, to);
            let level = &mut metrics.levels[machine.level(from, to)];
            level.bytes += message.bytes;
            level.messages += message.count;
            if machine.cores()[from as usize].node != machine.cores()[to as usize].node {
                metrics.remote_bytes += message.bytes;
                metrics.remote_messages += message.count;
            }
        }
        metrics.cost_per_byte = (metrics.bytes > 0.0).then(|| metrics.cost / metrics.bytes);
        metrics
    }
}

/// The work of each core, in seconds.
pub(crate) fn work(problem: &Problem, machine: &Machine, mapping: &Mapping) -> Vec<f64> {
    let mut work: Vec<f64> = vec![0.0; machine.cores().len()];
    for (task, core) in problem.tasks().iter().zip(mapping.cores()) {
        work[*core as usize] += task.load;
    }
    for (work, core) in work.iter_mut().zip(machine.cores()) {
        *work = core.background + *work / core.speed;
    }
    if machine.seconds_per_byte() > 0.0 {
        let mut traffic = vec![(0.0_f64, 0.0_f64); work.len()];
        for message in problem.messages() {
            let (from, to) = (mapping.core(message.from as usize), mapping.core(message.to as usize));
            if from != to {
                traffic[from as usize].0 += message.bytes;
                traffic[to as usize].1 += message.bytes;
            }
        }
        for (work, (sent, received)) in work.iter_mut().zip(traffic) {
            *work += machine.seconds_per_byte() * sent.max(received);
        }
    }
    work
}

/// The greatest of: all loads spread over all cores (no core below its background), the heaviest task that may move on the core
/// that is done with it first besides what cannot leave it, and what cannot leave its core. Communication is not in it, since it may vanish.
pub(crate) fn lower_bound(problem: &Problem, machine: &Machine) -> f64 {
    let mut fixed: Vec<f64> = vec![0.0; machine.cores().len()];
    let mut free = 0.0;
    let mut heaviest: f64 = 0.0;
    for task in problem.tasks() {
        match task.home.filter(|_| task.pinned) {
            Some(core) => fixed[core as usize] += task.load,
            None => {
                free += task.load;
                heaviest = heaviest.max(task.load);
            }
        }
    }
    let mut levels: Vec<(f64, f64)> = machine
        .cores()
        .iter()
        .zip(&fixed)
        .map(|(core, fixed)| (core.background + fixed / core.speed, core.speed))
        .collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Cores are filled like vessels, the emptiest first, until the water stands below the next one's floor.
    let (mut water, mut volume, mut speed) = (0.0, free, 0.0);
    for (place, (floor, core_speed)) in levels.iter().enumerate() {
        volume += floor * core_speed;
        speed += core_speed;
        water = volume / speed;
        if levels.get(place + 1).is_none_or(|(next, _)| water <= *next) {
            break;
        }
    }
    let soonest = levels.iter().map(|(floor, speed)| floor + heaviest / speed).fold(f64::INFINITY, f64::min);
    let highest = levels.last().map_or(0.0, |(floor, _)| *floor);
    water.max(soonest).max(highest)
}

/// Memory that does not fit into its node, in bytes.
pub(crate) fn memory_over(problem: &Problem, machine: &Machine, mapping: &Mapping) -> u64 {
    let mut used = vec![0_u64; machine.nodes().len()];
    for (task, core) in problem.tasks().iter().zip(mapping.cores()) {
        let node = &mut used[machine.cores()[*core as usize].node as usize];
        *node = node.saturating_add(task.memory);
    }
    let over =
        |(used, node): (u64, &crate::Node)| node.memory.map_or(0, |memory| used.saturating_sub(memory));
    used.into_iter().zip(machine.nodes()).map(over).fold(0, u64::saturating_add)
}

fn migrations(problem: &Problem, mapping: &Mapping, start: &Mapping) -> Migrations {
    let mut migrations = Migrations::default();
    for task in mapping.moved(problem, start) {
        migrations.tasks += 1;
        migrations.bytes = migrations.bytes.saturating_add(problem.tasks()[task].bytes);
    }
    if !problem.is_empty() {
        migrations.fraction = migrations.tasks as f64 / problem.len() as f64;
    }
    migrations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Task};

    #[test]
    fn every_figure_of_a_small_case() {
        let tasks = vec![
            Task { bytes: 7, ..Task::new(2.0).at(0) },
            Task { bytes: 5, ..Task::new(1.0).at(0) },
            Task::new(1.0),
        ];
        let message = |from, to, count, bytes| Message { from, to, count, bytes };
        let messages = [message(0, 1, 2.0, 10.0), message(1, 2, 1.0, 100.0), message(2, 0, 3.0, 1.0)];
        let problem = Problem::new(tasks, &messages).unwrap();
        let machine = Machine::parse("numa32").unwrap().with_seconds_per_byte(0.01);
        let start = Mapping::new(vec![0, 0, 0]);
        let metrics = Metrics::of(&problem, &machine, &Mapping::new(vec![0, 1, 16]), &start);
        // Core 0 sends 10 and receives 1, core 1 receives 10 and sends 100, core 16 receives 100 and sends 1.
        assert_eq!(metrics.makespan_s, 2.1_f64.max(1.0 + 1.0));
        assert_eq!(metrics.lower_bound_s, 2.0);
        assert_eq!(metrics.cost, 10.0 + 101.0 * 3.6);
        assert_eq!((metrics.remote_bytes, metrics.remote_messages), (101.0, 4.0));
        assert_eq!(
            metrics.levels.iter().map(|level| level.bytes).collect::<Vec<_>>(),
            [0.0, 10.0, 0.0, 101.0]
        );
        // The third task had no home, so it did not migrate.
        assert_eq!(metrics.migrations, Migrations { tasks: 1, fraction: 1.0 / 3.0, bytes: 5 });
    }

    #[test]
    fn the_bound_respects_background_and_speed() {
        let problem = Problem::new(vec![Task::new(1.0); 6], &[]).unwrap();
        let machine = Machine::parse("3 + 1").unwrap();
        assert_eq!(lower_bound(&problem, &machine), 2.0);
        let busy = machine.clone().with_cores(&[(1.0, 0.0), (1.0, 0.0), (1.0, 9.0)]);
        assert_eq!(lower_bound(&problem, &busy), 9.0);
        let fast = machine.clone().with_cores(&[(1.0, 0.0), (1.0, 1.0), (4.0, 0.0)]);
        assert_eq!(lower_bound(&problem, &fast), 7.0 / 6.0);
        // The heavy task joins what is pinned somewhere.
        let pinned = |home| Task { pinned: true, ..Task::new(1.0).at(home) };
        let heavy = vec![pinned(0), pinned(1), Task { load: 1.5, ..pinned(2) }, Task::new(5.0)];
        assert_eq!(lower_bound(&Problem::new(heavy, &[]).unwrap(), &machine), 6.0);
    }
}
