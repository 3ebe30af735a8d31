//! Which algorithm suits a graph and a number of sources, and why.

use crate::rows::{Node, Rows};
use std::collections::HashSet;
use std::fmt;

/// A way to find shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Dijkstra's with a bucket queue; each thread has its own sources.
    Buckets,
    /// Dijkstra's with a heap: the reference.
    Heap,
    /// Delta-stepping: all threads on one source.
    Delta,
    /// All threads on one source, owner-partitioned: each with partitions of the graph of its own.
    Partitions,
    /// PHAST: sweeps over a contraction hierarchy, for many sources at once.
    Phast,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Buckets, Algorithm::Heap, Algorithm::Delta, Algorithm::Partitions, Algorithm::Phast];

    /// Its name on the command line and in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Algorithm::Buckets => "buckets",
            Algorithm::Heap => "heap",
            Algorithm::Delta => "delta",
            Algorithm::Partitions => "partitions",
            Algorithm::Phast => "phast",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What of a graph decides which algorithm suits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphShape {
    /// Nodes.
    pub nodes: usize,
    /// Arcs.
    pub arcs: usize,
    /// Arcs for each node.
    pub mean_degree: f64,
    /// Arcs of the node that most arcs leave.
    pub greatest_degree: usize,
    /// How many arcs in a row lead from a node to [`NEIGHBOURHOOD`] others, in the middle of some looked at; `None` where
    /// there are not so many.
    pub hops: Option<usize>,
    /// Share of the arcs that lead out of a stretch of [`STRETCH`] nodes with consecutive numbers: how much threads would have
    /// to tell each other, had each some stretches of its own.
    pub cross_partition: f64,
}

/// Nodes of a stretch of numbers.
pub const STRETCH: usize = 1 << 12;
/// Nodes whose arcs are looked at for arcs between partitions.
const CROSS_SAMPLES: usize = 1 << 12;
/// Share of arcs between partitions up to which partitions of their own are worth it for threads. Maps in the order of their files, or in any of
/// ours, have 2 to 6 %.
const FEW_CROSS: f64 = 0.15;
/// Nodes around a node that tell what kind of graph it is.
pub const NEIGHBOURHOOD: usize = 1000;
/// Nodes whose neighbourhoods are looked at.
const SAMPLES: usize = 9;
/// Hops to so many nodes from which on a graph is like a map. In a plane they grow with the root of the nodes (22 in a
/// grid), in a random graph with their logarithm (10 where each node has two arcs).
const HOPS_OF_A_MAP: usize = 16;
/// Mean degree up to which a hierarchy stays small.
const DEGREE_OF_A_MAP: f64 = 6.0;
/// Sources of each thread from which on making a hierarchy pays, as a part of the root of the number of nodes: that long are
/// the cuts of a graph in a plane, on which the time of making depends. New York is where it should be, grids of streets, whose
/// cuts are longer, want two to four times as many (`examples/crossovers.rs`; figures in docs/results/graphs.md).
const MANY_SOURCES: f64 = 0.5;
/// Arcs below which threads would mostly wait for each other: with two threads on one source, one alone is faster up to about
/// 2^17, and slower from 2^18 on.
const ARCS_FOR_A_TEAM: usize = 1 << 18;

impl GraphShape {
    /// That of a graph. Takes one pass over its offsets and a short walk.
    #[must_use]
    pub fn of<'a>(rows: impl Into<Rows<'a>>) -> GraphShape {
        let rows = rows.into();
        let degrees = (0..rows.nodes()).map(|node| rows.degree(node as Node));
        let stride = (rows.nodes() / SAMPLES).max(1);
        let nodes = (0..rows.nodes()).step_by(stride);
        let mut hops: Vec<usize> = nodes.filter_map(|node| hops(rows, node as Node)).collect();
        hops.sort_unstable();
        GraphShape {
            nodes: rows.nodes(),
            arcs: rows.arcs(),
            mean_degree: rows.arcs() as f64 / rows.nodes().max(1) as f64,
            greatest_degree: degrees.max().unwrap_or(0),
            hops: hops.get(hops.len() / 2).copied(),
            cross_partition: cross_partition(rows),
        }
    }

    /// Whether few arcs cross between regions, so that a hierarchy over it stays small.
    #[must_use]
    pub fn is_like_a_map(&self) -> bool {
        self.mean_degree <= DEGREE_OF_A_MAP && self.hops.is_some_and(|hops| hops >= HOPS_OF_A_MAP)
    }
}

/// The share of arcs that lead out of their stretch, of some nodes.
fn cross_partition(rows: Rows<'_>) -> f64 {
    let stride = (rows.nodes() / CROSS_SAMPLES).max(1);
    let (mut arcs, mut cross_partition) = (0_usize, 0_usize);
    for tail in (0..rows.nodes()).step_by(stride) {
        arcs += rows.degree(tail as Node);
        rows.each_out(tail as Node, |arc| {
            cross_partition += usize::from(arc.head as usize / STRETCH != tail / STRETCH);
        });
    }
    cross_partition as f64 / arcs.max(1) as f64
}

/// Whether [`NEIGHBOURHOOD`] others can be reached from a node. A search from one of which that cannot be said measures
/// nothing, which is why Graph500 draws its sources from nodes with arcs (J. Ang et al., Introducing the Graph 500, 2010); where
/// arcs have directions, having one is not enough.
#[must_use]
pub fn leads_on<'a>(rows: impl Into<Rows<'a>>, node: Node) -> bool {
    hops(rows.into(), node).is_some()
}

/// How many arcs in a row lead from `node` to [`NEIGHBOURHOOD`] others.
fn hops(rows: Rows<'_>, node: Node) -> Option<usize> {
    let mut seen = HashSet::from([node]);
    let mut ring = vec![node];
    for hops in 0.. {
        if seen.len() > NEIGHBOURHOOD {
            return Some(hops);
        }
        let mut next = Vec::new();
        for tail in &ring {
            rows.each_out(*tail, |arc| {
                if seen.len() <= NEIGHBOURHOOD && seen.insert(arc.head) {
                    next.push(arc.head);
                }
            });
        }
        if next.is_empty() {
            return None;
        }
        ring = next;
    }
    None
}

/// What is to be searched, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Sources to search from.
    pub sources: usize,
    /// Threads to search with.
    pub threads: usize,
    /// Searches end at a limit.
    pub ends_early: bool,
    /// There is a hierarchy of the graph already.
    pub has_hierarchy: bool,
}

/// An algorithm, and why it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Why, in a sentence without its full stop.
    pub reason: String,
}

/// Chooses the algorithm that is likely to be the fastest.
#[must_use]
pub fn choose(shape: &GraphShape, task: Task) -> Choice {
    let Task { sources, threads, ends_early, has_hierarchy } = task;
    let many = MANY_SOURCES * (shape.nodes as f64).sqrt();
    let are_many = sources as f64 >= many * threads as f64;
    let because = |algorithm, reason| Choice { algorithm, reason };
    if has_hierarchy {
        return because(Algorithm::Phast, "there is a hierarchy of the graph".to_owned());
    }
    if shape.is_like_a_map() && are_many && !ends_early {
        let reason = format!(
            "the graph is like a map ({:.1} arcs a node, {} hops to {NEIGHBOURHOOD} nodes), and {sources} sources are enough to \
             pay for a hierarchy",
            shape.mean_degree,
            shape.hops.unwrap_or_default()
        );
        return because(Algorithm::Phast, reason);
    }
    if sources < threads && shape.arcs >= ARCS_FOR_A_TEAM {
        let few = format!("{threads} threads have only {sources} {} to share", counted(sources, "source"));
        let cross_partition = 100.0 * shape.cross_partition;
        if shape.cross_partition <= FEW_CROSS {
            let reason = format!(
                "{few}, and {cross_partition:.0} % of the arcs lead out of partitions that one can own"
            );
            return because(Algorithm::Partitions, reason);
        }
        let reason = format!(
            "{few}, and {cross_partition:.0} % of the arcs lead out of partitions that one could own"
        );
        return because(Algorithm::Delta, reason);
    }
    let reason = if sources < threads {
        format!("{} {}: too few for threads to share", shape.arcs, counted(shape.arcs, "arc"))
    } else if ends_early {
        "every thread has sources of its own, and searches end at the limit, which sweeps do not".to_owned()
    } else if let (true, Some(hops)) = (are_many, shape.hops) {
        format!(
            "every thread has sources of its own, and the graph is not like a map ({:.1} arcs a node, at most {}, {hops} hops to \
             {NEIGHBOURHOOD} nodes): a hierarchy over it would be large",
            shape.mean_degree, shape.greatest_degree
        )
    } else if are_many {
        format!(
            "every thread has sources of its own, and fewer than {NEIGHBOURHOOD} nodes are reached from one: too few for a hierarchy to be \
             worth its making"
        )
    } else {
        format!("every thread has sources of its own, but {sources} are too few to pay for a hierarchy")
    };
    because(Algorithm::Buckets, reason)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Graph;

    fn grid(side: u32) -> Graph {
        let mut arcs = Vec::new();
        for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
            let at = |x, y| x * side + y;
            let right = (x + 1 < side).then(|| at(x + 1, y));
            let down = (y + 1 < side).then(|| at(x, y + 1));
            for to in right.into_iter().chain(down) {
                arcs.extend([(at(x, y), to, 1), (to, at(x, y), 1)]);
            }
        }
        Graph::from_arcs((side * side) as usize, &arcs).unwrap()
    }

    /// Two arcs from every node to nodes that a multiplication scatters.
    fn scattered(nodes: u32) -> Graph {
        let head =
            |tail: u32, arc: u32| (u64::from(tail * 2 + arc) * 2_654_435_761 % u64::from(nodes)) as Node;
        let arcs: Vec<(Node, Node, u32)> =
            (0..nodes).flat_map(|tail| [(tail, head(tail, 0), 1), (tail, head(tail, 1), 1)]).collect();
        Graph::from_arcs(nodes as usize, &arcs).unwrap()
    }

    fn chosen(graph: &Graph, sources: usize, threads: usize, has_hierarchy: bool) -> Algorithm {
        let choice =
            choose(&GraphShape::of(graph), Task { sources, threads, ends_early: false, has_hierarchy });
        assert!(!choice.reason.is_empty() && !choice.reason.ends_with('.'));
        choice.algorithm
    }

    #[test]
    fn a_node_leads_on_if_many_are_reached_from_it() {
        let street: Vec<(Node, Node, u32)> = (0..2000).map(|node| (node, node + 1, 1)).collect();
        let graph = Graph::from_arcs(2001, &street).unwrap();
        let beyond = 2000 - NEIGHBOURHOOD as Node;
        assert!(leads_on(&graph, 0) && leads_on(&graph, beyond) && !leads_on(&graph, beyond + 1));
        assert!(!leads_on(&graph, 2000));
    }

    #[test]
    fn maps_are_told_from_scattered_graphs_by_how_far_a_few_hops_lead() {
        let (map, scattered) = (GraphShape::of(&grid(100)), GraphShape::of(&scattered(10_007)));
        assert!(map.is_like_a_map(), "{map:?}");
        assert!(!scattered.is_like_a_map(), "{scattered:?}");
        // Too small to be told, and no nodes at all.
        assert_eq!(GraphShape::of(&grid(5)).hops, None);
        assert_eq!(GraphShape::of(&Graph::from_arcs(0, &[]).unwrap()).hops, None);
    }

    #[test]
    fn cross_partition_are_the_arcs_that_lead_far() {
        assert!(GraphShape::of(&scattered(100_003)).cross_partition > 0.9);
        // Rows of 300: of the four arcs of a node, two lead 300 further, which is out of 4096 one time in 14.
        let cross_partition = GraphShape::of(&grid(300)).cross_partition;
        assert!((0.02..0.06).contains(&cross_partition), "{cross_partition}");
        assert_eq!(GraphShape::of(&Graph::from_arcs(3, &[]).unwrap()).cross_partition, 0.0);
    }

    #[test]
    fn the_algorithm_follows_the_graph_and_the_sources() {
        let (map, scattered) = (grid(300), scattered(200_003));
        assert_eq!(chosen(&map, 5000, 2, false), Algorithm::Phast);
        assert_eq!(chosen(&scattered, 5000, 2, false), Algorithm::Buckets);
        assert_eq!(chosen(&map, 10, 2, false), Algorithm::Buckets);
        // Half the root of 90,000 nodes, for each thread.
        assert_eq!(chosen(&map, 299, 2, false), Algorithm::Buckets);
        assert_eq!(chosen(&map, 300, 2, false), Algorithm::Phast);
        assert_eq!(chosen(&map, 1, 2, false), Algorithm::Partitions);
        assert_eq!(chosen(&scattered, 1, 2, false), Algorithm::Delta);
        assert_eq!(chosen(&map, 1, 1, false), Algorithm::Buckets);
        assert_eq!(chosen(&grid(250), 1, 2, false), Algorithm::Buckets);
        assert_eq!(chosen(&map, 1, 2, true), Algorithm::Phast);
        // Too small to be told what it is like, and not told to be unlike a map.
        let task = Task { sources: 25, threads: 1, ends_early: false, has_hierarchy: false };
        let small = choose(&GraphShape::of(&grid(5)), task);
        assert!(
            small.algorithm == Algorithm::Buckets && small.reason.contains("too few for a hierarchy"),
            "{small:?}"
        );
        let near = Task { sources: 5000, threads: 2, ends_early: true, has_hierarchy: false };
        assert_eq!(choose(&GraphShape::of(&map), near).algorithm, Algorithm::Buckets);
    }
}
