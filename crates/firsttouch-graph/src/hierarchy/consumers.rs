//! What becomes of the distances that sweeps show: summaries, tables in memory, reductions of others.

use super::asked::{Blocks, Columns};
use super::length::Length;
use super::row::{LANES, Row};
use super::simd::{Instructions, Simd};
use super::summary;
use super::sweep::{Consumer, Shown};
use crate::file::FileError;
use crate::histogram::Histogram;
use crate::search::Distances;
use crate::{Node, UNREACHED};
use firsttouch_documents::Summary;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Distances from some sources to all nodes, or to some, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: usize,
    values: Values,
}

/// Source after source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Table {
    pub(super) fn new(columns: usize, values: Values) -> Table {
        Table { columns, values }
    }

    /// From one of the sources, by its place among those given, to every node or target.
    ///
    /// # Panics
    ///
    /// If there is no such source.
    #[must_use]
    pub fn row(&self, source: usize) -> Distances<'_> {
        let row = source * self.columns..(source + 1) * self.columns;
        match &self.values {
            Values::Narrow(values) => Distances::Narrow(&values[row]),
            Values::Wide(values) => Distances::Wide(&values[row]),
        }
    }
}

/// A length as callers see it: the largest number of its width where no path leads.
pub(super) trait Reported: Length {
    const UNREACHED: Self;

    fn distances(values: &[Self]) -> Distances<'_>;
    fn rows(rows: &[Row<Self>]) -> Rows<'_>;

    fn reported(self) -> Self {
        if self < Self::NONE { self } else { Self::UNREACHED }
    }
}

impl Reported for u32 {
    const UNREACHED: u32 = UNREACHED;

    fn distances(values: &[u32]) -> Distances<'_> {
        Distances::Narrow(values)
    }

    fn rows(rows: &[Row<u32>]) -> Rows<'_> {
        Rows::Narrow(rows)
    }
}

impl Reported for u64 {
    const UNREACHED: u64 = u64::MAX;

    fn distances(values: &[u64]) -> Distances<'_> {
        Distances::Wide(values)
    }

    fn rows(rows: &[Row<u64>]) -> Rows<'_> {
        Rows::Wide(rows)
    }
}

/// Something that is computed of all distances while they are found, by each thread for itself.
pub trait Reduction: Send {
    /// Some nodes, and their distances from the sources of one sweep. Each pair of a source and a node is seen once;
    /// nodes that hang together with no source of the sweep may not be seen.
    fn see(&mut self, seen: &Seen<'_>);
}

/// Distances of some nodes from the sources of a sweep.
#[derive(Debug)]
pub struct Seen<'a> {
    sources: &'a [Node],
    nodes: &'a [Node],
    rows: Rows<'a>,
}

#[derive(Debug)]
pub(super) enum Rows<'a> {
    Narrow(&'a [Row<u32>]),
    Wide(&'a [Row<u64>]),
}

impl Seen<'_> {
    /// The sources, at most [`super::SOURCES_AT_ONCE`].
    #[must_use]
    pub fn sources(&self) -> &[Node] {
        self.sources
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        self.nodes
    }

    /// The distance from a source to a node, both by their places in the lists; `None` where no path leads.
    ///
    /// # Panics
    ///
    /// If a list has no such place.
    #[must_use]
    pub fn distance(&self, source: usize, node: usize) -> Option<u64> {
        assert!(source < self.sources.len(), "there are {} sources", self.sources.len());
        match &self.rows {
            Rows::Narrow(rows) => {
                Some(rows[node].0[source]).filter(|length| *length < u32::NONE).map(u64::from)
            }
            Rows::Wide(rows) => Some(rows[node].0[source]).filter(|length| *length < u64::NONE),
        }
    }
}

impl Reduction for Histogram {
    fn see(&mut self, seen: &Seen<'_>) {
        for node in 0..seen.nodes().len() {
            for source in 0..seen.sources().len() {
                if let Some(distance) = seen.distance(source, node) {
                    self.add(distance);
                }
            }
        }
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

impl<T: Reported + Simd> Consumer<T> for Accumulate<'_> {
    type State = Accumulating<T>;

    fn begin(&self) -> Accumulating<T> {
        Accumulating {
            began: Instant::now(),
            summaries: Vec::with_capacity(LANES),
            new: Vec::with_capacity(LANES),
            values: Vec::new(),
            histogram: self.accumulator.wants_histogram().then(Histogram::default),
        }
    }

    fn start(&self, state: &mut Accumulating<T>, block: usize, sources: usize) {
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

    fn show(&self, state: &mut Accumulating<T>, by: Instructions, shown: Shown<'_, T>) {
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

    fn end(&self, state: &mut Accumulating<T>, block: usize) -> Result<(), FileError> {
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

/// A reduction of the caller's.
pub(super) struct Reduce<'a, B, R> {
    pub(super) begin: B,
    /// Where threads leave theirs when they have finished.
    pub(super) finished: &'a Mutex<Vec<R>>,
    pub(super) blocks: &'a Blocks,
    pub(super) sources: &'a [Node],
}

impl<T: Reported, B: Fn() -> R + Sync, R: Reduction> Consumer<T> for Reduce<'_, B, R> {
    type State = (R, Vec<Node>);

    fn begin(&self) -> (R, Vec<Node>) {
        ((self.begin)(), Vec::with_capacity(LANES))
    }

    fn start(&self, (_, sources): &mut (R, Vec<Node>), block: usize, _sources: usize) {
        sources.clear();
        sources.extend(self.blocks.indices(block).map(|index| self.sources[index]));
    }

    fn show(&self, (reduction, sources): &mut (R, Vec<Node>), _by: Instructions, shown: Shown<'_, T>) {
        reduction.see(&Seen { sources, nodes: shown.nodes, rows: T::rows(shown.rows) });
    }

    fn end(&self, _state: &mut (R, Vec<Node>), _block: usize) -> Result<(), FileError> {
        Ok(())
    }

    fn finish(&self, (reduction, _): (R, Vec<Node>)) {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(reduction);
    }
}
