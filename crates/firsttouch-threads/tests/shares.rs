//! CPUs of several processes: apart, even, near to each other, whatever the machine and the masks.

use firsttouch_machine::Machine;
use firsttouch_threads::{SharesError, cores, shares};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn machine(text: &str) -> Machine {
    Machine::from_source(text).expect("a machine")
}

fn online(machine: &Machine) -> Vec<u32> {
    machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
}

/// So many processes that may run anywhere.
fn unbound(text: &str, ranks: usize) -> Vec<Vec<u32>> {
    let machine = machine(text);
    shares(&machine, &vec![online(&machine); ranks]).expect("room for all")
}

fn lists(shares: &[Vec<u32>]) -> Vec<String> {
    shares.iter().map(|cpus| firsttouch_linux::cpulist::format_list(cpus)).collect()
}

/// Two packages of two caches of four cores with two threads each.
const TWO_CACHES: &str = "pack:2 [numa] l3:2 core:4 pu:2";

#[test]
fn nodes_come_first_then_caches_then_cores() {
    assert_eq!(lists(&unbound("pack:4 [numa] l3:1 core:6 pu:1", 4)), ["0-5", "6-11", "12-17", "18-23"]);
    assert_eq!(lists(&unbound("pack:4 [numa] l3:1 core:6 pu:1", 2)), ["0-11", "12-23"]);
    // Three on two nodes: each within one.
    assert_eq!(lists(&unbound("pack:2 [numa] l3:1 core:4 pu:1", 3)), ["0-1", "2-3", "4-7"]);
    // Two on three nodes: as many cores for each.
    assert_eq!(lists(&unbound("pack:3 [numa] l3:1 core:4 pu:1", 2)), ["0-5", "6-11"]);
    assert_eq!(lists(&unbound(TWO_CACHES, 4)), ["0-7", "8-15", "16-23", "24-31"]);
    assert_eq!(lists(&unbound(TWO_CACHES, 8))[..2], ["0-3", "4-7"]);
    // Three caches of four for two: a cache is cut, since two cores less would cost more.
    assert_eq!(lists(&unbound("pack:1 [numa] l3:3 core:4 pu:1", 2)), ["0-5", "6-11"]);
    assert_eq!(lists(&unbound("pack:1 [numa] l3:3 core:4 pu:1", 5)).len(), 5);
    // Siblings stay together as long as there are cores.
    assert_eq!(lists(&unbound("pack:1 core:2 pu:2", 2)), ["0-1", "2-3"]);
    assert_eq!(lists(&unbound("pack:1 core:2 pu:2", 4)), ["0", "1", "2", "3"]);
}

#[test]
fn what_the_launcher_bound_apart_stays() {
    let machine = machine("pack:2 [numa] l3:1 core:4 pu:1");
    let apart = [vec![0, 1], vec![4, 5, 6], vec![7]];
    assert_eq!(shares(&machine, &apart).expect("room"), apart);
    // Two packages, two processes bound to each, as `--bind-to socket` does.
    let sockets = [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
    assert_eq!(lists(&shares(&machine, &sockets).expect("room")), ["0-1", "4-5", "2-3", "6-7"]);
    // One may run anywhere, the others not.
    let mixed = [(0..8).collect(), vec![0, 1], vec![0, 1, 2]];
    assert_eq!(lists(&shares(&machine, &mixed).expect("room")), ["3-7", "0-1", "2"]);
}

#[test]
fn more_than_there_is_is_refused() {
    let two = machine("pack:1 core:2 pu:1");
    assert_eq!(shares(&two, &vec![vec![0, 1]; 3]), Err(SharesError::TooFew { ranks: 3, cpus: 2 }));
    let error = shares(&two, &vec![vec![0]; 2]).expect_err("one CPU for two");
    assert_eq!(error.to_string(), "2 ranks have 1 CPU among them");
    let eight = machine("pack:2 [numa] core:2 pu:2");
    let all = online(&eight);
    assert_eq!(cores(&eight, &all, 4, 2), Ok((0..8).collect()));
    assert_eq!(cores(&eight, &all, 3, 1), Ok(vec![0, 2, 4]));
    assert_eq!(
        cores(&eight, &all[..3], 2, 2),
        Err(SharesError::TooFewCores { cores: 2, per_core: 2, possible: 1 })
    );
    assert_eq!(
        cores(&eight, &all, 1, 3),
        Err(SharesError::TooFewCores { cores: 1, per_core: 3, possible: 0 })
    );
}

const SHAPES: [&str; 6] = [
    "pack:1 core:2 pu:1",
    "pack:2 [numa] l3:2 core:3 pu:2",
    "pack:3 [numa] l3:1 core:5 pu:1",
    "pack:1 [numa] l3:3 core:2 pu:4",
    "pack:2 numa:2 l3:1 core:4 pu:2",
    "pack:1 core:7 pu:1",
];

proptest! {
    #[test]
    fn shares_are_apart_and_within_masks(
        shape in 0..SHAPES.len(),
        masks in proptest::collection::vec(proptest::collection::btree_set(0_u32..32, 1..12), 1..7),
    ) {
        let machine = machine(SHAPES[shape]);
        let all = online(&machine);
        let masks: Vec<Vec<u32>> =
            masks.into_iter().map(|mask| mask.into_iter().map(|cpu| cpu % all.len() as u32).collect::<BTreeSet<_>>().into_iter().collect()).collect();
        if let Ok(shares) = shares(&machine, &masks) {
            let mut seen = BTreeSet::new();
            for (share, mask) in shares.iter().zip(&masks) {
                prop_assert!(!share.is_empty());
                prop_assert!(share.iter().all(|cpu| mask.contains(cpu) && seen.insert(*cpu)), "{:?} of {:?}", shares, masks);
            }
        }
    }

    #[test]
    fn one_mask_is_divided_whole_and_evenly(shape in 0..SHAPES.len(), ranks in 1_usize..20) {
        let machine = machine(SHAPES[shape]);
        let all = online(&machine);
        match shares(&machine, &vec![all.clone(); ranks]) {
            Err(_) => prop_assert!(ranks > all.len()),
            Ok(shares) => {
                let mut given = shares.concat();
                given.sort_unstable();
                prop_assert_eq!(given, all);
                let node = |cpu: &u32| machine.cpus.iter().find(|known| known.id == *cpu).and_then(|known| known.node);
                let nodes = machine.nodes.len().max(1);
                let reach = |share: &Vec<u32>| share.iter().map(node).collect::<BTreeSet<_>>().len();
                prop_assert!(ranks < nodes || shares.iter().all(|share| reach(share) == 1), "{:?}", shares);
            }
        }
    }
}
