//! What becomes of the distances that sweeps show: summaries, histograms, rows.

use super::asked::{Blocks, Columns};
use super::length::Length;
use super::row::LANES;
use super::simd::{Instructions, Simd};
use super::summary;
use super::sweep::Shown;
use crate::UNREACHED;
use crate::file::FileError;
use crate::histogram::Histogram;
use crate::search::Distances;
use firsttouch_documents::Summary;
use std::time::{Duration, Instant};

/// A length as callers see it: the largest number of its width where no path leads.
pub(super) trait Reported: Length {
    const UNREACHED: Self;

    fn distances(values: &[Self]) -> Distances<'_>;

    fn reported(self) -> Self {
        if self < Self::NONE { self } else { Self::UNREACHED }
    }
}

impl Reported for u32 {
    const UNREACHED: u32 = UNREACHED;

    fn distances(values: &[u32]) -> Distances<'_> {
        Distances::Narrow(values)
    }
}

impl Reported for u64 {
    const UNREACHED: u64 = u64::MAX;

    fn distances(values: &[u64]) -> Distances<'_> {
        Distances::Wide(values)
    }
}

/// What was found from the sources of one sweep, as far as it was not known before.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Sources by their places among those given, and what their distances come to.
    pub(crate) summaries: &'a [(usize, Summary)],
    /// All their distances, where these are to be counted.
    pub(crate) histogram: Option<&'a Histogram>,
}

/// Who keeps something of the distances from each source.
pub(crate) trait Accumulator: Sync {
    /// Whether a source is known already: nobody reports it again.
    fn knows(&self, _index: usize) -> bool {
        false
    }

    /// Whether all distances from a source are wanted.
    fn wants_rows(&self) -> bool {
        false
    }

    /// Whether distances are to be counted.
    fn wants_histogram(&self) -> bool {
        false
    }

    /// All distances from a source, to every node or target, if they are wanted; `took` is its share of the time of the sweep.
    fn row(&self, _index: usize, _row: Distances<'_>, _took: Duration) -> Result<(), FileError> {
        Ok(())
    }

    /// Some sources are done.
    fn done(&self, _found: &Found<'_>) -> Result<(), FileError> {
        Ok(())
    }
}

/// Gives an accumulator what it wants of each sweep.
pub(super) struct Accumulate<'a> {
    pub(super) accumulator: &'a dyn Accumulator,
    pub(super) blocks: &'a Blocks,
    pub(super) columns: &'a Columns,
    /// How many distances a source has.
    pub(super) width: usize,
}

/// What a thread keeps of its sweep.
pub(super) struct Accumulating<T> {
    began: Instant,
    summaries: Vec<Summary>,
    /// Lanes of which nothing is known yet.
    new: Vec<usize>,
    /// The rows of the sources, by columns at last; empty if they are not wanted.
    values: Vec<T>,
    histogram: Option<Histogram>,
}

impl Accumulate<'_> {
    /// For the sweeps of one thread.
    pub(super) fn begin<T>(&self) -> Accumulating<T> {
        Accumulating {
            began: Instant::now(),
            summaries: Vec::with_capacity(LANES),
            new: Vec::with_capacity(LANES),
            values: Vec::new(),
            histogram: self.accumulator.wants_histogram().then(Histogram::default),
        }
    }

    /// A sweep begins.
    pub(super) fn start<T: Reported>(&self, state: &mut Accumulating<T>, block: usize, sources: usize) {
        state.began = Instant::now();
        state.summaries.clear();
        state.summaries.resize(sources, Summary::default());
        state.new.clear();
        let lanes = self.blocks.indices(block).enumerate();
        state.new.extend(lanes.filter(|(_, index)| !self.accumulator.knows(*index)).map(|(lane, _)| lane));
        if self.accumulator.wants_rows() {
            state.values.clear();
            state.values.resize(sources * self.width, T::UNREACHED);
        }
        if state.histogram.is_some() {
            state.histogram = Some(Histogram::default());
        }
    }

    pub(super) fn show<T: Reported + Simd>(
        &self,
        state: &mut Accumulating<T>,
        by: Instructions,
        shown: Shown<'_, T>,
    ) {
        summary::add(by, shown.rows, &mut state.summaries);
        if let Some(histogram) = &mut state.histogram {
            for row in shown.rows {
                for lane in &state.new {
                    if row.0[*lane] < T::NONE {
                        histogram.add(row.0[*lane].wide());
                    }
                }
            }
        }
        if !state.values.is_empty() {
            for (lane, row) in state.values.chunks_exact_mut(self.width).enumerate() {
                for (node, lengths) in shown.nodes.iter().zip(shown.rows) {
                    row[self.columns.of(*node)] = lengths.0[lane].reported();
                }
            }
        }
    }

    /// The sweep has shown all.
    pub(super) fn end<T: Reported>(
        &self,
        state: &mut Accumulating<T>,
        block: usize,
    ) -> Result<(), FileError> {
        let took = state.began.elapsed() / state.summaries.len().max(1) as u32;
        let indices: Vec<usize> = self.blocks.indices(block).collect();
        if self.accumulator.wants_rows() {
            for lane in &state.new {
                let row = &mut state.values[lane * self.width..(lane + 1) * self.width];
                self.columns.repeat(row);
                self.accumulator.row(indices[*lane], T::distances(row), took)?;
            }
        }
        let summaries: Vec<(usize, Summary)> =
            state.new.iter().map(|lane| (indices[*lane], state.summaries[*lane])).collect();
        self.accumulator.done(&Found { summaries: &summaries, histogram: state.histogram.as_ref() })
    }
}
