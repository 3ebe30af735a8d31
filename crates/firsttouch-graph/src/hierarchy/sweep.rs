//! One sweep: from up to [`LANES`] sources to all nodes of a plan.

use super::customize::Both;
use super::length::Length;
use super::plan::{SweepPlan, Tile};
use super::row::{LANES, Row};
use super::simd::{Instructions, Simd};
use super::tree::{NONE, Tree};
use crate::Node;
use crate::rows::{Pack, Store};
use bytemuck::cast_slice;

/// The arcs that lead up, for searches from the sources.
#[derive(Clone, Debug)]
pub(super) struct Upward<T> {
    first: Store<u32>,
    slots: Store<u16>,
    lengths: Store<T>,
}

impl<T: Length> Upward<T> {
    pub(super) fn new(tree: &Tree, lengths: &[Both<T>]) -> Upward<T> {
        let (mut first, mut slots, mut found) = (Vec::with_capacity(tree.len() + 1), Vec::new(), Vec::new());
        first.push(0);
        for position in 0..tree.len() {
            for arc in tree.arcs(position) {
                let [up, _] = lengths[arc];
                if up != T::NONE {
                    slots.push(tree.slots[arc]);
                    found.push(up);
                }
            }
            first.push(slots.len() as u32);
        }
        Upward { first: first.into(), slots: slots.into(), lengths: found.into() }
    }

    /// What is to be packed of them, for [`Upward::unpacked`].
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        [cast_slice(&self.first), cast_slice(&self.slots), cast_slice(&self.lengths)]
    }

    /// The same arcs in other memory.
    pub(super) fn unpacked(pack: &mut Pack) -> Upward<T> {
        Upward { first: pack.next(), slots: pack.next(), lengths: pack.next() }
    }

    fn arcs(&self, position: u32) -> (&[u16], &[T]) {
        let arcs = self.first[position as usize] as usize..self.first[position as usize + 1] as usize;
        (&self.slots[arcs.clone()], &self.lengths[arcs])
    }
}

/// What a sweep shows: nodes, and the distances of each from the sources of the sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a, T> {
    pub(super) nodes: &'a [Node],
    pub(super) rows: &'a [Row<T>],
}

/// The memory of one thread that sweeps: some tens of KiB, whatever the graph.
#[derive(Debug)]
pub(super) struct Sweeper<T> {
    by: Instructions,
    /// For searches upwards, a row for each depth.
    up: Vec<Row<T>>,
    /// For the sweep, a row for each depth and for each row of a tile.
    down: Vec<Row<T>>,
    /// Where the search upwards came by: the row in the plan, and the distances. Rising.
    starts: Vec<(u32, Row<T>)>,
    /// The positions it comes by, and the sources at each as a set of lanes.
    visits: Vec<(u32, u64)>,
}

impl<T: Simd> Sweeper<T> {
    pub(super) fn new(by: Instructions, tree: &Tree, plan: &SweepPlan<T>) -> Sweeper<T> {
        Sweeper {
            by,
            up: vec![Row::NONE; tree.height],
            down: vec![Row::NONE; plan.arcs.rows()],
            starts: Vec::new(),
            visits: Vec::new(),
        }
    }

    /// Sweeps from these positions, at most [`LANES`] of them, and shows each tile when it is done. Nodes that hang together
    /// with no source may not be shown.
    pub(super) fn sweep(
        &mut self,
        tree: &Tree,
        upward: &Upward<T>,
        plan: &SweepPlan<T>,
        sources: &[u32],
        mut show: impl FnMut(Shown<'_, T>),
    ) {
        self.search_upwards(tree, upward, plan, sources);
        let mut starts = std::mem::take(&mut self.starts);
        let mut waiting = &starts[..];
        let base = plan.arcs.base();
        for (number, tile) in plan.tiles.iter().enumerate() {
            let here = waiting.partition_point(|(row, _)| (*row as usize) < tile.rows.end);
            if here == 0 {
                plan.arcs.sweep::<false>(self.by, number, &mut self.down);
            } else {
                let rows = &mut self.down[base..base + tile.rows.len()];
                rows.fill(Row::NONE);
                for (row, distances) in &waiting[..here] {
                    rows[*row as usize - tile.rows.start] = *distances;
                }
                waiting = &waiting[here..];
                plan.arcs.sweep::<true>(self.by, number, &mut self.down);
            }
            self.accumulate(plan, tile);
            let rows = &self.down[base..base + tile.rows.len()];
            show(Shown { nodes: &plan.nodes[tile.rows.clone()], rows });
        }
        starts.clear();
        self.starts = starts;
    }

    /// Rows that those below other tiles need go to the stack.
    fn accumulate(&mut self, plan: &SweepPlan<T>, tile: &Tile) {
        for (row, depth) in &plan.copies[tile.copies.clone()] {
            self.down[usize::from(*depth)] = self.down[plan.arcs.base() + usize::from(*row)];
        }
    }

    /// Finds the distances to all nodes above the sources along paths that only rise, for all sources together: what they
    /// have above them is mostly the same.
    fn search_upwards(&mut self, tree: &Tree, upward: &Upward<T>, plan: &SweepPlan<T>, sources: &[u32]) {
        assert!(sources.len() <= LANES, "a sweep has {LANES} lanes");
        self.visits.clear();
        for (lane, source) in sources.iter().enumerate() {
            self.visits.push((*source, 1 << lane));
            let mut at = tree.parents[*source as usize];
            while at != NONE {
                self.visits.push((at, 0));
                at = tree.parents[at as usize];
            }
        }
        self.visits.sort_unstable_by(|one, other| other.cmp(one));
        self.starts.clear();
        let mut next = 0;
        while let Some(&(position, mut lanes)) = self.visits.get(next) {
            next += 1;
            while let Some((_, others)) = self.visits.get(next).filter(|(same, _)| *same == position) {
                lanes |= others;
                next += 1;
            }
            let depth = usize::from(tree.depths[position as usize]);
            let mut row = std::mem::replace(&mut self.up[depth], Row::NONE);
            while lanes != 0 {
                row.0[lanes.trailing_zeros() as usize] = T::of(0);
                lanes &= lanes - 1;
            }
            let (slots, lengths) = upward.arcs(position);
            T::offer(self.by, &row, slots, lengths, &mut self.up);
            if plan.rows[position as usize] != NONE {
                self.starts.push((plan.rows[position as usize], row));
            }
        }
        self.starts.sort_unstable_by_key(|(row, _)| *row);
    }
}
