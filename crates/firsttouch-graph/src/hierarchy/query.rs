//! PHAST queries from many sources, shared out among the threads of a team.

use super::asked::{Blocks, Columns, exist};
use super::build::{Hierarchy, Metric};
use super::consumers::{Accumulate, Accumulator, Found, Reported};
use super::error::HierarchyError;
use super::length::Length;
use super::plan::SweepPlan;
use super::row::{LANES, Row};
use super::simd::{Instructions, Simd};
use super::sweep::{Shown, Sweeper, Upward};
use super::tree::{NONE, Tree};
use crate::Node;
use crate::file::FileError;
use crate::fingerprint::Fingerprint;
use crate::rows::{Owner, Pack, Place, receipt_of};
use crate::search::Distances;
use firsttouch_documents::GraphReceipt;
use firsttouch_documents::Summary;
use firsttouch_memory::{Pages, RegionError};
use firsttouch_threads::{PerGroup, Team};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Sources whose sweeps are one, at most.
pub const SOURCES_AT_ONCE: usize = LANES;

/// PHAST queries over a hierarchy by the threads of a team. Each group of the team has its own copy of the arcs, in memory that
/// it touched first; each thread keeps a few rows of distances, which stay in its caches.
///
/// ```
/// use firsttouch_graph::Graph;
/// use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, PhastQuery};
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 5), (0, 2, 20), (2, 0, 1)])?;
/// let hierarchy = Hierarchy::build(&graph, &HierarchyOptions::default())?;
/// let mut team = Team::new(&[vec![0]])?;
/// let mut phast = PhastQuery::new(&hierarchy, &mut team);
/// let never = || false;
/// phast.each(&[0, 2], never, |source, distances, _took| match source {
///     0 => assert_eq!(distances.of(2), Some(10)),
///     _ => assert_eq!((distances.of(1), distances.of(3)), (Some(6), None)), // node 3 has no arcs
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PhastQuery<'a> {
    hierarchy: &'a Hierarchy,
    team: &'a mut Team,
    by: Instructions,
    /// The column of each node in what is answered.
    columns: Columns,
    limit: Option<u64>,
    ready: Ready,
    /// The pages of the arcs, and the node of each group's copy.
    asked: (Pages, Vec<Option<u32>>),
}

#[derive(Debug)]
enum Ready {
    Narrow(PerGroup<Prepared<u32>>),
    Wide(PerGroup<Prepared<u64>>),
}

#[derive(Clone, Debug)]
struct Prepared<T> {
    upward: Upward<T>,
    plan: SweepPlan<T>,
}

impl<T: Length> Prepared<T> {
    /// The same in one piece of memory on these pages.
    fn placed(&self, place: Place) -> Result<Prepared<T>, RegionError> {
        let parts: Vec<&[u8]> = self.plan.parts().into_iter().chain(self.upward.parts()).collect();
        let mut pack = Pack::of(&parts, place)?;
        Ok(Prepared { plan: self.plan.unpacked(&mut pack), upward: Upward::unpacked(&mut pack) })
    }
}

/// Calls with the prepared programs, whichever width they have.
macro_rules! for_width {
    ($phast:expr, $prepared:ident => $call:expr) => {
        match &$phast.ready {
            Ready::Narrow($prepared) => $call,
            Ready::Wide($prepared) => $call,
        }
    };
}

impl<'a> PhastQuery<'a> {
    /// Queries to all nodes.
    #[must_use]
    pub fn new(hierarchy: &'a Hierarchy, team: &'a mut Team) -> PhastQuery<'a> {
        PhastQuery::prepare(hierarchy, team, None, Columns::Nodes)
    }

    /// Queries to some nodes, and those above them only (RPHAST: Delling, Goldberg and Werneck, 2011): many-to-many.
    ///
    /// # Errors
    ///
    /// If a target is not there.
    pub fn to(
        hierarchy: &'a Hierarchy,
        team: &'a mut Team,
        targets: &[Node],
    ) -> Result<PhastQuery<'a>, HierarchyError> {
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
            while at != NONE && !std::mem::replace(&mut needed[at as usize], true) {
                at = tree.parents[at as usize];
            }
        }
        let only: Vec<u32> = (0..tree.len() as u32).filter(|position| needed[*position as usize]).collect();
        Ok(PhastQuery::prepare(
            hierarchy,
            team,
            Some(&only),
            Columns::Targets { targets: targets.to_vec(), first, same_as },
        ))
    }

    fn prepare(
        hierarchy: &'a Hierarchy,
        team: &'a mut Team,
        only: Option<&[u32]>,
        columns: Columns,
    ) -> PhastQuery<'a> {
        fn prepared<T: Simd>(
            tree: &Tree,
            lengths: &[[T; 2]],
            only: Option<&[u32]>,
            team: &mut Team,
        ) -> PerGroup<Prepared<T>> {
            let plan = SweepPlan::new(tree, lengths, only, team.size());
            let first = Prepared { upward: Upward::new(tree, lengths), plan };
            PerGroup::new(team, |_| first.clone())
        }
        let tree = &hierarchy.tree;
        let ready = match &hierarchy.metric {
            Metric::Narrow(lengths) => Ready::Narrow(prepared(tree, lengths, only, team)),
            Metric::Wide(lengths) => Ready::Wide(prepared(tree, lengths, only, team)),
        };
        let asked = (Pages::Plain, vec![None; team.group_sizes().len()]);
        let by = Instructions::best();
        PhastQuery { hierarchy, team, by, columns, limit: None, ready, asked }
    }

    /// With these instructions in place of the widest.
    ///
    /// # Panics
    /// If this processor does not have them.
    #[must_use]
    pub fn with_instructions(mut self, by: Instructions) -> PhastQuery<'a> {
        assert!(by.are_available(), "the processor has no {by}");
        self.by = by;
        self
    }

    /// With the arcs on these pages: each group's copy is made by its first member, which thereby touches it first, on this
    /// node (`None` leaves it to where that member runs).
    ///
    /// # Errors
    ///
    /// Memory that cannot be had.
    ///
    /// # Panics
    ///
    /// If there are other than one node for every group.
    pub fn on(mut self, pages: Pages, nodes: &[Option<u32>]) -> Result<PhastQuery<'a>, RegionError> {
        fn moved<T: Length>(
            prepared: &PerGroup<Prepared<T>>,
            pages: Pages,
            nodes: &[Option<u32>],
            team: &mut Team,
        ) -> Result<PerGroup<Prepared<T>>, RegionError> {
            let failed = Mutex::new(None);
            let moved = PerGroup::new(team, |member| {
                let old = prepared.of(member);
                old.placed(Place { pages, node: nodes[member.group()] }).unwrap_or_else(|error| {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    old.clone()
                })
            });
            failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(moved), Err)
        }
        assert_eq!(nodes.len(), self.team.group_sizes().len(), "one node for every group");
        self.ready = match &self.ready {
            Ready::Narrow(prepared) => Ready::Narrow(moved(prepared, pages, nodes, self.team)?),
            Ready::Wide(prepared) => Ready::Wide(moved(prepared, pages, nodes, self.team)?),
        };
        self.asked = (pages, nodes.to_vec());
        Ok(self)
    }

    /// What the memory of the arcs has obtained.
    #[must_use]
    pub fn receipt(&self) -> GraphReceipt {
        let (pages, nodes) = &self.asked;
        let owners: Vec<Option<&Owner>> =
            for_width!(self, prepared => prepared.iter().map(|one| one.plan.arcs.owner()).collect());
        let owners = owners.into_iter().zip(nodes).filter_map(|(owner, node)| Some((owner?, *node)));
        receipt_of(owners, nodes.len(), *pages, nodes)
    }

    /// Nodes farther than this count as not reached.
    #[must_use]
    pub fn within(mut self, limit: u64) -> PhastQuery<'a> {
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
        for_width!(self, prepared => prepared.iter().next().map_or(0, |first| first.plan.arcs.bytes()))
    }

    /// The bytes of distances that each thread keeps, in place of one row for every node.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        fn of<T: Length>(prepared: &PerGroup<Prepared<T>>) -> usize {
            prepared.iter().next().map_or(0, |first| first.plan.arcs.rows() * size_of::<Row<T>>())
        }
        for_width!(self, prepared => of(prepared))
    }

    /// How many distances are told of each source.
    #[must_use]
    pub fn columns(&self) -> usize {
        match &self.columns {
            Columns::Nodes => self.hierarchy.nodes(),
            Columns::Targets { same_as, .. } => same_as.len(),
        }
    }

    /// How many threads sweep.
    pub(crate) fn threads(&self) -> usize {
        self.team.size()
    }

    /// The graph with its weights, as a number.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.hierarchy.fingerprint
    }

    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The targets, if not all nodes are.
    pub(crate) fn targets(&self) -> Option<&[Node]> {
        match &self.columns {
            Columns::Nodes => None,
            Columns::Targets { targets, .. } => Some(targets),
        }
    }

    pub(crate) fn hierarchy(&self) -> &Hierarchy {
        self.hierarchy
    }

    /// The summary of the distances from each source, in the order of the sources.
    ///
    /// # Errors
    ///
    /// If a source is not there.
    pub fn summaries(&mut self, sources: &[Node]) -> Result<Vec<Summary>, HierarchyError> {
        struct Summaries(Mutex<Vec<Summary>>);
        impl Accumulator for Summaries {
            fn done(&self, found: &Found<'_>) -> Result<(), FileError> {
                let mut summaries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                for (index, summary) in found.summaries {
                    summaries[*index] = *summary;
                }
                Ok(())
            }
        }
        let summaries = Summaries(Mutex::new(vec![Summary::default(); sources.len()]));
        self.accumulate(sources, &|| false, &summaries)?;
        Ok(summaries.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows the distances from each source, to every node or target, to `each`, with the source's place in the list and
    /// its share of the time of the sweep, by the thread that swept. When `stop` says so, sweeps that have begun are
    /// finished, and no more begin.
    ///
    /// # Errors
    ///
    /// If a source is not there.
    pub fn each(
        &mut self,
        sources: &[Node],
        stop: impl Fn() -> bool + Sync,
        each: impl Fn(usize, Distances<'_>, Duration) + Sync,
    ) -> Result<(), HierarchyError> {
        struct Each<F>(F);
        impl<F: Fn(usize, Distances<'_>, Duration) + Sync> Accumulator for Each<F> {
            fn wants_rows(&self) -> bool {
                true
            }

            fn row(&self, index: usize, row: Distances<'_>, took: Duration) -> Result<(), FileError> {
                (self.0)(index, row, took);
                Ok(())
            }
        }
        self.accumulate(sources, &stop, &Each(each))
    }

    /// Sweeps from all sources that the accumulator does not know, until an error or until `stop` says so.
    ///
    /// # Errors
    ///
    /// If a source is not there, or the accumulator has failed.
    pub(crate) fn accumulate(
        &mut self,
        sources: &[Node],
        stop: &(dyn Fn() -> bool + Sync),
        accumulator: &dyn Accumulator,
    ) -> Result<(), HierarchyError> {
        let blocks = &Blocks::new(self.hierarchy, sources)?;
        let kept = Accumulate { accumulator, blocks, columns: &self.columns, width: self.columns() };
        let work = Work { tree: &self.hierarchy.tree, by: self.by, limit: self.limit, stop, kept };
        match &self.ready {
            Ready::Narrow(prepared) => work.share_out(self.team, prepared)?,
            Ready::Wide(prepared) => work.share_out(self.team, prepared)?,
        }
        Ok(())
    }
}

struct Work<'a> {
    tree: &'a Tree,
    by: Instructions,
    limit: Option<u64>,
    stop: &'a (dyn Fn() -> bool + Sync),
    kept: Accumulate<'a>,
}

impl Work<'_> {
    fn share_out<T: Simd + Reported>(
        &self,
        team: &mut Team,
        prepared: &PerGroup<Prepared<T>>,
    ) -> Result<(), FileError> {
        let Accumulate { accumulator, blocks, columns, .. } = self.kept;
        let next = AtomicUsize::new(0);
        let error = Mutex::new(None);
        team.run(|member| {
            let Prepared { upward, plan } = prepared.of(member);
            let mut sweeper = Sweeper::new(self.by, self.tree, plan);
            let mut chosen =
                Chosen { limit: self.limit.map(T::of), columns, nodes: Vec::new(), rows: Vec::new() };
            let mut state = self.kept.begin();
            let mut sources = Vec::with_capacity(LANES);
            while !(self.stop)() {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks.count() {
                    break;
                }
                if blocks.indices(block).all(|index| accumulator.knows(index)) {
                    continue;
                }
                sources.clear();
                sources.extend(blocks.of(block).iter().map(|(position, _)| *position));
                self.kept.start(&mut state, block, sources.len());
                sweeper.sweep(self.tree, upward, plan, &sources, |shown| {
                    if let Some(chosen) = chosen.of(&shown) {
                        self.kept.show(&mut state, self.by, chosen);
                    } else {
                        self.kept.show(&mut state, self.by, shown);
                    }
                });
                if let Err(failure) = self.kept.end(&mut state, block) {
                    error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                    next.store(blocks.count(), Ordering::Relaxed);
                }
            }
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
