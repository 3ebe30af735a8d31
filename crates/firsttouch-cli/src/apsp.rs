//! `apsp`: distances from every node of a graph, or from many, to every other.

mod nodes;
mod shared;

use crate::USAGE;
use crate::args::Apsp;
use crate::output::{self, Failure, Outcome};
use crate::paths::{INTERRUPTED, Input, Pace, Progress, Ready, ready, sources, stop_at_signals};
use firsttouch_graph::hierarchy::Sweeps;
use firsttouch_graph::{
    Algorithm, AllPairs, AllPairsError, Checkpoint, Engine, Figure, Figures, Goal, Ids, Node, Place, Plan,
    Queue, SearchReport, Searches, Task, Totals, Width, room_for_matrix,
};
use firsttouch_report::{Style, json, text};
use shared::Shared;
use std::time::{Duration, Instant};

/// The time between two writes of the checkpoint.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Apsp) -> Outcome {
    if args.merge {
        return shared::merge(args);
    }
    let stop = stop_at_signals()?;
    may_begin(args)?;
    let shared = Shared::of(args)?;
    let mut input = match &shared {
        Some(shared) => shared.load(&args.graph, &stop)?,
        None => Input::load(&args.graph)?,
    };
    let all = in_the_order_of_the_file(&input.loaded.ids);
    let named = sources(&args.from, &input.loaded.ids)?;
    let nodes = named.as_ref().unwrap_or(&all);
    if let Some(path) = args.matrix.as_ref().filter(|_| !args.resume) {
        room_for_matrix(path, &input.loaded.graph, nodes.len(), all.len())
            .map_err(|error| failed(error.into()))?;
    }
    // Every thread has sources of its own.
    let threads = input.team.size().min(nodes.len());
    let task = Task { sources: nodes.len(), threads, ends_early: false, has_hierarchy: false };
    let ours = match &shared {
        Some(shared) => Some(shared.index(args.algorithm, &args.index, &input, task, &stop)?),
        None => None,
    };
    let made = ready(args.algorithm, ours.as_ref().unwrap_or(&args.index), &input, task);
    if let Some(shared) = &shared {
        shared.give_up_index();
    }
    let Ready { choice, hierarchy, took_s } = made?;
    let pace = if args.progress { Pace::EverySecond } else { Pace::Seldom };
    let progress = Progress::new(nodes.len(), "sources", pace);
    let told = |now: firsttouch_graph::Progress| progress.come(now.done, now.done_now);
    let settings = AllPairs {
        checkpoint: args.checkpoint.as_deref().map(|path| Checkpoint { path, every: CHECKPOINT_EVERY }),
        progress: Some(&told),
        stop: Some(&stop),
        histogram: args.reduce.contains(&Figure::Histogram),
        matrix: args.matrix.as_deref(),
    };
    let plan = Plan {
        sources: nodes.len(),
        chunk: 0,
        histogram: settings.histogram,
        graph: (&input.loaded.graph).into(),
        // Of all nodes, places tell numbers.
        first_id: input.loaded.ids.first().filter(|_| named.is_none()),
    };
    // Columns are in the order of the file, too.
    let targets = input.loaded.ids.order().filter(|_| args.matrix.is_some()).map(|_| &all[..]);
    let (threads, memory_nodes) = (input.team.size(), input.nodes());
    let place = Place { pages: args.graph.pages, node: None };
    let mut receipts = Vec::new();
    let (team, graphs) = input.parts();
    let began;
    let outcome = match &hierarchy {
        Some(hierarchy) => {
            let mut sweeps = match targets {
                Some(targets) => Sweeps::to(hierarchy, team, targets)?,
                None => Sweeps::new(hierarchy, team),
            }
            .on(place.pages, &memory_nodes)?;
            receipts.push(sweeps.receipt());
            began = Instant::now();
            keep(&settings, &mut sweeps, nodes, shared.as_ref(), plan)
        }
        None => {
            let queue = match choice.algorithm {
                Algorithm::Heap => Queue::Heap,
                _ => Queue::Buckets(Width::Measured),
            };
            let goal = Goal { limit: None, targets };
            let mut searches = Searches::new(graphs, team, queue).towards(goal).on(place);
            began = Instant::now();
            let outcome = keep(&settings, &mut searches, nodes, shared.as_ref(), plan);
            receipts.extend_from_slice(searches.receipts());
            outcome
        }
    };
    let search_s = began.elapsed().as_secs_f64();
    progress.finish();
    let (kept, resumed) = match outcome.map_err(failed)? {
        Told::All(outcome) => (outcome.kept, outcome.resumed),
        Told::Elsewhere(code) => return Ok(code),
    };
    if let Some(file) = &args.export_csv {
        nodes::write(file, &input.loaded.ids, nodes, &kept.summaries, &args.reduce)?;
    }
    let done = kept.done();
    let report = SearchReport {
        schema_version: firsttouch_placement::SCHEMA_VERSION,
        graph: (&input.loaded.graph).into(),
        algorithm: choice.algorithm.word().to_owned(),
        reason: choice.reason,
        sources: nodes.len(),
        searched: done,
        resumed,
        threads,
        parse_s: input.parse_s,
        preprocessing_s: input.preprocessing_s + took_s,
        search_s,
        query_s: Vec::new(),
        edges_per_s: (input.loaded.graph.arcs() as f64) * (done - resumed) as f64 / search_s,
        totals: Totals::of(kept.summaries.iter().flatten()),
        figures: Figures::of(&kept, all.len(), &args.reduce),
        hierarchy: hierarchy.as_ref().map(|hierarchy| hierarchy.shape()),
        receipt: input.receipt(&receipts),
        notes: input.loaded.notes.clone(),
    };
    output::data(&if args.json {
        json::search(&report)
    } else {
        text::search(&report, output::width(), Style::Ansi)
    })?;
    if done == nodes.len() {
        return Ok(0);
    }
    let (what, hint) = match &args.checkpoint {
        Some(file) => ("", format!("go on: the same command with --checkpoint {} --resume", file.display())),
        None => (", and nothing keeps them", "--checkpoint FILE keeps how far it has come".to_owned()),
    };
    output::warning(&format!("interrupted after {done} of {} sources{what}", nodes.len()), Some(&hint));
    Ok(INTERRUPTED)
}

/// Who tells what was found.
enum Told {
    /// This process.
    All(firsttouch_graph::Outcome),
    /// Another one, or nobody yet; this one ends so.
    Elsewhere(u8),
}

/// Finds all that is asked for, alone or with other processes.
fn keep<'a, 'b>(
    settings: &AllPairs<'_>,
    engine: impl Into<Engine<'a, 'b>>,
    nodes: &[Node],
    shared: Option<&Shared<'_>>,
    plan: Plan,
) -> Result<Told, AllPairsError>
where
    'a: 'b,
{
    let Some(shared) = shared else { return settings.run(engine, nodes).map(Told::All) };
    let (shards, resumed, finished) = shared.work(settings, engine, nodes, plan)?;
    if !finished || shared.shard.rank > 0 {
        return Ok(Told::Elsewhere(shared::ended(shared, finished)));
    }
    Ok(Told::All(firsttouch_graph::Outcome { kept: shards.merge()?.kept, resumed }))
}

/// Files that would be lost, or are missing, are told of before the time is spent.
fn may_begin(args: &Apsp) -> Outcome<()> {
    let Some(file) = &args.checkpoint else { return Ok(()) };
    match (file.exists(), args.resume) {
        (true, false) => Err(Failure::message(format!("there is a checkpoint already: {}", file.display()))
            .hint("go on from it: --resume; or remove it, to begin anew")
            .code(USAGE)),
        (false, true) => {
            let what = format!("there is no checkpoint {} to go on from: this run begins it", file.display());
            output::warning(&what, None);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// All nodes, in the order that the file has them in.
fn in_the_order_of_the_file(ids: &Ids) -> Vec<Node> {
    let nodes = 0..ids.nodes() as Node;
    nodes.map(|place| ids.order().map_or(place, |order| order.after(place))).collect()
}

fn failed(error: AllPairsError) -> Failure {
    let hint = error.hint();
    Failure::new(error).hint(hint)
}
