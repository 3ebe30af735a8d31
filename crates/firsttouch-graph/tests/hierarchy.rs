//! PHAST queries over hierarchies against searches without: whatever the graph, the same distances.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_graph::hierarchy::{
    Hierarchy, HierarchyError, HierarchyOptions, Instructions, Limits, PhastQuery, SOURCES_AT_ONCE,
};
use firsttouch_graph::{
    AllPairs, AllPairsProgress, Checkpoint, Distances, Engine, Goal, Graph, Graphs, Node, Plan, Question,
    Queue, ReadOptions, Searches, Shard, Shards, Summary, Totals, Tree, Width, read,
};
use firsttouch_threads::Team;
use proptest::prelude::*;
use skipped::skipped;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Dijkstra's algorithm as in a textbook.
fn plain(graph: &Graph, source: Node) -> Vec<Option<u64>> {
    let mut distances = vec![None; graph.nodes()];
    let mut queue = BinaryHeap::from([Reverse((0_u64, source))]);
    while let Some(Reverse((distance, node))) = queue.pop() {
        if distances[node as usize].is_none() {
            distances[node as usize] = Some(distance);
            for arc in graph.out(node) {
                queue.push(Reverse((distance + u64::from(arc.weight), arc.head)));
            }
        }
    }
    distances
}

fn options(threads: usize) -> HierarchyOptions {
    HierarchyOptions { threads: NonZero::new(threads).unwrap(), ..HierarchyOptions::default() }
}

fn team() -> Team {
    Team::new(&[vec![0]]).unwrap()
}

/// From each source to every node or target.
fn distances(phast: &mut PhastQuery<'_>, sources: &[Node]) -> Vec<Vec<Option<u64>>> {
    let rows = Mutex::new(vec![Vec::new(); sources.len()]);
    let keep = |index: usize, row: Distances<'_>, _| {
        rows.lock().unwrap()[index] = (0..row.len() as Node).map(|node| row.of(node)).collect();
    };
    phast.each(sources, || false, keep).unwrap();
    rows.into_inner().unwrap()
}

fn check(graph: &Graph, threads: usize) {
    let hierarchy = Hierarchy::build(graph, &options(threads)).unwrap();
    agrees(graph, &hierarchy);
}

fn agrees(graph: &Graph, hierarchy: &Hierarchy) {
    let nodes = graph.nodes();
    let step = nodes.div_ceil(70).max(1);
    // More than one sweep's sources, and some of them twice.
    let sources: Vec<Node> =
        (0..nodes).step_by(step).chain((0..nodes).step_by(7 * step)).map(|node| node as Node).collect();
    let all_expected: Vec<Vec<Option<u64>>> = sources.iter().map(|source| plain(graph, *source)).collect();
    let mut team = team();
    for by in [Instructions::Avx512, Instructions::Avx2, Instructions::Portable] {
        if !by.are_available() {
            continue;
        }
        let mut phast = PhastQuery::new(hierarchy, &mut team).with_instructions(by);
        let distances = distances(&mut phast, &sources);
        let summaries = phast.summaries(&sources).unwrap();
        for (place, (source, expected)) in sources.iter().zip(&all_expected).enumerate() {
            assert_eq!(distances[place], *expected, "{by}: from {source}");
            let summary: Summary = expected.iter().flatten().copied().collect();
            assert_eq!(summaries[place], summary, "{by}: from {source}");
        }
    }
}

fn arcs(
    nodes: u32,
    weights: impl Strategy<Value = u32>,
) -> impl Strategy<Value = (u32, Vec<(u32, u32, u32)>)> {
    let most = 3 * nodes as usize;
    (Just(nodes), prop::collection::vec((0..nodes, 0..nodes, weights), 0..most))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Loops, parallel arcs, one-way arcs, pieces that do not hang together, zeros: all come up.
    #[test]
    fn sweeps_agree_with_searches((nodes, arcs) in (1_u32..90).prop_flat_map(|nodes| arcs(nodes, 0_u32..20))) {
        check(&Graph::from_arcs(nodes as usize, &arcs).unwrap(), 1);
    }

    #[test]
    fn so_they_do_with_weights_near_the_greatest(
        (nodes, arcs) in (2_u32..60).prop_flat_map(|nodes| arcs(nodes, prop_oneof![u32::MAX - 5..=u32::MAX, 0..=u32::MAX]))
    ) {
        check(&Graph::from_arcs(nodes as usize, &arcs).unwrap(), 2);
    }
}

/// A square of streets, some one-way, with weights that look random.
fn grid(side: u32, seed: u32) -> Graph {
    let mut state = seed;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut arcs = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let node = row * side + column;
            let right = (column + 1 < side).then_some(node + 1);
            let below = (row + 1 < side).then_some(node + side);
            for other in [right, below].into_iter().flatten() {
                let weight = random(1000);
                if random(10) > 0 {
                    arcs.push((node, other, weight));
                }
                if random(10) > 0 {
                    arcs.push((other, node, weight + random(3)));
                }
            }
        }
    }
    Graph::from_arcs((side * side) as usize, &arcs).unwrap()
}

#[test]
fn grids_with_tiles_threads_and_large_cuts_agree() {
    for threads in 1..=3 {
        check(&grid(27 + threads as u32, 7), threads);
    }
}

#[test]
fn targets_limits_and_new_weights_are_kept_to() {
    let graph = grid(30, 3);
    let mut hierarchy = Hierarchy::build(&graph, &options(2)).unwrap();
    let mut team = team();
    let (sources, targets) = ([5, 899, 400, 5], [17, 3, 17, 899, 450]);
    let mut phast = PhastQuery::to(&hierarchy, &mut team, &targets).unwrap().within(2500);
    assert_eq!(phast.columns(), targets.len());
    let distances = distances(&mut phast, &sources);
    let summaries = phast.summaries(&sources).unwrap();
    let mut beyond = 0;
    for (place, source) in sources.iter().enumerate() {
        let expected = plain(&graph, *source);
        let near = |target: &Node| expected[*target as usize].filter(|distance| *distance <= 2500);
        for (column, target) in targets.iter().enumerate() {
            beyond += usize::from(expected[*target as usize].is_some_and(|distance| distance > 2500));
            assert_eq!(distances[place][column], near(target));
        }
        // The target that was told twice counts once.
        assert_eq!(summaries[place].reached as usize, targets[1..].iter().filter_map(near).count());
    }
    assert!(beyond > 0, "the limit cut nothing off");

    // The same arcs, the other way round in length.
    let weights: Vec<u32> = graph.all_arcs().iter().map(|arc| 1100 - arc.weight).collect();
    hierarchy.customize(&weights).unwrap();
    let mut arcs = Vec::new();
    for tail in 0..graph.nodes() as Node {
        arcs.extend(graph.out(tail).iter().map(|arc| (tail, arc.head, 1100 - arc.weight)));
    }
    agrees(&Graph::from_arcs(graph.nodes(), &arcs).unwrap(), &hierarchy);
    let error = hierarchy.customize(&weights[1..]).unwrap_err();
    assert!(matches!(error, HierarchyError::OtherWeights { .. }), "{error}");
    assert!(matches!(
        PhastQuery::new(&hierarchy, &mut team).summaries(&[900]),
        Err(HierarchyError::NoSuchNode { .. })
    ));
}

#[test]
fn graphs_without_small_cuts_are_refused() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % 30_000) as u32
    };
    let arcs: Vec<_> = (0..100_000).map(|_| (random(), random(), 1)).collect();
    let error = Hierarchy::build(&Graph::from_arcs(30_000, &arcs).unwrap(), &options(1)).unwrap_err();
    assert!(matches!(error, HierarchyError::NoSmallCuts { .. }), "{error}");

    // A complete graph of so many nodes has small neighbourhoods on both sides of no cut at all.
    let all: Vec<_> = (0..700).flat_map(|tail| (0..tail).map(move |head| (tail, head, 1))).collect();
    let limits = Limits { arcs_per_node: 96, arcs_at_least: 1000 };
    let error =
        Hierarchy::build(&Graph::from_arcs(700, &all).unwrap(), &HierarchyOptions { limits, ..options(1) })
            .unwrap_err();
    assert!(matches!(error, HierarchyError::TooManyArcs { limit: 67_200 }), "{error}");
}

#[test]
fn an_index_serves_its_graph_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let graph = grid(25, 5);
    assert!(Hierarchy::load(&path, &graph, &options(1)).unwrap().is_none());
    let hierarchy = Hierarchy::build(&graph, &options(1)).unwrap();
    hierarchy.save(&path).unwrap();
    let loaded = Hierarchy::load(&path, &graph, &options(1)).unwrap().unwrap();
    assert_eq!(loaded.shape(), hierarchy.shape());
    agrees(&graph, &loaded);

    let other = Hierarchy::load(&path, &grid(25, 6), &options(1)).unwrap_err();
    assert!(other.to_string().contains("another graph"), "{other}");
    let whole = std::fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() - 1], &whole[..5], &[&whole[..100], &[9], &whole[101..]].concat()] {
        std::fs::write(&path, damaged).unwrap();
        let error = Hierarchy::load(&path, &graph, &options(1)).unwrap_err();
        assert!(matches!(error, HierarchyError::File(_)) && !error.hint().is_empty(), "{error}");
    }
}

/// Everything that a run keeps, whoever finds the distances, to all nodes and to targets.
fn kept_alike(graph: &Graph, targets: Option<&[Node]>, limit: Option<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let hierarchy = Hierarchy::build(graph, &options(1)).unwrap();
    let mut team = team();
    let sources: Vec<Node> = (0..graph.nodes() as Node).chain([0, 0]).collect();
    let keep = |engine: Engine<'_, '_>, name: &str| {
        let table = folder.path().join(name);
        let run = AllPairs { histogram: true, matrix: Some(&table), ..AllPairs::default() };
        (run.run(engine, &sources).unwrap().stored, std::fs::read(&table).unwrap())
    };
    let mut phast = match targets {
        Some(targets) => PhastQuery::to(&hierarchy, &mut team, targets).unwrap(),
        None => PhastQuery::new(&hierarchy, &mut team),
    };
    if let Some(limit) = limit {
        phast = phast.within(limit);
    }
    let wanted = keep(Engine::from(&mut phast), "sweeps");
    let parents: Vec<Vec<Node>> =
        sources[..1].iter().map(|source| parents(graph, &mut phast, *source, targets)).collect();
    for queue in [Queue::Heap, Queue::Buckets(Width::Fixed(1)), Queue::Buckets(Width::Guessed)] {
        let mut searches =
            Searches::new(Graphs::new(graph, None), &mut team, queue).towards(Goal { limit, targets });
        assert_eq!(keep(Engine::from(&mut searches), "searches"), wanted, "{queue:?}");
    }
    if targets.is_none() {
        let mut search = firsttouch_graph::Search::with_heap(graph);
        assert_eq!(search.run(sources[0], limit).parents(), parents[0]);
    }
}

/// The tree of a sweep; none where it leads to some nodes only.
fn parents(graph: &Graph, phast: &mut PhastQuery<'_>, source: Node, targets: Option<&[Node]>) -> Vec<Node> {
    if targets.is_some() {
        return Vec::new();
    }
    let parents = Mutex::new(Vec::new());
    let find = |_, row: Distances<'_>, _| {
        *parents.lock().unwrap() = Tree::of_distances(graph, source, row, None).parents();
    };
    phast.each(&[source], || false, find).unwrap();
    parents.into_inner().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn runs_keep_the_same_whoever_finds_the_distances(
        (nodes, arcs) in (1_u32..50).prop_flat_map(|nodes| {
            arcs(nodes, prop_oneof![0..=3_u32, 0..=1000_u32, u32::MAX - 5..=u32::MAX])
        }),
        limit in prop::option::of(0..2000_u64),
        targets in prop::option::of(prop::collection::vec(0..50_u32, 0..8)),
    ) {
        let targets = targets.map(|targets| targets.iter().map(|target| target % nodes).collect::<Vec<_>>());
        kept_alike(&Graph::from_arcs(nodes as usize, &arcs).unwrap(), targets.as_deref(), limit);
    }
}

/// A run that is stopped after every few sweeps, and resumed, until it has finished.
#[test]
fn a_run_interrupted_anywhere_ends_with_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let (path, table) = (folder.path().join("checkpoint"), folder.path().join("all.npy"));
    let graph = grid(18, 9);
    let hierarchy = Hierarchy::build(&graph, &options(1)).unwrap();
    let sources: Vec<Node> = (0..graph.nodes() as Node).rev().collect();
    let mut team = team();
    let mut phast = PhastQuery::new(&hierarchy, &mut team);
    let counted = AllPairs { histogram: true, ..AllPairs::default() };
    let whole = counted.run(&mut phast, &sources).unwrap().stored;
    assert_eq!(whole.finished().unwrap(), phast.summaries(&sources).unwrap());
    drop(phast);

    let mut runs = 0;
    let (resumed, stored) = loop {
        let stop = AtomicBool::new(false);
        let progress = |progress: AllPairsProgress| {
            assert!(progress.done <= sources.len() && progress.done_now > 0);
            stop.store(progress.done_now > 80, Ordering::Relaxed);
        };
        let run = AllPairs {
            checkpoint: Some(Checkpoint { path: &path, every: Duration::ZERO }),
            progress: Some(&progress),
            stop: Some(&stop),
            histogram: true,
            matrix: Some(&table),
        };
        // Sweeps go on where searches were, and the other way round.
        let outcome = if runs % 2 == 0 {
            run.run(&mut PhastQuery::new(&hierarchy, &mut team), &sources).unwrap()
        } else {
            let queue = Queue::Buckets(Width::Guessed);
            run.run(&mut Searches::new(Graphs::new(&graph, None), &mut team, queue), &sources).unwrap()
        };
        runs += 1;
        assert!(runs < 20);
        if outcome.stored.finished().is_some() {
            break (outcome.resumed, outcome.stored);
        }
    };
    assert!(runs > 2 && resumed > 0);
    assert_eq!(stored, whole);

    let table_bytes = std::fs::read(&table).unwrap();
    assert!(table_bytes.starts_with(b"\x93NUMPY\x01\x00"));
    let values: Vec<u32> =
        table_bytes[128..].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    assert_eq!(values.len(), sources.len() * graph.nodes());
    for (row, source) in values.chunks(graph.nodes()).zip(&sources) {
        let expected: Vec<u32> = plain(&graph, *source)
            .iter()
            .map(|distance| distance.map_or(u32::MAX, |distance| distance as u32))
            .collect();
        assert_eq!(row, expected);
    }

    // Of another question, it is refused and not overwritten.
    let run = AllPairs {
        checkpoint: Some(Checkpoint { path: &path, every: Duration::ZERO }),
        ..AllPairs::default()
    };
    let before = std::fs::read(&path).unwrap();
    let others: Vec<Node> = sources.iter().rev().copied().collect();
    let mut phast = PhastQuery::new(&hierarchy, &mut team);
    let error = run.run(&mut phast, &others).unwrap_err();
    assert!(error.to_string().contains("another run") && !error.hint().is_empty(), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(AllPairs::default().run(&mut phast, &[0, 400]).unwrap_err().to_string().contains("no node 400"));
}

/// The sum that every implementation finds on the roads of New York.
#[test]
fn new_york_is_as_far_as_everybody_finds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/graphs/USA-road-d.NY.gr.gz");
    if !path.exists() {
        return skipped(&format!("{} is not there", path.display()));
    }
    let mut team = team();
    let graph = read(&path, &ReadOptions::default(), &mut team).unwrap().graph;
    let hierarchy = Hierarchy::build(&graph, &options(2)).unwrap();
    // The first 24 numbers of Python's random.Random(20100601).randrange(264346).
    let sources = [
        192_525, 166_370, 120_212, 44_444, 125_958, 128_682, 5_467, 115_637, 122_779, 36_707, 89_817,
        190_403, 237_866, 244_180, 204_632, 174_401, 26_163, 171_698, 243_259, 34_435, 131_481, 237_655,
        35_351, 138_204,
    ];
    let summaries = PhastQuery::new(&hierarchy, &mut team).summaries(&sources).unwrap();
    assert_eq!(Totals::of(&summaries).checksum, 3_231_766_738_773);
}

/// Several processes' work on one run, as one after the other and as threads; some of it claimed by one that died.
#[test]
fn shared_runs_come_to_the_same_whoever_dies() {
    let folder = tempfile::tempdir().unwrap();
    let graph = grid(18, 4);
    let hierarchy = Hierarchy::build(&graph, &options(1)).unwrap();
    let sources: Vec<Node> = (0..graph.nodes() as Node).collect();
    let counted = AllPairs { histogram: true, ..AllPairs::default() };
    let whole = counted.run(&mut PhastQuery::new(&hierarchy, &mut team()), &sources).unwrap().stored;
    let plan = Plan {
        sources: sources.len(),
        chunk: SOURCES_AT_ONCE,
        histogram: true,
        columns: 0,
        graph: (&graph).into(),
        first_id: Some(1),
    };
    let question = Question::of(&graph, None, None, &sources);
    let work = |rank: usize, before: Option<usize>, stop: &AtomicBool| {
        let (mut team, shard) = (team(), Shard { rank, ranks: 4 });
        let mut searches = Searches::new(Graphs::new(&graph, None), &mut team, Queue::Heap);
        let mut sweeping = self::team();
        let mut phast = PhastQuery::new(&hierarchy, &mut sweeping);
        // Not all need find distances in the same way.
        let mut engine = if rank == 1 { Engine::from(&mut searches) } else { Engine::from(&mut phast) };
        let shards = Shards::join(folder.path(), question, shard, plan).unwrap();
        let progress = |now: AllPairsProgress| {
            // What others have done counts, too.
            assert!(before.is_none_or(|before| now.done - now.done_now == before), "{now:?}");
            assert!(now.done <= sources.len(), "{now:?}");
            stop.store(rank == 3 && now.done > 40, Ordering::Relaxed);
        };
        let settings = AllPairs { stop: Some(stop), progress: Some(&progress), ..AllPairs::default() };
        shards.work(&settings, &mut engine, &sources, shard).unwrap()
    };
    // One that is stopped, and one that claimed a chunk and was heard of no more.
    assert!(!work(3, Some(0), &AtomicBool::new(false)));
    std::fs::write(folder.path().join("000001.claim"), "process 2 of 4\n").unwrap();
    let some = Shards::open(folder.path()).unwrap().merge().unwrap();
    assert!(!some.missing.is_empty() && some.stored.done() > 0, "{:?}", some.missing);
    assert!(!work(3, Some(some.stored.done()), &AtomicBool::new(false)));
    std::thread::scope(|scope| {
        for rank in 0..3 {
            scope.spawn(move || assert!(work(rank, None, &AtomicBool::new(false))));
        }
    });
    let shards = Shards::open(folder.path()).unwrap();
    assert_eq!((shards.plan().sources, shards.plan().first_id), (324, Some(1)));
    let merged = shards.merge().unwrap();
    assert_eq!((&merged.stored, merged.missing.len()), (&whole, 0));

    // A part that is lost is named; another question is refused; a damaged part is no result.
    let part = folder.path().join("000002.part");
    let bytes = std::fs::read(&part).unwrap();
    std::fs::remove_file(&part).unwrap();
    let (lost, chunk) = (shards.merge().unwrap().missing, shards.plan().chunk);
    assert_eq!((lost.len(), lost[0].clone()), (1, 2 * chunk..3 * chunk));
    std::fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    assert!(shards.merge().unwrap_err().to_string().contains("cut off"));
    let shard = Shard { rank: 0, ranks: 1 };
    let other = Question::of(&graph, None, None, &sources[1..]);
    let error = Shards::join(folder.path(), other, shard, plan).unwrap_err();
    assert!(error.to_string().contains("another question"), "{error}");
    assert!(Shards::open(&folder.path().join("nowhere")).is_err());
}
