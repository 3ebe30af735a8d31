//! Long runs: from very many sources, with progress, interrupted and resumed.

use super::HierarchyError;
use super::checkpoint::{self, Checkpoint};
use super::consumers::{Summarise, Tabulate};
use super::fingerprint::Fingerprint;
use super::matrix::Matrix;
use super::summary::Summary;
use super::sweeps::{Blocks, Sweeps};
use crate::Node;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From every one of many sources to all nodes of [`Sweeps`]. What is kept is a [`Summary`] of each source; the distances
/// only where a matrix is asked for.
///
/// ```
/// use firsttouch_graph::Graph;
/// use firsttouch_graph::hierarchy::{AllPairs, Hierarchy, Options, Sweeps, Totals};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 2, 5), (2, 0, 1)])?;
/// let hierarchy = Hierarchy::build(&graph, &Options::default())?;
/// let mut team = Team::new(&[vec![0]])?;
/// let mut sweeps = Sweeps::new(&hierarchy, &mut team);
/// let outcome = AllPairs::default().run(&mut sweeps, &[0, 1, 2])?;
/// let totals = Totals::of(&outcome.finished().ok_or("interrupted")?);
/// assert_eq!((totals.diameter, totals.radius, totals.checksum), (Some(10), Some(6), 33));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct AllPairs<'a> {
    /// Keeps how far the run has come, and goes on from there.
    pub checkpoint: Option<Checkpoint<'a>>,
    /// Is called after every sweep, by the thread that made it; so it should be quick.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the run when set, after the sweeps under way; a signal's handler may set it.
    pub stop: Option<&'a AtomicBool>,
    /// Writes all distances to this file, as NumPy's `.npy` of `u32` (`u64` where they need it): a row for each source in
    /// the order given, a column for each node or target.
    pub matrix: Option<&'a Path>,
}

impl fmt::Debug for AllPairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllPairs")
            .field("checkpoint", &self.checkpoint)
            .field("matrix", &self.matrix)
            .finish_non_exhaustive()
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
    /// The summary of each source, in the order given; `None` for those it was stopped before.
    pub summaries: Vec<Option<Summary>>,
    /// How many of them an earlier run had done.
    pub resumed: usize,
}

impl Outcome {
    /// The summaries of all sources; `None` if the run was stopped.
    #[must_use]
    pub fn finished(&self) -> Option<Vec<Summary>> {
        self.summaries.iter().copied().collect()
    }
}

/// What the threads share.
struct Ledger {
    known: Vec<Option<Summary>>,
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
    pub fn run(&self, sweeps: &mut Sweeps<'_>, sources: &[Node]) -> Result<Outcome, HierarchyError> {
        let begin = Instant::now();
        let blocks = Blocks::new(sweeps.hierarchy(), sources)?;
        let question = sweeps.question().with_all(sources.iter().map(|source| u64::from(*source)));
        let found = match &self.checkpoint {
            Some(checkpoint) => checkpoint::read(checkpoint.path, question, sources.len())?,
            None => None,
        };
        let matrix = match self.matrix {
            Some(path) => {
                let columns = sweeps.columns();
                Some(Matrix::create(path, sources.len(), columns, sweeps.is_wide(), found.is_some())?)
            }
            None => None,
        };
        let known = found.unwrap_or_else(|| vec![None; sources.len()]);
        let resumed = known.iter().flatten().count();
        let done_before: Vec<bool> = (0..blocks.count())
            .map(|block| blocks.indices(block).all(|index| known[index].is_some()))
            .collect();
        let ledger = Mutex::new(Ledger { known, done: resumed, saved: begin });
        let never = AtomicBool::new(false);
        let stop = self.stop.unwrap_or(&never);
        let leave_out = |block: usize| done_before[block];
        let done = |block: usize, summaries: &[Summary]| {
            let mut ledger = lock(&ledger);
            for (index, summary) in blocks.indices(block).zip(summaries) {
                ledger.done += usize::from(ledger.known[index].replace(*summary).is_none());
            }
            if let Some(progress) = self.progress {
                progress(Progress {
                    done: ledger.done,
                    done_now: ledger.done - resumed,
                    sources: sources.len(),
                    elapsed: begin.elapsed(),
                });
            }
            match &self.checkpoint {
                Some(checkpoint) if ledger.saved.elapsed() >= checkpoint.every => {
                    save(checkpoint, question, matrix.as_ref(), &mut ledger)
                }
                _ => Ok(()),
            }
        };
        match &matrix {
            None => sweeps.run(&blocks, stop, leave_out, &Summarise { done })?,
            Some(matrix) => {
                let columns = sweeps.told();
                let put = |index: usize, values: super::consumers::Values<'_>| matrix.put(index, values);
                let width = sweeps.columns();
                let table = Tabulate { columns: &columns, width, blocks: &blocks, put, done };
                sweeps.run(&blocks, stop, leave_out, &table)?;
            }
        }
        let mut ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(checkpoint) = &self.checkpoint
            && ledger.done > resumed
        {
            save(checkpoint, question, matrix.as_ref(), &mut ledger)?;
        } else if let Some(matrix) = &matrix {
            matrix.sync()?;
        }
        debug_assert!(ledger.done == sources.len() || stop.load(Ordering::Relaxed));
        Ok(Outcome { summaries: ledger.known, resumed })
    }
}

/// The rows first: what the checkpoint calls done must be on the disk.
fn save(
    checkpoint: &Checkpoint<'_>,
    question: Fingerprint,
    matrix: Option<&Matrix>,
    ledger: &mut Ledger,
) -> Result<(), HierarchyError> {
    matrix.map_or(Ok(()), Matrix::sync)?;
    checkpoint::write(checkpoint.path, question, &ledger.known)?;
    ledger.saved = Instant::now();
    Ok(())
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
