//! Shortest paths from some nodes of a graph.

use super::checksum;
use super::input::{Input, SEED, graph, scale};
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::CaseError;
use crate::parameter::{Kind, Parameter};
use firsttouch_graph::{Node, ParallelSearch, Search, Summary, Width};
use firsttouch_measure::Limit;
use firsttouch_threads::{Team, at_once};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Distances from many sources to all nodes.
#[derive(Debug)]
pub(crate) struct Sssp;

/// Where the figures are from.
const ARTICLE: &str = "NUMA-affinity: APSP(NY) (2010)";

static ABOUT: About = About {
    name: "sssp",
    summary: "shortest paths from some nodes of a graph to all others",
    source: ARTICLE,
    parameters: &[
        graph("streets"),
        scale("21", "16"),
        Parameter::new("sources", "nodes that are searched from", Kind::Count(1, 1 << 24), ["16", "16"]),
        Parameter::new(
            "from",
            "`drawn`, or the sources by their numbers in the file, separated by colons",
            Kind::Text,
            ["drawn", "drawn"],
        ),
        SEED,
    ],
    variants: &[
        Variant::ours("buckets", "each thread its own sources, with a bucket queue; threads are bound"),
        Variant::ours("unbound", "the same by threads that the scheduler places, as programs begin"),
        Variant::ours(
            "heap",
            "each thread its own sources, by Dijkstra's algorithm with a heap: the reference",
        ),
        Variant::ours("delta", "all threads on one source after the other, by delta-stepping"),
        Variant::ours(
            "partitions",
            "the same by owner-partitioned delta-stepping: each thread has nodes of its own",
        ),
    ],
    steps: 2,
    unit: Unit::Rate("Garcs/s"),
    bound: Some(Limit::Read),
};

/// How sources are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A queue for each thread: buckets, or a heap.
    Each { heap: bool, bound: bool },
    /// All threads on one: parts of the nodes with owners, or not.
    Together { owners: bool },
}

impl Case for Sssp {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let way = match given.variant.name {
            "buckets" => Way::Each { heap: false, bound: true },
            "unbound" => Way::Each { heap: false, bound: false },
            "heap" => Way::Each { heap: true, bound: true },
            name => Way::Together { owners: name == "partitions" },
        };
        let input = Input::of(given)?;
        let (from, count) = (given.arguments.word("from"), given.arguments.number("sources"));
        let sources = input.sources(from, count, given.arguments.number("seed") as u64)?;
        let work = input.work(&sources, given.team);
        let found = vec![Summary::default(); sources.len()];
        Ok(Prepared::Here(Box::new(Searching { input, sources, way, work, found })))
    }
}

struct Searching {
    input: Input,
    sources: Vec<Node>,
    way: Way,
    work: Work,
    /// Of each source.
    found: Vec<Summary>,
}

impl Searching {
    /// One thread's part: it takes the next source until there is none.
    fn part(&self, group: usize, heap: bool, next: &AtomicUsize) -> Vec<(usize, Summary)> {
        let graph = self.input.graphs().of(group);
        let make =
            || if heap { Search::with_heap(graph) } else { Search::with_buckets(graph, Width::Guessed) };
        let (mut search, mut found) = (None, Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = self.sources.get(at) else { return found };
            found.push((at, search.get_or_insert_with(make).run(*source, None).summary()));
        }
    }
}

impl Workload for Searching {
    fn step(&mut self, team: &mut Team) {
        let next = AtomicUsize::new(0);
        let parts = match self.way {
            Way::Each { heap, bound: true } => team.map(|member| self.part(member.group(), heap, &next)),
            Way::Each { heap, bound: false } => {
                at_once((0..team.size()).map(|_| || self.part(0, heap, &next)))
            }
            Way::Together { owners } => {
                let graph = self.input.graph();
                let mut search = match owners {
                    true => ParallelSearch::owner_partitioned(graph, team, None),
                    false => ParallelSearch::new(graph, team, None),
                };
                let one = |(at, source): (usize, &Node)| (at, search.run(team, *source, None).summary());
                vec![self.sources.iter().enumerate().map(one).collect()]
            }
        };
        for (at, summary) in parts.into_iter().flatten() {
            self.found[at] = summary;
        }
    }

    fn checksum(&self) -> Checksum {
        checksum(&self.found)
    }

    fn work(&self) -> Work {
        self.work
    }

    fn notes(&self) -> Vec<String> {
        vec![self.input.note()]
    }
}
