//! Where one way to search overtakes another: what `choose` goes by. `cargo run --release -p firsttouch-graph --example
//! crossovers -- GRAPH …`, where a graph is a file, or `streets:20`, `random:22`, `kronecker:20` (the logarithm of its nodes).
//!
//! For each graph, with as many threads as the process has CPUs: the time of one search by one thread and by all together, in
//! turn from the same sources; and the number of sources for each thread from which on making a hierarchy and sweeping takes
//! less time than searching, of graphs like maps.

#![expect(clippy::print_stdout, reason = "an example's output")]

use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, PhastQuery};
use firsttouch_graph::{
    Graph, GraphShape, Node, ParallelSearch, Place, ReadOptions, Recipe, Search, Width, generate, read,
    search_each,
};
use firsttouch_threads::{Member, Team};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Sources of the comparison of single searches.
const SINGLE: usize = 32;
/// How many of them each way searches from in a row; the first then tells nothing, since it finds the others' data in the caches.
const IN_A_ROW: usize = 4;
/// Sources for each thread that searches' and sweeps' times are measured with.
const EACH: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let mut team = Team::of_this_process(usize::MAX)?;
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        return Err("usage: crossovers GRAPH|streets:SCALE|random:SCALE|kronecker:SCALE …".into());
    }
    println!("{} threads", team.size());
    println!(
        "{:<22}{:>10}{:>8}{:>10}{:>10}{:>10}{:>12}{:>10}{:>10}{:>10}",
        "graph",
        "arcs",
        "cross_partition",
        "alone",
        "partitions",
        "delta",
        "hierarchy",
        "search",
        "sweep",
        "crossing"
    );
    for name in names {
        let graph = graph(&name, &mut team)?;
        let shape = GraphShape::of(&graph);
        let [alone, partitions, delta] = single(&graph, &mut team);
        let short = Path::new(&name).file_name().map_or(name.clone(), |name| name.display().to_string());
        print!("{short:<22}{:>10}{:>7.1}%", graph.arcs(), 100.0 * shape.cross_partition);
        print!("{alone:>7.2} ms{partitions:>7.2} ms{delta:>7.2} ms");
        if shape.is_like_a_map() {
            let Crossing { hierarchy_ms, search_ms, sweep_ms } = crossing(&graph, &mut team)?;
            let sources = hierarchy_ms / (search_ms - sweep_ms) / team.size() as f64;
            print!("{hierarchy_ms:>9.0} ms{search_ms:>7.2} ms{sweep_ms:>7.3} ms{sources:>10.0}");
        }
        println!();
    }
    Ok(())
}

fn graph(name: &str, team: &mut Team) -> Result<Graph, Box<dyn Error>> {
    let Some((kind, scale)) = name.split_once(':') else {
        return Ok(read(Path::new(name), &ReadOptions::default(), team)?.graph);
    };
    let scale: u32 = scale.parse()?;
    let nodes = 1_u32.checked_shl(scale).ok_or("too large a scale")?;
    let recipe = match kind {
        "streets" => {
            let width = 1 << scale.div_ceil(2);
            Recipe::Streets { width, height: nodes / width }
        }
        "random" => Recipe::Random { nodes, arcs: 2 * u64::from(nodes), weights: 1..=65_535 },
        "kronecker" => Recipe::Kronecker { scale, degree: 16, weights: 1..=255 },
        _ => return Err(format!("there is no rule to make {kind}").into()),
    };
    Ok(generate(&recipe, 1, Place::default(), team)?.graph)
}

/// Nodes that arcs leave, from all over the graph.
fn sources(graph: &Graph, count: usize) -> Vec<Node> {
    let nodes = graph.nodes() as u64;
    let all = (0_u64..).map(|number| (number * 7_919 * 104_729 % nodes) as Node);
    all.filter(|node| !graph.out(*node).is_empty()).take(count).collect()
}

/// Milliseconds of a search by one thread, by all with a partition each, and by all with delta-stepping.
fn single(graph: &Graph, team: &mut Team) -> [f64; 3] {
    let mut alone = Search::with_buckets(graph, Width::Guessed);
    let mut partitions = ParallelSearch::owner_partitioned(graph, team, None);
    let mut delta = ParallelSearch::new(graph, team, None);
    let mut times: [Vec<f64>; 3] = Default::default();
    for row in sources(graph, SINGLE).chunks(IN_A_ROW) {
        note(&mut times[0], row, |source| _ = alone.run(source, None));
        note(&mut times[1], row, |source| _ = partitions.run(team, source, None));
        note(&mut times[2], row, |source| _ = delta.run(team, source, None));
    }
    times.map(median)
}

/// Searches from all of a row, and notes how long all but the first took.
fn note(times: &mut Vec<f64>, row: &[Node], mut search: impl FnMut(Node)) {
    for (at, source) in row.iter().enumerate() {
        let began = Instant::now();
        search(*source);
        if at > 0 {
            times.push(millis(began));
        }
    }
}

struct Crossing {
    hierarchy_ms: f64,
    /// For each source, by all threads at once.
    search_ms: f64,
    sweep_ms: f64,
}

fn crossing(graph: &Graph, team: &mut Team) -> Result<Crossing, Box<dyn Error>> {
    let threads = team.size();
    let sources = sources(graph, EACH * threads);
    let began = Instant::now();
    let options = HierarchyOptions { threads: threads.try_into()?, ..HierarchyOptions::default() };
    let hierarchy = Hierarchy::build(graph, &options)?;
    let hierarchy_ms = millis(began);
    let began = Instant::now();
    PhastQuery::new(&hierarchy, team).summaries(&sources)?;
    let sweep_ms = millis(began) / sources.len() as f64;
    let began = Instant::now();
    let make = |_: &Member<'_>| Search::with_buckets(graph, Width::Measured);
    search_each(team, &sources, None, || false, make, |_, tree, _| assert!(tree.summary().reached > 0));
    let search_ms = millis(began) / sources.len() as f64;
    Ok(Crossing { hierarchy_ms, search_ms, sweep_ms })
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn millis(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
