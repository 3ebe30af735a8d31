//! An index of a graph: a hierarchy that many sources are answered from at once.

use super::failure::{Failure, os_error, team};
use super::held::Held;
use super::numbers::Numbers;
use super::output::{DistanceType, Found, Out, Rows, for_distance_type};
use super::paths;
use super::patience::patiently;
use super::places::nodes;
use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, PhastQuery};
use firsttouch_graph::{Goal, Node};
use pyo3::prelude::*;
use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A hierarchy over a graph.
#[pyclass(frozen, module = "firsttouch._core")]
pub(crate) struct Index {
    hierarchy: RwLock<Hierarchy>,
}

fn options(threads: usize) -> HierarchyOptions {
    HierarchyOptions {
        threads: NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN),
        ..HierarchyOptions::default()
    }
}

#[pymethods]
impl Index {
    /// Builds the index of a graph.
    #[staticmethod]
    fn build(py: Python<'_>, graph: &Bound<'_, Held>, threads: usize) -> PyResult<Index> {
        let held = graph.get();
        let loaded = held.loaded(py)?;
        let built = patiently(py, |_| Hierarchy::build(&loaded.graph, &options(threads)), |_| Ok(()))?;
        Ok(Index { hierarchy: RwLock::new(built.map_err(Failure::from)?) })
    }

    /// Loads the index of a graph from a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, graph: &Bound<'_, Held>, threads: usize) -> PyResult<Index> {
        let held = graph.get();
        let loaded = held.loaded(py)?;
        let load = |_: &AtomicBool| Hierarchy::load(&path, &loaded.graph, &options(threads));
        let found = patiently(py, load, |_| Ok(()))?.map_err(Failure::from)?;
        let missing = || os_error(&io::Error::from_raw_os_error(libc::ENOENT), &path);
        Ok(Index { hierarchy: RwLock::new(found.ok_or_else(missing)?) })
    }

    /// Keeps it in a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.hierarchy().save(&path)).map_err(Failure::from)?)
    }

    /// Takes new weights for the graph's arcs, in their order inside.
    fn customize(&self, py: Python<'_>, weights: &Bound<'_, PyAny>) -> PyResult<()> {
        let weights = Numbers::of(weights)?;
        let weights = weights.slice()?;
        let customize = |_: &AtomicBool| {
            self.hierarchy.write().unwrap_or_else(PoisonError::into_inner).customize(weights)
        };
        Ok(patiently(py, customize, |_| Ok(()))?.map_err(Failure::from)?)
    }

    /// Nodes, arcs, arcs that sweeps relax, the most nodes above each other, and whether distances have 64 bits.
    fn shape(&self, py: Python<'_>) -> (usize, usize, usize, usize, bool) {
        let shape = py.detach(|| self.hierarchy().shape());
        (shape.nodes, shape.arcs, shape.arcs_down, shape.height, shape.wide)
    }
}

impl Index {
    pub(super) fn hierarchy(&self) -> RwLockReadGuard<'_, Hierarchy> {
        self.hierarchy.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fills `out`, a row for each source and a column for each target (with an index and without targets: for each node), with
/// distances: by sweeps over the index, if there is one, else by searches that end when all targets are known.
#[pyfunction]
#[pyo3(signature = (graph, index, sources, targets, limit, out, threads))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one function in Python")]
pub(crate) fn table(
    py: Python<'_>,
    graph: &Bound<'_, Held>,
    index: Option<&Bound<'_, Index>>,
    sources: &Bound<'_, PyAny>,
    targets: Option<&Bound<'_, PyAny>>,
    limit: Option<u64>,
    out: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<()> {
    let held = graph.get();
    let sources = nodes(held, sources)?;
    let targets = targets.map(|targets| nodes(held, targets)).transpose()?;
    let columns = targets.as_ref().map_or(held.node_count(), Vec::len);
    // Targets are in the caller's order, nodes in that of the graph.
    let order = held.order_inside().filter(|_| targets.is_none());
    let (index, rows) = (index.map(Bound::get), held.rows(py)?);
    let mut out = Out::of(out)?;
    for_distance_type!(out, out => {
        let reported = Rows::new(columns, out, None, order);
        rows.searched(py, |rows| {
            let work = |stop: &AtomicBool| match index {
                _ if columns == 0 => Ok(()),
                Some(index) => {
                    sweep(&index.hierarchy(), &sources, targets.as_deref(), limit, threads, reported, stop)
                }
                None => {
                    let goal = Goal { limit, targets: targets.as_deref() };
                    let all = targets.as_deref().unwrap_or_default();
                    let tell = |at: usize, found: &Found<'_>| reported.tell_some(at, found.distances, all);
                    paths::search(rows, &sources, goal, false, threads, stop, &tell)?;
                    reported.finish()
                }
            };
            Ok(patiently(py, work, |_| Ok(()))??)
        })
    })
}

fn sweep<T: DistanceType>(
    hierarchy: &Hierarchy,
    sources: &[Node],
    targets: Option<&[Node]>,
    limit: Option<u64>,
    threads: usize,
    rows: Rows<'_, T>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut team = team(threads)?;
    let mut phast = match targets {
        Some(targets) => PhastQuery::to(hierarchy, &mut team, targets)?,
        None => PhastQuery::new(hierarchy, &mut team),
    };
    if let Some(limit) = limit {
        phast = phast.within(limit);
    }
    let ends = || stop.load(Ordering::Relaxed);
    phast.each(sources, ends, |at, distances, _| rows.tell_all(at, distances))?;
    rows.finish()
}
