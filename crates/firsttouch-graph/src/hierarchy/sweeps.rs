//! Sweeps from many sources, shared out among the threads of a team.

use super::consumers::{Distances, Reduce, Reduction, Summarise, Tabulate, Told, Values};
use super::fingerprint::Fingerprint;
use super::lanes::{Instructions, LANES, Lanes, Row};
use super::length::Length;
use super::program::Program;
use super::summary::Summary;
use super::sweep::{Shown, Sweeper, Upward};
use super::tree::Tree;
use super::{Hierarchy, HierarchyError, Lengths};
use crate::Node;
use firsttouch_threads::{PerGroup, Team};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sources whose sweeps are one: a [`Reduction`] is shown so many at a time, at most.
pub const SOURCES_AT_ONCE: usize = LANES;

/// Sweeps over a hierarchy by the threads of a team. Each group of the team has its own copy of the arcs, in memory that
/// it touched first; each thread keeps a few rows of distances, which stay in its caches.
///
/// ```
/// use firsttouch_graph::Graph;
/// use firsttouch_graph::hierarchy::{Hierarchy, Options, Sweeps};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 5), (0, 2, 20), (2, 0, 1)])?;
/// let hierarchy = Hierarchy::build(&graph, &Options::default())?;
/// let mut team = Team::new(&[vec![0]])?;
/// let mut sweeps = Sweeps::new(&hierarchy, &mut team);
/// let distances = sweeps.distances(&[0, 2])?;
/// assert_eq!(distances.get(0, 2), Some(10));
/// assert_eq!(distances.get(1, 1), Some(6));
/// assert_eq!(distances.get(1, 3), None); // node 3 has no arcs
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sweeps<'a> {
    hierarchy: &'a Hierarchy,
    team: &'a mut Team,
    by: Instructions,
    /// The column of each node in what is answered.
    columns: Arc<Columns>,
    limit: Option<u64>,
    ready: Ready,
}

/// Which distances are told, in which order.
#[derive(Debug)]
pub(super) enum Columns {
    /// Of all nodes.
    Nodes,
    /// Of targets. For each node, the first of the targets it is, or `u32::MAX`; and for each target the first that is the
    /// same.
    Targets { first: Vec<u32>, same_as: Vec<u32> },
}

impl Columns {
    pub(super) fn of(&self, node: Node) -> usize {
        match self {
            Columns::Nodes => node as usize,
            Columns::Targets { first, .. } => first[node as usize] as usize,
        }
    }

    /// Fills in the targets that are told more than once.
    pub(super) fn repeat<V: Copy>(&self, row: &mut [V]) {
        if let Columns::Targets { same_as, .. } = self {
            for (column, first) in same_as.iter().enumerate() {
                row[column] = row[*first as usize];
            }
        }
    }
}

#[derive(Debug)]
enum Ready {
    Narrow(PerGroup<Prepared<u32>>),
    Wide(PerGroup<Prepared<u64>>),
}

#[derive(Clone, Debug)]
struct Prepared<T> {
    upward: Upward<T>,
    program: Program<T>,
}

/// Calls with the prepared programs, whichever width they have.
macro_rules! for_width {
    ($sweeps:expr, $prepared:ident => $call:expr) => {
        match &$sweeps.ready {
            Ready::Narrow($prepared) => $call,
            Ready::Wide($prepared) => $call,
        }
    };
}

impl<'a> Sweeps<'a> {
    /// Sweeps to all nodes.
    #[must_use]
    pub fn new(hierarchy: &'a Hierarchy, team: &'a mut Team) -> Sweeps<'a> {
        Sweeps::prepare(hierarchy, team, None, Columns::Nodes)
    }

    /// Sweeps to some nodes, and those above them only (RPHAST: Delling, Goldberg and Werneck, 2011): many-to-many.
    ///
    /// # Errors
    ///
    /// If a target is not there.
    pub fn to(
        hierarchy: &'a Hierarchy,
        team: &'a mut Team,
        targets: &[Node],
    ) -> Result<Sweeps<'a>, HierarchyError> {
        let tree = &hierarchy.tree;
        exist(targets, tree.len())?;
        let mut first = vec![u32::MAX; tree.len()];
        let mut same_as = Vec::with_capacity(targets.len());
        let mut needed = vec![false; tree.len()];
        for (column, target) in targets.iter().enumerate() {
            let place = &mut first[*target as usize];
            *place = (*place).min(column as u32);
            same_as.push(*place);
            let mut at = tree.positions[*target as usize];
            while at != super::tree::NONE && !std::mem::replace(&mut needed[at as usize], true) {
                at = tree.parents[at as usize];
            }
        }
        let only: Vec<u32> = (0..tree.len() as u32).filter(|position| needed[*position as usize]).collect();
        Ok(Sweeps::prepare(hierarchy, team, Some(&only), Columns::Targets { first, same_as }))
    }

    fn prepare(
        hierarchy: &'a Hierarchy,
        team: &'a mut Team,
        only: Option<&[u32]>,
        columns: Columns,
    ) -> Sweeps<'a> {
        fn prepared<T: Lanes>(
            tree: &Tree,
            lengths: &[[T; 2]],
            only: Option<&[u32]>,
            team: &mut Team,
        ) -> PerGroup<Prepared<T>> {
            let program = Program::new(tree, lengths, only, team.size());
            let first = Prepared { upward: Upward::new(tree, lengths), program };
            PerGroup::new(team, |_| first.clone())
        }
        let tree = &hierarchy.tree;
        let ready = match &hierarchy.lengths {
            Lengths::Narrow(lengths) => Ready::Narrow(prepared(tree, lengths, only, team)),
            Lengths::Wide(lengths) => Ready::Wide(prepared(tree, lengths, only, team)),
        };
        Sweeps { hierarchy, team, by: Instructions::best(), columns: Arc::new(columns), limit: None, ready }
    }

    /// With these instructions in place of the widest.
    ///
    /// # Panics
    /// If this processor does not have them.
    #[must_use]
    pub fn with_instructions(mut self, by: Instructions) -> Sweeps<'a> {
        assert!(by.are_available(), "the processor has no {by}");
        self.by = by;
        self
    }

    /// Nodes farther than this count as not reached.
    #[must_use]
    pub fn within(mut self, limit: u64) -> Sweeps<'a> {
        self.limit = Some(limit);
        self
    }

    /// The instructions it sweeps with.
    #[must_use]
    pub fn instructions(&self) -> Instructions {
        self.by
    }

    /// The bytes of arcs that each sweep reads; each group has a copy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        for_width!(self, prepared => prepared.iter().next().map_or(0, |first| first.program.arcs.bytes()))
    }

    /// The bytes of distances that each thread keeps, in place of one row for every node.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        fn of<T: Length>(prepared: &PerGroup<Prepared<T>>) -> usize {
            prepared.iter().next().map_or(0, |first| first.program.arcs.rows() * size_of::<Row<T>>())
        }
        for_width!(self, prepared => of(prepared))
    }

    /// Whether distances are of 64 bits.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        matches!(self.ready, Ready::Wide(_))
    }

    /// How many distances are told of each source.
    #[must_use]
    pub fn columns(&self) -> usize {
        match &*self.columns {
            Columns::Nodes => self.hierarchy.nodes(),
            Columns::Targets { same_as, .. } => same_as.len(),
        }
    }

    /// What is asked, but for the sources: the graph with its weights, targets and limit.
    pub(super) fn question(&self) -> Fingerprint {
        let question = self.hierarchy.fingerprint.with(self.limit.unwrap_or(u64::MAX));
        match &*self.columns {
            Columns::Nodes => question,
            Columns::Targets { first, .. } => {
                question.with_all(first.iter().map(|column| u64::from(*column)))
            }
        }
    }

    pub(super) fn told(&self) -> Arc<Columns> {
        Arc::clone(&self.columns)
    }

    pub(super) fn hierarchy(&self) -> &Hierarchy {
        self.hierarchy
    }

    /// The summary of the distances from each source, in the order of the sources.
    ///
    /// # Errors
    ///
    /// If a source is not there.
    pub fn summaries(&mut self, sources: &[Node]) -> Result<Vec<Summary>, HierarchyError> {
        let blocks = Blocks::new(self.hierarchy, sources)?;
        let summaries = Mutex::new(vec![Summary::default(); sources.len()]);
        let keep = |block: usize, found: &[Summary]| {
            let mut summaries = summaries.lock().unwrap_or_else(PoisonError::into_inner);
            for (index, summary) in blocks.indices(block).zip(found) {
                summaries[index] = *summary;
            }
            Ok(())
        };
        self.run(&blocks, &AtomicBool::new(false), |_| false, &Summarise { done: keep })?;
        Ok(summaries.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// All distances from each source: one for each node (or target) and source, in memory.
    ///
    /// # Errors
    ///
    /// If a source is not there.
    pub fn distances(&mut self, sources: &[Node]) -> Result<Distances, HierarchyError> {
        let blocks = Blocks::new(self.hierarchy, sources)?;
        let columns = self.columns();
        let never = AtomicBool::new(false);
        let which = self.told();
        let mut narrow = if self.is_wide() { Vec::new() } else { vec![u32::MAX; sources.len() * columns] };
        let mut wide = if self.is_wide() { vec![u64::MAX; sources.len() * columns] } else { Vec::new() };
        {
            let narrow: Vec<_> = narrow.chunks_mut(columns.max(1)).map(Mutex::new).collect();
            let wide: Vec<_> = wide.chunks_mut(columns.max(1)).map(Mutex::new).collect();
            let put = |index: usize, values: Values<'_>| {
                match values {
                    Values::Narrow(values) => copy(&narrow[index], values),
                    Values::Wide(values) => copy(&wide[index], values),
                }
                Ok(())
            };
            let consumer = Tabulate {
                columns: &which,
                width: columns,
                blocks: &blocks,
                put,
                done: |_, _: &[Summary]| Ok(()),
            };
            self.run(&blocks, &never, |_| false, &consumer)?;
        }
        Ok(if self.is_wide() {
            Distances::Wide { columns, values: wide }
        } else {
            Distances::Narrow { columns, values: narrow }
        })
    }

    /// Shows all distances from all sources to reductions, one for each thread, made by `begin`, and answers these.
    ///
    /// # Errors
    ///
    /// If a source is not there.
    pub fn reduce<R: Reduction>(
        &mut self,
        sources: &[Node],
        begin: impl Fn() -> R + Sync,
    ) -> Result<Vec<R>, HierarchyError> {
        let blocks = Blocks::new(self.hierarchy, sources)?;
        let kept = Mutex::new(Vec::new());
        let consumer = Reduce { begin, kept: &kept, blocks: &blocks, sources };
        self.run(&blocks, &AtomicBool::new(false), |_| false, &consumer)?;
        Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sweeps from the sources of every block that is not to be left out, and shows what is found, until an error or until
    /// `stop` is set.
    pub(super) fn run(
        &mut self,
        blocks: &Blocks,
        stop: &AtomicBool,
        leave_out: impl Fn(usize) -> bool + Sync,
        consumer: &(impl Consumer<u32> + Consumer<u64>),
    ) -> Result<(), HierarchyError> {
        let work = Work {
            tree: &self.hierarchy.tree,
            by: self.by,
            columns: &Arc::clone(&self.columns),
            limit: self.limit,
            blocks,
            stop,
            leave_out,
        };
        match &self.ready {
            Ready::Narrow(prepared) => work.share_out(self.team, prepared, consumer),
            Ready::Wide(prepared) => work.share_out(self.team, prepared, consumer),
        }
    }
}

/// What becomes of the distances.
pub(super) trait Consumer<T>: Sync {
    /// What a thread keeps.
    type State;
    fn begin(&self) -> Self::State;
    /// A sweep begins.
    fn start(&self, state: &mut Self::State, block: usize, sources: usize);
    fn show(&self, state: &mut Self::State, by: Instructions, shown: Shown<'_, T>);
    /// The sweep has shown all.
    fn end(&self, state: &mut Self::State, block: usize) -> Result<(), HierarchyError>;
    /// There are no more sweeps for this thread.
    fn finish(&self, _state: Self::State) {}
}

/// Sources in the order in which they are swept, [`LANES`] at a time: those that are near each other in the tree together,
/// so that what is above them is searched once.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Position, and which of the sources.
    sources: Vec<(u32, u32)>,
}

impl Blocks {
    pub(super) fn new(hierarchy: &Hierarchy, sources: &[Node]) -> Result<Blocks, HierarchyError> {
        let tree = &hierarchy.tree;
        exist(sources, tree.len())?;
        let mut sources: Vec<(u32, u32)> = sources
            .iter()
            .enumerate()
            .map(|(index, source)| (tree.positions[*source as usize], index as u32))
            .collect();
        sources.sort_unstable();
        Ok(Blocks { sources })
    }

    pub(super) fn count(&self) -> usize {
        self.sources.len().div_ceil(LANES)
    }

    fn of(&self, block: usize) -> &[(u32, u32)] {
        &self.sources[block * LANES..self.sources.len().min((block + 1) * LANES)]
    }

    /// Which of the sources each lane of a block is.
    pub(super) fn indices(&self, block: usize) -> impl Iterator<Item = usize> {
        self.of(block).iter().map(|(_, index)| *index as usize)
    }
}

fn copy<V: Copy>(row: &Mutex<&mut [V]>, values: &[V]) {
    row.lock().unwrap_or_else(PoisonError::into_inner).copy_from_slice(values);
}

fn exist(nodes: &[Node], all: usize) -> Result<(), HierarchyError> {
    match nodes.iter().find(|node| **node as usize >= all) {
        Some(node) => Err(HierarchyError::NoSuchNode { node: *node, nodes: all }),
        None => Ok(()),
    }
}

struct Work<'a, F> {
    tree: &'a Tree,
    by: Instructions,
    columns: &'a Columns,
    limit: Option<u64>,
    blocks: &'a Blocks,
    stop: &'a AtomicBool,
    leave_out: F,
}

impl<F: Fn(usize) -> bool + Sync> Work<'_, F> {
    fn share_out<T: Lanes + Told>(
        &self,
        team: &mut Team,
        prepared: &PerGroup<Prepared<T>>,
        consumer: &impl Consumer<T>,
    ) -> Result<(), HierarchyError> {
        let next = AtomicUsize::new(0);
        let error = Mutex::new(None);
        team.run(|member| {
            let Prepared { upward, program } = prepared.of(member);
            let mut sweeper = Sweeper::new(self.by, self.tree, program);
            let mut chosen = Chosen {
                limit: self.limit.map(T::of),
                columns: self.columns,
                nodes: Vec::new(),
                rows: Vec::new(),
            };
            let mut state = consumer.begin();
            let mut sources = Vec::with_capacity(LANES);
            while !self.stop.load(Ordering::Relaxed) {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= self.blocks.count() {
                    break;
                }
                if (self.leave_out)(block) {
                    continue;
                }
                sources.clear();
                sources.extend(self.blocks.of(block).iter().map(|(position, _)| *position));
                consumer.start(&mut state, block, sources.len());
                sweeper.sweep(self.tree, upward, program, &sources, |shown| {
                    if let Some(chosen) = chosen.of(&shown) {
                        consumer.show(&mut state, self.by, chosen);
                    } else {
                        consumer.show(&mut state, self.by, shown);
                    }
                });
                if let Err(failure) = consumer.end(&mut state, block) {
                    error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                    next.store(self.blocks.count(), Ordering::Relaxed);
                }
            }
            consumer.finish(state);
        });
        error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// What is asked for of what a sweep shows.
struct Chosen<'a, T> {
    limit: Option<T>,
    columns: &'a Columns,
    nodes: Vec<Node>,
    rows: Vec<Row<T>>,
}

impl<T: Length> Chosen<'_, T> {
    /// Only targets, and nothing beyond the limit; `None` where all is asked for.
    fn of(&mut self, shown: &Shown<'_, T>) -> Option<Shown<'_, T>> {
        if self.limit.is_none() && matches!(self.columns, Columns::Nodes) {
            return None;
        }
        self.nodes.clear();
        self.rows.clear();
        for (node, row) in shown.nodes.iter().zip(shown.rows) {
            if let Columns::Targets { first, .. } = self.columns
                && first[*node as usize] == u32::MAX
            {
                continue;
            }
            self.nodes.push(*node);
            let limit = self.limit.unwrap_or(T::NONE);
            self.rows.push(Row(row.0.map(|length| if length > limit { T::NONE } else { length })));
        }
        Some(Shown { nodes: &self.nodes, rows: &self.rows })
    }
}
