//! The hierarchy's arcs in the order in which a sweep relaxes them.
//!
//! A sweep walks from the roots down. When it is at a node, the nodes above it are those on the way from the root, so their
//! distances are kept on a stack, one row at each depth, and nothing else of what was computed is needed again: rows are
//! not stored for all nodes, and what is read lies in the first two caches. Rows leave through a tile: up to
//! [`TILE_ROWS`] consecutive positions, whole subtrees and single nodes with large ones below them, whose rows are computed
//! one behind the other and then given away. Inside a tile any order will do that puts nodes behind those above them: nodes
//! with equally many arcs that are ready at the same time stand together, so that the inner loop is one without
//! branches, over rows that do not wait for each other.

use super::customize::Both;
use super::length::Length;
use super::simd::{Arcs, Extent, Run};
use super::tree::{NONE, Tree};
use crate::Node;
use crate::rows::{Pack, Store};
use bytemuck::cast_slice;
use firsttouch_threads::at_once;
use std::ops::Range;

/// The most rows of a tile.
pub(super) const TILE_ROWS: usize = 128;

/// A tile: whose rows, and which of them those below other tiles need.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    /// The places in [`SweepPlan::nodes`].
    pub(super) rows: Range<usize>,
    /// Which of [`SweepPlan::copies`].
    pub(super) copies: Range<usize>,
    /// The first position.
    pub(super) position: u32,
}

/// What a sweep does, for all nodes or for some and those above them.
#[derive(Clone, Debug)]
pub(super) struct SweepPlan<T> {
    pub(super) tiles: Vec<Tile>,
    pub(super) arcs: Arcs<T>,
    /// The node of each row, tile by tile.
    pub(super) nodes: Store<Node>,
    /// Rows of a tile that go to the stack: row in the tile, depth.
    pub(super) copies: Vec<(u16, u16)>,
    /// The row of each position; `NONE` for those left out.
    pub(super) rows: Store<u32>,
}

impl<T: Length> SweepPlan<T> {
    /// The plan for these positions, rising, with all those above them; all positions if `None`.
    pub(super) fn new(
        tree: &Tree,
        lengths: &[Both<T>],
        only: Option<&[u32]>,
        threads: usize,
    ) -> SweepPlan<T> {
        let positions: Vec<u32> = only.map_or_else(|| (0..tree.len() as u32).collect(), <[u32]>::to_vec);
        let sizes = sizes(tree, &positions);
        let planner = Planner {
            tree,
            lengths,
            positions: &positions,
            sizes: &sizes,
            base: base(tree, &positions, &sizes),
        };
        let tiles = planner.tiles();
        let shares = tiles.len().div_ceil(threads.max(1)).max(1);
        planner.joined(at_once(tiles.chunks(shares).map(|tiles| || planner.part(tiles))))
    }
}

impl<T: Length> SweepPlan<T> {
    /// What is to be packed of it, for [`SweepPlan::unpacked`].
    pub(super) fn parts(&self) -> [&[u8]; 5] {
        let [runs, slots, lengths] = self.arcs.parts();
        [runs, slots, lengths, cast_slice(&self.nodes), cast_slice(&self.rows)]
    }

    /// The same plan in other memory: [`SweepPlan::parts`] come next out of the pack.
    pub(super) fn unpacked(&self, pack: &mut Pack) -> SweepPlan<T> {
        let arcs = self.arcs.unpacked(pack);
        let (nodes, rows) = (pack.next(), pack.next());
        SweepPlan { tiles: self.tiles.clone(), arcs, nodes, copies: self.copies.clone(), rows }
    }
}

/// How many of the positions belong to each and to what is below it.
fn sizes(tree: &Tree, positions: &[u32]) -> Vec<u32> {
    if positions.len() == tree.len() {
        return tree.sizes.clone();
    }
    let end = |position: u32| position + tree.sizes[position as usize];
    (0..positions.len())
        .map(|place| positions[place..].partition_point(|below| *below < end(positions[place])) as u32)
        .collect()
}

/// The first row of tiles: behind the stack of those nodes that have too much below them for one tile.
fn base(tree: &Tree, positions: &[u32], sizes: &[u32]) -> usize {
    let large = positions.iter().zip(sizes).filter(|(_, size)| **size as usize > TILE_ROWS);
    large.map(|(position, _)| usize::from(tree.depths[*position as usize]) + 1).max().unwrap_or(0)
}

struct Planner<'a, T> {
    tree: &'a Tree,
    lengths: &'a [Both<T>],
    positions: &'a [u32],
    sizes: &'a [u32],
    base: usize,
}

/// The plan of some consecutive tiles; all counts begin with 0.
#[derive(Debug, Default)]
struct Part<T> {
    extents: Vec<Extent>,
    runs: Vec<Run>,
    slots: Vec<u16>,
    lengths: Vec<T>,
    tiles: Vec<Tile>,
    copies: Vec<(u16, u16)>,
    /// Places in the plan's positions, in the order of rows.
    order: Vec<u32>,
}

impl<T: Length> Planner<'_, T> {
    /// Cuts the positions into tiles.
    fn tiles(&self) -> Vec<Range<usize>> {
        let mut tiles: Vec<Range<usize>> = Vec::new();
        let mut place = 0;
        while place < self.positions.len() {
            let size = self.sizes[place] as usize;
            let unit = if size > TILE_ROWS { 1 } else { size };
            match tiles.last_mut() {
                Some(tile) if place + unit - tile.start <= TILE_ROWS => tile.end = place + unit,
                _ => tiles.push(place..place + unit),
            }
            place += unit;
        }
        tiles
    }

    fn part(&self, tiles: &[Range<usize>]) -> Part<T> {
        let mut part = Part {
            extents: Vec::new(),
            runs: Vec::new(),
            slots: Vec::new(),
            lengths: Vec::new(),
            tiles: Vec::new(),
            copies: Vec::new(),
            order: Vec::new(),
        };
        // The place of the node at each depth above the present one.
        let mut stack = vec![NONE; self.tree.height];
        let Some(first) = tiles.first() else { return part };
        let mut above = Vec::new();
        self.tree.stack_of(self.positions[first.start], &mut above);
        for (depth, position) in above.iter().enumerate() {
            // Those above are in the plan: it is closed upwards.
            stack[depth] = self.positions.partition_point(|known| known < position) as u32;
        }
        let mut tiling = Tiling::default();
        for tile in tiles {
            self.tile(tile.clone(), &mut stack, &mut tiling, &mut part);
        }
        part
    }

    fn tile(&self, tile: Range<usize>, stack: &mut [u32], tiling: &mut Tiling, part: &mut Part<T>) {
        let tree = self.tree;
        tiling.begin(tile.len());
        // Arcs of each node: to a place in the tile, or else to a depth.
        for place in tile.clone() {
            let position = self.positions[place] as usize;
            stack[usize::from(tree.depths[position])] = place as u32;
            for arc in tree.arcs(position) {
                let [_, down] = self.lengths[arc];
                if down == T::NONE {
                    continue;
                }
                let slot = tree.slots[arc];
                let head = stack[usize::from(slot)] as usize;
                let inside = (head >= tile.start).then(|| (head - tile.start) as u16);
                tiling.arc(place - tile.start, inside, slot, arc as u32);
            }
        }
        let (first_row, first_run, first_arc) = (part.order.len(), part.runs.len(), part.slots.len());
        while let Some((degree, ready)) = tiling.next_run() {
            for local in &ready {
                let row = (part.order.len() - first_row) as u16;
                part.order.push((tile.start + usize::from(*local)) as u32);
                for (inside, slot, arc) in tiling.arcs_of(*local) {
                    let from = inside.map_or(usize::from(slot), |local| self.base + tiling.row_of(local));
                    part.slots.push(from as u16);
                    part.lengths.push(self.lengths[arc as usize][1]);
                }
                tiling.done(*local, row);
            }
            part.runs.push(Run { degree: degree as u16, rows: ready.len() as u16 });
            tiling.give_back(ready);
        }
        let first_copy = part.copies.len();
        for place in tile.clone() {
            if self.sizes[place] as usize > TILE_ROWS {
                let row = tiling.row_of((place - tile.start) as u16) as u16;
                part.copies.push((row, tree.depths[self.positions[place] as usize]));
            }
        }
        part.extents.push(Extent {
            runs: (first_run as u32, part.runs.len() as u32),
            arcs: (first_arc as u32, part.slots.len() as u32),
            rows: tile.len() as u32,
        });
        part.tiles.push(Tile {
            rows: first_row..part.order.len(),
            copies: first_copy..part.copies.len(),
            position: self.positions[tile.start],
        });
    }

    fn joined(&self, parts: Vec<Part<T>>) -> SweepPlan<T> {
        let mut extents = Vec::new();
        let mut runs = Vec::new();
        let (mut slots, mut lengths) = (Vec::new(), Vec::new());
        let mut tiles = Vec::new();
        let mut copies = Vec::new();
        let mut nodes = Vec::with_capacity(self.positions.len());
        let mut rows = vec![NONE; self.tree.len()];
        for part in parts {
            let (run, arc, row, copy) = (runs.len() as u32, slots.len() as u32, nodes.len(), copies.len());
            extents.extend(part.extents.iter().map(|extent| Extent {
                runs: (extent.runs.0 + run, extent.runs.1 + run),
                arcs: (extent.arcs.0 + arc, extent.arcs.1 + arc),
                rows: extent.rows,
            }));
            tiles.extend(part.tiles.iter().map(|tile| Tile {
                rows: tile.rows.start + row..tile.rows.end + row,
                copies: tile.copies.start + copy..tile.copies.end + copy,
                position: tile.position,
            }));
            for place in part.order {
                let position = self.positions[place as usize] as usize;
                rows[position] = nodes.len() as u32;
                nodes.push(self.tree.nodes[position]);
            }
            runs.extend(part.runs);
            slots.extend(part.slots);
            lengths.extend(part.lengths);
            copies.extend(part.copies);
        }
        let arcs = Arcs::new(extents, runs, slots, lengths, self.base);
        SweepPlan { tiles, arcs, nodes: nodes.into(), copies, rows: rows.into() }
    }
}

/// Degrees that have loops of their own; above, all nodes stand in one queue.
const DEGREES: usize = 9;

/// In which order the nodes of a tile are computed.
#[derive(Debug, Default)]
struct Tiling {
    /// Arcs in the order given, and where those of each node begin.
    arcs: Vec<(Option<u16>, u16, u32)>,
    first: Vec<u32>,
    /// How many nodes of the tile each still waits for.
    waits: Vec<u16>,
    /// Pairs of nodes: the second waits for the first.
    dependents: Vec<Vec<u16>>,
    rows: Vec<u16>,
    ready: [Vec<u16>; DEGREES + 1],
    began: bool,
    spare: Vec<u16>,
}

impl Tiling {
    fn begin(&mut self, nodes: usize) {
        self.arcs.clear();
        self.first.clear();
        self.first.resize(nodes + 1, 0);
        self.waits.clear();
        self.waits.resize(nodes, 0);
        self.rows.clear();
        self.rows.resize(nodes, 0);
        if self.dependents.len() < nodes {
            self.dependents.resize_with(nodes, Vec::new);
        }
        self.dependents.iter_mut().for_each(Vec::clear);
        self.began = false;
    }

    /// One more arc of a node; nodes come in their order.
    fn arc(&mut self, local: usize, inside: Option<u16>, slot: u16, arc: u32) {
        self.arcs.push((inside, slot, arc));
        self.first[local + 1] = self.arcs.len() as u32;
        if let Some(head) = inside {
            self.waits[local] += 1;
            self.dependents[usize::from(head)].push(local as u16);
        }
    }

    fn degree(&self, local: usize) -> usize {
        (self.first[local + 1] - self.first[local]) as usize
    }

    fn get_ready(&mut self, local: usize) {
        let degree = self.degree(local);
        self.ready[degree.min(DEGREES)].push(local as u16);
    }

    /// The next nodes, all with the same number of arcs, that wait for nobody.
    fn next_run(&mut self) -> Option<(usize, Vec<u16>)> {
        if !self.began {
            self.began = true;
            // Nodes without arcs were not told of.
            for local in 0..self.waits.len() {
                self.first[local + 1] = self.first[local + 1].max(self.first[local]);
            }
            for local in 0..self.waits.len() {
                if self.waits[local] == 0 {
                    self.get_ready(local);
                }
            }
        }
        let class = (0..=DEGREES).max_by_key(|class| self.ready[*class].len())?;
        let mut run = std::mem::take(&mut self.spare);
        run.clear();
        if class < DEGREES {
            std::mem::swap(&mut run, &mut self.ready[class]);
        } else {
            run.extend(self.ready[class].pop());
        }
        let degree = self.degree(usize::from(*run.first()?));
        Some((degree, run))
    }

    fn give_back(&mut self, run: Vec<u16>) {
        self.spare = run;
    }

    fn arcs_of(&self, local: u16) -> impl Iterator<Item = (Option<u16>, u16, u32)> + use<'_> {
        let local = usize::from(local);
        self.arcs[self.first[local] as usize..self.first[local + 1] as usize].iter().copied()
    }

    fn row_of(&self, local: u16) -> usize {
        usize::from(self.rows[usize::from(local)])
    }

    fn done(&mut self, local: u16, row: u16) {
        self.rows[usize::from(local)] = row;
        let dependents = std::mem::take(&mut self.dependents[usize::from(local)]);
        for dependent in &dependents {
            let dependent = usize::from(*dependent);
            self.waits[dependent] -= 1;
            if self.waits[dependent] == 0 {
                self.get_ready(dependent);
            }
        }
        self.dependents[usize::from(local)] = dependents;
    }
}
