//! A long run by one process, interrupted and resumed.

use super::checkpoint::{self, Checkpoint};
use super::engine::Engine;
use super::error::AllPairsError;
use super::matrix::Matrix;
use super::stored::{AllPairsOutcome, AllPairsProgress, Stored};
use crate::Node;
use crate::file::FileError;
use crate::fingerprint::Fingerprint;
use crate::hierarchy::{Accumulator, Found};
use crate::histogram::Histogram;
use crate::search::Distances;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From every one of many sources to all nodes, or to the targets of [`PhastQuery`](crate::hierarchy::PhastQuery) or
/// [`Searches`](crate::Searches).
///
/// ```
/// use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, PhastQuery};
/// use firsttouch_graph::{AllPairs, Graph, Totals};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 2, 5), (2, 0, 1)])?;
/// let hierarchy = Hierarchy::build(&graph, &HierarchyOptions::default())?;
/// let mut team = Team::new(&[vec![0]])?;
/// let mut phast = PhastQuery::new(&hierarchy, &mut team);
/// let stored = AllPairs::default().run(&mut phast, &[0, 1, 2])?.stored;
/// let totals = Totals::of(stored.summaries.iter().flatten());
/// assert_eq!((totals.farthest, totals.checksum), (10, 33));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct AllPairs<'a> {
    /// Keeps how far the run has come, and goes on from there.
    pub checkpoint: Option<Checkpoint<'a>>,
    /// Is called when some sources are done, by the thread that found them; so it should be quick.
    pub progress: Option<&'a (dyn Fn(AllPairsProgress) + Sync)>,
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

/// What the threads share.
pub(super) struct Ledger {
    stored: Stored,
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
    ) -> Result<AllPairsOutcome, AllPairsError>
    where
        'a: 'b,
    {
        self.run_by(engine.into(), sources)
    }

    /// The same, which is compiled once.
    fn run_by(&self, mut engine: Engine<'_, '_>, sources: &[Node]) -> Result<AllPairsOutcome, AllPairsError> {
        let run = self.begin(&engine, sources)?;
        let stop = || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        engine.accumulate(sources, &stop, &run)?;
        let resumed = run.resumed;
        Ok(AllPairsOutcome { stored: run.finish()?, resumed })
    }

    /// A run, with what an earlier one has found.
    pub(super) fn begin(&self, engine: &Engine<'_, '_>, sources: &[Node]) -> Result<Run<'_>, AllPairsError> {
        let saved = Instant::now();
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
        let stored = found.unwrap_or_else(|| Stored {
            summaries: vec![None; sources.len()],
            histogram: self.histogram.then(Histogram::default),
        });
        let resumed = stored.done();
        let known = stored.summaries.iter().map(Option::is_some).collect();
        let ledger = Mutex::new(Ledger { stored, done: resumed, saved });
        Ok(Run { settings: self, question, resumed, known, matrix, ledger })
    }
}

/// A run under way.
pub(super) struct Run<'a> {
    pub(super) settings: &'a AllPairs<'a>,
    /// What is asked, if there is a checkpoint.
    question: Option<Fingerprint>,
    pub(super) resumed: usize,
    /// Sources that an earlier run had done.
    pub(super) known: Vec<bool>,
    matrix: Option<Matrix>,
    pub(super) ledger: Mutex<Ledger>,
}

impl Run<'_> {
    pub(super) fn finish(self) -> Result<Stored, FileError> {
        let mut ledger = lock(&self.ledger);
        if self.settings.checkpoint.is_some() && ledger.done > self.resumed {
            self.save(&mut ledger)?;
        } else if let Some(matrix) = &self.matrix {
            matrix.sync()?;
        }
        Ok(std::mem::take(&mut ledger.stored))
    }

    /// The rows first: what the checkpoint calls done must be on the disk.
    pub(super) fn save(&self, ledger: &mut Ledger) -> Result<(), FileError> {
        let Some((checkpoint, question)) = self.settings.checkpoint.zip(self.question) else { return Ok(()) };
        self.matrix.as_ref().map_or(Ok(()), Matrix::sync)?;
        checkpoint::write(checkpoint.path, question, &ledger.stored)?;
        ledger.saved = Instant::now();
        Ok(())
    }
}

impl Accumulator for Run<'_> {
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
            ledger.done += usize::from(ledger.stored.summaries[*index].replace(*summary).is_none());
        }
        if let (Some(all), Some(more)) = (&mut ledger.stored.histogram, found.histogram) {
            all.merge(more);
        }
        if let Some(progress) = self.settings.progress {
            progress(AllPairsProgress { done: ledger.done, done_now: ledger.done - self.resumed });
        }
        match &self.settings.checkpoint {
            Some(checkpoint) if ledger.saved.elapsed() >= checkpoint.every => self.save(ledger),
            _ => Ok(()),
        }
    }
}

pub(super) fn lock<'a>(ledger: &'a Mutex<Ledger>) -> MutexGuard<'a, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
