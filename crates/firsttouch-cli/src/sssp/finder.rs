//! What finds the distances from any sources of one run.

use super::rows::Answer;
use super::targets::Targets;
use crate::args::Sssp;
use crate::output::Outcome;
use crate::paths::{Input, Ready};
use firsttouch_graph::hierarchy::{PhastQuery, SOURCES_AT_ONCE};
use firsttouch_graph::{
    Algorithm, Goal, Graph, GraphReceipt, Graphs, Node, ParallelSearch, Place, Search, Tree, Width,
    search_each,
};
use firsttouch_threads::Team;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Searches of each thread from which on trying several widths of buckets pays.
const MEASURED_FROM: usize = 8;

/// What finds them, with the memory it needs.
pub(super) struct Finder<'a> {
    args: &'a Sssp,
    targets: Option<&'a Targets<'a>>,
    graph: &'a Graph,
    method: Method<'a>,
}

enum Method<'a> {
    /// Over a hierarchy, many sources at once.
    Phast(PhastQuery<'a>),
    /// All threads on one source.
    Together(ParallelSearch<'a>, &'a mut Team),
    /// Each thread on its own.
    Each {
        algorithm: Algorithm,
        graphs: Graphs<'a>,
        team: &'a mut Team,
        place: Place,
        receipts: Vec<GraphReceipt>,
    },
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        args: &'a Sssp,
        input: &'a mut Input,
        ready: &'a Ready,
        targets: Option<&'a Targets<'a>>,
    ) -> Outcome<Finder<'a>> {
        let place = Place { pages: args.run.graph.pages, node: None };
        let memory_nodes = input.nodes();
        let (team, graphs) = input.parts();
        // One copy of the graph for all: members of all groups work on all of it.
        let graph = graphs.of(0);
        let method = match (&ready.hierarchy, ready.choice.algorithm) {
            (Some(hierarchy), _) => {
                // Parents are found from the distances of all nodes.
                let phast = match targets.filter(|_| !args.parents) {
                    Some(targets) => PhastQuery::to(hierarchy, team, targets.named)?,
                    None => PhastQuery::new(hierarchy, team),
                }
                .on(place.pages, &memory_nodes)?;
                Method::Phast(match args.limit {
                    Some(limit) => phast.within(limit),
                    None => phast,
                })
            }
            (None, Algorithm::Delta) => {
                Method::Together(ParallelSearch::new(graph, team, args.delta).on(place), team)
            }
            (None, Algorithm::Partitions) => {
                Method::Together(ParallelSearch::owner_partitioned(graph, team, args.width).on(place), team)
            }
            (None, algorithm) => Method::Each { algorithm, graphs, team, place, receipts: Vec::new() },
        };
        Ok(Finder { args, targets, graph, method })
    }

    /// How many sources keep all threads busy at once.
    pub(super) fn at_once(&self) -> usize {
        match &self.method {
            Method::Phast(_) => SOURCES_AT_ONCE,
            Method::Together(..) => 1,
            Method::Each { team, .. } => team.size(),
        }
    }

    /// What the memory of the searches obtained.
    pub(super) fn receipts(&self) -> Vec<GraphReceipt> {
        match &self.method {
            Method::Phast(phast) => vec![phast.receipt()],
            Method::Together(search, _) => vec![search.receipt()],
            Method::Each { receipts, .. } => receipts.clone(),
        }
    }

    /// Searches from all sources until `ends` says so, and shows every answer to `each`, with the source's place in the list.
    pub(super) fn find(
        &mut self,
        sources: &[Node],
        ends: impl Fn() -> bool + Sync,
        each: impl Fn(usize, &Answer<'_>, Duration) + Sync,
    ) -> Outcome<()> {
        let Finder { args, targets, graph, method } = self;
        let distinct = targets.map(|targets| &*targets.distinct);
        let goal = Goal { limit: args.limit, targets: distinct };
        match method {
            Method::Phast(phast) => {
                let to_targets = targets.is_some() && !args.parents;
                phast.each(sources, ends, |at, distances, took| {
                    let source = sources[at];
                    if to_targets {
                        return each(at, &Answer::Targets { source, distances }, took);
                    }
                    let all = 0..graph.nodes() as Node;
                    let near: Option<Vec<Node>> =
                        args.limit.map(|_| all.filter(|node| distances.of(*node).is_some()).collect());
                    let tree = Tree::of_distances(*graph, source, distances, near.as_deref());
                    each(at, &Answer::Tree(tree), took);
                })?;
            }
            Method::Together(search, team) => {
                for (at, source) in sources.iter().enumerate() {
                    if ends() {
                        break;
                    }
                    let began = Instant::now();
                    let tree = search.run(team, *source, goal);
                    let took = began.elapsed();
                    each(at, &Answer::Tree(tree), took);
                }
            }
            Method::Each { algorithm, graphs, team, place, receipts } => {
                let width = match args.width {
                    Some(width) => Width::Fixed(width),
                    None if sources.len() > MEASURED_FROM * team.size() => Width::Measured,
                    None => Width::Guessed,
                };
                let (obtained, algorithm, graphs, place) =
                    (Mutex::new(Vec::new()), *algorithm, *graphs, *place);
                let make = |group: usize| {
                    let search = match algorithm {
                        Algorithm::Heap => Search::with_heap(graphs.of(group)),
                        _ => Search::with_buckets(graphs.of(group), width),
                    };
                    let search = search.on(place);
                    obtained.lock().unwrap_or_else(PoisonError::into_inner).push(search.receipt());
                    search
                };
                search_each(
                    team,
                    sources,
                    goal,
                    ends,
                    |member| make(member.group()),
                    |at, tree, took| each(at, &Answer::Tree(*tree), took),
                );
                *receipts = obtained.into_inner().unwrap_or_else(PoisonError::into_inner);
            }
        }
        Ok(())
    }
}
