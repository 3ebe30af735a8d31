//! What a session tries on a machine with several memory nodes: memory over all nodes, all of the program on one node,
//! threads bound in several orders, and these together with huge pages.
//!
//! Pure: the same machine, live or recorded, gives the same list.

use crate::obstacle::Obstacle;
use firsttouch_machine::{Machine, Node};
use firsttouch_threads::groups;

/// Why these are not tried on a machine with one node.
pub(crate) const ONE_NODE: &str = "there is only one node with memory";

/// A placement in the short form, with its name, and what stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its name.
    pub(crate) name: String,
    /// The placement in the short form.
    pub(crate) placement: String,
    /// What stands against it.
    pub(crate) obstacle: Option<Obstacle>,
}

/// The candidates of a machine. `measured`: the bandwidth between its nodes is known.
pub(crate) fn candidates(machine: &Machine, measured: bool) -> Vec<Candidate> {
    let nodes = usable_nodes(machine);
    if nodes.len() < 2 {
        let obstacle = Obstacle { reason: ONE_NODE.to_owned(), remedy: None };
        return ["interleave", "one-node", "affinity", "weighted"]
            .map(|name| Candidate {
                name: name.to_owned(),
                placement: String::new(),
                obstacle: Some(obstacle.clone()),
            })
            .into();
    }
    let mut all = Vec::new();
    let mut add = |name: &str, placement: &str| {
        all.push(Candidate { name: name.to_owned(), placement: placement.to_owned(), obstacle: None });
    };
    add("interleave", "plain,interleave=all");
    let cpus = usable_cpus(machine);
    // As numactl is used most: a program that fits into one node. Preferred and not bound: a node that is too small must not bring
    // down the machine's other programs.
    let has_cpus = |node: &&&Node| node.cpus.iter().any(|cpu| cpus.contains(cpu));
    if let Some(Node { id, .. }) = nodes.iter().find(has_cpus) {
        add(&format!("node-{id}"), &format!("plain,prefer={id},cpus=nodes={id}"));
    }
    let orders = orders(machine, &cpus);
    for (name, order) in &orders {
        add(name, &format!("plain,threads={order}"));
    }
    add("thp-interleave", "thp,interleave=all");
    for (name, order) in &orders {
        add(&format!("thp-{name}"), &format!("thp,threads={order}"));
    }
    let weighable = measured || nodes.iter().all(|node| states_bandwidth(node));
    let obstacle = (!weighable).then(|| Obstacle {
        reason: "the bandwidth of the nodes is not known, so there is nothing to weigh them by".to_owned(),
        remedy: Some("firsttouch measure".to_owned()),
    });
    all.push(Candidate { name: "thp-weighted".to_owned(), placement: "thp,weighted".to_owned(), obstacle });
    all
}

/// The orders of threads: the two extremes, a group for each node with CPUs, and where its cores are even in number and
/// four at least, two groups for each.
fn orders(machine: &Machine, cpus: &[u32]) -> Vec<(String, String)> {
    let mut orders: Vec<(String, String)> =
        ["compact", "scatter"].map(|word| (word.to_owned(), word.to_owned())).into();
    let with_cpus: Vec<&Node> =
        machine.nodes.iter().filter(|node| node.cpus.iter().any(|cpu| cpus.contains(cpu))).collect();
    let count = with_cpus.len() as u32;
    let cores = |node: &&Node| {
        let own = |core: &&firsttouch_machine::Core| {
            core.cpus.iter().any(|cpu| node.cpus.contains(cpu) && cpus.contains(cpu))
        };
        machine.cores.iter().filter(own).count() as u32
    };
    let least = with_cpus.iter().map(cores).min().unwrap_or(0);
    let shapes = [(least, count), (least / 2, count * 2)];
    for (index, (cores, count)) in shapes.into_iter().enumerate() {
        let is_whole = index == 0 || least.is_multiple_of(2) && least >= 4;
        if count > 1 && cores > 1 && is_whole && groups(machine, cpus, cores, count).is_ok() {
            orders.push((format!("groups-{cores}x{count}"), format!("groups={cores}x{count}")));
        }
    }
    orders
}

/// Nodes with ordinary memory that we may use.
pub(crate) fn usable_nodes(machine: &Machine) -> Vec<&Node> {
    let allowed = machine.limits.allowed_nodes.as_ref();
    machine
        .nodes
        .iter()
        .filter(|node| node.is_ordinary() && allowed.is_none_or(|allowed| allowed.contains(&node.id)))
        .collect()
}

fn usable_cpus(machine: &Machine) -> Vec<u32> {
    let allowed = machine.limits.allowed_cpus.as_ref();
    let online = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id);
    online.filter(|cpu| allowed.is_none_or(|allowed| allowed.contains(cpu))).collect()
}

fn states_bandwidth(node: &Node) -> bool {
    node.speed_from_cpus().is_some_and(|access| access.read_bandwidth_bytes_per_s.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::Placement;

    fn of(text: &str) -> Vec<Candidate> {
        candidates(&machine(text), false)
    }

    fn machine(text: &str) -> Machine {
        let mut machine = Machine::from_source(text).unwrap();
        machine.limits.allowed_cpus = None;
        machine.limits.allowed_nodes = None;
        machine
    }

    fn possible(candidates: &[Candidate]) -> Vec<&str> {
        candidates.iter().filter(|one| one.obstacle.is_none()).map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn one_node_has_nothing_to_choose_from() {
        let candidates = of("pack:1 [numa] l3:1 core:8 pu:2");
        assert_eq!(candidates.len(), 4);
        assert!(candidates.iter().all(|one| one.obstacle.as_ref().unwrap().reason == ONE_NODE));
    }

    #[test]
    fn four_nodes_of_six_cores_get_the_set_of_the_shortest_path_measurements() {
        let candidates = of("pack:4 [numa] l3:1 core:6 pu:1");
        assert_eq!(
            possible(&candidates),
            [
                "interleave",
                "node-0",
                "compact",
                "scatter",
                "groups-6x4",
                "groups-3x8",
                "thp-interleave",
                "thp-compact",
                "thp-scatter",
                "thp-groups-6x4",
                "thp-groups-3x8"
            ]
        );
        let node = candidates.iter().find(|one| one.name == "node-0").unwrap();
        assert_eq!(node.placement, "plain,prefer=0,cpus=nodes=0");
        let weighted = candidates.last().unwrap();
        assert_eq!(weighted.obstacle.as_ref().unwrap().remedy.as_deref(), Some("firsttouch measure"));
        assert_eq!(
            super::candidates(&machine("pack:4 [numa] l3:1 core:6 pu:1"), true).last().unwrap().obstacle,
            None
        );
    }

    #[test]
    fn every_candidate_reads_and_resolves_on_its_machine() {
        let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/machines/");
        let recorded =
            ["48amd64-4pa2n6c-sparse", "32amd64-4s2n4c-cgroup2", "memorysidecaches", "nvidiagpunumanodes"]
                .map(|name| format!("{shared}{name}.tar.bz2"));
        let there = recorded.into_iter().filter(|path| std::path::Path::new(path).is_file());
        let described =
            ["pack:2 [numa] core:3 pu:2", "[numa] pack:2 [numa] l3:2 core:4 pu:1"].map(str::to_owned);
        for text in described.into_iter().chain(there) {
            let machine = machine(&text);
            let candidates = candidates(&machine, false);
            assert!(possible(&candidates).len() >= 7, "{text}");
            for candidate in candidates.iter().filter(|one| one.obstacle.is_none()) {
                let placement: Placement = candidate.placement.parse().unwrap();
                let around = firsttouch_placement::Surroundings {
                    machine: &machine,
                    near: None,
                    measured: None,
                    kernel: firsttouch_placement::Policies::default(),
                };
                placement
                    .resolve(&around)
                    .unwrap_or_else(|error| panic!("{text}: {}: {error}", candidate.name));
            }
        }
    }
}
