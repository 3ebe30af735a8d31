//! petgraph's Dijkstra on its compressed rows, as `sssp_boost.cpp` says: `sssp_petgraph GRAPH.gr SOURCE...`
use petgraph::algo::dijkstra;
use petgraph::csr::Csr;
use petgraph::visit::EdgeRef;
use std::{env, fs, time::Instant};

fn main() {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().expect("usage: sssp_petgraph GRAPH.gr SOURCE...");
    let (mut nodes, mut arcs) = (0, Vec::new());
    for line in fs::read_to_string(&name).expect("a file").lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("p") => nodes = words.nth(1).and_then(|count| count.parse().ok()).expect("how many nodes"),
            Some("a") => {
                let numbers: Vec<u32> = words.map(|word| word.parse().expect("a number")).collect();
                arcs.push((numbers[0] - 1, numbers[1] - 1, numbers[2]));
            }
            _ => {}
        }
    }
    // Its rows hold no parallel arcs: the lightest of them comes first.
    arcs.sort_unstable();
    arcs.dedup_by_key(|(tail, head, _)| (*tail, *head));
    let mut graph = Csr::<(), u32>::from_sorted_edges(&arcs).expect("sorted arcs");
    while graph.node_count() < nodes {
        graph.add_node(());
    }
    for source in arguments {
        let source: u32 = source.parse().expect("a node");
        let began = Instant::now();
        let found = dijkstra(&graph, source - 1, None, |arc| u64::from(*arc.weight()));
        let took = began.elapsed();
        println!("{:.4} {}", took.as_secs_f64() * 1e3, found.values().sum::<u64>());
    }
}
