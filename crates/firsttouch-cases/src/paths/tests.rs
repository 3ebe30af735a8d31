use super::{Apsp, Sssp, checksum};
use crate::case::{Case, Given, Work};
use crate::here::{prepared, workload};
use crate::{Arguments, ArrayPlace, Arrays, CaseError, Checksum};
use firsttouch_graph::Summary;
use firsttouch_memory::{NodePolicy, Pages};
use firsttouch_threads::Team;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;

/// Tail, head and weight.
type Arc = (u64, u64, u64);

/// What Floyd and Warshall find, whose algorithm has nothing in common with ours.
fn floyd_warshall(nodes: usize, arcs: &[Arc], sources: &[usize]) -> Checksum {
    let mut distances = vec![vec![None; nodes]; nodes];
    (0..nodes).for_each(|node| distances[node][node] = Some(0));
    let mut least = |from: usize, to: usize, by: Option<u64>| {
        let held: &mut Option<u64> = &mut distances[from][to];
        *held = [*held, by].into_iter().flatten().min();
        *held
    };
    for &(tail, head, weight) in arcs {
        least(tail as usize, head as usize, Some(weight));
    }
    for middle in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                let first = least(from, middle, None);
                let second = least(middle, to, None);
                least(from, to, first.zip(second).map(|(first, second)| first + second));
            }
        }
    }
    let summaries = sources.iter().map(|source| {
        let found = || distances[*source].iter().flatten();
        Summary {
            reached: found().count() as u64,
            sum: found().map(|distance| u128::from(*distance)).sum(),
            farthest: found().copied().max().unwrap_or(0),
        }
    });
    checksum(&summaries.collect::<Vec<_>>())
}

/// What each variant comes to on a graph, by teams of one thread, of two, and of two groups.
fn come_to(case: &dyn Case, nodes: usize, arcs: &[Arc], from: &str) -> Vec<(String, Checksum, Work)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graph.gr");
    let lines = arcs.iter().map(|(tail, head, weight)| format!("a {} {} {weight}\n", tail + 1, head + 1));
    fs::write(&file, format!("p sp {nodes} {}\n{}", arcs.len(), lines.collect::<String>())).unwrap();
    let mut chosen = vec![("graph", file.to_str().unwrap())];
    if case.about().name == "sssp" {
        chosen.push(("from", from));
    }
    let cpu = firsttouch_linux::numa::affinity(0).unwrap().iter().next().unwrap();
    let mut found = Vec::new();
    for variant in case.about().variants {
        for groups in [vec![vec![cpu]], vec![vec![cpu, cpu]], vec![vec![cpu], vec![cpu, cpu]]] {
            let mut team = Team::new(&groups).unwrap();
            let mut workload = workload(case, variant.name, &chosen, &mut team);
            for _ in 0..2 {
                workload.reset(&mut team);
                workload.step(&mut team);
                let name = format!("{} {groups:?}", variant.name);
                found.push((name, workload.checksum(), workload.work()));
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Loops, parallel arcs, weights of 0, nodes that nothing leads to and odd sizes are all among these.
    #[test]
    fn distances_are_those_of_another_algorithm(
        nodes in 1_usize..14,
        arcs in prop::collection::vec((0_u64..14, 0_u64..14, 0_u64..6), 0..40),
    ) {
        let arcs: Vec<Arc> =
            arcs.iter().map(|(tail, head, weight)| (tail % nodes as u64, head % nodes as u64, *weight)).collect();
        let sources = [0, nodes - 1, nodes / 2];
        let from = sources.map(|source| (source + 1).to_string()).join(":");
        for (name, found, _) in come_to(&Sssp, nodes, &arcs, &from) {
            prop_assert_eq!(found, floyd_warshall(nodes, &arcs, &sources), "{} {:?}", name, arcs);
        }
        let all: Vec<usize> = (0..nodes).collect();
        for (name, found, _) in come_to(&Apsp, nodes, &arcs, "") {
            prop_assert_eq!(found, floyd_warshall(nodes, &arcs, &all), "{} {:?}", name, arcs);
        }
    }
}

#[test]
fn work_is_counted_by_hand() {
    // From 0 three nodes with their four arcs are reached; from 3 itself and one arc, and what that leads to: all four.
    let arcs = [(0, 1, 5), (1, 2, 0), (2, 0, 1), (0, 2, 9), (3, 0, 1)];
    let rows = 8 * (3 + 4) + 8 * (4 + 5);
    let work = Work { bytes: rows + 2 * 2 * 4 * 4, operations: 4 + 5 };
    for (name, _, counted) in come_to(&Sssp, 4, &arcs, "1:4") {
        assert_eq!(counted, work, "{name}");
    }
    // From each of the first three the same three.
    let work = Work { bytes: 3 * 8 * (3 + 4) + 8 * (4 + 5) + 2 * 4 * 4 * 4, operations: 3 * 4 + 5 };
    for (name, _, counted) in come_to(&Apsp, 4, &arcs, "") {
        assert_eq!(counted, work, "{name}");
    }
}

fn refused(chosen: &[(&str, &str)]) -> CaseError {
    let mut team = Team::of_this_process(1).unwrap();
    prepared(&Sssp, Sssp.about().variants[0].name, chosen, &mut team).unwrap_err()
}

#[test]
fn what_cannot_be_searched_is_said() {
    assert!(
        refused(&[("graph", "/nowhere.gr")]).to_string().starts_with("/nowhere.gr is not read as a graph")
    );
    assert!(refused(&[("from", "7:none")]).to_string().contains("no node `none`"));
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.gr");
    fs::write(&empty, "p sp 0 0\n").unwrap();
    assert!(refused(&[("graph", empty.to_str().unwrap())]).to_string().contains("no nodes"));
}

/// Every copy of the graph lies on pages of its own, which are read back under the one name.
#[test]
fn a_graph_can_be_placed_by_name() {
    let chosen = [("scale".to_owned(), "13".to_owned()), ("sources".to_owned(), "1".to_owned())];
    let arguments = Arguments::of(Sssp.about(), &chosen, true).unwrap();
    let cpu = firsttouch_linux::numa::affinity(0).unwrap().iter().next().unwrap();
    let bytes = |groups: usize| {
        let place = ArrayPlace { pages: Pages::Base, memory: NodePolicy::Local };
        let arrays = Arrays::with_places(BTreeMap::from([("graph".to_owned(), place)]));
        let mut team = Team::new(&vec![vec![cpu]; groups]).unwrap();
        let variant = &Sssp.about().variants[0];
        let mut given = Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
        let _prepared = Sssp.prepare(&mut given).unwrap();
        let [obtained] = &arrays.obtained()[..] else { panic!("{arrays:?}") };
        assert_eq!(obtained.name, "graph");
        assert!(obtained.huge_bytes.is_none_or(|bytes| bytes == 0), "{obtained:?}");
        obtained.bytes
    };
    assert!(bytes(1) > 8 * (1 << 13));
    assert_eq!(bytes(3), 3 * bytes(1));
}
