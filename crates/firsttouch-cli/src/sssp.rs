//! `sssp`: shortest paths from some nodes of a graph.

mod rows;

use crate::USAGE;
use crate::args::{Chosen, Sssp};
use crate::output::{self, Failure, Outcome};
use crate::paths::{INTERRUPTED, Input, Pace, Progress, Ready, nodes, ready, sources, stop_at_signals};
use firsttouch_graph::hierarchy::{Hierarchy, Sweeps};
use firsttouch_graph::{
    Algorithm, Figures, Goal, GraphReceipt, Graphs, Node, Place, Search, SearchReport, Summary, Task,
    TeamSearch, Totals, Tree, Width, search_each,
};
use firsttouch_report::{Style, json, text};
use firsttouch_threads::Team;
use rows::{Answer, Rows};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Searches of each thread from which on trying several widths of buckets pays.
const MEASURED_FROM: usize = 8;

pub(crate) fn run(args: &Sssp) -> Outcome {
    let stop = stop_at_signals()?;
    let mut input = Input::load(&args.graph)?;
    // One way of naming them was required.
    let sources = sources(&args.from, &input.loaded.ids)?.unwrap_or_default();
    let named = nodes(&args.targets, &input.loaded.ids)?;
    let targets = (!named.is_empty()).then(|| Targets::new(&named));
    let Ready { choice, hierarchy, took_s } = prepared(args, &input, sources.len())?;
    // A file that cannot be written is told of before the time is spent.
    let ids = input.loaded.ids.clone();
    let rows = args
        .export_csv
        .as_deref()
        .map(|file| Rows::create(file, &ids, targets.as_ref().map(|targets| targets.named), args.parents));
    let rows = rows.transpose()?;
    let progress = Progress::new(sources.len(), "sources", Pace::Seldom);
    let found = Mutex::new((Totals::default(), vec![None; sources.len()]));
    let each = |at: usize, answer: &Answer<'_>, took: Duration| {
        let summary = summary(answer, targets.as_ref());
        {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.0.add(summary);
            found.1[at] = Some(took.as_secs_f64());
        }
        if let Some(rows) = &rows {
            rows.add(at, answer);
        }
        progress.add(1);
    };
    let ends = || stop.load(Ordering::Relaxed) || rows.as_ref().is_some_and(Rows::have_failed);
    let shape = hierarchy.as_ref().map(Hierarchy::shape);
    let (threads, memory_nodes) = (input.team.size(), input.nodes());
    let place = Place { pages: args.graph.pages, node: None };
    let (team, graphs) = input.parts();
    let work = Work { args, graphs, sources: &sources, targets: targets.as_ref(), place };
    let began = Instant::now();
    let receipts = match &hierarchy {
        Some(hierarchy) => work.sweep(hierarchy, team, &memory_nodes, ends, each)?,
        None => work.search(choice.algorithm, team, ends, each),
    };
    let search = began.elapsed();
    let done = progress.finish();
    rows.map_or(Ok(()), Rows::finish)?;
    let (totals, times) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let report = SearchReport {
        schema_version: firsttouch_placement::SCHEMA_VERSION,
        graph: (&input.loaded.graph).into(),
        algorithm: choice.algorithm.word().to_owned(),
        reason: choice.reason,
        sources: sources.len(),
        searched: done,
        resumed: 0,
        threads,
        parse_s: input.parse_s,
        preprocessing_s: input.preprocessing_s + took_s,
        search_s: search.as_secs_f64(),
        edges_per_s: (input.loaded.graph.arcs() * done) as f64 / search.as_secs_f64(),
        query_s: times.into_iter().flatten().collect(),
        totals,
        figures: Figures::default(),
        hierarchy: shape,
        receipt: input.receipt(&receipts),
        notes: input.loaded.notes.clone(),
    };
    output::data(&if args.json {
        json::search(&report)
    } else {
        text::search(&report, output::width(), Style::Ansi)
    })?;
    Ok(if done < sources.len() { INTERRUPTED } else { 0 })
}

/// The nodes of `--targets`, as they were named, and each once.
struct Targets<'a> {
    named: &'a [Node],
    distinct: Vec<Node>,
    /// Where each stands first among those named.
    columns: Vec<Node>,
}

impl<'a> Targets<'a> {
    fn new(named: &'a [Node]) -> Targets<'a> {
        let mut places: Vec<(Node, Node)> = named.iter().copied().zip(0..).collect();
        places.sort_unstable();
        places.dedup_by_key(|(target, _)| *target);
        let (distinct, columns) = places.into_iter().unzip();
        Targets { named, distinct, columns }
    }
}

/// What an answer comes to: of targets, if there are some.
fn summary(answer: &Answer<'_>, targets: Option<&Targets<'_>>) -> Summary {
    match (answer, targets) {
        (Answer::Tree(tree), Some(targets)) => tree.summary_of(&targets.distinct),
        (Answer::Tree(tree), None) => tree.summary(),
        (Answer::Targets { distances, .. }, Some(targets)) => {
            targets.columns.iter().filter_map(|column| distances.of(*column)).collect()
        }
        (Answer::Targets { .. }, None) => Summary::default(),
    }
}

/// The algorithm that was asked for, or the one that suits, made ready.
fn prepared(args: &Sssp, input: &Input, sources: usize) -> Outcome<Ready> {
    let algorithm = match args.algorithm {
        Chosen::Auto if args.delta.is_some() => Chosen::This(Algorithm::Delta),
        Chosen::Auto if args.width.is_some() => Chosen::This(Algorithm::Buckets),
        algorithm => algorithm,
    };
    let task =
        Task { sources, threads: input.team.size(), ends_early: args.limit.is_some(), has_hierarchy: false };
    let ready = ready(algorithm, &args.index, input, task)?;
    let algorithm = ready.choice.algorithm;
    let idle = match algorithm {
        _ if args.delta.is_some() && algorithm != Algorithm::Delta => Some("--delta"),
        Algorithm::Buckets | Algorithm::Regions => None,
        _ if args.width.is_some() => Some("--width"),
        _ => None,
    };
    match idle {
        Some(option) => Err(Failure::message(format!("{option} means nothing to the algorithm {algorithm}"))
            .hint("--algorithm delta --delta N, or --algorithm buckets --width N")
            .code(USAGE)),
        None => Ok(ready),
    }
}

/// What is to be found, and on what.
struct Work<'a> {
    args: &'a Sssp,
    graphs: Graphs<'a>,
    sources: &'a [Node],
    targets: Option<&'a Targets<'a>>,
    /// Where what is kept for it is to lie.
    place: Place,
}

impl Work<'_> {
    /// Sweeps from all sources, and shows every answer to `each`. Answers what the memory of the sweeps obtained.
    fn sweep(
        &self,
        hierarchy: &Hierarchy,
        team: &mut Team,
        memory_nodes: &[Option<u32>],
        ends: impl Fn() -> bool + Sync,
        each: impl Fn(usize, &Answer<'_>, Duration) + Sync,
    ) -> Outcome<Vec<GraphReceipt>> {
        let graph = self.graphs.of(0);
        // Parents are found from the distances of all nodes.
        let targets = self.targets.filter(|_| !self.args.parents);
        let mut sweeps = match targets {
            Some(targets) => Sweeps::to(hierarchy, team, targets.named)?,
            None => Sweeps::new(hierarchy, team),
        }
        .on(self.place.pages, memory_nodes)?;
        if let Some(limit) = self.args.limit {
            sweeps = sweeps.within(limit);
        }
        sweeps.each(self.sources, ends, |at, distances, took| {
            let source = self.sources[at];
            if targets.is_some() {
                return each(at, &Answer::Targets { source, distances }, took);
            }
            let near: Option<Vec<Node>> = self
                .args
                .limit
                .map(|_| (0..graph.nodes() as Node).filter(|node| distances.of(*node).is_some()).collect());
            let tree = Tree::of_distances(graph, source, distances, near.as_deref());
            each(at, &Answer::Tree(tree), took);
        })?;
        Ok(vec![sweeps.receipt()])
    }

    /// Searches from all sources, and shows every answer to `each`. Answers what the memory of the searches obtained.
    fn search(
        &self,
        algorithm: Algorithm,
        team: &mut Team,
        ends: impl Fn() -> bool + Sync,
        each: impl Fn(usize, &Answer<'_>, Duration) + Sync,
    ) -> Vec<GraphReceipt> {
        let Work { args, graphs, sources, targets, place } = self;
        let targets = targets.map(|targets| &*targets.distinct);
        let goal = Goal { limit: args.limit, targets };
        let threads = team.size();
        if matches!(algorithm, Algorithm::Delta | Algorithm::Regions) {
            // One copy of the graph for all: members of all groups work on all of it.
            let graph = graphs.of(0);
            let search = match algorithm {
                Algorithm::Delta => TeamSearch::new(graph, team, args.delta),
                _ => TeamSearch::by_regions(graph, team, args.width),
            };
            let mut search = search.on(*place);
            for (at, source) in sources.iter().enumerate() {
                if ends() {
                    break;
                }
                let began = Instant::now();
                let tree = search.run(team, *source, goal);
                let took = began.elapsed();
                each(at, &Answer::Tree(tree), took);
            }
            return vec![search.receipt()];
        }
        let width = match args.width {
            Some(width) => Width::Fixed(width),
            None if sources.len() > MEASURED_FROM * threads => Width::Measured,
            None => Width::Guessed,
        };
        let receipts = Mutex::new(Vec::new());
        let make = |group: usize| {
            let search = match algorithm {
                Algorithm::Heap => Search::with_heap(graphs.of(group)),
                _ => Search::with_buckets(graphs.of(group), width),
            };
            let search = search.on(*place);
            receipts.lock().unwrap_or_else(PoisonError::into_inner).push(search.receipt());
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
        receipts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
