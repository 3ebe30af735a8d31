//! Delta-stepping: all threads of a team on one search.
//!
//! Nodes of a stretch of distances, the step, are worked on in any order and by any thread; a node that is improved
//! within its step is worked on again (U. Meyer and P. Sanders, Delta-stepping: a parallelizable shortest path algorithm,
//! 2003). A thread goes on with what it finds in the same step by itself, without waiting for the others (bucket fusion: Y.
//! Zhang et al., Optimizing ordered graph algorithms with GraphIt, 2020).
//!
//! How long a step should be cannot be known from the graph alone: too short, and threads only wait for each other; too
//! long, and most work is done twice. Here buckets are narrow and a step is several of them. How many is decided anew at
//! every step from what the last one brought: more of them while there is too little to do, fewer when nodes turned out to
//! have been worked on too early.

use super::distance::{Distance, TooFar, fits};
use super::goal::Pending;
use super::labels::Labels;
use super::members::{Members, Own};
use super::owners::Owners;
use super::queue::Entry;
use super::relax::{Field, Relax, TEAM, relax, settle};
use crate::rows::{Node, Rows};
use firsttouch_threads::{Member, Team};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

/// Entries that a thread takes from a shared list at a time.
const PART: usize = 64;
/// Entries of one bucket that a thread keeps to itself; more are shared with the others.
const MOST_KEPT: usize = 1000;
/// Entries to be worked on in a step by each thread, so that waiting for the others is a small part of it.
const ENOUGH: u64 = 1000;
/// Buckets of a step at most.
const MOST_BUCKETS: u64 = 128;

/// How many buckets make a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// As many as seem right.
    Adapts,
    /// One.
    OneBucket,
}

/// What a team needs for one search after the other.
#[derive(Debug)]
pub(super) struct Delta<D> {
    shift: u32,
    step: Step,
    members: Members<D>,
    shared: Vec<Shared<D>>,
    rounds: [Round; 2],
}

/// What a member has found and every member may take from.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shared<D> {
    entries: RwLock<Vec<Entry<D>>>,
    taken: AtomicUsize,
}

/// What the members tell each other at the end of a step. There are two: one is read while the other is made ready.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Round {
    /// The first bucket that is not empty.
    first: AtomicU64,
    /// Entries whose arcs were relaxed.
    relaxed: AtomicU64,
    /// Those of them that may have been in vain: a shorter path was found in the same step.
    early: AtomicU64,
}

impl Round {
    fn reset(&self) {
        self.first.store(u64::MAX, Ordering::Relaxed);
        self.relaxed.store(0, Ordering::Relaxed);
        self.early.store(0, Ordering::Relaxed);
    }
}

impl<D: Distance> Delta<D> {
    /// For the members of a team, with buckets 2^`shift` wide.
    pub(super) fn new(shift: u32, step: Step, rows: Rows<'_>, members: usize) -> Delta<D> {
        let together = if step == Step::Adapts { MOST_BUCKETS } else { 1 };
        Delta {
            shift,
            step,
            members: Members::new(shift, rows, together, members),
            shared: (0..members)
                .map(|_| Shared { entries: RwLock::default(), taken: AtomicUsize::new(0) })
                .collect(),
            rounds: Default::default(),
        }
    }

    /// Finds the distances of all nodes within the limit of `labels`, which hold the source, until none is pending.
    ///
    /// # Panics
    ///
    /// If the team has another number of members.
    pub(super) fn search(
        &mut self,
        team: &mut Team,
        rows: Rows<'_>,
        source: Node,
        pending: Pending<'_>,
        labels: &mut Labels<D>,
    ) -> Result<(), TooFar> {
        assert_eq!(team.size(), self.members.len(), "made for this team");
        for shared in &mut self.shared {
            shared.entries.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
            *shared.taken.get_mut() = 0;
        }
        let first = &mut self.shared[0].entries;
        first
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Entry { distance: D::default(), node: source });
        self.rounds.iter().for_each(Round::reset);
        self.members.begin();
        let limited = labels.limited;
        let field = Field::of(rows, labels, Owners::NOBODY);
        let relax = relax::<D, TEAM>(&field, limited);
        let search = Search { field: &field, relax, pending, delta: self };
        team.run(|member| search.take_part(member));
        drop(search);
        // All members have ended at the same place.
        let fits = self.members.finish(self.shift, labels);
        // Two threads may have reached a node at the same time.
        labels.reached.sort_unstable();
        labels.reached.dedup();
        fits
    }
}

/// One search, as all members see it.
struct Search<'a, D: Distance> {
    field: &'a Field<'a, D>,
    relax: Relax<'a, D>,
    pending: Pending<'a>,
    delta: &'a Delta<D>,
}

impl<D: Distance> Search<'_, D> {
    /// The work of one member.
    fn take_part(&self, member: &Member<'_>) {
        let me = member.index();
        let mut own = self.delta.members.lock(me);
        let own = &mut *own;
        let mut pending = self.pending;
        let (mut first, mut buckets) = (0, 1);
        for round in self.delta.rounds.iter().cycle() {
            // All members compute the same here, and so all leave or nobody does.
            let begin = first << self.delta.shift;
            if pending.are_settled(begin, |node| D::read(&self.field.distances[node as usize])) {
                own.end = Some(first);
                return;
            }
            let end = first + buckets;
            own.fits = fits::<D>(end << self.delta.shift, self.field.rows.max_weight());
            if own.fits.is_err() {
                return;
            }
            own.notes.early = 0;
            own.notes.early_before = D::at_most(end << self.delta.shift);
            self.work_on_shared(me, own);
            let rest = self.work_on_own(first, end, own);
            let next = if rest { Some(first) } else { own.queue.first_from(first) };
            round.first.fetch_min(next.unwrap_or(u64::MAX), Ordering::Relaxed);
            round.relaxed.fetch_add(own.notes.relaxed.len() as u64, Ordering::Relaxed);
            round.early.fetch_add(own.notes.early, Ordering::Relaxed);
            member.barrier();
            settle::<D>(self.field.distances, &mut own.notes.relaxed);
            first = round.first.load(Ordering::Relaxed);
            if first == u64::MAX {
                return;
            }
            if self.delta.step == Step::Adapts {
                buckets = self.buckets_of_next_step(round, buckets);
            }
            self.share(me, first, first + buckets, rest, own);
            if me == 0 {
                // Nobody reads the other one any more, and nobody writes to it before the barrier.
                let other = self.delta.rounds.iter().find(|other| !std::ptr::eq(*other, round));
                other.into_iter().for_each(Round::reset);
            }
            member.barrier();
        }
    }

    /// Twice as many when there was too little to do for all, half as many when much of it was too early.
    fn buckets_of_next_step(&self, round: &Round, buckets: u64) -> u64 {
        let relaxed = round.relaxed.load(Ordering::Relaxed);
        let early = round.early.load(Ordering::Relaxed);
        if early * 3 > relaxed {
            (buckets / 2).max(1)
        } else if relaxed < ENOUGH * self.delta.members.len() as u64 && early * 8 < relaxed {
            (buckets * 2).min(MOST_BUCKETS)
        } else {
            buckets
        }
    }

    /// Puts the entries of the step where all can take them.
    fn share(&self, me: usize, first: u64, end: u64, rest: bool, own: &mut Own<D>) {
        let shared = &self.delta.shared[me];
        let mut entries = shared.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.clear();
        if rest {
            entries.append(&mut own.batch);
        }
        own.queue
            .advance(first, |entry| D::read(&self.field.distances[entry.node as usize]) >= entry.distance);
        while let Some(number) = own.queue.first_from(first).filter(|number| *number < end) {
            own.queue.take(number, &mut entries);
        }
        shared.taken.store(0, Ordering::Relaxed);
    }

    /// Works on what was shared: what this member found itself first, since its surroundings are in this cache.
    fn work_on_shared(&self, me: usize, own: &mut Own<D>) {
        let members = self.delta.shared.len();
        for shared in (me..members).chain(0..me).map(|owner| &self.delta.shared[owner]) {
            let entries = shared.entries.read().unwrap_or_else(PoisonError::into_inner);
            loop {
                let from = shared.taken.fetch_add(PART, Ordering::Relaxed);
                if from >= entries.len() {
                    break;
                }
                let part = &entries[from..entries.len().min(from + PART)];
                (self.relax)(part, &mut own.queue, &mut own.notes);
            }
        }
    }

    /// Works on what this member found in the meantime, as long as it is little. True if there is more, in its batch.
    fn work_on_own(&self, first: u64, end: u64, own: &mut Own<D>) -> bool {
        own.batch.clear();
        while let Some(number) = own.queue.first_from(first).filter(|number| *number < end) {
            own.queue.take(number, &mut own.batch);
            if own.batch.len() > MOST_KEPT {
                return true;
            }
            (self.relax)(&own.batch, &mut own.queue, &mut own.notes);
            own.batch.clear();
        }
        false
    }
}
