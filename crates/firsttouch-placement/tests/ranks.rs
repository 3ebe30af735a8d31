//! What a placement of several processes means for each, on machines that are not ours.

use firsttouch_machine::{Machine, MemoryKind, Near, Node};
use firsttouch_placement::{Placement, Policies, ProgramCpus, RankOf, ResolveError};

const EVERYTHING: Policies = Policies { preferred_many: true, weighted_interleave: true };

/// Two nodes of four cores, each with fast memory of its own, as nodes 2 and 3.
fn machine() -> Machine {
    let mut machine = Machine::from_source("pack:2 [numa] l3:1 core:4 pu:1").expect("a machine");
    machine.limits = Default::default();
    let distances = [[10, 21, 31, 41], [21, 10, 41, 31], [31, 41, 10, 41], [41, 31, 41, 10]];
    for id in [2, 3] {
        let near = machine.nodes[id - 2].clone();
        machine.nodes.push(Node { id: id as u32, cpus: Vec::new(), ..near });
    }
    for (node, row) in machine.nodes.iter_mut().zip(distances) {
        node.distances = Some((0..).zip(row).collect());
        node.kind = Some(if node.cpus.is_empty() { MemoryKind::Hbm } else { MemoryKind::Dram });
    }
    machine
}

fn near(device: &str, node: u32, cpus: std::ops::Range<u32>) -> Near {
    Near {
        device: device.to_owned(),
        layers: vec![device.to_owned()],
        nodes: vec![node],
        cpus: cpus.collect(),
    }
}

/// The placements of processes that may run anywhere.
fn all(text: &str, ranks: usize, near: &[Near], kernel: Policies) -> Result<Vec<String>, ResolveError> {
    let (asked, machine): (Placement, _) = (text.parse().expect("a placement"), machine());
    let masks = vec![(0..8).collect(); ranks];
    let of = |local_rank| RankOf { local_rank, masks: &masks, near, kernel, has_policy: false };
    (0..ranks).map(|rank| Ok(asked.of_rank(&machine, &of(rank))?.to_string())).collect()
}

#[test]
fn each_has_cpus_and_memory_of_its_own() {
    let two = all("plain", 2, &[], EVERYTHING).expect("room");
    assert_eq!(two, ["plain,prefer=0,cpus=0-3", "plain,prefer=1,cpus=4-7"]);
    let four = all("plain,threads=compact", 4, &[], EVERYTHING).expect("room");
    assert_eq!(four[3], "plain,prefer=1,cpus=6-7,threads=compact");
    assert_eq!(all("plain", 1, &[], EVERYTHING).expect("room"), ["plain,prefer=0+1,cpus=0-7"]);
    assert_eq!(all("plain", 1, &[], Policies::default()).expect("room"), ["plain,local,cpus=0-7"]);
    // What is asked counts; kinds of memory are those next to the CPUs.
    assert_eq!(
        all("plain,prefer=hbm", 2, &[], EVERYTHING).expect("room"),
        ["plain,prefer=2,cpus=0-3", "plain,prefer=3,cpus=4-7"]
    );
    assert_eq!(
        all("thp,bind=dram+hbm,object=a:thp:bind=hbm", 2, &[], EVERYTHING).expect("room")[1],
        "thp,bind=1+3,cpus=4-7,object=a:thp:bind=3"
    );
    assert_eq!(
        all("plain,interleave=all,cpus=2-5", 2, &[], EVERYTHING).expect("room"),
        ["plain,interleave=all,cpus=2-3", "plain,interleave=all,cpus=4-5"]
    );
    // What a launcher set of memory stays.
    let masks = [vec![0]];
    let of = RankOf { local_rank: 0, masks: &masks, near: &[], kernel: EVERYTHING, has_policy: true };
    let inherits = Placement::default().of_rank(&machine(), &of).expect("room");
    assert_eq!((inherits.memory, inherits.cpus), (Placement::default().memory, ProgramCpus::Cpus(vec![0])));
}

#[test]
fn each_is_next_to_a_device_of_its_own() {
    let cards = [near("ib0", 0, 0..4), near("ib1", 1, 4..8)];
    assert_eq!(
        all("plain,near=ib0,near=ib1", 2, &cards, EVERYTHING).expect("room"),
        ["plain,cpus=0-3,near=ib0", "plain,cpus=4-7,near=ib1"]
    );
    // Both next to the same CPUs: by turns, and nobody runs elsewhere.
    let beside = [near("ib0", 1, 4..8), near("ib1", 1, 4..8)];
    assert_eq!(
        all("plain,near=ib0,near=ib1", 4, &beside, EVERYTHING).expect("room"),
        ["plain,cpus=4,near=ib0", "plain,cpus=5,near=ib1", "plain,cpus=6,near=ib0", "plain,cpus=7,near=ib1"]
    );
    assert_eq!(
        all("plain,near=ib1", 2, &cards[1..], EVERYTHING).expect("room")[0],
        "plain,cpus=4-5,near=ib1"
    );
}

#[test]
fn what_cannot_be_given_apart_is_refused() {
    let error = all("plain", 9, &[], EVERYTHING).expect_err("nine on eight");
    assert_eq!(error.to_string(), "9 ranks have 8 CPUs among them");
    assert!(error.hint().contains("--ntasks-per-node=8"), "{}", error.hint());
    let error = all("plain,cpus=0-1", 3, &[], EVERYTHING).expect_err("three on two");
    assert!(error.hint().starts_with("start no more than 2 here"), "{}", error.hint());
    let asked: Placement = "plain,cpus=4-7".parse().expect("a placement");
    let masks = [vec![4, 5], vec![0, 1]];
    let of = RankOf { local_rank: 0, masks: &masks, near: &[], kernel: EVERYTHING, has_policy: false };
    let error = asked.of_rank(&machine(), &of).expect_err("bound elsewhere");
    assert_eq!(
        error.to_string(),
        "local rank 1 may use CPUs 0-1, none of which is among those of --cpus: 4-7"
    );
}
