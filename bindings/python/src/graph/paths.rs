//! Distances and predecessors by searching, as SciPy tells them.

use super::failure::{Failure, team};
use super::held::Held;
use super::numbers::{Numbers, Writable};
use super::output::{self, DistanceType, Found, NONE, Out, for_distance_type};
use super::patience::patiently;
use super::places::nodes;
use firsttouch_graph::{
    Algorithm, Goal, GraphShape, Node, ParallelSearch, Rows, Search, Task, Tree, Width, choose, search_each,
};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Searches of each thread from which on trying several widths of buckets pays.
const MEASURED_FROM: usize = 8;
/// Nodes and arcs looked at in all, below which another thread would take longer to start than to help: a millisecond.
const SMALL: usize = 1 << 17;
/// Arcs of a graph from which on a team that is made for one source is sooner done than one thread: some 20 ms of it.
const WORTH_A_TEAM: usize = 1 << 20;

/// Takes what was found from each source, by its place in the list.
pub(super) type Tell<'a> = dyn Fn(usize, &Found<'_>) + Sync + 'a;

/// Searches from every source, by as many threads as help, and tells what is found.
pub(super) fn search(
    rows: Rows<'_>,
    sources: &[Node],
    goal: Goal<'_>,
    want_parents: bool,
    threads: usize,
    stop: &AtomicBool,
    tell: &Tell<'_>,
) -> Result<(), Failure> {
    let ends = || stop.load(Ordering::Relaxed);
    let each = |at: usize, tree: &Tree<'_>| {
        let parents = want_parents.then(|| tree.parents());
        tell(at, &Found { distances: tree.distances(), within: tree.within_limit(), parents });
    };
    let width = width(sources.len(), threads);
    if threads > 1 && !is_small(rows.nodes() + rows.arcs(), sources.len()) {
        let ends_early = goal != Goal::default();
        let task = Task { sources: sources.len(), threads, has_hierarchy: false, ends_early };
        let algorithm = choose(&GraphShape::of(rows), task).algorithm;
        let is_shared = matches!(algorithm, Algorithm::Delta | Algorithm::Partitions);
        if is_shared && rows.arcs() >= WORTH_A_TEAM {
            let mut team = team(threads)?;
            let mut search = match algorithm {
                Algorithm::Delta => ParallelSearch::new(rows, &team, None),
                _ => ParallelSearch::owner_partitioned(rows, &team, None),
            };
            for (at, source) in sources.iter().enumerate().take_while(|_| !ends()) {
                each(at, &search.run(&mut team, *source, goal));
            }
            return Ok(());
        }
        if sources.len() > 1 {
            let mut team = team(threads.min(sources.len()))?;
            let make = |_: &firsttouch_threads::Member<'_>| Search::with_buckets(rows, width);
            search_each(&mut team, sources, goal, ends, make, |at, tree, _| each(at, tree));
            return Ok(());
        }
    }
    let mut search = Search::with_buckets(rows, width);
    for (at, source) in sources.iter().enumerate().take_while(|_| !ends()) {
        each(at, &search.run(*source, goal));
    }
    Ok(())
}

/// How the width of the buckets is found, for so many searches.
pub(super) fn width(sources: usize, threads: usize) -> Width {
    if sources > MEASURED_FROM * threads { Width::Measured } else { Width::Guessed }
}

/// Whether so many searches of graphs of this size, nodes and arcs together, are done in no time.
fn is_small(size: usize, sources: usize) -> bool {
    size.saturating_mul(sources) < SMALL
}

/// Fills `out`, a row for each source (a place) and a column for each node, with distances; `parents`, of the same shape,
/// with predecessors. Nothing beyond `limit` is told.
#[pyfunction]
#[pyo3(signature = (graph, sources, limit, out, parents, threads))]
pub(crate) fn distances(
    py: Python<'_>,
    graph: &Bound<'_, Held>,
    sources: &Bound<'_, PyAny>,
    limit: Option<u64>,
    out: &Bound<'_, PyAny>,
    parents: Option<&Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<()> {
    let held = graph.get();
    let sources = nodes(held, sources)?;
    let (rows, mut out) = (held.rows(py)?, Out::of(out)?);
    let mut parents = parents.map(Writable::of).transpose()?;
    let parents = parents.as_mut().map(Writable::slice).transpose()?;
    for_distance_type!(out, out => {
        let reported = output::Rows::new(held.node_count(), out, parents, held.order_inside());
        rows.searched(py, |rows| fill(py, rows, &sources, limit, threads, reported))
    })
}

fn fill<T: DistanceType>(
    py: Python<'_>,
    rows: Rows<'_>,
    sources: &[Node],
    limit: Option<u64>,
    threads: usize,
    reported: output::Rows<'_, T>,
) -> PyResult<()> {
    let size = rows.nodes() + rows.arcs();
    let work = |stop: &AtomicBool| {
        let tell = |at: usize, found: &Found<'_>| reported.tell(at, found);
        search(rows, sources, limit.into(), reported.want_parents(), threads, stop, &tell)?;
        reported.finish()
    };
    if is_small(size, sources.len()) {
        return Ok(work(&AtomicBool::new(false))?);
    }
    Ok(patiently(py, work, |_| Ok(()))??)
}

/// Fills `out`, a place for each node, with the distance from the nearest source; `parents` with predecessors, and `origins`
/// with that source, if they are given.
#[pyfunction]
#[pyo3(signature = (graph, sources, limit, out, parents, origins, threads))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one function in Python")]
pub(crate) fn nearest(
    py: Python<'_>,
    graph: &Bound<'_, Held>,
    sources: &Bound<'_, PyAny>,
    limit: Option<u64>,
    out: &Bound<'_, PyAny>,
    parents: Option<&Bound<'_, PyAny>>,
    origins: Option<&Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<()> {
    let held = graph.get();
    let (places, sources) = (Numbers::of(sources)?, nodes(held, sources)?);
    let hub = held.node_count();
    let loaded = held.loaded(py)?;
    let with_hub = py.detach(|| loaded.graph.with_hub(&sources, held.place));
    let with_hub = with_hub.map_err(crate::errors::no_memory)?;
    let mut out = Out::of(out)?;
    let mut parents = parents.map(Writable::of).transpose()?;
    let mut origins = origins.map(Writable::of).transpose()?;
    let row = parents.as_mut().map(Writable::slice).transpose()?;
    for_distance_type!(out, out => {
        let reported = output::Rows::new(hub, out, row, held.order_inside());
        fill(py, Rows::Own(&with_hub), &[hub as Node], limit, threads, reported)
    })?;
    if let (Some(parents), Some(origins)) = (&mut parents, &mut origins) {
        let (parents, places, origins) = (parents.slice()?, places.slice()?, origins.slice()?);
        py.detach(|| follow(parents, places, origins));
    }
    Ok(())
}

/// For every place the source that its predecessors lead to.
fn follow(parents: &[i32], sources: &[u32], origins: &mut [i32]) {
    origins.fill(NONE);
    for source in sources {
        origins[*source as usize] = *source as i32;
    }
    let mut way = Vec::new();
    for place in 0..origins.len() {
        let mut at = place;
        while origins[at] == NONE && parents[at] != NONE {
            way.push(at);
            at = parents[at] as usize;
        }
        let origin = origins[at];
        way.drain(..).for_each(|passed| origins[passed] = origin);
    }
}

/// Whether so many sources are worth an index, and why (not).
#[pyfunction]
pub(crate) fn suits_index(
    py: Python<'_>,
    graph: &Bound<'_, Held>,
    sources: usize,
    threads: usize,
) -> PyResult<(bool, String)> {
    let task = Task { sources, threads, has_hierarchy: false, ends_early: false };
    let choose = |rows: Rows<'_>| Ok(py.detach(|| choose(&GraphShape::of(rows), task)));
    let choice = graph.get().rows(py)?.searched(py, choose)?;
    Ok((choice.algorithm == Algorithm::Phast, choice.reason))
}
