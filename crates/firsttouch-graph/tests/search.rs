//! Every algorithm finds the same distances as the simplest one, on graphs of all kinds.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_graph::{
    BorrowedCsr, CsrArrays, Goal, Graph, NO_PARENT, Node, ParallelSearch, ReadOptions, Rows, Search, Tree,
    Width, read, search_each,
};
use firsttouch_threads::Team;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use skipped::skipped;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

type Arcs = Vec<(Node, Node, u32)>;

/// Distances by Bellman and Ford's algorithm: all arcs, again and again, until nothing changes.
fn reference(nodes: usize, arcs: &Arcs, source: Node) -> Vec<Option<u64>> {
    let mut distances = vec![None; nodes];
    distances[source as usize] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for &(tail, head, weight) in arcs {
            let Some(from) = distances[tail as usize] else { continue };
            let held = &mut distances[head as usize];
            if held.is_none_or(|held| from + u64::from(weight) < held) {
                *held = Some(from + u64::from(weight));
                changed = true;
            }
        }
    }
    distances
}

fn distances(tree: &Tree<'_>) -> Vec<Option<u64>> {
    (0..tree.distances().len() as Node).map(|node| tree.distances().of(node)).collect()
}

/// Parents lead to the source, along arcs that are as long as the distances differ.
fn check_parents(graph: &Graph, tree: &Tree<'_>, parents: &[Node]) {
    for node in 0..graph.nodes() as Node {
        let parent = parents[node as usize];
        let distance = tree.distances().of(node);
        if node == tree.source() || distance.is_none() {
            assert_eq!(parent, NO_PARENT, "of {node}");
            continue;
        }
        let step =
            distance.expect("as told above") - tree.distances().of(parent).expect("a parent is reached");
        assert!(graph.out(parent).iter().any(|arc| arc.head == node && u64::from(arc.weight) == step));
        let ancestors = std::iter::successors(Some(node), |node| Some(parents[*node as usize]));
        assert!(ancestors.take(graph.nodes()).any(|ancestor| ancestor == tree.source()), "of {node}");
    }
}

/// Compares a tree with the reference, within a limit if there was one.
fn check(name: &str, graph: &Graph, tree: &Tree<'_>, wanted: &[Option<u64>], limit: Option<u64>) {
    let limit = limit.unwrap_or(u64::MAX);
    let wanted: Vec<Option<u64>> =
        wanted.iter().map(|wanted| wanted.filter(|wanted| *wanted <= limit)).collect();
    assert_eq!(distances(tree), wanted, "{name}, limit {limit}");
    let reached: Vec<Node> =
        (0..graph.nodes() as Node).filter(|node| wanted[*node as usize].is_some()).collect();
    assert_eq!(tree.reached(), reached, "{name}, limit {limit}");
    let summary = tree.summary();
    assert_eq!(summary.reached, reached.len() as u64, "{name}");
    assert_eq!(summary.sum, u128::from(wanted.iter().flatten().sum::<u64>()), "{name}");
    assert_eq!(Some(summary.farthest), wanted.iter().flatten().max().copied(), "{name}");
    check_parents(graph, tree, &tree.parents());
}

/// A search that may end early knows its targets, and nothing that is not true.
fn check_targets(name: &str, tree: &Tree<'_>, wanted: &[Option<u64>], targets: &[Node], limit: Option<u64>) {
    let within = |distance: &u64| limit.is_none_or(|limit| *distance <= limit);
    for target in targets {
        let wanted = wanted[*target as usize].filter(within);
        assert_eq!(tree.distances().of(*target), wanted, "{name}, to {target}");
    }
    for node in tree.reached() {
        assert_eq!(tree.distances().of(node), wanted[node as usize], "{name}, {node}");
    }
    assert_eq!(distances(tree).iter().flatten().count(), tree.reached().len(), "{name}");
}

/// A team of so many threads on the first CPU: the more they get in each other's way, the better for a test.
fn team(members: usize) -> Team {
    let cpus = two_cpus().map(|member| member.cpu());
    Team::new(&vec![vec![cpus[0]]; members]).expect("it may run there again")
}

/// Two threads that really run at the same time, where there are two CPUs.
fn two_cpus() -> Team {
    Team::of_this_process(2).expect("this process may run somewhere")
}

/// Runs everything there is from this source, several times with and without a limit.
fn compare(nodes: usize, arcs: &Arcs, source: Node, limit: u64, teams: &mut [Team]) {
    let graph = Graph::from_arcs(nodes, arcs).expect("the nodes are there");
    let wanted = reference(nodes, arcs, source);
    // A search must not be changed by the one before it, nor by its limit.
    let limits = [None, Some(limit), Some(0), Some(limit), None];
    let heap = Search::with_heap(&graph);
    let widths = [Width::Measured, Width::Guessed, Width::Fixed(1), Width::Fixed(100), Width::Fixed(1 << 31)];
    let buckets = widths.map(|width| Search::with_buckets(&graph, width));
    let targets = [source, (nodes as Node - 1).min(source + 1), nodes as Node / 2];
    let goals = limits.map(|limit| Goal { limit, targets: Some(&targets) });
    let mut parents = None;
    for mut search in std::iter::once(heap).chain(buckets) {
        for limit in limits {
            let name = format!("{:?} wide", search.width());
            let tree = search.run(source, limit);
            check(&name, &graph, &tree, &wanted, limit);
            if limit.is_none() {
                assert_eq!(*parents.get_or_insert_with(|| tree.parents()), tree.parents(), "{name}");
            }
        }
        for goal in goals {
            let name = format!("{:?} wide", search.width());
            check_targets(&name, &search.run(source, goal), &wanted, &targets, goal.limit);
        }
        check("after targets", &graph, &search.run(source, None), &wanted, None);
    }
    for team in teams {
        for delta in [None, Some(1), Some(100), Some(1 << 31)] {
            let mut search = ParallelSearch::new(&graph, team, delta);
            for limit in limits {
                let name = format!("delta {delta:?}, {} threads", team.size());
                check(&name, &graph, &search.run(team, source, limit), &wanted, limit);
            }
            for goal in goals {
                check_targets("delta", &search.run(team, source, goal), &wanted, &targets, goal.limit);
            }
            check("after targets", &graph, &search.run(team, source, None), &wanted, None);
        }
        for width in [None, Some(100)] {
            let mut search = ParallelSearch::owner_partitioned(&graph, team, width);
            for limit in limits {
                let name = format!("partitions, width {width:?}, {} threads", team.size());
                check(&name, &graph, &search.run(team, source, limit), &wanted, limit);
            }
            for goal in goals {
                check_targets("partitions", &search.run(team, source, goal), &wanted, &targets, goal.limit);
            }
            check("after targets", &graph, &search.run(team, source, None), &wanted, None);
        }
    }
}

/// The same of arrays that are borrowed: heads and weights apart, of several types.
fn compare_lent(nodes: usize, arcs: &Arcs, source: Node, limit: u64, teams: &mut [Team]) {
    let graph = Graph::from_arcs(nodes, arcs).expect("the nodes are there");
    let wanted = reference(nodes, arcs, source);
    let offsets: Vec<u32> = graph.offsets().iter().map(|offset| *offset as u32).collect();
    let heads: Vec<u32> = graph.all_arcs().iter().map(|arc| arc.head).collect();
    let weights: Vec<u32> = graph.all_arcs().iter().map(|arc| arc.weight).collect();
    let narrow = CsrArrays { index: (&offsets[..], &heads[..]).into(), weights: weights[..].into() };
    let fractions: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
    let wide: Vec<u64> = heads.iter().map(|head| u64::from(*head)).collect();
    let wide = CsrArrays { index: (graph.offsets(), &wide[..]).into(), weights: fractions[..].into() };
    for rows in [narrow, wide] {
        let rows = BorrowedCsr::new(rows).expect("they are a graph's");
        check_rows(&graph, rows.into(), source, limit, &wanted, teams);
    }
}

fn check_rows(
    graph: &Graph,
    rows: Rows<'_>,
    source: Node,
    limit: u64,
    wanted: &[Option<u64>],
    teams: &mut [Team],
) {
    let parents = Search::with_heap(graph).run(source, None).parents();
    for mut search in [Search::with_heap(rows), Search::with_buckets(rows, Width::Guessed)] {
        for limit in [None, Some(limit)] {
            check("borrowed", graph, &search.run(source, limit), wanted, limit);
        }
        assert_eq!(search.run(source, None).parents(), parents);
    }
    for team in teams {
        let both =
            [ParallelSearch::new(rows, team, None), ParallelSearch::owner_partitioned(rows, team, None)];
        for mut search in both {
            for limit in [None, Some(limit)] {
                check("borrowed, by a team", graph, &search.run(team, source, limit), wanted, limit);
            }
        }
    }
}

/// Graphs with loops, parallel arcs and parts that no path leads to, with weights of some kind.
fn graphs() -> impl Strategy<Value = (usize, Arcs, Node, u64)> {
    let weights = prop_oneof![
        Just(0..=0_u32),
        Just(0..=3),
        Just(1..=60_000),
        Just(u32::MAX - 5..=u32::MAX),
        Just(0..=u32::MAX),
    ];
    (1..30_usize, weights).prop_flat_map(|(nodes, weights)| {
        let node = 0..nodes as Node;
        let longest = u64::from(*weights.end());
        let arcs = proptest::collection::vec((node.clone(), node.clone(), weights), 0..90);
        (Just(nodes), arcs, node, 0..=longest * 3)
    })
}

#[test]
fn all_algorithms_agree_with_the_simplest() {
    let teams = RefCell::new([team(3), two_cpus()]);
    let config = ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&graphs(), |(nodes, arcs, source, limit)| {
            compare(nodes, &arcs, source, limit, &mut *teams.borrow_mut());
            compare_lent(nodes, &arcs, source, limit, &mut *teams.borrow_mut());
            Ok(())
        })
        .unwrap();
}

/// Numbers that look random, the same in every run.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn larger_graphs_with_hubs_and_long_arcs_agree_too() {
    let mut number = numbers(6);
    let nodes = 2000;
    let kinds: [fn(u64) -> u32; 3] = [
        // Small weights: buckets hold many, and grow while they are worked on.
        |dice| (dice % 4) as u32,
        // Few arcs that are very long: they wait outside of the circle of buckets.
        |dice| if dice % 50 == 0 { 1 << 30 } else { (dice % 1000) as u32 },
        |dice| (dice % 100_000) as u32,
    ];
    for weight in kinds {
        let mut arcs = Arcs::new();
        for tail in 0..nodes as Node {
            for _ in 0..3 {
                arcs.push((tail, number(nodes) as Node, weight(number(1 << 30))));
            }
            // Node 0 is a hub; so is the way back.
            arcs.push((0, tail, weight(number(1 << 30)).saturating_add(1000)));
        }
        compare(nodes as usize, &arcs, 17, 500, &mut [two_cpus()]);
        compare_lent(nodes as usize, &arcs, 17, 500, &mut [two_cpus()]);
    }
}

#[test]
fn more_mail_than_there_is_room_for_arrives() {
    // Node 0 leads to all, and all lead to the last, which leads back to all by shorter paths: everybody writes to everybody.
    let nodes = 20_000;
    let mut arcs = Arcs::new();
    for node in 1..nodes - 1 {
        arcs.extend([(0, node, 1_000_000), (node, nodes - 1, 10 + node), (nodes - 1, node, node % 5)]);
        arcs.push((node, (node * 7919) % nodes, 50_000));
    }
    let graph = Graph::from_arcs(nodes as usize, &arcs).unwrap();
    let mut heap = Search::with_heap(&graph);
    for mut team in [two_cpus(), team(3)] {
        let mut search = ParallelSearch::owner_partitioned(&graph, &team, None);
        for source in [0, 5, nodes - 1] {
            assert_eq!(distances(&search.run(&mut team, source, None)), distances(&heap.run(source, None)));
        }
    }
}

#[test]
fn a_search_that_leaves_32_bits_goes_on_in_64() {
    let long = u32::MAX;
    let arcs: Arcs = (0..50).map(|tail| (tail, tail + 1, long)).collect();
    compare(51, &arcs, 0, 3 * u64::from(long), &mut [team(2)]);
    compare_lent(51, &arcs, 0, 3 * u64::from(long), &mut [team(2)]);
    // The bound on distances is far above 32 bits, the distances are not.
    let mut arcs: Arcs = (0..2000).map(|tail| (tail, tail + 1, 1)).collect();
    arcs.extend((0..2000).map(|tail| (tail, (tail + 7) % 2000, 1 << 24)));
    compare(2001, &arcs, 0, 100, &mut [team(2)]);
}

#[test]
fn every_source_is_searched_once_until_stopped() {
    let arcs: Arcs = (0..99).map(|tail| (tail, tail + 1, 1)).collect();
    let graph = Graph::from_arcs(100, &arcs).unwrap();
    let sources: Vec<Node> = (0..100).rev().collect();
    let farthest = Mutex::new(BTreeMap::new());
    let make = |_: &firsttouch_threads::Member<'_>| Search::with_buckets(&graph, Width::Guessed);
    search_each(
        &mut team(2),
        &sources,
        None,
        || false,
        make,
        |at, tree, _| {
            let before = farthest.lock().unwrap().insert(at, (tree.source(), tree.summary().farthest));
            assert_eq!(before, None);
        },
    );
    let wanted: BTreeMap<usize, (Node, u64)> =
        (0..100).map(|at| (at, (99 - at as Node, at as u64))).collect();
    assert_eq!(farthest.into_inner().unwrap(), wanted);
    search_each(&mut team(2), &sources, None, || true, make, |_, _, _| panic!("stopped before it began"));
}

#[test]
fn a_search_ends_when_its_targets_are_known() {
    let arcs: Arcs = (0..9999).map(|tail| (tail, tail + 1, 1)).collect();
    let graph = Graph::from_arcs(10_000, &arcs).unwrap();
    let goal = Goal { limit: None, targets: Some(&[30, 70]) };
    let mut team = team(2);
    let mut delta = ParallelSearch::new(&graph, &team, Some(4));
    assert_eq!(delta.run(&mut team, 20, goal).reached(), (20..72).collect::<Vec<Node>>());
    // The last target is in a partition of the other thread.
    let across = Goal { targets: Some(&[30, 600]), ..goal };
    let mut partitions = ParallelSearch::owner_partitioned(&graph, &team, Some(1));
    assert_eq!(partitions.run(&mut team, 20, across).reached(), (20..601).collect::<Vec<Node>>());
    assert_eq!(partitions.run(&mut team, 20, goal).reached(), (20..71).collect::<Vec<Node>>());
    let nowhere = Goal { targets: Some(&[70, 3]), ..goal };
    assert_eq!(partitions.run(&mut team, 20, nowhere).reached().len(), 9980);
    for mut search in [Search::with_heap(&graph), Search::with_buckets(&graph, Width::Fixed(1))] {
        assert_eq!(search.run(20, goal).reached(), (20..71).collect::<Vec<Node>>());
        // Who cannot be reached is looked for everywhere.
        let goal = Goal { targets: Some(&[70, 3]), ..goal };
        assert_eq!(search.run(20, goal).reached().len(), 9980);
    }
}

/// The first 24 draws of `random.Random(20100601).randrange(264346)` in Python, counted from 0.
const NEW_YORK_SOURCES: [Node; 24] = [
    192_525, 166_370, 120_212, 44_444, 125_958, 128_682, 5_467, 115_637, 122_779, 36_707, 89_817, 190_403,
    237_866, 244_180, 204_632, 174_401, 26_163, 171_698, 243_259, 34_435, 131_481, 237_655, 35_351, 138_204,
];

#[test]
fn distances_in_new_york_add_up() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/graphs/USA-road-d.NY.gr.gz");
    if !path.exists() {
        return skipped(&format!("{} is not there", path.display()));
    }
    let mut team = two_cpus();
    let graph = read(&path, &ReadOptions::default(), &mut team).unwrap().graph;
    // Fifteen other implementations found this sum.
    const WANTED: u128 = 3_231_766_738_773;
    let mut search = Search::with_buckets(&graph, Width::Measured);
    let sums = NEW_YORK_SOURCES.map(|source| search.run(source, None).summary().sum);
    assert_eq!(sums.iter().sum::<u128>(), WANTED);
    let mut search = ParallelSearch::new(&graph, &team, None);
    let mut partitions = ParallelSearch::owner_partitioned(&graph, &team, None);
    let mut heap = Search::with_heap(&graph);
    for (source, sum) in NEW_YORK_SOURCES.into_iter().zip(sums) {
        assert_eq!(search.run(&mut team, source, None).summary().sum, sum);
        assert_eq!(partitions.run(&mut team, source, None).summary().sum, sum);
        assert_eq!(heap.run(source, None).summary().sum, sum);
    }
}
