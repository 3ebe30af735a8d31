//! Owner-partitioned delta-stepping: all threads of a team on one search of a graph in which few arcs lead far: every thread has partitions of its own.
//!
//! In delta-stepping any thread works on any node, so that most of what one reads another has just written: on a map, where
//! a step has a few hundred nodes, carrying cache lines between cores takes longer than the search by one of them. Here
//! the nodes are cut into partitions of consecutive numbers, which the threads own in turn; wherever the search is, its
//! front crosses partitions of all. Only its owner writes a node's distance and enters it into a queue. A path that leads
//! into a partition of another thread is sent there by mail; the distance that stands there, however old, tells whether it is
//! worth sending. So a thread's distances and arcs stay in its cache, and nothing needs an instruction that locks.
//!
//! There are no steps that all begin and end together. Each thread works through its own buckets, and waits only when it
//! is [`LEAD`] buckets ahead of the last of the others, since what it does then may be in vain. What comes late is
//! put right as always, by working on a node again.
//!
//! The search has ended when no thread has anything in its queue and no mail is under way. Whoever is idle finds that out
//! alone: it adds up how much mail every other has received, looks that it is idle, and then adds up how much all have
//! sent; the sums are equal only if nothing was under way in between (F. Mattern, Algorithms for distributed termination
//! detection, 1987). A search to some targets ends in the same way: who finds that all of them are closer than all it has left
//! to do leaves that undone.

use super::distance::{Distance, TooFar, fits};
use super::goal::Pending;
use super::labels::Labels;
use super::mail::Mailbox;
use super::members::{Members, Own};
use super::owners::Owners;
use super::relax::{Field, PARTITIONED, Relax, relax};
use crate::rows::{Node, Rows};
use firsttouch_threads::{Member, Team};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Buckets that a thread may be ahead of the last of the others.
const LEAD: u64 = 2;
/// Buckets that are kept free behind the one that is worked on, for mail that comes late.
const BEHIND: u64 = 32;
/// Looks at others before a thread that waits lets another one run on its CPU.
const LOOKS: u32 = 16;
/// What an idle thread is at.
const IDLE: u64 = u64::MAX;

/// What a team needs for one search after the other.
#[derive(Debug)]
pub(super) struct Partitions<D: Distance> {
    shift: u32,
    owners: Owners,
    members: Members<D>,
    /// What each member tells the others.
    progress: Vec<MemberProgress>,
    /// From each member to each, those to one side by side.
    mail: Vec<Mailbox<D>>,
    /// The search of a member has failed: all leave it.
    failed: AtomicBool,
}

/// What one member writes and all read.
#[derive(Debug, Default)]
#[repr(align(128))]
struct MemberProgress {
    /// The bucket it works on; [`IDLE`] if it has none, and nothing to send.
    at: AtomicU64,
    /// Entries it has sent and received.
    sent: AtomicU64,
    received: AtomicU64,
}

impl<D: Distance> Partitions<D> {
    /// For the members of a team, with buckets 2^`shift` wide.
    pub(super) fn new(shift: u32, rows: Rows<'_>, members: usize) -> Partitions<D> {
        Partitions {
            shift,
            owners: Owners::new(rows.nodes(), members),
            members: Members::new(shift, rows, BEHIND, members),
            progress: (0..members).map(|_| MemberProgress::default()).collect(),
            mail: (0..members * members).map(|_| Mailbox::new()).collect(),
            failed: AtomicBool::new(false),
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
        self.progress.iter_mut().for_each(|progress| *progress = MemberProgress::default());
        self.mail.iter_mut().for_each(Mailbox::clear);
        *self.failed.get_mut() = false;
        self.members.begin();
        let first = self.owners.of(source) as usize;
        if let Some(own) = self.members.each().nth(first) {
            own.queue.enter(D::default(), source);
        }
        let limited = labels.limited;
        let field = Field::of(rows, labels, &self.owners);
        let relax = relax::<D, PARTITIONED>(&field, limited);
        let search = Search { field: &field, relax, pending, limited, partitions: self };
        team.run(|member| search.take_part(member));
        drop(search);
        self.members.finish(self.shift, labels)
    }
}

/// One search, as all members see it.
struct Search<'a, D: Distance> {
    field: &'a Field<'a, D>,
    relax: Relax<'a, D>,
    pending: Pending<'a>,
    limited: bool,
    partitions: &'a Partitions<D>,
}

/// Nobody waits for a member that panics.
struct Leaver<'a>(&'a AtomicBool);

impl Drop for Leaver<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<D: Distance> Search<'_, D> {
    /// The work of one member.
    fn take_part(&self, member: &Member<'_>) {
        let (me, shift) = (member.index(), self.partitions.shift);
        let mut own = self.partitions.members.lock(me);
        let own = &mut *own;
        let progress = &self.partitions.progress[me];
        let (mut number, mut looks, mut pending) = (0, 0, self.pending);
        // Late mail leads back, but what is pending has forgotten the targets that are closer than this.
        let mut farthest = 0;
        let _leaver = Leaver(&self.partitions.failed);
        while !self.partitions.failed.load(Ordering::Relaxed) {
            number = self.receive(me, own, number);
            let mut next = own.queue.first_from(number);
            farthest = next.map_or(farthest, |next| farthest.max(next));
            if own.end.is_none()
                && next.is_some()
                && pending
                    .are_settled(farthest << shift, |node| D::read(&self.field.distances[node as usize]))
            {
                own.end = Some(farthest);
            }
            // Late mail may bring it back to what is closer than that.
            next = next.filter(|next| own.end.is_none_or(|end| *next < end));
            let unsent = own.notes.mail.first().map(|_| number);
            let at = next.or(unsent).unwrap_or(IDLE);
            progress.at.store(at, Ordering::Release);
            if let Some(next) = next {
                number = next;
            }
            if next.is_none_or(|next| next > self.last_of_others(me).saturating_add(LEAD)) {
                self.send(me, own);
                if at == IDLE && self.is_over() {
                    return;
                }
                looks += 1;
                if looks % LOOKS == 0 {
                    // Those waited for may need this CPU, or not run at all.
                    thread::yield_now();
                }
                spin_loop();
                continue;
            }
            looks = 0;
            own.queue.advance(number.saturating_sub(BEHIND), |entry| {
                D::read(&self.field.distances[entry.node as usize]) >= entry.distance
            });
            // Mail that was very late may have turned the circle of buckets round: nothing in it is farther than this.
            own.fits = fits::<D>(own.queue.far_from() << shift, self.field.rows.max_weight());
            if own.fits.is_err() {
                self.partitions.failed.store(true, Ordering::Relaxed);
                return;
            }
            own.batch.clear();
            own.queue.take(number, &mut own.batch);
            (self.relax)(&own.batch, &mut own.queue, &mut own.notes);
            self.send(me, own);
        }
    }

    /// Takes in what was sent to this member; answers the first bucket from which on there may be something now, if
    /// before there was nothing before `number`.
    fn receive(&self, me: usize, own: &mut Own<D>, number: u64) -> u64 {
        let members = self.partitions.members.len();
        let progress = &self.partitions.progress[me];
        let (mut first, mut received) = (number, 0);
        for mail in &self.partitions.mail[me * members..][..members] {
            received += mail.take(|entry| {
                let cell = &self.field.distances[entry.node as usize];
                let held = D::read(cell);
                if entry.distance >= held {
                    return;
                }
                D::write(cell, entry.distance);
                if self.limited && held == D::UNREACHED {
                    own.notes.reached.push(entry.node);
                }
                own.queue.enter(entry.distance, entry.node);
                first = first.min(entry.distance.bucket(self.partitions.shift));
            });
        }
        if received > 0 {
            // Busy first, received then: who sees the latter sees the former.
            progress.at.store(first, Ordering::Release);
            progress.received.store(progress.received.load(Ordering::Relaxed) + received, Ordering::Release);
        }
        first
    }

    /// Sends what there is room for.
    fn send(&self, me: usize, own: &mut Own<D>) {
        if own.notes.mail.is_empty() {
            return;
        }
        let members = self.partitions.members.len();
        let progress = &self.partitions.progress[me];
        // Counted before anybody can receive it; what did not fit is taken back, since nobody ends while this one is busy.
        let before = progress.sent.load(Ordering::Relaxed);
        progress.sent.store(before + own.notes.mail.len() as u64, Ordering::Release);
        if members == 2 {
            let sent = self.partitions.mail[(1 - me) * members + me].put(&own.notes.mail);
            own.notes.mail.drain(..sent);
        } else {
            own.notes.mail.retain(|entry| {
                let owner = self.partitions.owners.of(entry.node) as usize;
                self.partitions.mail[owner * members + me].put(std::slice::from_ref(entry)) == 0
            });
        }
        if !own.notes.mail.is_empty() {
            let sent = progress.sent.load(Ordering::Relaxed) - own.notes.mail.len() as u64;
            progress.sent.store(sent, Ordering::Release);
        }
    }

    /// The first bucket that another member works on.
    fn last_of_others(&self, me: usize) -> u64 {
        let others = self.partitions.progress.iter().enumerate().filter(|(other, _)| *other != me);
        others.map(|(_, progress)| progress.at.load(Ordering::Relaxed)).min().unwrap_or(IDLE)
    }

    /// Whether everybody is idle and no mail is under way. Once true, it stays so.
    fn is_over(&self) -> bool {
        let mut received = 0;
        for progress in &self.partitions.progress {
            received += progress.received.load(Ordering::Acquire);
            if progress.at.load(Ordering::Acquire) != IDLE {
                return false;
            }
        }
        received
            == self
                .partitions
                .progress
                .iter()
                .map(|progress| progress.sent.load(Ordering::Acquire))
                .sum::<u64>()
    }
}
