//! Sweeps over the cube: one time step, or several of them on what is in the caches.
//!
//! Several time steps at once are computed tile by tile. From each to the next a tile moves against rows and planes, as far as differences
//! reach, so that all that it needs has been computed by then, by itself or by tiles before it; and as the field of the next time takes the
//! place of that before, nobody needs that any more. Tiles of which neither is before the other are computed at the same time.
//! Source: Wolf and Lam, *A Data Locality Optimizing Algorithm* (1991), for skewed tiles and their wavefronts; Wonnacott, *Using Time Skewing
//! to Eliminate Idle Time due to Memory Bandwidth and Network Limitations* (2000), for their worth to stencils.
#![expect(unsafe_code, reason = "threads compute parts of the same fields")]

use super::field::{Cube, REACH, ricker};
use super::rows::{Block, Fields, Rows};
use crate::share::{cut, each};
use firsttouch_threads::Team;
use std::ops::Range;

/// How the cube is cut.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// What computes rows.
    pub(super) rows: Rows,
    /// Rows of a tile.
    pub(super) tile: usize,
    /// Time steps at once, at most.
    pub(super) depth: usize,
}

/// Computes the time steps of these numbers. Where they are odd in number, the fields have changed their names then.
///
/// # Panics
/// Where several steps are to be computed in tiles of fewer rows than they need of the tile before.
pub(super) fn sweep(cube: &Cube, fields: Fields<'_>, times: &Range<usize>, how: Cut, team: &mut Team) {
    let skew = REACH * times.len().saturating_sub(1);
    // What a point needs lies twice as far as differences reach, seen from its own tile, which has moved since.
    let (least, is_alone) = if skew == 0 { (1, true) } else { (2 * REACH, false) };
    assert!(how.tile >= least, "a tile needs what is in the one before it only");
    let tiles = (cube.n + skew).div_ceil(how.tile);
    let slabs = cut(cube.n + skew, team.size(), least);
    // In a single time step no tile needs another.
    let rounds = if is_alone { 1 } else { tiles + slabs.len() - 1 };
    for round in 0..rounds {
        each(team, slabs.iter().enumerate().collect(), |_, (index, slab)| {
            let turn = round.saturating_sub(index);
            let these = match is_alone {
                true => 0..tiles,
                false if round < index || turn >= tiles => 0..0,
                false => turn..turn + 1,
            };
            for tile in these {
                // SAFETY: what this tile needs was computed in earlier rounds, or before by this thread; other tiles of this round begin at
                // rows and planes of which the one is before and the other behind this one's, so that neither needs the other.
                unsafe { sweep_tile(cube, fields, times, how, (tile, slab)) }
            }
        });
    }
}

/// Computes all time steps of a tile, plane after plane of its slab.
///
/// # Safety
/// The tiles before it, by rows, by planes and by both, are done, and of those behind it none has begun.
unsafe fn sweep_tile(
    cube: &Cube,
    fields: Fields<'_>,
    times: &Range<usize>,
    how: Cut,
    (tile, slab): (usize, &Range<usize>),
) {
    let [x, y, source] = cube.source();
    for plane in slab.clone() {
        for (step, time) in times.clone().enumerate() {
            let moved = REACH * step;
            let Some(z) = plane.checked_sub(moved).filter(|z| *z < cube.n) else { continue };
            let [first, end] =
                [tile, tile + 1].map(|tile| (tile * how.tile).saturating_sub(moved).min(cube.n));
            let block = Block { cube, fields: fields.after(step), z, rows: first..end };
            // SAFETY: these are rows of the cube; and as the caller vouches.
            unsafe { (how.rows)(&block) };
            if z == source && block.rows.contains(&y) {
                // SAFETY: a point of these rows.
                unsafe { *block.fields.before.add(cube.at([x, y, z])) += ricker(time) };
            }
        }
    }
}
