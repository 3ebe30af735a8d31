//! `sssp`: shortest paths from some nodes of a graph.

mod input;
mod progress;
mod rows;

use crate::USAGE;
use crate::args::{Chosen, Sssp};
use crate::output::{self, Failure, Outcome};
use firsttouch_graph::{
    Algorithm, Choice, Ids, Node, Search, SearchReport, Task, TeamSearch, Totals, Tree, Width, choose,
    read_sources, search_each,
};
use firsttouch_report::{Style, json, text};
use input::Input;
use progress::{INTERRUPTED, Progress, stop_at_signals};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rows::Rows;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Searches of each thread from which on trying several widths of buckets pays.
const MEASURED_FROM: usize = 8;

pub(crate) fn run(args: &Sssp) -> Outcome {
    let stop = stop_at_signals()?;
    let mut input = Input::load(args)?;
    let sources = sources(args, &input.loaded.ids)?;
    let targets = nodes(&args.targets, &input.loaded.ids)?;
    let choice = choice(args, &input, sources.len())?;
    // A file that cannot be written is told of before the time is spent.
    let ids = input.loaded.ids.clone();
    let rows = args.export_csv.as_deref().map(|file| {
        Rows::create(file, &ids, (!args.targets.is_empty()).then_some(&targets[..]), args.parents)
    });
    let rows = rows.transpose()?;
    let progress = Progress::new(sources.len(), "sources");
    let found = Mutex::new((Totals::default(), vec![None; sources.len()]));
    let each = |at: usize, tree: &Tree<'_>, took: Duration| {
        let summary = tree.summary();
        {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.0.add(summary);
            found.1[at] = Some(took.as_secs_f64());
        }
        if let Some(rows) = &rows {
            rows.add(at, tree);
        }
        progress.add(1);
    };
    let ends = || stop.load(Ordering::Relaxed) || rows.as_ref().is_some_and(Rows::have_failed);
    let began = Instant::now();
    search(args, choice.algorithm, &mut input, &sources, ends, each);
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
        threads: input.team.size(),
        parse_s: input.parse_s,
        preprocessing_s: input.preprocessing_s,
        search_s: search.as_secs_f64(),
        edges_per_s: (input.loaded.graph.arcs() * done) as f64 / search.as_secs_f64(),
        query_s: times.into_iter().flatten().collect(),
        totals,
        receipt: input.receipt(),
        notes: input.loaded.notes.clone(),
    };
    output::data(&if args.json {
        json::search(&report)
    } else {
        text::search(&report, output::width(), Style::Ansi)
    })?;
    Ok(if done < sources.len() { INTERRUPTED } else { 0 })
}

/// The algorithm that was asked for, or the one that suits.
fn choice(args: &Sssp, input: &Input, sources: usize) -> Outcome<Choice> {
    let asked = |algorithm| Choice { algorithm, reason: "as asked".to_owned() };
    let choice = match args.algorithm {
        Chosen::This(algorithm) => asked(algorithm),
        Chosen::Auto if args.delta.is_some() => asked(Algorithm::Delta),
        Chosen::Auto if args.width.is_some() => asked(Algorithm::Buckets),
        Chosen::Auto => {
            let task = Task { sources, threads: input.team.size(), has_hierarchy: false };
            match choose(&input.shape, task) {
                // This command makes no hierarchies.
                Choice { algorithm: Algorithm::Sweep, .. } => Choice {
                    algorithm: Algorithm::Buckets,
                    reason: "every thread has sources of its own".to_owned(),
                },
                choice => choice,
            }
        }
    };
    let idle = match choice.algorithm {
        _ if args.delta.is_some() && choice.algorithm != Algorithm::Delta => Some("--delta"),
        _ if args.width.is_some() && choice.algorithm != Algorithm::Buckets => Some("--width"),
        _ => None,
    };
    match idle {
        Some(option) => {
            let what = format!("{option} means nothing to the algorithm {}", choice.algorithm);
            Err(Failure::message(what)
                .hint("--algorithm delta --delta N, or --algorithm buckets --width N")
                .code(USAGE))
        }
        None => Ok(choice),
    }
}

/// Where to search from.
fn sources(args: &Sssp, ids: &Ids) -> Outcome<Vec<Node>> {
    if let Some(file) = &args.sources_file {
        let listed = read_sources(file).map_err(|error| {
            let hint = error.hint();
            Failure::new(anyhow::Error::new(error).context(format!("cannot read {}", file.display())))
                .hint(hint)
        })?;
        return nodes(&listed, ids);
    }
    let Some(count) = args.random else { return nodes(&args.sources, ids) };
    if ids.nodes() == 0 {
        return Err(Failure::message("the graph has no nodes to search from").code(USAGE));
    }
    let mut generator = ChaCha8Rng::seed_from_u64(args.seed);
    // Drawn as the file counts, so that the order in memory changes nothing.
    let drawn = (0..count).map(|_| (generator.next_u64() % ids.nodes() as u64) as Node);
    Ok(drawn.map(|place| ids.order().map_or(place, |order| order.after(place))).collect())
}

/// The nodes with these numbers in the file.
fn nodes(numbers: &[u64], ids: &Ids) -> Outcome<Vec<Node>> {
    let node = |number: &u64| {
        ids.node(*number).ok_or_else(|| {
            let hint = match (ids.nodes().checked_sub(1), ids.first()) {
                (None, _) => "the graph has no nodes".to_owned(),
                (Some(last), Some(first)) => format!("its nodes are {first} to {}", first + last as u64),
                (Some(last), None) => format!("it has {} nodes, whose numbers have gaps", last + 1),
            };
            Failure::message(format!("the graph has no node {number}")).hint(hint).code(USAGE)
        })
    };
    numbers.iter().map(node).collect()
}

/// Searches from all sources, and shows every tree to `each`.
fn search(
    args: &Sssp,
    algorithm: Algorithm,
    input: &mut Input,
    sources: &[Node],
    ends: impl Fn() -> bool + Sync,
    each: impl Fn(usize, &Tree<'_>, Duration) + Sync,
) {
    let (team, graphs) = input.parts();
    let threads = team.size();
    if algorithm == Algorithm::Delta {
        // One copy of the graph for all: members of all groups work on all of it.
        let mut search = TeamSearch::new(graphs.of(0), team, args.delta);
        for (at, source) in sources.iter().enumerate() {
            if ends() {
                break;
            }
            let began = Instant::now();
            let tree = search.run(team, *source, args.limit);
            let took = began.elapsed();
            each(at, &tree, took);
        }
        return;
    }
    let width = match args.width {
        Some(width) => Width::Fixed(width),
        None if sources.len() > MEASURED_FROM * threads => Width::Measured,
        None => Width::Guessed,
    };
    let make = |group: usize| match algorithm {
        Algorithm::Heap => Search::with_heap(graphs.of(group)),
        _ => Search::with_buckets(graphs.of(group), width),
    };
    search_each(team, sources, args.limit, ends, |member| make(member.group()), each);
}
