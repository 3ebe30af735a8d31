//! `sssp`: shortest paths from some nodes of a graph.

mod finder;
mod rows;
mod targets;
mod together;

use crate::args::{Chosen, Sssp};
use crate::exit::INTERRUPTED;
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::paths::{
    Found, Input, Ready, SearchProgress, Shared, count_sources, merge, nodes, ready, sources, tell_need,
};
use crate::reading;
use anyhow::Context;
use finder::Finder;
use firsttouch_graph::{Algorithm, MemoryEstimate, Merged, Shards, Task, Totals};
use rows::{Answer, Rows};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use targets::{Targets, summary};

pub(crate) fn run(args: &Sssp) -> Outcome {
    crate::export::check(args.run.json, &args.export_csv)?;
    if args.dry_run {
        return tell_need(need(args)?, args.run.json);
    }
    if args.merge {
        let export = |shards: &Shards, _: &Merged| together::export(args, shards);
        let export = args.export_csv.as_ref().map(|_| &export as &dyn Fn(&_, &_) -> _);
        return merge(&args.run.graph.input.file, "sssp", &[], export, args.run.json);
    }
    let interrupt = Interrupt::listen()?;
    let stop = interrupt.flag();
    let shared = Shared::of(args.run.shard_dir.as_deref(), args.run.shard, &args.run.graph)?;
    let mut input = match &shared {
        Some(shared) => shared.load(&args.run.graph, stop)?,
        None => Input::load(&args.run.graph)?,
    };
    // One way of naming them was required.
    let sources = sources(&args.run.from, &input.loaded.ids)?.unwrap_or_default();
    let named = nodes(&args.targets, &input.loaded.ids)?;
    let targets = (!named.is_empty()).then(|| Targets::new(&named));
    let ready = prepared(args, &input, sources.len(), shared.as_ref(), stop)?;
    if let Some(shared) = &shared {
        return together::run(args, shared, &mut input, &ready, &sources, targets.as_ref(), stop);
    }
    // A file that cannot be written is told of before the time is spent.
    let ids = input.loaded.ids.clone();
    let file = args.export_csv.as_deref().map(|path| rows::create(path, args.parents)).transpose()?;
    let rows =
        file.map(|file| Rows::new(file, &ids, targets.as_ref().map(|targets| targets.named), args.parents));
    let progress = SearchProgress::new(sources.len(), "sources", false);
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
    let ends = || interrupt.asked() || rows.as_ref().is_some_and(Rows::have_failed);
    let mut finder = Finder::new(args, &mut input, &ready, targets.as_ref())?;
    let began = Instant::now();
    finder.find(&sources, ends, each)?;
    let took = began.elapsed();
    let receipts = finder.receipts();
    let searched = progress.finish();
    let exported = match rows.zip(args.export_csv.as_deref()) {
        Some((rows, path)) => {
            rows.finish().with_context(|| format!("cannot write {}", path.display())).map(drop)
        }
        None => Ok(()),
    };
    let (totals, times) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let query_s = times.into_iter().flatten().collect();
    let found =
        Found { sources: sources.len(), searched, took, query_s, totals, receipts, ..Found::default() };
    let told = found.tell(&input, &ready, args.run.json, args.export_csv.as_ref());
    output::together([exported.map_err(Failure::from), told])?;
    Ok(if searched < sources.len() { INTERRUPTED } else { 0 })
}

/// The memory that searching would take, by the header of the graph.
fn need(args: &Sssp) -> Outcome<MemoryEstimate> {
    let input = &args.run.graph.input;
    let size = reading::size(input)?;
    let (copies, threads) = match args.run.graph.groups {
        Some(groups) => (groups.groups.into(), u64::from(groups.cores) * u64::from(groups.groups)),
        None => (1, reading::team(input.threads)?.size() as u64),
    };
    let together = matches!(args.algorithm, Chosen::This(Algorithm::Delta | Algorithm::Partitions));
    let searches = if together { 1 } else { threads.min(count_sources(&args.run.from)?) };
    Ok(size.memory_estimate(searches, copies))
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
        Some(shared) => shared.index(algorithm, &args.run.index, input, task, stop)?,
        None => (args.run.index.clone(), None),
    };
    let ready = ready(algorithm, &index, input, task)?;
    drop(making);
    let algorithm = ready.choice.algorithm;
    let idle = match algorithm {
        _ if args.delta.is_some() && algorithm != Algorithm::Delta => Some("--delta"),
        Algorithm::Buckets | Algorithm::Partitions => None,
        _ if args.width.is_some() => Some("--width"),
        _ => None,
    };
    match idle {
        Some(option) => Err(Failure::message(format!("{option} means nothing to the algorithm {algorithm}"))
            .hint("--algorithm delta --delta N, or --algorithm buckets --width N")
            .usage()),
        None => Ok(ready),
    }
}
