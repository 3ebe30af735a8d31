//! The inner loop of all searches with buckets: the arcs of some nodes are relaxed, and the nodes they lead to are entered
//! into the queue where their distances improved.
//!
//! A search waits for memory and for wrong guesses of branches, not for arithmetic. So what a node needs is asked for some
//! nodes ahead: where its arcs begin, then the arcs, then the distances at their heads. And nodes with few arcs are worked
//! on without a branch: always four arcs are read, the last of them perhaps those of the next node, and where
//! a distance is no improvement the old one is written again, or, with several threads, the new one to where nobody reads it.
//! What is an improvement is collected first, by a store that counts or does not, and entered into the queue some hundred at
//! a time: less than half of the arcs are one, and a loop that does both runs out of registers. One thread by itself enters
//! those of nodes with many arcs at once: there the branch is guessed anyway, and collecting cost some percent.
//!
//! Several threads may do this at the same time. Where each has nodes of its own, it writes the distances of no others, and
//! reads those of others as a hint only. Otherwise they read, compare and write, without an instruction that would make
//! these one step (such an instruction takes longer than all the rest), so that one may write a longer distance over a
//! shorter one that another has written meanwhile. The shorter one is not lost: it stands in the queue of its thread, and
//! is put back when it comes out, or, if it was out already, by [`settle`], which looks at all entries that were relaxed
//! when nobody relaxes arcs any more.

use super::distance::Distance;
use super::labels::Labels;
use super::owners::Owners;
use super::queue::{BucketQueue, Entry};
use crate::rows::{Arc, Node, Rows, Stretch, View, for_views, prefetch};
use std::hint::select_unpredictable;
use std::ops::Range;

/// Who writes distances: one thread.
pub(super) const ALONE: u8 = 0;
/// Who writes distances: every thread all of them.
pub(super) const TEAM: u8 = 1;
/// Who writes distances: every thread those of its own nodes; what concerns others is noted to be sent to them.
pub(super) const PARTITIONED: u8 = 2;

/// Nodes from asking for memory to asking for what it points to. Three times as many are under way, about as many as a core
/// keeps cache misses.
const AHEAD: usize = 4;
/// Arcs that are read of every node, however few it has.
const FEW: usize = 4;
/// Arcs of a node with many from asking for a distance to reading it.
const ARCS_AHEAD: usize = 16;

/// Improvements that are collected before they are entered into the queue; a power of two.
const FOUND: usize = 512;

/// What all threads of a search see.
#[derive(Debug)]
pub(super) struct Field<'a, D: Distance> {
    pub(super) rows: Rows<'a>,
    pub(super) distances: &'a [D::Shared],
    /// No distance beyond this one is noted; looked at only in a search with a limit.
    pub(super) limit: D,
    /// Who owns which nodes, in a search by partitions.
    pub(super) owners: &'a Owners,
}

impl<'a, D: Distance> Field<'a, D> {
    /// For a search that fills these labels.
    pub(super) fn of(rows: Rows<'a>, labels: &'a mut Labels<D>, owners: &'a Owners) -> Field<'a, D> {
        Field { rows, distances: D::share(&mut labels.distances), limit: labels.limit, owners }
    }
}

/// What one thread notes.
#[derive(Debug)]
pub(super) struct Notes<D> {
    /// Nodes that got their first distance, in a search with a limit. With several threads a node may be noted twice.
    pub(super) reached: Vec<Node>,
    /// Entries that were relaxed, in a search by several threads.
    pub(super) relaxed: Vec<Entry<D>>,
    /// Nodes that were improved and may have been relaxed before, in a search by several threads.
    pub(super) early: u64,
    /// Where improvements count as early: before this distance.
    pub(super) early_before: D,
    /// Nodes that were improved and are not in the queue yet, at the beginning; the rest means nothing.
    found: Box<[Entry<D>; FOUND]>,
    /// Who notes, in a search by partitions.
    me: u16,
    /// Paths to nodes of others, in a search by partitions.
    pub(super) mail: Vec<Entry<D>>,
}

impl<D: Distance> Notes<D> {
    pub(super) fn new() -> Notes<D> {
        Notes::of(0)
    }

    /// Those of one member of a search by partitions.
    pub(super) fn of(me: u16) -> Notes<D> {
        Notes {
            reached: Vec::new(),
            relaxed: Vec::new(),
            early: 0,
            early_before: D::default(),
            found: Box::new([Entry::default(); FOUND]),
            me,
            mail: Vec::new(),
        }
    }
}

/// The loop over arcs: relaxes those of some nodes, which were not improved since they were entered.
pub(super) type Relax<'a, D> = Box<dyn Fn(&[Entry<D>], &mut BucketQueue<D>, &mut Notes<D>) + Sync + 'a>;

/// The loop of a search with a limit, or without: the only part of searches that is compiled for each kind of rows.
pub(super) fn relax<'a, D: Distance, const WRITERS: u8>(
    field: &'a Field<'a, D>,
    limited: bool,
) -> Relax<'a, D> {
    for_views!(field.rows, view => if limited {
        Box::new(move |batch, queue, notes| relax_all::<D, _, true, WRITERS>(field, view, batch, queue, notes))
    } else {
        Box::new(move |batch, queue, notes| relax_all::<D, _, false, WRITERS>(field, view, batch, queue, notes))
    })
}

fn relax_all<D: Distance, V: View, const LIMITED: bool, const WRITERS: u8>(
    field: &Field<'_, D>,
    rows: V,
    batch: &[Entry<D>],
    queue: &mut BucketQueue<D>,
    notes: &mut Notes<D>,
) {
    let distances = field.distances;
    let nowhere = D::cell();
    let mut found = 0;
    for step in 0..batch.len() + 3 * AHEAD {
        if let Some(entry) = batch.get(step) {
            rows.prefetch_row(entry.node);
            prefetch(distances, entry.node as usize);
        }
        if let Some(entry) = batch.get(step.wrapping_sub(AHEAD)) {
            rows.prefetch_arc(rows.begin(entry.node));
        }
        if let Some(entry) = batch.get(step.wrapping_sub(2 * AHEAD)) {
            let begin = rows.begin(entry.node);
            if let Some(few) = rows.stretch(begin..begin + FEW) {
                for arc in few.each() {
                    prefetch(distances, arc.head() as usize);
                }
            }
        }
        let Some(&Entry { distance: from, node }) = batch.get(step.wrapping_sub(3 * AHEAD)) else { continue };
        let Range { start: begin, end } = rows.row(node);
        let held = D::read(&distances[node as usize]);
        if held < from {
            continue;
        }
        if WRITERS == TEAM {
            if held > from {
                D::write(&distances[node as usize], from);
            }
            notes.relaxed.push(Entry { distance: from, node });
        }
        if found > FOUND - FEW {
            queue.enter_all(&notes.found[..found]);
            found = 0;
        }
        match rows.stretch(begin..begin + FEW) {
            Some(few) if end - begin <= FEW => {
                for (at, arc) in few.each().enumerate() {
                    let entry = Entry { distance: from.plus(arc.weight()), node: arc.head() };
                    let is_there = begin + at < end;
                    let wanted = offer::<D, LIMITED, WRITERS>(field, &nowhere, notes, entry, is_there);
                    notes.found[found % FOUND] = entry;
                    found += usize::from(wanted);
                }
            }
            _ => {
                let arcs = rows.stretch(begin..end).expect("rows end where the arcs do");
                for (at, arc) in arcs.each().enumerate() {
                    if let Some(later) = arcs.head(at + ARCS_AHEAD) {
                        prefetch(distances, later as usize);
                    }
                    // Most arcs of a node with many lead to nodes that are near already, which can be guessed.
                    let entry = Entry { distance: from.plus(arc.weight()), node: arc.head() };
                    if entry.distance < D::read(&distances[entry.node as usize])
                        && offer::<D, LIMITED, WRITERS>(field, &nowhere, notes, entry, true)
                    {
                        if WRITERS == ALONE {
                            queue.enter(entry.distance, entry.node);
                            continue;
                        }
                        notes.found[found % FOUND] = entry;
                        found += 1;
                        if found == FOUND {
                            queue.enter_all(&notes.found[..]);
                            found = 0;
                        }
                    }
                }
            }
        }
    }
    queue.enter_all(&notes.found[..found]);
}

/// Notes a path to a node if it `is_there` and the shortest so far; true if the node must be entered into the queue then.
#[inline(always)]
fn offer<D: Distance, const LIMITED: bool, const WRITERS: u8>(
    field: &Field<'_, D>,
    nowhere: &D::Shared,
    notes: &mut Notes<D>,
    Entry { distance, node: head }: Entry<D>,
    is_there: bool,
) -> bool {
    let cell = &field.distances[head as usize];
    let held = D::read(cell);
    let mut wanted = is_there & (distance < held);
    if LIMITED {
        wanted &= distance <= field.limit;
    }
    // Nearly all arcs stay in the partitions of one thread: this can be guessed.
    if WRITERS == PARTITIONED && field.owners.of(head) != notes.me {
        if wanted {
            notes.mail.push(Entry { distance, node: head });
        }
        return false;
    }
    if LIMITED && wanted && held == D::UNREACHED {
        notes.reached.push(head);
    }
    if WRITERS == TEAM {
        notes.early += u64::from(wanted & (held < notes.early_before));
        D::write(select_unpredictable(wanted, cell, nowhere), distance);
    } else {
        D::write(cell, if wanted { distance } else { held });
    }
    wanted
}

/// Puts distances back that were overwritten after their entries had been relaxed. Called by every thread for what it
/// relaxed itself, while no thread relaxes arcs.
pub(super) fn settle<D: Distance>(distances: &[D::Shared], relaxed: &mut Vec<Entry<D>>) {
    for entry in relaxed.drain(..) {
        D::lower(&distances[entry.node as usize], entry.distance);
    }
}
