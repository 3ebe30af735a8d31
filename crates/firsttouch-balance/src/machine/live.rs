//! The machine model of the project, live, recorded or described, as cores with distances.

use super::{Core, Level, Machine, MachineError, Node, Parts};
use firsttouch_machine::{CoreLatency, CpuPairClass, Measurement};
use firsttouch_sorted::{SortedMap, sort_by_key};

/// The distance of cores that share a last-level cache which others of their node do not share, where a byte to another
/// core of the node costs 1. An assumption, for machines that `firsttouch measure --cores` did not measure.
const SHARED_CACHE: f64 = 0.5;
/// What the fastest kind of core has, in the kernel's words.
const FULL_CAPACITY: f64 = 1024.0;
/// What firmware calls the distance of a node to itself, where it does not say.
const OWN_DISTANCE: u32 = 10;
const REMOTE_DISTANCE: u32 = 20;

/// Which of a machine's CPUs tasks may be put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CpuSelection {
    /// One CPU of each core.
    #[default]
    Cores,
    /// Every CPU: those that share a core count as cores of their own.
    Cpus,
}

impl Machine {
    /// The cores of a machine with their caches and nodes, of the CPUs that `allowed` lets through. Distances between nodes
    /// are the measured NUMA factors where there are some, else the firmware's; within a node of several caches they are what
    /// a cache line takes between cores over what it takes between caches, where that was measured.
    ///
    /// # Errors
    ///
    /// No CPU is left.
    pub fn of(
        machine: &firsttouch_machine::Machine,
        measurement: Option<&Measurement>,
        selection: CpuSelection,
        allowed: impl Fn(u32) -> bool,
    ) -> Result<Machine, MachineError> {
        let name = machine.product.clone().or(machine.cpu_model.clone()).unwrap_or("machine".to_owned());
        let mut taken = Vec::new();
        let mut is_selected = |cpu: &&firsttouch_machine::Cpu| {
            let first = selection == CpuSelection::Cpus || cpu.core.is_none_or(|core| !taken.contains(&core));
            let wanted = cpu.online && first && allowed(cpu.id);
            taken.extend(cpu.core.filter(|_| wanted));
            wanted
        };
        let cpus: Vec<u32> = machine.cpus.iter().filter(|cpu| is_selected(cpu)).map(|cpu| cpu.id).collect();
        let node_of = |cpu: u32| machine.nodes.iter().position(|node| node.cpus.contains(&cpu)).unwrap_or(0);
        let last_level = machine.caches.iter().map(|cache| cache.level).max();
        let cache_of = |cpu: u32| {
            let shared = |cache: &firsttouch_machine::Cache| {
                Some(cache.level) == last_level && cache.cpus.len() > 1 && cache.cpus.contains(&cpu)
            };
            machine.caches.iter().position(shared)
        };
        let mut domains: SortedMap<(usize, Option<usize>), u32> = SortedMap::new();
        for &cpu in &cpus {
            let next = domains.len() as u32;
            domains.entry((node_of(cpu), cache_of(cpu))).or_insert(next);
        }
        let several = |node: usize| domains.keys().filter(|(other, _)| *other == node).count() > 1;
        let mut order = domains.to_vec();
        sort_by_key(&mut order, |(_, domain)| *domain);
        let latencies = measurement.and_then(|found| found.cores.as_ref());
        let cpus_of = |domain: (usize, Option<usize>)| -> Vec<u32> {
            cpus.iter().copied().filter(|cpu| (node_of(*cpu), cache_of(*cpu)) == domain).collect()
        };
        let domain_cpus: Vec<Vec<u32>> = order.iter().map(|(domain, _)| cpus_of(*domain)).collect();
        let within = |from: u32, to: u32| {
            let default = if from == to { SHARED_CACHE } else { 1.0 };
            latencies.and_then(|found| core_distance(found, &domain_cpus, from, to)).unwrap_or(default)
        };
        let (mut distances, mut classes) = (Vec::new(), Vec::new());
        for ((from, cache), from_domain) in &order {
            for ((to, _), to_domain) in &order {
                let (distance, class) = match (from == to, several(*from), from_domain == to_domain) {
                    (true, true, true) if cache.is_some() => (within(*from_domain, *to_domain), 1),
                    (true, true, false) => (within(*from_domain, *to_domain), 2),
                    (true, ..) => (1.0, 2),
                    (false, ..) => (between(machine, measurement, *from, *to), 3),
                };
                distances.push(distance);
                classes.push(class);
            }
        }
        let speed = |cpu: u32| {
            let kind = machine.core_kinds.iter().find(|kind| kind.cpus.contains(&cpu));
            kind.and_then(|kind| kind.capacity).map_or(1.0, |capacity| f64::from(capacity) / FULL_CAPACITY)
        };
        let core = |cpu: &u32| Core {
            node: node_of(*cpu) as u32,
            domain: domains[&(node_of(*cpu), cache_of(*cpu))],
            speed: speed(*cpu).max(f64::MIN_POSITIVE),
            background: 0.0,
            cpu: Some(*cpu),
        };
        let nodes: Vec<Node> =
            machine.nodes.iter().map(|node| Node { id: node.id, memory: node.size_bytes }).collect();
        Machine::assemble(Parts {
            name,
            cores: cpus.iter().map(core).collect(),
            nodes: if nodes.is_empty() { vec![Node { id: 0, memory: None }] } else { nodes },
            levels: ["core", "cache", "node", "remote"].map(Level::named).to_vec(),
            distances,
            classes,
            same_core: 0.0,
        })
        .map(|built| built.with_measured_levels(machine, measurement))
    }

    /// Latency and bandwidth of the levels "node" and "remote", the mean over the pairs that were measured.
    fn with_measured_levels(
        mut self,
        machine: &firsttouch_machine::Machine,
        measurement: Option<&Measurement>,
    ) -> Machine {
        let Some(measurement) = measurement else { return self };
        for (level, own) in [(2, true), (3, false)] {
            let pairs = machine.nodes.iter().flat_map(|a| machine.nodes.iter().map(move |b| (a.id, b.id)));
            let pairs: Vec<(u32, u32)> = pairs.filter(|(a, b)| (a == b) == own).collect();
            let mean = |matrix, scale: f64| {
                let known = pairs.iter().filter_map(|(a, b)| measurement.between(matrix, *a, *b));
                let values: Vec<f64> = known.collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64 * scale)
            };
            self.levels[level].latency = mean(&measurement.latency_ns, 1e-9);
            self.levels[level].bandwidth = mean(&measurement.single_cpu.read_gbps, 1e9);
        }
        self
    }
}

/// The distance between cores of two domains of a node, where one between any two caches of a node is 1 on average; within a
/// domain nobody measured the mean of all caches stands for it.
fn core_distance(latencies: &CoreLatency, domains: &[Vec<u32>], from: u32, to: u32) -> Option<f64> {
    let across = latencies.of_class(CpuPairClass::Node)?;
    let class = if from == to { CpuPairClass::Cache } else { CpuPairClass::Node };
    let of_domain = |domain: u32| domains.get(domain as usize).map_or(&[][..], Vec::as_slice);
    let found = latencies.between(of_domain(from), of_domain(to)).or_else(|| latencies.of_class(class))?;
    (across > 0.0 && found > 0.0).then_some(found / across)
}

/// The NUMA factor between two nodes, by their places in the machine.
fn between(
    machine: &firsttouch_machine::Machine,
    measurement: Option<&Measurement>,
    from: usize,
    to: usize,
) -> f64 {
    let (from, to) = (&machine.nodes[from], &machine.nodes[to]);
    let measured = measurement.and_then(|found| found.between(&found.numa_factor, from.id, to.id));
    let distance = |of: u32, default: u32| {
        f64::from(from.distances.as_ref().and_then(|all| all.get(&of).copied()).unwrap_or(default))
    };
    let stated = || distance(to.id, REMOTE_DISTANCE) / distance(from.id, OWN_DISTANCE);
    // Noise must not make another node nearer than the own one.
    measured.unwrap_or_else(stated).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_machine::{
        CpuPair, MeasuredMachine, MeasuredNode, MeasuredPages, Method, SingleCpu, Spread,
    };

    fn described(text: &str, selection: CpuSelection) -> Machine {
        let machine = firsttouch_machine::Machine::from_source(text).unwrap();
        Machine::of(&machine, None, selection, |_| true).unwrap()
    }

    #[test]
    fn caches_and_nodes_are_levels() {
        let machine = described("pack:2 [numa] l3:2 core:2 pu:2", CpuSelection::Cores);
        assert_eq!((machine.cores().len(), machine.nodes().len(), machine.domains()), (8, 2, 4));
        let level = |a, b| machine.levels()[machine.level(a, b)].name.as_str();
        assert_eq!([level(0, 0), level(0, 1), level(0, 2), level(0, 4)], ["core", "cache", "node", "remote"]);
        assert!(machine.distance(0, 1) < machine.distance(0, 2));
        assert!(machine.distance(0, 2) < machine.distance(0, 4));
        assert_eq!(described("pack:2 [numa] l3:2 core:2 pu:2", CpuSelection::Cpus).cores().len(), 16);
    }

    /// Two EPYC 7713 as their firmware tells of them with one node for each package: eight caches of eight cores on each.
    #[test]
    fn caches_within_a_node_make_other_nodes_no_farther() {
        let epyc = "pack:2 [numa] l3:8 core:8 pu:2";
        let mut machine = firsttouch_machine::Machine::from_source(epyc).unwrap();
        for (own, node) in machine.nodes.iter_mut().enumerate() {
            node.distances = Some([(own as u32, 10), (1 - own as u32, 32)].into());
        }
        for selection in [CpuSelection::Cores, CpuSelection::Cpus] {
            let epyc = Machine::of(&machine, None, selection, |_| true).unwrap();
            assert_eq!(epyc.domains(), 16);
            assert_eq!(epyc.numa_factors(), [1.0, 3.2, 3.2, 1.0]);
            assert_eq!((epyc.numa_factor(0, 1), epyc.numa_factor(1, 1)), (3.2, 1.0));
        }
        // Of one cache on a node the same is told.
        machine.caches.clear();
        let plain = Machine::of(&machine, None, CpuSelection::Cores, |_| true).unwrap();
        assert_eq!((plain.domains(), plain.numa_factor(0, 1)), (2, 3.2));
    }

    #[test]
    fn what_was_measured_between_cores_takes_the_place_of_the_assumption() {
        let machine = firsttouch_machine::Machine::from_source("pack:2 [numa] l3:2 core:2 pu:1").unwrap();
        let pair = |a, b, latency_ns| CpuPair {
            cpus: [a, b],
            class: CpuPairClass::of(&machine, a, b),
            latency_ns,
            low_ns: latency_ns,
            high_ns: latency_ns,
        };
        // Nothing of the last cache (6, 7): the others' mean stands for it.
        let pairs =
            vec![pair(0, 1, 20.0), pair(2, 3, 30.0), pair(4, 5, 25.0), pair(0, 2, 100.0), pair(1, 4, 250.0)];
        let cores = CoreLatency::of(String::new(), (0..8).collect(), pairs, 3, 100);
        let measured = |cores| Measurement { cores, ..measured_of(&machine) };
        let built = |measurement: &Measurement| {
            Machine::of(&machine, Some(measurement), CpuSelection::Cores, |_| true).unwrap()
        };
        let found = built(&measured(Some(cores)));
        let distance = |a, b| found.distance(a, b);
        assert_eq!([distance(0, 1), distance(2, 3), distance(6, 7)], [0.2, 0.3, 0.25]);
        assert_eq!((distance(0, 2), distance(4, 6)), (1.0, 1.0));
        // Other nodes stay as far as their memory.
        assert_eq!((distance(1, 4), found.numa_factor(0, 1)), (2.0, 2.0));
        let assumed = built(&measured(None));
        assert_eq!((assumed.distance(0, 1), assumed.distance(0, 2)), (SHARED_CACHE, 1.0));
    }

    fn measured_of(machine: &firsttouch_machine::Machine) -> Measurement {
        let nothing = vec![vec![None; machine.nodes.len()]; machine.nodes.len()];
        Measurement {
            date: String::new(),
            machine: MeasuredMachine::of(machine),
            nodes: MeasuredNode::all_of(machine),
            latency_ns: nothing.clone(),
            loaded_latency_ns: nothing.clone(),
            load_gbps: nothing.clone(),
            read_gbps: nothing.clone(),
            write_gbps: nothing.clone(),
            copy_gbps: nothing.clone(),
            numa_factor: nothing,
            single_cpu: SingleCpu::default(),
            spread: Spread::default(),
            pages: MeasuredPages {
                asked: "thp".to_owned(),
                obtained: Vec::new(),
                huge_share: None,
                latency_bytes: 0,
                bandwidth_bytes: 0,
            },
            page_latency: None,
            cores: None,
            method: Method::default(),
            disagreements: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn only_allowed_cpus_are_selected() {
        let machine = firsttouch_machine::Machine::from_source("pack:2 [numa] core:4 pu:1").unwrap();
        let half = Machine::of(&machine, None, CpuSelection::Cores, |cpu| cpu % 2 == 1).unwrap();
        assert_eq!(half.cores().iter().filter_map(|core| core.cpu).collect::<Vec<_>>(), [1, 3, 5, 7]);
        let none = Machine::of(&machine, None, CpuSelection::Cores, |_| false);
        assert!(matches!(none, Err(MachineError::NoCore(_))));
    }
}
