//! All distances of a road graph, from every node to every node, summed up: `cargo run --release -p firsttouch-graph
//! --example apsp -- GRAPH.gr.gz [CPU,CPU,…] [SOURCES]`.

#![expect(clippy::print_stdout, reason = "an example's output")]

use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, Instructions, PhastQuery};
use firsttouch_graph::{Node, ReadOptions, Summary, Totals, read};
use firsttouch_threads::Team;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: apsp GRAPH.gr.gz [CPU,CPU,…] [SOURCES]")?;
    let cpus: Vec<u32> =
        arguments.next().unwrap_or("0".into()).split(',').map(str::parse).collect::<Result<_, _>>()?;
    let mut team = Team::new(std::slice::from_ref(&cpus))?;
    let begin = Instant::now();
    let graph = read(Path::new(&path), &ReadOptions::default(), &mut team)?.graph;
    println!("read         {:8.1} ms", millis(begin));
    let options = HierarchyOptions { threads: cpus.len().try_into()?, ..HierarchyOptions::default() };

    let begin = Instant::now();
    let mut hierarchy = Hierarchy::build(&graph, &options)?;
    println!("hierarchy    {:8.1} ms  {:?}", millis(begin), hierarchy.shape());
    let weights: Vec<u32> = graph.all_arcs().iter().map(|arc| arc.weight).collect();
    for _ in 0..3 {
        let begin = Instant::now();
        hierarchy.customize(&weights)?;
        println!("customized   {:8.1} ms", millis(begin));
    }
    let begin = Instant::now();
    let mut phast = PhastQuery::new(&hierarchy, &mut team);
    println!(
        "prepared     {:8.1} ms  {} bytes of arcs, {} of rows, {}",
        millis(begin),
        phast.bytes(),
        phast.row_bytes(),
        phast.instructions()
    );
    let most = arguments.next().map_or(Ok(graph.nodes()), |number| number.parse())?;
    for instructions in [Instructions::Portable, Instructions::Avx2, Instructions::Avx512] {
        if !instructions.are_available() {
            continue;
        }
        phast = phast.with_instructions(instructions);
        let few: Vec<Node> = (0..graph.nodes().min(2048) as Node).collect();
        time(&mut phast, &few, cpus.len())?;
    }
    let scattered: Vec<Node> =
        (0..2048_u64).map(|number| (number * 104_729 % graph.nodes() as u64) as Node).collect();
    time(&mut phast, &scattered, cpus.len())?;
    let sources: Vec<Node> = (0..graph.nodes().min(most) as Node).collect();
    let summaries = time(&mut phast, &sources, cpus.len())?;
    println!("{:?}", Totals::of(&summaries));
    Ok(())
}

fn time(
    phast: &mut PhastQuery<'_>,
    sources: &[Node],
    threads: usize,
) -> Result<Vec<Summary>, Box<dyn Error>> {
    let begin = Instant::now();
    let summaries = phast.summaries(sources)?;
    let all = millis(begin);
    println!(
        "{:12} {all:8.1} ms  {} sources, {:.4} ms for each source and core",
        phast.instructions().to_string(),
        sources.len(),
        all * threads as f64 / sources.len() as f64
    );
    Ok(summaries)
}

fn millis(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}
