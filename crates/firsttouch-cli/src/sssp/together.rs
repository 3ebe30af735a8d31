//! A run that several processes share through a folder, with the rows of its distances.

use super::finder::Finder;
use super::rows::{self, Answer, Rows};
use super::targets::{Targets, summary};
use crate::args::Sssp;
use crate::output::{self, Failure, Outcome};
use crate::paths::{Found, Input, Ready, SearchProgress, Shared};
use anyhow::Context;
use firsttouch_graph::{Chunk, Figures, Node, Plan, Question, Shards, Stored, Summary, Totals};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Finds this process's part; process 0 tells what all have found.
pub(super) fn run(
    args: &Sssp,
    shared: &Shared<'_>,
    input: &mut Input,
    ready: &Ready,
    sources: &[Node],
    targets: Option<&Targets<'_>>,
    stop: &AtomicBool,
) -> Outcome {
    let ids = input.loaded.ids.clone();
    let named = targets.map(|targets| targets.named);
    let graph = &input.loaded.graph;
    let (question, figures) = (Question::of(graph, args.limit, named, sources), graph.into());
    let mut finder = Finder::new(args, input, ready, targets)?;
    let columns = if args.export_csv.is_some() { columns(args.parents) } else { 0 };
    let plan = Plan {
        sources: sources.len(),
        chunk: finder.at_once(),
        histogram: false,
        columns,
        graph: figures,
        first_id: None,
    };
    let shards = shared.join(question, plan)?;
    let resumed = shards.done();
    let progress = SearchProgress::new(sources.len(), "sources", false);
    let began = Instant::now();
    let finished = shards.each_chunk(Some(stop), shared.shard, |chunk: &Chunk<'_>| -> Outcome<Stored> {
        let sources = &sources[chunk.range()];
        let file = if columns > 0 { Some(chunk.rows()?) } else { None };
        let rows = file.map(|file| Rows::new(file, &ids, named, args.parents));
        let found: Mutex<Vec<Option<Summary>>> = Mutex::new(vec![None; sources.len()]);
        let each = |at: usize, answer: &Answer<'_>, _took: Duration| {
            let summary = summary(answer, targets);
            if let Some(rows) = &rows {
                rows.add(at, answer);
            }
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found[at] = Some(summary);
            let (done, done_now) = chunk.count(found.iter().flatten().count());
            progress.come(done, done_now);
        };
        let ends = || chunk.ends() || rows.as_ref().is_some_and(Rows::have_failed);
        finder.find(sources, ends, each)?;
        let stored =
            Stored { summaries: found.into_inner().unwrap_or_else(PoisonError::into_inner), histogram: None };
        if let Some(rows) = rows {
            let file = rows.finish().context("cannot write rows to the folder that is shared")?;
            // Rows of some of the sources are none.
            if stored.finished().is_some() {
                file.finish()?;
            }
        }
        Ok(stored)
    })?;
    let took = began.elapsed();
    let receipts = finder.receipts();
    progress.finish();
    if let Some(code) = shared.ended(finished) {
        return Ok(code);
    }
    let stored = shards.merge()?.stored;
    let exported = export(args, &shards);
    let found = Found {
        sources: sources.len(),
        searched: stored.done(),
        resumed,
        ranks: Some(shared.shard.ranks),
        took,
        query_s: Vec::new(),
        totals: Totals::of(stored.summaries.iter().flatten()),
        figures: Figures::default(),
        receipts,
    };
    let told = found.tell(input, ready, args.run.json, args.export_csv.as_ref());
    output::together([exported, told])?;
    Ok(0)
}

/// Columns of the rows.
fn columns(parents: bool) -> usize {
    rows::header(parents).split(',').count()
}

/// Writes the rows of all sources that are done, in their order, whoever found them.
pub(super) fn export(args: &Sssp, shards: &Shards) -> Outcome<()> {
    let Some(path) = args.export_csv.as_deref() else { return Ok(()) };
    let with = shards.plan().columns;
    let Some(parents) = [false, true].into_iter().find(|parents| columns(*parents) == with) else {
        return Err(Failure::message("this run kept no rows, only what they come to")
            .hint("run it with --export-csv FILE in another --shard-dir")
            .usage());
    };
    copied(path, parents, shards)
}

fn copied(path: &Path, parents: bool, shards: &Shards) -> Outcome<()> {
    let mut file = rows::create(path, parents)?;
    shards
        .copy_rows(&mut file)
        .map_err(|error| Failure::hinted(error).context(format!("cannot write {}", path.display())))?;
    file.flush().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
