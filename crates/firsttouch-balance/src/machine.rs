//! Where tasks can be: cores, the nodes they belong to, and how far apart they are.
//!
//! Cores that are equally far from all others form a domain (a cache, a node, a board), and distances are kept between
//! domains: a table of them stays small however many cores there are.

mod described;
mod live;
mod tables;

pub use live::CpuSelection;

use firsttouch_sorted::{SortedMap, SortedSet};

/// Most distances between domains that are kept: 4096 domains, 128 MiB.
const MOST_DISTANCES: usize = 1 << 24;

/// Why something describes no machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineError {
    /// A description that is not understood.
    #[error("`{text}`: {reason}")]
    Description {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A table that is not understood.
    #[error("line {line}: {reason}")]
    Table {
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A machine without a core that runs.
    #[error("the machine has no core: {0}")]
    NoCore(String),
    /// More domains than distances can be kept for.
    #[error("{0} domains of equal distance are too many: at most 4096")]
    TooMany(usize),
}

impl MachineError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            MachineError::Description { .. } => {
                "describe a machine by groups from the inside out and their distances, `4:2:8 + 1:10:100`; as `mesh:4x4x4` or \
                 `torus:4x4x4`; or name one: numa16, numa32, live"
            }
            MachineError::Table { .. } => {
                "a table has a row for each node with a distance to each node, as `numactl --hardware` prints it"
            }
            MachineError::NoCore(_) => "name a machine that has CPUs",
            MachineError::TooMany(_) => "group the cores: `16:4096 + 1:10` instead of 65536 of their own",
        }
    }
}

/// One core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Core {
    /// Its node, as an index into the machine's nodes.
    pub node: u32,
    /// Its domain of equal distances.
    pub domain: u32,
    /// How fast it is; a task of load 1 takes 1 / speed seconds.
    pub speed: f64,
    /// What runs on it besides our tasks, in seconds per step.
    pub background: f64,
    /// The CPU by which the kernel knows it.
    pub cpu: Option<u32>,
}

/// One memory node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its memory in bytes, where that is known.
    pub memory: Option<u64>,
}

/// A class of distances: on the same core, on the same node, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What it is called in metrics.
    pub name: String,
    /// How long a message takes before its first byte arrives, in seconds, where that is known.
    pub latency: Option<f64>,
    /// How many bytes a second follow, where that is known.
    pub bandwidth: Option<f64>,
}

impl Level {
    fn named(name: impl Into<String>) -> Level {
        Level { name: name.into(), latency: None, bandwidth: None }
    }
}

/// Cores with distances between them.
///
/// A distance is the cost of a byte: a NUMA factor, a number of hops, or whatever the description says. Costs of different
/// machines are not comparable.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    name: String,
    cores: Vec<Core>,
    nodes: Vec<Node>,
    /// The nearest first; the first is "on the same core".
    levels: Vec<Level>,
    domains: usize,
    /// Between domains, by row; on the diagonal that of different cores of the domain.
    distances: Vec<f64>,
    /// The same pairs, as indices into `levels`.
    classes: Vec<u8>,
    /// The distance of a core to itself.
    same_core: f64,
    seconds_per_byte: f64,
}

/// What [`Machine::assemble`] makes a machine of.
struct Parts {
    name: String,
    cores: Vec<Core>,
    nodes: Vec<Node>,
    levels: Vec<Level>,
    distances: Vec<f64>,
    classes: Vec<u8>,
    same_core: f64,
}

impl Machine {
    fn assemble(parts: Parts) -> Result<Machine, MachineError> {
        let Parts { name, cores, nodes, levels, distances, classes, same_core } = parts;
        if cores.is_empty() {
            return Err(MachineError::NoCore(name));
        }
        let domains = cores.iter().map(|core| core.domain as usize + 1).max().unwrap_or(0);
        if domains * domains > MOST_DISTANCES {
            return Err(MachineError::TooMany(domains));
        }
        assert_eq!((distances.len(), classes.len()), (domains * domains, domains * domains), "a square");
        Ok(Machine {
            name,
            cores,
            nodes,
            levels,
            domains,
            distances,
            classes,
            same_core,
            seconds_per_byte: 0.0,
        })
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cores.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The classes of distances, the nearest first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// How many domains of equal distance there are.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.domains
    }

    /// The cost of a byte from one core to another.
    #[must_use]
    pub fn distance(&self, from: u32, to: u32) -> f64 {
        if from == to {
            return self.same_core;
        }
        self.domain_distance(self.cores[from as usize].domain, self.cores[to as usize].domain)
    }

    /// The cost of a byte from any core of one domain to any other core of another, or of the same.
    #[must_use]
    pub fn domain_distance(&self, from: u32, to: u32) -> f64 {
        self.distances[from as usize * self.domains + to as usize]
    }

    /// The cost of a byte that stays on its core.
    #[must_use]
    pub fn same_core(&self) -> f64 {
        self.same_core
    }

    /// The class of the distance between two cores, as an index into the levels.
    #[must_use]
    pub fn level(&self, from: u32, to: u32) -> usize {
        if from == to {
            return 0;
        }
        self.domain_level(self.cores[from as usize].domain, self.cores[to as usize].domain)
    }

    /// The class of the distance from any core of one domain to any other core of another, or of the same.
    pub(crate) fn domain_level(&self, from: u32, to: u32) -> usize {
        usize::from(self.classes[from as usize * self.domains + to as usize])
    }

    /// The NUMA factor of a pair of nodes: the distance between them over the distance within the first; 1 for a node to
    /// itself. Where the distance within is 0, as with hops, the distance between itself.
    ///
    /// Within a node of several domains, as of cores that share a cache each, is between them: what is nearer than the node's
    /// memory makes other nodes no farther.
    #[must_use]
    pub fn numa_factor(&self, from: u32, to: u32) -> f64 {
        self.factor_of(&self.domains_by_node(), from, to)
    }

    /// The NUMA factors of all pairs of nodes, by row.
    #[must_use]
    pub fn numa_factors(&self) -> Vec<f64> {
        let by_node = self.domains_by_node();
        let nodes = 0..self.nodes.len() as u32;
        let factors = |from| nodes.clone().map(move |to| (from, to));
        nodes.clone().flat_map(factors).map(|(from, to)| self.factor_of(&by_node, from, to)).collect()
    }

    fn domains_by_node(&self) -> Vec<Vec<u32>> {
        let mut by_node: Vec<SortedSet<u32>> = vec![SortedSet::new(); self.nodes.len()];
        self.cores.iter().for_each(|core| {
            by_node[core.node as usize].insert(core.domain);
        });
        by_node.into_iter().map(SortedSet::into_vec).collect()
    }

    fn factor_of(&self, by_node: &[Vec<u32>], from: u32, to: u32) -> f64 {
        if from == to {
            return 1.0;
        }
        let (Some(from), Some(to)) = (by_node.get(from as usize), by_node.get(to as usize)) else {
            return 1.0;
        };
        // A running mean, which is exact where all are the same.
        let mean = |to: &[u32], other: bool| {
            let pairs = from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b)));
            let distances = pairs.filter(|(a, b)| !other || a != b).map(|(a, b)| self.domain_distance(a, b));
            distances.zip(1_u32..).fold(None, |mean: Option<f64>, (distance, number)| {
                let mean = mean.unwrap_or(distance);
                Some(mean + (distance - mean) / f64::from(number))
            })
        };
        match (mean(to, false), mean(from, from.len() > 1)) {
            (Some(between), Some(within)) if within > 0.0 => between / within,
            (Some(between), _) => between,
            // A node without cores.
            (None, _) => 1.0,
        }
    }

    /// What a core spends itself on each byte that it exchanges with other cores, in seconds; of what it sends and what it
    /// receives the greater counts. 0 unless it was set.
    #[must_use]
    pub fn seconds_per_byte(&self) -> f64 {
        self.seconds_per_byte
    }

    /// The same machine whose cores spend time on communication.
    #[must_use]
    pub fn with_seconds_per_byte(self, seconds_per_byte: f64) -> Machine {
        Machine { seconds_per_byte, ..self }
    }

    /// The same machine with this memory on each node, in bytes.
    #[cfg(test)]
    pub(crate) fn with_node_memory(mut self, bytes: &[u64]) -> Machine {
        assert_eq!(bytes.len(), self.nodes.len(), "a size for each node");
        for (node, bytes) in self.nodes.iter_mut().zip(bytes) {
            node.memory = Some(*bytes);
        }
        self
    }

    /// The same machine with cores of these speeds and background loads (seconds per step).
    ///
    /// # Panics
    ///
    /// If there are not as many of them as cores, or a speed is not above 0.
    #[must_use]
    pub fn with_cores(mut self, speeds_and_background: &[(f64, f64)]) -> Machine {
        assert_eq!(speeds_and_background.len(), self.cores.len(), "a pair for each core");
        for (core, (speed, background)) in self.cores.iter_mut().zip(speeds_and_background) {
            assert!(*speed > 0.0, "a core that runs has a speed");
            (core.speed, core.background) = (*speed, *background);
        }
        self
    }

    /// The same machine with latencies (seconds) and bandwidths (bytes a second) of its levels, the nearest first.
    ///
    /// # Panics
    ///
    /// If there are not as many of them as levels.
    #[must_use]
    pub fn with_levels(mut self, latency_and_bandwidth: &[(f64, f64)]) -> Machine {
        assert_eq!(latency_and_bandwidth.len(), self.levels.len(), "a pair for each level");
        for (level, (latency, bandwidth)) in self.levels.iter_mut().zip(latency_and_bandwidth) {
            (level.latency, level.bandwidth) = (Some(*latency), Some(*bandwidth));
        }
        self
    }

    /// Latency (seconds) and bandwidth (bytes a second) of each level, the nearest first, where those of all are known.
    #[must_use]
    pub fn message_costs(&self) -> Option<Vec<(f64, f64)>> {
        let known = self.levels.iter().map(|level| level.latency.zip(level.bandwidth));
        known.collect::<Option<Vec<_>>>().filter(|costs| costs.iter().all(|(_, bandwidth)| *bandwidth > 0.0))
    }

    /// The least sets of cores that are nearer to one another than to the rest, from the whole machine down: the parts of a
    /// set of cores, or the single cores when it has none.
    ///
    /// Cores belong together when they are joined by distances below the greatest in the set. Where that joins all of them,
    /// as in a mesh, the set is cut into two halves between two cores at the greatest distance.
    #[must_use]
    pub fn parts(&self, cores: &[u32]) -> Vec<Vec<u32>> {
        let mut by_domain: SortedMap<u32, Vec<u32>> = SortedMap::new();
        for &core in cores {
            by_domain.entry(self.cores[core as usize].domain).or_default().push(core);
        }
        if by_domain.len() <= 1 {
            return cores.iter().map(|core| vec![*core]).collect();
        }
        let domains: Vec<u32> = by_domain.keys().copied().collect();
        let joined = self.joined(&domains);
        let gather =
            |domains: Vec<u32>| domains.iter().flat_map(|domain| by_domain[domain].clone()).collect();
        joined.into_iter().map(gather).collect()
    }

    /// Domains joined below their greatest distance, or two halves of them.
    fn joined(&self, domains: &[u32]) -> Vec<Vec<u32>> {
        let far = |a: u32, b: u32| self.domain_distance(a, b).max(self.domain_distance(b, a));
        let mut ends = (domains[0], domains[1]);
        for (place, &a) in domains.iter().enumerate() {
            for &b in &domains[place + 1..] {
                if far(a, b) > far(ends.0, ends.1) {
                    ends = (a, b);
                }
            }
        }
        let greatest = far(ends.0, ends.1);
        let mut open: Vec<u32> = domains.to_vec();
        let mut groups = Vec::new();
        while let Some(first) = open.first().copied() {
            let mut group = vec![first];
            open.retain(|domain| *domain != first);
            let mut next = 0;
            while next < group.len() {
                let one = group[next];
                let (near, rest) = open.iter().partition(|other| far(one, **other) < greatest);
                let _: &Vec<u32> = &near;
                group.extend(near);
                open = rest;
                next += 1;
            }
            group.sort_unstable();
            groups.push(group);
        }
        if groups.len() > 1 {
            return groups;
        }
        let mut order = domains.to_vec();
        let side = |domain: u32| far(domain, ends.0) - far(domain, ends.1);
        order.sort_unstable_by(|a, b| side(*a).total_cmp(&side(*b)).then(a.cmp(b)));
        let upper = order.split_off(order.len() / 2);
        vec![order, upper]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_distances() {
        let machine = Machine::parse("4:2:3 + 1:10:100").unwrap();
        let all: Vec<u32> = (0..24).collect();
        let boards = machine.parts(&all);
        assert_eq!(boards.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 8]);
        let groups = machine.parts(&boards[1]);
        assert_eq!(groups, [vec![8, 9, 10, 11], vec![12, 13, 14, 15]]);
        assert_eq!(machine.parts(&groups[0]).len(), 4);
    }

    #[test]
    fn a_mesh_is_halved_across() {
        let machine = Machine::parse("mesh:4x2").unwrap();
        let halves = machine.parts(&(0..8).collect::<Vec<_>>());
        assert_eq!(halves.len(), 2);
        let within = |half: &[u32]| {
            let distances = half.iter().flat_map(|a| half.iter().map(|b| machine.distance(*a, *b)));
            distances.fold(0.0, f64::max)
        };
        assert!(halves.iter().all(|half| half.len() == 4 && within(half) <= 3.0), "{halves:?}");
    }

    #[test]
    fn factors_are_relative_to_the_own_node() {
        let machine = Machine::parse("2:2:2 + 2:5:8").unwrap();
        assert_eq!(machine.numa_factor(0, 0), 1.0);
        assert_eq!(machine.numa_factor(0, 1), 2.5);
        assert_eq!(machine.numa_factor(0, 3), 4.0);
    }
}
