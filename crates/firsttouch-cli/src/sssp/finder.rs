//! What finds the distances from any sources of one run.

use super::Targets;
use super::rows::Answer;
use crate::args::Sssp;
use crate::output::Outcome;
use crate::paths::{Input, Ready};
use firsttouch_graph::hierarchy::{SOURCES_AT_ONCE, Sweeps};
use firsttouch_graph::{
    Algorithm, Goal, Graph, GraphReceipt, Graphs, Node, Place, Search, TeamSearch, Tree, Width, search_each,
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
    way: Way<'a>,
}

enum Way<'a> {
    /// Over a hierarchy, many sources at once.
    Sweeps(Sweeps<'a>),
    /// All threads on one source.
    Together(TeamSearch<'a>, &'a mut Team),
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
        let place = Place { pages: args.graph.pages, node: None };
        let memory_nodes = input.nodes();
        let (team, graphs) = input.parts();
        // One copy of the graph for all: members of all groups work on all of it.
        let graph = graphs.of(0);
        let way = match (&ready.hierarchy, ready.choice.algorithm) {
            (Some(hierarchy), _) => {
                // Parents are found from the distances of all nodes.
                let sweeps = match targets.filter(|_| !args.parents) {
                    Some(targets) => Sweeps::to(hierarchy, team, targets.named)?,
                    None => Sweeps::new(hierarchy, team),
                }
                .on(place.pages, &memory_nodes)?;
                Way::Sweeps(match args.limit {
                    Some(limit) => sweeps.within(limit),
                    None => sweeps,
                })
            }
            (None, Algorithm::Delta) => {
                Way::Together(TeamSearch::new(graph, team, args.delta).on(place), team)
            }
            (None, Algorithm::Regions) => {
                Way::Together(TeamSearch::by_regions(graph, team, args.width).on(place), team)
            }
            (None, algorithm) => Way::Each { algorithm, graphs, team, place, receipts: Vec::new() },
        };
        Ok(Finder { args, targets, graph, way })
    }

    /// How many sources keep all threads busy at once.
    pub(super) fn at_once(&self) -> usize {
        match &self.way {
            Way::Sweeps(_) => SOURCES_AT_ONCE,
            Way::Together(..) => 1,
            Way::Each { team, .. } => team.size(),
        }
    }

    /// What the memory of the searches obtained.
    pub(super) fn receipts(&self) -> Vec<GraphReceipt> {
        match &self.way {
            Way::Sweeps(sweeps) => vec![sweeps.receipt()],
            Way::Together(search, _) => vec![search.receipt()],
            Way::Each { receipts, .. } => receipts.clone(),
        }
    }

    /// Searches from all sources until `ends` says so, and shows every answer to `each`, with the source's place in the list.
    pub(super) fn find(
        &mut self,
        sources: &[Node],
        ends: impl Fn() -> bool + Sync,
        each: impl Fn(usize, &Answer<'_>, Duration) + Sync,
    ) -> Outcome<()> {
        let Finder { args, targets, graph, way } = self;
        let distinct = targets.map(|targets| &*targets.distinct);
        let goal = Goal { limit: args.limit, targets: distinct };
        match way {
            Way::Sweeps(sweeps) => {
                let to_targets = targets.is_some() && !args.parents;
                sweeps.each(sources, ends, |at, distances, took| {
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
            Way::Together(search, team) => {
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
            Way::Each { algorithm, graphs, team, place, receipts } => {
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
