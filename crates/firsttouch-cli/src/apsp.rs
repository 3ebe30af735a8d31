//! `apsp`: distances from every node of a graph, or from many, to every other.

mod nodes;

use crate::args::Apsp;
use crate::exit::{INTERRUPTED, Rule};
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::paths::{
    Found, Input, Ready, SearchProgress, Shared, hear_ready, load_by_ranks, merge, ready, sources,
    tell_ready, world,
};
use firsttouch_graph::hierarchy::{PhastQuery, SOURCES_AT_ONCE};
use firsttouch_graph::{
    Algorithm, AllPairs, AllPairsError, Checkpoint, Engine, Figure, Goal, GraphReceipt, Ids, Merged, Node,
    Place, Plan, Question, Queue, Ranks, Searches, Shards, Task, Totals, Width, figures_of, room_for_matrix,
};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The time between two writes of the checkpoint.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Apsp) -> Outcome {
    if args.merge {
        let export = |shards: &Shards, merged: &Merged| export(args, shards, merged);
        let export = args.export_csv.as_ref().map(|_| &export as &dyn Fn(&_, &_) -> _);
        return merge(&args.run.graph.input.file, "apsp", &args.reduce, export, args.run.json);
    }
    let interrupt = Interrupt::listen()?;
    let stop = interrupt.flag();
    let world = world(args.mpi)?;
    let outcome = match world.as_deref() {
        Some(world) if world.rank() > 0 => follow(args, world, stop),
        world => lead(args, world, stop),
    };
    match (outcome, &world) {
        // The others wait for a word of this one.
        (Err(failure), Some(world)) if world.size() > 1 => {
            failure.print();
            world.abort(failure.exit_code(Rule::OWN))
        }
        (outcome, _) => outcome,
    }
}

/// What a process does that reads the graph itself, and may have others that work for it or with it.
fn lead(args: &Apsp, world: Option<&dyn Ranks>, stop: &AtomicBool) -> Outcome {
    crate::export::check(args.run.json, &args.export_csv)?;
    may_begin(args)?;
    let shared = Shared::of(args.run.shard_dir.as_deref(), args.run.shard, &args.run.graph)?;
    let mut input = match (&shared, world) {
        (Some(shared), _) => shared.load(&args.run.graph, stop)?,
        (None, Some(world)) => load_by_ranks(world, &args.run.graph)?,
        (None, None) => Input::load(&args.run.graph)?,
    };
    let all = in_the_order_of_the_file(&input.loaded.ids);
    let named = sources(&args.run.from, &input.loaded.ids)?;
    let nodes = named.as_ref().unwrap_or(&all);
    if let Some(path) = args.matrix.as_ref().filter(|_| !args.resume) {
        room_for_matrix(path, &input.loaded.graph, nodes.len(), all.len())
            .map_err(|error| Failure::hinted(AllPairsError::from(error)))?;
    }
    // Every thread has sources of its own.
    let threads = input.team.size().min(nodes.len());
    let task = Task { sources: nodes.len(), threads, ends_early: false, has_hierarchy: false };
    let (index, making) = match &shared {
        Some(shared) => shared.index(args.algorithm, &args.run.index, &input, task, stop)?,
        None => (args.run.index.clone(), None),
    };
    let ready = ready(args.algorithm, &index, &input, task)?;
    drop(making);
    if let Some(world) = world {
        tell_ready(world, &ready)?;
    }
    let progress = SearchProgress::new(nodes.len(), "sources", args.progress);
    let told = |now: firsttouch_graph::AllPairsProgress| progress.come(now.done, now.done_now);
    let settings = AllPairs {
        checkpoint: args.checkpoint.as_deref().map(|path| Checkpoint { path, every: CHECKPOINT_EVERY }),
        progress: Some(&told),
        stop: Some(stop),
        histogram: args.reduce.contains(&Figure::Histogram),
        matrix: args.matrix.as_deref(),
    };
    let shards = match &shared {
        Some(shared) => {
            let plan = Plan {
                sources: nodes.len(),
                chunk: SOURCES_AT_ONCE,
                histogram: settings.histogram,
                columns: 0,
                graph: (&input.loaded.graph).into(),
                // Of all nodes, places tell numbers.
                first_id: input.loaded.ids.first().filter(|_| named.is_none()),
            };
            let question = Question::of(&input.loaded.graph, None, None, nodes);
            Some((
                shared,
                shared.join(question, plan).map_err(|error| Failure::hinted(AllPairsError::from(error)))?,
            ))
        }
        None => None,
    };
    // Columns are in the order of the file, too.
    let targets = input.loaded.ids.order().filter(|_| args.matrix.is_some()).map(|_| &all[..]);
    let (outcome, took, receipts) = searched(args, &mut input, &ready, targets, |mut engine| {
        let Some((shared, shards)) = &shards else {
            let outcome = match world {
                Some(world) => settings.lead(engine, nodes, world),
                None => settings.run(engine, nodes),
            };
            return outcome.map(Told::All);
        };
        let resumed = shards.done();
        let finished = shards.work(&settings, &mut engine, nodes, shared.shard)?;
        Ok(match shared.ended(finished) {
            Some(code) => Told::Elsewhere(code),
            None => Told::All(firsttouch_graph::AllPairsOutcome { stored: shards.merge()?.stored, resumed }),
        })
    })?;
    progress.finish();
    let (stored, resumed) = match outcome.map_err(Failure::hinted)? {
        Told::All(outcome) => (outcome.stored, outcome.resumed),
        Told::Elsewhere(code) => return Ok(code),
    };
    let exported = match &args.export_csv {
        Some(file) => nodes::write(file, &input.loaded.ids, nodes, &stored.summaries, &args.reduce),
        None => Ok(()),
    };
    let done = stored.done();
    let found = Found {
        sources: nodes.len(),
        searched: done,
        resumed,
        ranks: shared.as_ref().map(|shared| shared.shard.ranks).or(world.map(Ranks::size)),
        took,
        query_s: Vec::new(),
        totals: Totals::of(stored.summaries.iter().flatten()),
        figures: figures_of(&stored, all.len(), &args.reduce),
        receipts,
    };
    let told = found.tell(&input, &ready, args.run.json, args.export_csv.as_ref());
    output::together([exported.map_err(Failure::from), told])?;
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

/// What a rank does that works for rank 0.
fn follow(args: &Apsp, world: &dyn Ranks, stop: &AtomicBool) -> Outcome {
    let mut input = load_by_ranks(world, &args.run.graph)?;
    let ready = hear_ready(world, &input)?;
    let settings = AllPairs { stop: Some(stop), ..AllPairs::default() };
    let (outcome, ..) = searched(args, &mut input, &ready, None, |engine| settings.follow(engine, world))?;
    Ok(if outcome.map_err(Failure::hinted)? { 0 } else { INTERRUPTED })
}

/// Does work with what finds distances. Answers how long it took, too, and what memory it obtained.
fn searched<T>(
    args: &Apsp,
    input: &mut Input,
    ready: &Ready,
    targets: Option<&[Node]>,
    work: impl FnOnce(Engine<'_, '_>) -> T,
) -> Outcome<(T, Duration, Vec<GraphReceipt>)> {
    let memory_nodes = input.nodes();
    let place = Place { pages: args.run.graph.pages, node: None };
    let (team, graphs) = input.parts();
    if let Some(hierarchy) = &ready.hierarchy {
        let mut phast = match targets {
            Some(targets) => PhastQuery::to(hierarchy, team, targets)?,
            None => PhastQuery::new(hierarchy, team),
        }
        .on(place.pages, &memory_nodes)?;
        let began = Instant::now();
        let done = work(Engine::from(&mut phast));
        return Ok((done, began.elapsed(), vec![phast.receipt()]));
    }
    let queue = match ready.choice.algorithm {
        Algorithm::Heap => Queue::Heap,
        _ => Queue::Buckets(Width::Measured),
    };
    let goal = Goal { limit: None, targets };
    let mut searches = Searches::new(graphs, team, queue).towards(goal).on(place);
    let began = Instant::now();
    let done = work(Engine::from(&mut searches));
    Ok((done, began.elapsed(), searches.receipts().to_vec()))
}

/// Who tells what was found.
enum Told {
    /// This process.
    All(firsttouch_graph::AllPairsOutcome),
    /// Another one, or nobody yet; this one ends so.
    Elsewhere(u8),
}

/// The figures of every node, of a folder that tells which numbers nodes have.
fn export(args: &Apsp, shards: &Shards, merged: &Merged) -> Outcome<()> {
    let (plan, Some(file)) = (shards.plan(), &args.export_csv) else { return Ok(()) };
    let Some(first) = plan.first_id else {
        return Err(Failure::message("which numbers the sources have, only the graph knows, which is not here")
            .hint("run the same command again: what is done is not done again, and its first process writes the file")
            .usage());
    };
    let ids = Ids::from_first(first, plan.graph.nodes);
    let nodes: Vec<Node> = (0..plan.graph.nodes as Node).collect();
    Ok(nodes::write(file, &ids, &nodes, &merged.stored.summaries, &args.reduce)?)
}

/// Files that would be lost, or are missing, are told of before the time is spent.
fn may_begin(args: &Apsp) -> Outcome<()> {
    let Some(file) = &args.checkpoint else { return Ok(()) };
    match (file.exists(), args.resume) {
        (true, false) => Err(Failure::message(format!("there is a checkpoint already: {}", file.display()))
            .hint("go on from it: --resume; or remove it, to begin anew")
            .usage()),
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
