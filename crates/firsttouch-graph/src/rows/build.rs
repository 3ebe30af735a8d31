//! Compressed rows from arcs that come in any order, by a team.
//!
//! The arcs are asked for twice: once to count those of every tail, once to put each where it belongs. A source that can
//! say its arcs again (a file of text, a generator) therefore needs no memory for them beside the graph itself. Rows end
//! up in the order of their heads, so that the graph is the same whoever of the team came first.

use super::arc::{Extent, Node, OutArc};
use super::array::{Array, Owner, Place, shared};
use super::error::GraphError;
use super::graph::Graph;
use firsttouch_memory::RegionError;
use firsttouch_threads::{Schedule, Team};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Arcs in parts, each of which can be asked for by any thread, any number of times.
pub(crate) trait ArcSource: Sync {
    /// Why a part cannot be had.
    type Error: Send;

    /// How many parts there are.
    fn parts(&self) -> usize;

    /// The tail of every arc of a part: a node of the graph.
    fn tails(&self, part: usize, each: impl FnMut(Node)) -> Result<(), Self::Error>;

    /// Every arc of a part, behind its tail: the same as [`ArcSource::tails`] told of. Both ends are nodes of the graph.
    fn arcs(&self, part: usize, each: impl FnMut(Node, OutArc)) -> Result<(), Self::Error>;
}

/// Why there is no graph.
#[derive(Debug)]
pub(crate) enum BuildError<E> {
    /// Too many nodes.
    Graph(GraphError),
    /// No memory for it.
    Memory(RegionError),
    /// The arcs cannot be had.
    Source(E),
    /// The second time there were other arcs than the first time.
    Changed,
}

/// The graph of these arcs.
pub(crate) fn build<S: ArcSource>(
    nodes: usize,
    source: &S,
    place: Place,
    team: &mut Team,
) -> Result<Graph, BuildError<S::Error>> {
    if nodes > u32::MAX as usize {
        return Err(BuildError::Graph(GraphError::TooManyNodes { nodes: nodes as u64 }));
    }
    let mut offsets = Owner::zeroed(nodes + 1, place).map_err(BuildError::Memory)?;
    let places = offsets.words_mut(nodes + 1);

    // The arcs of node v are counted at v + 1; then where they begin is written there; and when all of them are in place
    // that has become where they end, which is where those of v + 1 begin.
    let counts = &shared(places)[1..];
    let alone = team.size() == 1;
    in_parts(source.parts(), team, |part| {
        let mut batch = Batch::new(alone);
        source.tails(part, |tail| batch.count(tail, counts))?;
        batch.end_counting(counts);
        Ok(())
    })
    .map_err(BuildError::Source)?;
    let mut total = 0;
    for place in &mut places[1..] {
        total += std::mem::replace(place, total);
    }

    let length = usize::try_from(total).unwrap_or(usize::MAX);
    let mut arcs = Owner::zeroed(length, place).map_err(BuildError::Memory)?;
    let next = &shared(places)[1..];
    let room = shared(arcs.words_mut(length));
    let outside = AtomicBool::new(false);
    in_parts(source.parts(), team, |part| {
        let mut batch = Batch::new(alone);
        let place = |batch: &mut Batch| {
            if !batch.place(next, room) {
                outside.store(true, Ordering::Relaxed);
            }
        };
        source.arcs(part, |tail, arc| {
            if batch.add(tail, bytemuck::cast(arc)) {
                place(&mut batch);
            }
        })?;
        place(&mut batch);
        Ok(())
    })
    .map_err(BuildError::Source)?;

    let offsets: Array<u64> = Array::first_of(offsets, nodes + 1);
    if outside.into_inner() || offsets.last() != Some(&total) || !offsets.is_sorted() {
        return Err(BuildError::Changed);
    }
    let extent = sort_rows(&offsets, bytemuck::cast_slice_mut(arcs.words_mut(length)), team);
    Ok(Graph::of_arrays(offsets, Array::first_of(arcs, length), extent))
}

/// Arcs that are put in their places together. One by one, each would wait for memory three times: for the counter of its
/// tail, and then, because a counter that threads share is changed only when all is written that came before, for the place of
/// the arc before it. Together they wait at the same time.
struct Batch {
    tails: [Node; BATCH],
    /// Arcs; when counting, how often the tail came.
    values: [u64; BATCH],
    length: usize,
    /// Nobody else counts: then no instruction needs to lock.
    alone: bool,
}

const BATCH: usize = 64;

impl Batch {
    fn new(alone: bool) -> Batch {
        Batch { tails: [0; BATCH], values: [0; BATCH], length: 0, alone }
    }

    /// Counts on, and answers what the counter had before.
    #[inline]
    fn add_to(&self, counter: &AtomicU64, times: u64) -> u64 {
        if !self.alone {
            return counter.fetch_add(times, Ordering::Relaxed);
        }
        let before = counter.load(Ordering::Relaxed);
        counter.store(before + times, Ordering::Relaxed);
        before
    }

    /// True if it is full now.
    #[inline]
    fn add(&mut self, tail: Node, value: u64) -> bool {
        self.tails[self.length] = tail;
        self.values[self.length] = value;
        self.length += 1;
        self.length == BATCH
    }

    /// Files are often in the order of tails: then one addition does for a row.
    #[inline]
    fn count(&mut self, tail: Node, counts: &[AtomicU64]) {
        if self.length > 0 && self.tails[self.length - 1] == tail {
            self.values[self.length - 1] += 1;
            return;
        }
        if self.length == BATCH {
            self.end_counting(counts);
        }
        self.add(tail, 1);
    }

    fn end_counting(&mut self, counts: &[AtomicU64]) {
        self.fetch(counts);
        for (tail, times) in self.tails.iter().zip(&self.values).take(self.length) {
            self.add_to(&counts[*tail as usize], *times);
        }
        self.length = 0;
    }

    /// Puts every arc where the next one of its tail belongs; false if a place is outside.
    fn place(&mut self, next: &[AtomicU64], room: &[AtomicU64]) -> bool {
        self.fetch(next);
        let mut places = [0; BATCH];
        for (tail, place) in self.tails.iter().zip(&mut places).take(self.length) {
            *place = self.add_to(&next[*tail as usize], 1);
        }
        let mut all_inside = true;
        for (place, arc) in places.iter().zip(&self.values).take(self.length) {
            match room.get(*place as usize) {
                Some(place) => place.store(*arc, Ordering::Relaxed),
                None => all_inside = false,
            }
        }
        self.length = 0;
        all_inside
    }

    /// Brings the counters of all tails into the cache: loads do not wait for each other.
    fn fetch(&self, counters: &[AtomicU64]) {
        let mut sum = 0_u64;
        for tail in &self.tails[..self.length] {
            sum = sum.wrapping_add(counters[*tail as usize].load(Ordering::Relaxed));
        }
        std::hint::black_box(sum);
    }
}

/// Lets the team do every part; the error of the first part that has one, and no more parts are begun after it.
pub(crate) fn in_parts<E: Send>(
    parts: usize,
    team: &mut Team,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed = AtomicBool::new(false);
    let first: Mutex<Option<(usize, E)>> = Mutex::new(None);
    team.for_each(0..parts, Schedule::Dynamic(1), |_, range| {
        for part in range {
            if failed.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = work(part) {
                failed.store(true, Ordering::Relaxed);
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(before, _)| part < *before) {
                    *first = Some((part, error));
                }
            }
        }
    });
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// One number to compare in place of two.
fn by_head(arc: &OutArc) -> u64 {
    u64::from(arc.head) << 32 | u64::from(arc.weight)
}

/// Parts of the rows that are sorted by one member at a time.
const PARTS_PER_MEMBER: usize = 16;

/// Brings every row into the order of its heads, parallel arcs into that of their weights.
fn sort_rows(offsets: &[u64], mut arcs: &mut [OutArc], team: &mut Team) -> Extent {
    struct Part<'graph> {
        nodes: Range<usize>,
        arcs: &'graph mut [OutArc],
    }
    let nodes = offsets.len() - 1;
    let step = nodes.div_ceil(team.size() * PARTS_PER_MEMBER).max(1);
    let mut parts = Vec::new();
    for first in (0..nodes).step_by(step) {
        let nodes = first..(first + step).min(nodes);
        let length = (offsets[nodes.end] - offsets[nodes.start]) as usize;
        let (part, rest) = std::mem::take(&mut arcs).split_at_mut(length);
        arcs = rest;
        parts.push(Mutex::new((Part { nodes, arcs: part }, Extent::default())));
    }
    team.for_each(0..parts.len(), Schedule::Dynamic(1), |_, range| {
        for part in &parts[range] {
            let (Part { nodes, arcs }, extent) = &mut *part.lock().unwrap_or_else(PoisonError::into_inner);
            let offsets = &offsets[nodes.start..=nodes.end];
            for row in offsets.windows(2) {
                let row = &mut arcs[(row[0] - offsets[0]) as usize..(row[1] - offsets[0]) as usize];
                // Most rows of most files are in order.
                if !row.is_sorted_by_key(by_head) {
                    row.sort_unstable_by_key(by_head);
                }
                *extent = extent.with(Extent::of_row(row));
            }
        }
    });
    let extents = parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner).1);
    extents.fold(Extent::default(), Extent::with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Parts that are given, and may be others when asked again.
    struct Given {
        parts: Vec<Vec<(Node, Node, u32)>>,
        later: Option<Vec<Vec<(Node, Node, u32)>>>,
        asked: AtomicUsize,
    }

    impl ArcSource for Given {
        type Error = usize;

        fn parts(&self) -> usize {
            self.parts.len()
        }

        fn tails(&self, part: usize, mut each: impl FnMut(Node)) -> Result<(), usize> {
            if self.parts[part].is_empty() {
                return Err(part);
            }
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.parts[part].iter().for_each(|(tail, _, _)| each(*tail));
            Ok(())
        }

        fn arcs(&self, part: usize, mut each: impl FnMut(Node, OutArc)) -> Result<(), usize> {
            let arcs = &self.later.as_ref().unwrap_or(&self.parts)[part];
            arcs.iter().for_each(|&(tail, head, weight)| each(tail, OutArc { head, weight }));
            Ok(())
        }
    }

    fn given(parts: Vec<Vec<(Node, Node, u32)>>) -> Given {
        Given { parts, later: None, asked: AtomicUsize::new(0) }
    }

    fn team() -> Team {
        Team::of_this_process(2).unwrap()
    }

    #[test]
    fn rows_are_in_order_whoever_came_first() {
        let arcs: Vec<(Node, Node, u32)> =
            (0..5000_u32).map(|at| (at * 7919 % 100, at * 104_729 % 100, at % 13)).collect();
        let source = given(arcs.chunks(37).map(<[_]>::to_vec).collect());
        let mut sorted = arcs.clone();
        sorted.sort_unstable();
        let wanted = Graph::from_arcs(100, &sorted).unwrap();
        for _ in 0..20 {
            let graph = build(100, &source, Place::HEAP, &mut team()).unwrap();
            assert_eq!(graph, wanted);
        }
        assert_eq!(build(100, &source, Place::default(), &mut team()).unwrap(), wanted);
    }

    #[test]
    fn the_first_part_that_fails_ends_it() {
        let source = given(vec![vec![(0, 0, 0)], vec![], vec![]]);
        let error = build(1, &source, Place::HEAP, &mut Team::of_this_process(1).unwrap()).unwrap_err();
        assert!(matches!(error, BuildError::Source(1)), "{error:?}");
        assert_eq!(source.asked.into_inner(), 1);
    }

    #[test]
    fn arcs_that_change_meanwhile_are_noticed() {
        for later in [vec![vec![(1, 0, 0), (1, 0, 0), (1, 1, 1)]], vec![vec![(0, 0, 0)]]] {
            let mut source = given(vec![vec![(0, 1, 0), (1, 0, 0)]]);
            source.later = Some(later);
            let error = build(2, &source, Place::HEAP, &mut team()).unwrap_err();
            assert!(matches!(error, BuildError::Changed), "{error:?}");
        }
    }

    #[test]
    fn a_graph_without_arcs_or_nodes_is_one() {
        let source = given(Vec::new());
        for nodes in [0, 1, 1000] {
            let graph = build(nodes, &source, Place::default(), &mut team()).unwrap();
            assert_eq!((graph.nodes(), graph.arcs()), (nodes, 0));
        }
    }
}
