//! Orders of CPUs on machines of many shapes: described, and recorded where the recordings are.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_machine::Machine;
use firsttouch_threads::{GroupsError, compact, groups, groups_across, scatter};
use proptest::prelude::*;
use skipped::skipped;
use std::path::Path;

fn machine(text: &str) -> Machine {
    Machine::from_source(text).unwrap()
}

fn online(machine: &Machine) -> Vec<u32> {
    machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
}

fn node_of(machine: &Machine, cpu: u32) -> Option<u32> {
    machine.cpus.iter().find(|known| known.id == cpu).unwrap().node
}

/// Four nodes of six cores: the machine of the shortest-path measurements.
const ISTANBUL: &str = "pack:4 [numa] l3:1 core:6 pu:1";
/// Two packages of two caches of four cores with two threads each.
const TWO_CACHES: &str = "pack:2 [numa] l3:2 core:4 pu:2";

#[test]
fn compact_fills_one_node_after_another() {
    let istanbul = machine(ISTANBUL);
    let order = compact(&istanbul, &online(&istanbul));
    assert_eq!(order, (0..24).collect::<Vec<u32>>());
    // One thread of every core of a node before the second ones.
    let machine = machine(TWO_CACHES);
    let order = compact(&machine, &online(&machine));
    assert_eq!(order[..16], [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]);
    assert!(order[16..].iter().all(|cpu| *cpu >= 16));
}

#[test]
fn scatter_goes_round_the_packages_the_caches_and_the_cores() {
    let istanbul = machine(ISTANBUL);
    let order = scatter(&istanbul, &online(&istanbul));
    assert_eq!(order[..8], [0, 6, 12, 18, 1, 7, 13, 19]);
    let machine = machine(TWO_CACHES);
    let order = scatter(&machine, &online(&machine));
    // Package 0 first cache, package 1 first cache, package 0 second cache, …; second threads at the end.
    assert_eq!(order[..6], [0, 16, 8, 24, 2, 18]);
    assert!(order[..16].iter().all(|cpu| cpu % 2 == 0) && order[16..].iter().all(|cpu| cpu % 2 == 1));
}

#[test]
fn groups_share_a_node_and_a_cache_where_it_has_room() {
    let istanbul = machine(ISTANBUL);
    let all = online(&istanbul);
    assert_eq!(groups(&istanbul, &all, 6, 4).unwrap(), (0..24).collect::<Vec<u32>>());
    assert_eq!(groups(&istanbul, &all, 3, 8).unwrap(), (0..24).collect::<Vec<u32>>());
    // Fewer groups than nodes: spread over the machine.
    assert_eq!(groups(&istanbul, &all, 3, 2).unwrap(), [0, 1, 2, 12, 13, 14]);
    assert_eq!(groups(&istanbul, &all, 1, 4).unwrap(), [0, 6, 12, 18]);
    let machine = machine(TWO_CACHES);
    let all = online(&machine);
    assert_eq!(groups(&machine, &all, 4, 2).unwrap(), [0, 2, 4, 6, 16, 18, 20, 22]);
    // Three of four: one core of each cache is left, which make no third group.
    assert_eq!(groups(&machine, &all, 3, 4).unwrap(), [0, 2, 4, 8, 10, 12, 16, 18, 20, 24, 26, 28]);
    // Larger than a cache, within the node.
    assert_eq!(groups(&machine, &all, 8, 2).unwrap().len(), 16);
}

#[test]
fn groups_that_do_not_fit_are_refused_with_what_would() {
    let machine = machine(ISTANBUL);
    let all = online(&machine);
    assert_eq!(groups(&machine, &all, 7, 1), Err(GroupsError::TooLarge { cores: 7, largest: 6 }));
    let too_many = GroupsError::TooMany { cores: 4, groups: 5, possible: 4 };
    assert_eq!(too_many.to_string(), "there is room for 4 groups of 4 cores, not 5");
    assert_eq!(groups(&machine, &all, 4, 5), Err(too_many));
    // Half of the machine is not ours: two nodes whole, one in part.
    let some: Vec<u32> = (0..14).collect();
    assert_eq!(groups(&machine, &some, 6, 3), Err(GroupsError::TooMany { cores: 6, groups: 3, possible: 2 }));
    assert_eq!(groups(&machine, &some, 2, 7).unwrap().len(), 14);
}

#[test]
fn only_what_is_allowed_is_used() {
    let machine = machine(TWO_CACHES);
    // Second threads alone are first threads of what we have.
    assert_eq!(compact(&machine, &[1, 3, 17]), [1, 3, 17]);
    assert_eq!(scatter(&machine, &[1, 3, 17]), [1, 17, 3]);
    assert_eq!(compact(&machine, &[]), [0_u32; 0]);
}

/// Numbers with holes, CPUs that are offline, nodes without CPUs, cores that nobody describes.
#[test]
fn recorded_machines_have_orders() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/machines");
    if !folder.is_dir() {
        return skipped(&format!("no recorded machines at {}", folder.display()));
    }
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().unwrap().ends_with(".tar.bz2") {
            continue;
        }
        let Ok(machine) = Machine::from_source(path.to_str().unwrap()) else { continue };
        let all = online(&machine);
        for order in [compact(&machine, &all), scatter(&machine, &all)] {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, all, "{}", path.display());
        }
        // Nodes come one after another.
        let mut nodes: Vec<_> = compact(&machine, &all).iter().map(|cpu| node_of(&machine, *cpu)).collect();
        nodes.dedup();
        let mut distinct = nodes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(nodes.len(), distinct.len(), "{}: {nodes:?}", path.display());
        let pairs = groups(&machine, &all, 2, 2);
        assert!(pairs.is_ok_and(|pairs| node_of(&machine, pairs[0]) == node_of(&machine, pairs[1])));
        read += 1;
    }
    assert!(read >= 8, "{read}");
}

#[test]
fn sparse_nodes_are_taken_by_their_numbers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/machines/48amd64-4pa2n6c-sparse.tar.bz2");
    let Some(machine) = path.is_file().then(|| machine(path.to_str().unwrap())) else {
        return skipped(&format!("{} is not there", path.display()));
    };
    let order = groups(&machine, &online(&machine), 6, 8).unwrap();
    let nodes: Vec<u32> = order.iter().step_by(6).map(|cpu| node_of(&machine, *cpu).unwrap()).collect();
    let mut sorted = nodes.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 33, 34, 45, 72, 73], "{nodes:?}");
}

/// "NUMA-affinity @ Istanbul" (2010): CPUs 0 to 5, 6 to 11 and so on of four sockets whose CPUs are numbered in turn.
#[test]
fn groups_across_reach_over_all_sockets() {
    let machine = machine("pack:4 [numa] l3:1 core:6 pu:2");
    let order = groups_across(&machine, &online(&machine), 6, 4).unwrap();
    assert_eq!(order.len(), 24);
    for group in order.chunks(6) {
        let of_node = |node| group.iter().filter(|cpu| node_of(&machine, **cpu) == Some(node)).count();
        let mut counts: Vec<usize> = (0..4).map(of_node).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 2, 2], "{group:?}");
    }
    // One CPU of every core.
    let cores: std::collections::BTreeSet<u32> = order.iter().map(|cpu| cpu / 2).collect();
    assert_eq!(cores.len(), 24);
    let error = groups_across(&machine, &online(&machine), 6, 5).unwrap_err();
    assert_eq!(error, GroupsError::TooMany { cores: 6, groups: 5, possible: 4 });
}

proptest! {
    #[test]
    fn an_order_is_the_allowed_cpus_each_once(
        packages in 1u32..4, caches in 1u32..3, cores in 1u32..5, threads in 1u32..3, holes: u64,
    ) {
        let machine = machine(&format!("pack:{packages} [numa] l3:{caches} core:{cores} pu:{threads}"));
        let allowed: Vec<u32> = online(&machine).into_iter().filter(|cpu| holes >> cpu & 1 == 1).collect();
        for mut order in [compact(&machine, &allowed), scatter(&machine, &allowed)] {
            order.sort_unstable();
            prop_assert_eq!(&order, &allowed);
        }
        for size in 1..=4 {
            for count in 1..=4 {
                if let Ok(mut order) = groups(&machine, &allowed, size, count) {
                    prop_assert_eq!(order.len() as u32, size * count);
                    let is_in_one_node = |group: &[u32]| {
                        group.iter().all(|cpu| node_of(&machine, *cpu) == node_of(&machine, group[0]))
                    };
                    prop_assert!(order.chunks(size as usize).all(is_in_one_node));
                    order.sort_unstable();
                    order.dedup();
                    prop_assert_eq!(order.len() as u32, size * count);
                    prop_assert!(order.iter().all(|cpu| allowed.contains(cpu)));
                }
            }
        }
    }
}
