//! Long runs: from very many sources, with progress, interrupted and resumed, by sweeps or by searches.
//!
//! What is kept is a [`Summary`] of each source, and, where they are asked for, a [`Histogram`] and a matrix on the disk: the
//! distances of all pairs are never in memory. Whatever finds the distances, what is kept of them is the same, so that a run
//! that was begun by searches can be ended by sweeps.

mod checkpoint;
mod handed;
mod matrix;
mod once;
mod rows;
mod searches;
mod shards;

pub use checkpoint::Checkpoint;
pub use matrix::room_for_matrix;
pub use once::{Once, Turn, once};
pub use rows::{ChunkRows, RowsError};
pub use searches::{Queue, Searches};
pub use shards::{Chunk, Merged, Plan, Shard, Shards};

use crate::file::FileError;
use crate::fingerprint::Fingerprint;
use crate::hierarchy::{Found, HierarchyError, Keeper, SOURCES_AT_ONCE, Sweeps};
use crate::histogram::Histogram;
use crate::ranks::MessageError;
use crate::search::Distances;
use crate::summary::Summary;
use crate::{Graph, Node};
use matrix::Matrix;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From every one of many sources to all nodes, or to the targets of [`Sweeps`] or [`Searches`].
///
/// ```
/// use firsttouch_graph::hierarchy::{Hierarchy, Options, Sweeps};
/// use firsttouch_graph::{AllPairs, Graph, Totals};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 2, 5), (2, 0, 1)])?;
/// let hierarchy = Hierarchy::build(&graph, &Options::default())?;
/// let mut team = Team::new(&[vec![0]])?;
/// let mut sweeps = Sweeps::new(&hierarchy, &mut team);
/// let kept = AllPairs::default().run(&mut sweeps, &[0, 1, 2])?.kept;
/// let totals = Totals::of(kept.summaries.iter().flatten());
/// assert_eq!((totals.farthest, totals.checksum), (10, 33));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct AllPairs<'a> {
    /// Keeps how far the run has come, and goes on from there.
    pub checkpoint: Option<Checkpoint<'a>>,
    /// Is called when some sources are done, by the thread that found them; so it should be quick.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the run when set, after what is under way; a signal's handler may set it.
    pub stop: Option<&'a AtomicBool>,
    /// Counts distances by their lengths.
    pub histogram: bool,
    /// Writes all distances to this file, as NumPy's `.npy` of `u32` (`u64` where they need it): a row for each source in
    /// the order given, a column for each node or target.
    pub matrix: Option<&'a Path>,
}

impl fmt::Debug for AllPairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllPairs")
            .field("checkpoint", &self.checkpoint)
            .field("histogram", &self.histogram)
            .field("matrix", &self.matrix)
            .finish_non_exhaustive()
    }
}

/// What finds the distances.
#[derive(Debug)]
pub enum Engine<'a, 'b> {
    /// Sweeps over a hierarchy.
    Sweeps(&'b mut Sweeps<'a>),
    /// A search from each source.
    Searches(&'b mut Searches<'a>),
}

impl<'a, 'b> From<&'b mut Sweeps<'a>> for Engine<'a, 'b> {
    fn from(sweeps: &'b mut Sweeps<'a>) -> Self {
        Engine::Sweeps(sweeps)
    }
}

impl<'a, 'b> From<&'b mut Searches<'a>> for Engine<'a, 'b> {
    fn from(searches: &'b mut Searches<'a>) -> Self {
        Engine::Searches(searches)
    }
}

impl<'a> Engine<'a, '_> {
    /// The same for a while.
    fn again(&mut self) -> Engine<'a, '_> {
        match self {
            Engine::Sweeps(sweeps) => Engine::Sweeps(sweeps),
            Engine::Searches(searches) => Engine::Searches(searches),
        }
    }

    /// What is asked: the graph with its weights, the limit, the targets and the sources.
    fn question(&self, sources: &[Node]) -> Fingerprint {
        let (graph, limit, targets) = match self {
            Engine::Sweeps(sweeps) => (sweeps.fingerprint(), sweeps.limit(), sweeps.targets()),
            Engine::Searches(searches) => (searches.fingerprint(), searches.limit(), searches.targets()),
        };
        asked(graph, limit, targets, sources)
    }

    /// Finds the distances from all sources that the keeper does not know, until `stop` says so.
    fn keep(
        &mut self,
        sources: &[Node],
        stop: impl Fn() -> bool + Sync,
        keeper: &impl Keeper,
    ) -> Result<(), AllPairsError> {
        match self {
            Engine::Sweeps(sweeps) => sweeps.keep(sources, stop, keeper).map_err(|error| match error {
                HierarchyError::File(error) => AllPairsError::File(error),
                _ => missing(sources, sweeps.hierarchy().nodes()),
            }),
            Engine::Searches(searches) => {
                let nodes = searches.nodes();
                if sources.iter().any(|source| *source as usize >= nodes) {
                    return Err(missing(sources, nodes));
                }
                Ok(searches.keep(sources, stop, keeper)?)
            }
        }
    }

    /// How many sources keep all its threads busy at once.
    fn at_once(&self) -> usize {
        match self {
            Engine::Sweeps(sweeps) => sweeps.threads() * SOURCES_AT_ONCE,
            Engine::Searches(searches) => searches.threads(),
        }
    }

    fn columns(&self) -> usize {
        match self {
            Engine::Sweeps(sweeps) => sweeps.columns(),
            Engine::Searches(searches) => searches.columns(),
        }
    }

    fn fits_32_bits(&self) -> bool {
        match self {
            Engine::Sweeps(sweeps) => sweeps.hierarchy().fits_32_bits(),
            Engine::Searches(searches) => searches.fits_32_bits(),
        }
    }
}

/// What a run asks, as a number that tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question(Fingerprint);

impl Question {
    /// The distances from these sources to all nodes of a graph or to some, as far as a limit. It takes a look at every arc.
    #[must_use]
    pub fn of(graph: &Graph, limit: Option<u64>, targets: Option<&[Node]>, sources: &[Node]) -> Question {
        Question(asked(Fingerprint::of(graph), limit, targets, sources))
    }
}

fn asked(graph: Fingerprint, limit: Option<u64>, targets: Option<&[Node]>, sources: &[Node]) -> Fingerprint {
    let numbers = |nodes: &[Node]| nodes.iter().map(|node| u64::from(*node)).collect::<Vec<_>>();
    graph
        .with(limit.unwrap_or(u64::MAX))
        .with_all(targets.map(numbers).unwrap_or_default())
        .with(sources.len() as u64)
        .with_all(numbers(sources))
}

/// Why a long run failed.
#[derive(Debug, thiserror::Error)]
pub enum AllPairsError {
    /// A source is not there.
    #[error("there is no node {node}: the graph has {nodes}")]
    NoSuchNode {
        /// Which.
        node: Node,
        /// How many there are.
        nodes: usize,
    },
    /// A file of the run.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another rank was not heard of.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl AllPairsError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            AllPairsError::NoSuchNode { .. } => "nodes are counted from 0 here",
            AllPairsError::File(error) => error.hint(),
            AllPairsError::Message(error) => error.hint(),
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Sources that are done, those of earlier runs included.
    pub done: usize,
    /// Sources of this run that are done.
    pub done_now: usize,
    /// All sources.
    pub sources: usize,
    /// How long this run has taken so far.
    pub elapsed: Duration,
}

impl Progress {
    /// Sources each second; `None` before the first.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.done_now > 0 && !self.elapsed.is_zero())
            .then(|| self.done_now as f64 / self.elapsed.as_secs_f64())
    }

    /// How long the rest will take at this rate.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.rate().map(|rate| Duration::from_secs_f64((self.sources - self.done) as f64 / rate))
    }
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What is known.
    pub kept: Kept,
    /// How many sources an earlier run had done.
    pub resumed: usize,
}

/// What is kept of all distances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The summary of each source, in the order given; `None` for those that are not done.
    pub summaries: Vec<Option<Summary>>,
    /// How many distances there are of each length, from the sources that are done, if they were to be counted.
    pub histogram: Option<Histogram>,
}

impl Kept {
    /// How many sources are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.summaries.iter().flatten().count()
    }

    /// The summaries of all sources; `None` if one is not done.
    #[must_use]
    pub fn finished(&self) -> Option<Vec<Summary>> {
        self.summaries.iter().copied().collect()
    }
}

/// What the threads share.
struct Ledger {
    kept: Kept,
    done: usize,
    saved: Instant,
}

impl AllPairs<'_> {
    /// Runs, or goes on with what the checkpoint tells of. The result is the same whether and wherever the run was
    /// interrupted.
    ///
    /// # Errors
    ///
    /// If a source is not there, the checkpoint is of another run, or a file cannot be written. What was found before the
    /// last checkpoint is kept.
    pub fn run<'a, 'b>(
        &self,
        engine: impl Into<Engine<'a, 'b>>,
        sources: &[Node],
    ) -> Result<Outcome, AllPairsError>
    where
        'a: 'b,
    {
        let mut engine = engine.into();
        let run = self.begin(&engine, sources)?;
        let stop = || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        engine.keep(sources, stop, &run)?;
        let resumed = run.resumed;
        Ok(Outcome { kept: run.finish()?, resumed })
    }

    /// A run, with what an earlier one has found.
    fn begin(&self, engine: &Engine<'_, '_>, sources: &[Node]) -> Result<Run<'_>, AllPairsError> {
        let began = Instant::now();
        // To tell graphs apart takes a look at every arc.
        let question = self.checkpoint.map(|_| engine.question(sources));
        let found = match self.checkpoint.zip(question) {
            Some((checkpoint, question)) => {
                checkpoint::read(checkpoint.path, question, sources.len(), self.histogram)?
            }
            None => None,
        };
        let matrix = match self.matrix {
            Some(path) => {
                let wide = !engine.fits_32_bits();
                Some(Matrix::create(path, sources.len(), engine.columns(), wide, found.is_some())?)
            }
            None => None,
        };
        let kept = found.unwrap_or_else(|| Kept {
            summaries: vec![None; sources.len()],
            histogram: self.histogram.then(Histogram::default),
        });
        let resumed = kept.done();
        let known = kept.summaries.iter().map(Option::is_some).collect();
        let ledger = Mutex::new(Ledger { kept, done: resumed, saved: began });
        Ok(Run { settings: self, question, began, resumed, known, matrix, ledger })
    }
}

/// The error of the first source that is not there.
fn missing(sources: &[Node], nodes: usize) -> AllPairsError {
    let node = sources.iter().copied().find(|source| *source as usize >= nodes).unwrap_or_default();
    AllPairsError::NoSuchNode { node, nodes }
}

/// A run under way.
struct Run<'a> {
    settings: &'a AllPairs<'a>,
    /// What is asked, if there is a checkpoint.
    question: Option<Fingerprint>,
    began: Instant,
    resumed: usize,
    /// Sources that an earlier run had done.
    known: Vec<bool>,
    matrix: Option<Matrix>,
    ledger: Mutex<Ledger>,
}

impl Run<'_> {
    fn finish(self) -> Result<Kept, FileError> {
        let mut ledger = lock(&self.ledger);
        if self.settings.checkpoint.is_some() && ledger.done > self.resumed {
            self.save(&mut ledger)?;
        } else if let Some(matrix) = &self.matrix {
            matrix.sync()?;
        }
        Ok(std::mem::take(&mut ledger.kept))
    }

    /// The rows first: what the checkpoint calls done must be on the disk.
    fn save(&self, ledger: &mut Ledger) -> Result<(), FileError> {
        let Some((checkpoint, question)) = self.settings.checkpoint.zip(self.question) else { return Ok(()) };
        self.matrix.as_ref().map_or(Ok(()), Matrix::sync)?;
        checkpoint::write(checkpoint.path, question, &ledger.kept)?;
        ledger.saved = Instant::now();
        Ok(())
    }
}

impl Keeper for Run<'_> {
    fn knows(&self, index: usize) -> bool {
        self.known[index]
    }

    fn wants_rows(&self) -> bool {
        self.matrix.is_some()
    }

    fn wants_histogram(&self) -> bool {
        self.settings.histogram
    }

    fn row(&self, index: usize, row: Distances<'_>, _took: Duration) -> Result<(), FileError> {
        self.matrix.as_ref().map_or(Ok(()), |matrix| matrix.put(index, row))
    }

    fn done(&self, found: &Found<'_>) -> Result<(), FileError> {
        let mut ledger = lock(&self.ledger);
        let ledger = &mut *ledger;
        for (index, summary) in found.summaries {
            ledger.done += usize::from(ledger.kept.summaries[*index].replace(*summary).is_none());
        }
        if let (Some(all), Some(more)) = (&mut ledger.kept.histogram, found.histogram) {
            all.merge(more);
        }
        if let Some(progress) = self.settings.progress {
            progress(Progress {
                done: ledger.done,
                done_now: ledger.done - self.resumed,
                sources: self.known.len(),
                elapsed: self.began.elapsed(),
            });
        }
        match &self.settings.checkpoint {
            Some(checkpoint) if ledger.saved.elapsed() >= checkpoint.every => self.save(ledger),
            _ => Ok(()),
        }
    }
}

fn lock<'a>(ledger: &'a Mutex<Ledger>) -> MutexGuard<'a, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
