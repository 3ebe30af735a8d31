//! Distances between all nodes of a graph.

use super::checksum;
use super::input::{Input, SEED, graph, scale};
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::CaseError;
use crate::parameter::{Kind, Parameter};
use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, PhastQuery};
use firsttouch_graph::{AllPairs, Engine, Node, Queue, Searches, Summary, Width};
use firsttouch_threads::Team;
use std::num::NonZero;

/// Distances from all nodes, or from many, to all nodes.
#[derive(Debug)]
pub(crate) struct Apsp;

/// Where the figures are from.
const ARTICLE: &str = "NUMA-affinity: APSP(NY) (2010)";

static ABOUT: About = About {
    name: "apsp",
    summary: "distances between all nodes of a graph, of which the eccentricities and sums are kept",
    source: ARTICLE,
    parameters: &[
        graph("streets"),
        scale("13", "10"),
        Parameter::new(
            "sources",
            "nodes that are searched from; 0 is all of them",
            Kind::Count(0, u32::MAX as u64),
            ["0", "0"],
        ),
        SEED,
    ],
    variants: &[
        Variant::ours("phast", "sweeps over a contraction hierarchy, 32 sources at once; made beforehand"),
        Variant::ours("buckets", "a search from each source with a bucket queue, each thread its own"),
        Variant::ours("heap", "a search from each source by Dijkstra's algorithm with a heap: the reference"),
    ],
    steps: 1,
    unit: Unit::Rate("Garcs/s"),
    bound: None,
};

impl Case for Apsp {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let input = Input::of(given)?;
        let sources = match given.arguments.number("sources") {
            0 => (0..input.graph().nodes() as Node).collect(),
            count => input.sources("drawn", count, given.arguments.number("seed") as u64)?,
        };
        let way = match given.variant.name {
            "phast" => {
                let threads = NonZero::new(given.team.size()).unwrap_or(NonZero::<usize>::MIN);
                let options = HierarchyOptions { threads, ..HierarchyOptions::default() };
                let made = Hierarchy::build(input.graph(), &options);
                Way::Phast(Box::new(made.map_err(|error| CaseError::Input {
                    what: error.to_string(),
                    hint: Some("--variants buckets,heap".to_owned()),
                })?))
            }
            "buckets" => Way::Searches(Queue::Buckets(Width::Guessed)),
            _ => Way::Searches(Queue::Heap),
        };
        let work = input.work(&sources, given.team);
        Ok(Prepared::Here(Box::new(AllOfThem { input, sources, way, work, found: Vec::new() })))
    }
}

enum Way {
    Phast(Box<Hierarchy>),
    Searches(Queue),
}

struct AllOfThem {
    input: Input,
    sources: Vec<Node>,
    way: Way,
    work: Work,
    found: Vec<Summary>,
}

impl Workload for AllOfThem {
    fn step(&mut self, team: &mut Team) {
        let run = |engine: Engine<'_, '_>| AllPairs::default().run(engine, &self.sources);
        let outcome = match &self.way {
            Way::Phast(hierarchy) => run(Engine::from(&mut PhastQuery::new(hierarchy, team))),
            Way::Searches(queue) => run(Engine::from(&mut Searches::new(self.input.graphs(), team, *queue))),
        };
        let stored = outcome.expect("sources that are there, and no file").stored;
        self.found = stored.finished().expect("nothing stopped it");
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
