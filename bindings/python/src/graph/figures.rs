//! What all distances from each source come to, without the distances.

use super::failure::{Failure, team};
use super::held::Held;
use super::index::Index;
use super::numbers::Writable;
use super::paths;
use super::patience::patiently;
use super::places::nodes;
use firsttouch_graph::hierarchy::PhastQuery;
use firsttouch_graph::{
    AllPairs, AllPairsProgress, Checkpoint, Goal, Graphs, Loaded, Queue, Searches, Summary,
};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two writes of a checkpoint.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(30);

/// What answers all sources.
enum By<'a> {
    PhastQuery(&'a Index),
    Searches(Cow<'a, Loaded>),
}

/// Fills `reached`, `farthest` and `closeness`, a place for each source, and answers the sum of all distances. `progress`
/// is called with the numbers of sources that are done and of all, by the calling thread, the last time when all are.
#[pyfunction]
#[pyo3(signature = (graph, index, sources, limit, reached, farthest, closeness, progress, checkpoint, threads))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one function in Python")]
pub(crate) fn summaries(
    py: Python<'_>,
    graph: &Bound<'_, Held>,
    index: Option<&Bound<'_, Index>>,
    sources: &Bound<'_, PyAny>,
    limit: Option<u64>,
    reached: &Bound<'_, PyAny>,
    farthest: &Bound<'_, PyAny>,
    closeness: &Bound<'_, PyAny>,
    progress: Option<&Bound<'_, PyAny>>,
    checkpoint: Option<PathBuf>,
    threads: usize,
) -> PyResult<u128> {
    let held = graph.get();
    let sources = nodes(held, sources)?;
    let by = match index {
        Some(index) => By::PhastQuery(index.get()),
        None => By::Searches(held.loaded(py)?),
    };
    let (latest, mut reported) = (Mutex::new(0), None);
    let work = |stop: &AtomicBool| -> Result<Option<Vec<Summary>>, Failure> {
        let note = |progress: AllPairsProgress| {
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = progress.done;
        };
        let run = AllPairs {
            checkpoint: checkpoint.as_deref().map(|path| Checkpoint { path, every: BETWEEN_CHECKPOINTS }),
            progress: Some(&note),
            stop: Some(stop),
            ..AllPairs::default()
        };
        let mut team = team(threads)?;
        let outcome = match &by {
            By::PhastQuery(index) => {
                let hierarchy = index.hierarchy();
                let mut phast = PhastQuery::new(&hierarchy, &mut team);
                if let Some(limit) = limit {
                    phast = phast.within(limit);
                }
                run.run(&mut phast, &sources)?
            }
            By::Searches(loaded) => {
                let queue = Queue::Buckets(paths::width(sources.len(), threads));
                let graphs = Graphs::new(&loaded.graph, None);
                let mut searches =
                    Searches::new(graphs, &mut team, queue).towards(Goal { limit, targets: None });
                run.run(&mut searches, &sources)?
            }
        };
        Ok(outcome.stored.finished())
    };
    let mut tell = |done: usize| -> PyResult<()> {
        if let Some(progress) = progress.filter(|_| reported != Some(done)) {
            progress.call1((done, sources.len()))?;
            reported = Some(done);
        }
        Ok(())
    };
    // Nobody has the lock while Python is called: that may take long, and may wait for the search itself.
    let done = || *latest.lock().unwrap_or_else(PoisonError::into_inner);
    let found = patiently(py, work, |_| tell(done()))??;
    tell(sources.len())?;
    // Only an exception, which was raised above, ends a run early.
    let found = found.unwrap_or_default();
    let all = held.node_count();
    let (mut reached, mut farthest) = (Writable::<i64>::of(reached)?, Writable::<i64>::of(farthest)?);
    let mut closeness = Writable::of(closeness)?;
    let (reached, farthest, closeness) = (reached.slice()?, farthest.slice()?, closeness.slice()?);
    for (at, summary) in found.iter().enumerate() {
        reached[at] = summary.reached as i64;
        // Only a path of 2^31 arcs, each of the greatest weight, is longer.
        farthest[at] = i64::try_from(summary.farthest).unwrap_or(i64::MAX);
        closeness[at] = summary.closeness(all);
    }
    Ok(found.iter().map(|summary| summary.sum).sum())
}
