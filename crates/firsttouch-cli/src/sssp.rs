//! `sssp`: shortest paths from some nodes of a graph.

mod finder;
mod rows;
mod together;

use crate::USAGE;
use crate::args::{Chosen, Sssp};
use crate::graph;
use crate::output::{Failure, Outcome};
use crate::paths::{
    Found, INTERRUPTED, Input, Pace, Progress, Ready, Shared, count_sources, merge, nodes, ready, sources,
    stop_at_signals, tell_need,
};
use anyhow::Context;
use finder::Finder;
use firsttouch_graph::{Algorithm, Merged, Need, Node, Shards, Summary, Task, Totals};
use rows::{Answer, Rows};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) fn run(args: &Sssp) -> Outcome {
    crate::export::check(args.json, &args.export_csv)?;
    if args.dry_run {
        return tell_need(need(args)?, args.json);
    }
    if args.merge {
        let export = |shards: &Shards, _: &Merged| together::export(args, shards);
        let export = args.export_csv.as_ref().map(|_| &export as &dyn Fn(&_, &_) -> _);
        return merge(&args.graph.input.file, "sssp", &[], export, args.json);
    }
    let stop = stop_at_signals()?;
    let shared = Shared::of(args.shard_dir.as_deref(), args.shard, &args.graph)?;
    let mut input = match &shared {
        Some(shared) => shared.load(&args.graph, &stop)?,
        None => Input::load(&args.graph)?,
    };
    // One way of naming them was required.
    let sources = sources(&args.from, &input.loaded.ids)?.unwrap_or_default();
    let named = nodes(&args.targets, &input.loaded.ids)?;
    let targets = (!named.is_empty()).then(|| Targets::new(&named));
    let ready = prepared(args, &input, sources.len(), shared.as_ref(), &stop)?;
    if let Some(shared) = &shared {
        return together::run(args, shared, &mut input, &ready, &sources, targets.as_ref(), &stop);
    }
    // A file that cannot be written is told of before the time is spent.
    let ids = input.loaded.ids.clone();
    let file = args.export_csv.as_deref().map(|path| rows::create(path, args.parents)).transpose()?;
    let rows =
        file.map(|file| Rows::new(file, &ids, targets.as_ref().map(|targets| targets.named), args.parents));
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
    let mut finder = Finder::new(args, &mut input, &ready, targets.as_ref())?;
    let began = Instant::now();
    finder.find(&sources, ends, each)?;
    let took = began.elapsed();
    let receipts = finder.receipts();
    let searched = progress.finish();
    if let Some((rows, path)) = rows.zip(args.export_csv.as_deref()) {
        rows.finish().with_context(|| format!("cannot write {}", path.display()))?;
    }
    let (totals, times) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let query_s = times.into_iter().flatten().collect();
    let found =
        Found { sources: sources.len(), searched, took, query_s, totals, receipts, ..Found::default() };
    found.tell(&input, &ready, args.json, args.export_csv.as_ref())?;
    Ok(if searched < sources.len() { INTERRUPTED } else { 0 })
}

/// The memory that searching would take, by the header of the graph.
fn need(args: &Sssp) -> Outcome<Need> {
    let input = &args.graph.input;
    let size = graph::size(input)?;
    let (copies, threads) = match args.graph.groups {
        Some(groups) => (groups.groups.into(), u64::from(groups.cores) * u64::from(groups.groups)),
        None => (1, graph::team(input.threads)?.size() as u64),
    };
    let together = matches!(args.algorithm, Chosen::This(Algorithm::Delta | Algorithm::Regions));
    let searches = if together { 1 } else { threads.min(count_sources(&args.from)?) };
    Ok(size.need(searches, copies))
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
fn prepared(
    args: &Sssp,
    input: &Input,
    sources: usize,
    shared: Option<&Shared<'_>>,
    stop: &AtomicBool,
) -> Outcome<Ready> {
    let algorithm = match args.algorithm {
        Chosen::Auto if args.delta.is_some() => Chosen::This(Algorithm::Delta),
        Chosen::Auto if args.width.is_some() => Chosen::This(Algorithm::Buckets),
        algorithm => algorithm,
    };
    let task =
        Task { sources, threads: input.team.size(), ends_early: args.limit.is_some(), has_hierarchy: false };
    let (index, making) = match shared {
        Some(shared) => shared.index(algorithm, &args.index, input, task, stop)?,
        None => (args.index.clone(), None),
    };
    let ready = ready(algorithm, &index, input, task)?;
    drop(making);
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
