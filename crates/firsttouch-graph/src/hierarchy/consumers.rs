//! What becomes of the distances that sweeps show: summaries, tables in memory, reductions of others.

use super::HierarchyError;
use super::lanes::{Instructions, LANES, Lanes, Row};
use super::length::Length;
use super::summary::{self, Summary};
use super::sweep::Shown;
use super::sweeps::{Blocks, Columns, Consumer};
use crate::Node;
use std::sync::{Mutex, PoisonError};

/// Distances from some sources to all nodes, or to some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distances {
    /// Of 32 bits.
    Narrow {
        /// How many of each source.
        columns: usize,
        /// Source after source; `u32::MAX` where no way leads.
        values: Vec<u32>,
    },
    /// Of 64 bits.
    Wide {
        /// How many of each source.
        columns: usize,
        /// Source after source; `u64::MAX` where no way leads.
        values: Vec<u64>,
    },
}

impl Distances {
    /// From one of the sources, in the order they were given, to a node or to one of the targets.
    ///
    /// # Panics
    ///
    /// If there is no such source or node.
    #[must_use]
    pub fn get(&self, source: usize, column: usize) -> Option<u64> {
        match self {
            Distances::Narrow { columns, values } => {
                assert!(column < *columns, "a source has {columns} distances");
                Some(values[source * columns + column]).filter(|value| *value < u32::MAX).map(u64::from)
            }
            Distances::Wide { columns, values } => {
                assert!(column < *columns, "a source has {columns} distances");
                Some(values[source * columns + column]).filter(|value| *value < u64::MAX)
            }
        }
    }
}

/// A length as it is told: the largest number of its width where no way leads.
pub(super) trait Told: Length {
    const UNREACHED: Self;

    fn values(values: &[Self]) -> Values<'_>;
    fn rows(rows: &[Row<Self>]) -> Rows<'_>;

    fn told(self) -> Self {
        if self < Self::NONE { self } else { Self::UNREACHED }
    }
}

impl Told for u32 {
    const UNREACHED: u32 = u32::MAX;

    fn values(values: &[u32]) -> Values<'_> {
        Values::Narrow(values)
    }

    fn rows(rows: &[Row<u32>]) -> Rows<'_> {
        Rows::Narrow(rows)
    }
}

impl Told for u64 {
    const UNREACHED: u64 = u64::MAX;

    fn values(values: &[u64]) -> Values<'_> {
        Values::Wide(values)
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

    /// The distance from a source to a node, both by their places in the lists; `None` where no way leads.
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

/// How many distances there are of each length, in classes of one width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    width: u64,
    counts: Vec<u64>,
}

impl Histogram {
    /// Classes `[0, width)`, `[width, 2 width)`, …; the last of `classes` takes what is longer.
    ///
    /// # Panics
    ///
    /// If the width or the number of classes is 0.
    #[must_use]
    pub fn new(width: u64, classes: usize) -> Histogram {
        assert!(width > 0 && classes > 0, "a histogram has classes, and they have a width");
        Histogram { width, counts: vec![0; classes] }
    }

    /// How many distances fell into each class.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Adds another thread's counts.
    ///
    /// # Panics
    ///
    /// If the classes are others.
    pub fn merge(&mut self, other: &Histogram) {
        assert!(self.width == other.width && self.counts.len() == other.counts.len(), "the same classes");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }
}

impl Reduction for Histogram {
    fn see(&mut self, seen: &Seen<'_>) {
        let last = self.counts.len() - 1;
        for source in 0..seen.sources().len() {
            for node in 0..seen.nodes().len() {
                if let Some(distance) = seen.distance(source, node) {
                    self.counts[last.min((distance / self.width) as usize)] += 1;
                }
            }
        }
    }
}

/// Summaries of the sources of each block.
pub(super) struct Summarise<D> {
    /// Is told of every block that is done.
    pub(super) done: D,
}

impl<T, D> Consumer<T> for Summarise<D>
where
    T: Lanes,
    D: Fn(usize, &[Summary]) -> Result<(), HierarchyError> + Sync,
{
    type State = Vec<Summary>;

    fn begin(&self) -> Vec<Summary> {
        Vec::with_capacity(LANES)
    }

    fn start(&self, state: &mut Vec<Summary>, _block: usize, sources: usize) {
        state.clear();
        state.resize(sources, Summary::default());
    }

    fn show(&self, state: &mut Vec<Summary>, by: Instructions, shown: Shown<'_, T>) {
        summary::add(by, shown.rows, state);
    }

    fn end(&self, state: &mut Vec<Summary>, block: usize) -> Result<(), HierarchyError> {
        (self.done)(block, state)
    }
}

/// The distances from one source, for each node or target.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values<'a> {
    Narrow(&'a [u32]),
    Wide(&'a [u64]),
}

/// All distances of each source, and their summary.
pub(super) struct Tabulate<'a, P, D> {
    pub(super) columns: &'a Columns,
    /// How many distances a source has.
    pub(super) width: usize,
    pub(super) blocks: &'a Blocks,
    /// Is given the distances from each source, by its place among them.
    pub(super) put: P,
    /// Is told of every block that is done, after that.
    pub(super) done: D,
}

/// The rows of the sources of one sweep, by columns at last.
pub(super) struct Table<T> {
    summaries: Vec<Summary>,
    values: Vec<T>,
}

impl<T, P, D> Consumer<T> for Tabulate<'_, P, D>
where
    T: Told + Lanes,
    P: Fn(usize, Values<'_>) -> Result<(), HierarchyError> + Sync,
    D: Fn(usize, &[Summary]) -> Result<(), HierarchyError> + Sync,
{
    type State = Table<T>;

    fn begin(&self) -> Table<T> {
        Table { summaries: Vec::with_capacity(LANES), values: Vec::new() }
    }

    fn start(&self, state: &mut Table<T>, _block: usize, sources: usize) {
        state.summaries.clear();
        state.summaries.resize(sources, Summary::default());
        state.values.clear();
        state.values.resize(sources * self.width, T::UNREACHED);
    }

    fn show(&self, state: &mut Table<T>, by: Instructions, shown: Shown<'_, T>) {
        summary::add(by, shown.rows, &mut state.summaries);
        for (lane, row) in state.values.chunks_exact_mut(self.width.max(1)).enumerate() {
            for (node, lengths) in shown.nodes.iter().zip(shown.rows) {
                row[self.columns.of(*node)] = lengths.0[lane].told();
            }
        }
    }

    fn end(&self, state: &mut Table<T>, block: usize) -> Result<(), HierarchyError> {
        for (index, row) in self.blocks.indices(block).zip(state.values.chunks_exact_mut(self.width.max(1))) {
            self.columns.repeat(row);
            (self.put)(index, T::values(row))?;
        }
        (self.done)(block, &state.summaries)
    }
}

/// A reduction of the caller's.
pub(super) struct Reduce<'a, B, R> {
    pub(super) begin: B,
    /// Where threads leave theirs when they have finished.
    pub(super) kept: &'a Mutex<Vec<R>>,
    pub(super) blocks: &'a Blocks,
    pub(super) sources: &'a [Node],
}

impl<T: Told, B: Fn() -> R + Sync, R: Reduction> Consumer<T> for Reduce<'_, B, R> {
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

    fn end(&self, _state: &mut (R, Vec<Node>), _block: usize) -> Result<(), HierarchyError> {
        Ok(())
    }

    fn finish(&self, (reduction, _): (R, Vec<Node>)) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(reduction);
    }
}
