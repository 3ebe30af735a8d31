//! What each member of a team has for itself in a search, and how the search begins and ends for all of them.

use super::distance::{Distance, TooFar};
use super::labels::Labels;
use super::queue::{BucketQueue, Entry};
use super::relax::Notes;
use crate::rows::Rows;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What only one member uses.
#[derive(Debug)]
pub(super) struct Own<D> {
    pub(super) queue: BucketQueue<D>,
    pub(super) batch: Vec<Entry<D>>,
    pub(super) notes: Notes<D>,
    /// Whether all distances fit, as far as this member has seen.
    pub(super) fits: Result<(), TooFar>,
    /// The bucket from which on it left everything undone because no target was pending, if it left anything.
    pub(super) end: Option<u64>,
}

/// What every member has, made once for one search after the other.
#[derive(Debug)]
pub(super) struct Members<D>(Vec<Mutex<Own<D>>>);

impl<D: Distance> Members<D> {
    /// For `members` of a team; each with buckets 2^`shift` wide, of which it keeps so many besides the one that is worked on.
    pub(super) fn new(shift: u32, rows: Rows<'_>, kept: u64, members: usize) -> Members<D> {
        let own = |me| Own {
            queue: BucketQueue::new(shift, rows.max_weight(), kept),
            batch: Vec::new(),
            notes: Notes::of(me as u16),
            fits: Ok(()),
            end: None,
        };
        Members((0..members).map(|me| Mutex::new(own(me))).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What this member uses, until the search is over.
    pub(super) fn lock(&self, me: usize) -> MutexGuard<'_, Own<D>> {
        // A panic elsewhere ends the search: nobody sees what it left.
        self.0[me].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the last search.
    pub(super) fn begin(&mut self) {
        for own in self.each() {
            own.queue.clear();
            own.notes.mail.clear();
            (own.fits, own.end) = (Ok(()), None);
        }
    }

    /// What each of them has, between searches.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Own<D>> {
        self.0.iter_mut().map(|own| own.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands what all have found to `labels`, without what lies behind the first end: up to there everybody has done all. `shift` is
    /// that of the buckets.
    pub(super) fn finish(&mut self, shift: u32, labels: &mut Labels<D>) -> Result<(), TooFar> {
        let (mut fits, mut end) = (Ok(()), None);
        for own in self.each() {
            labels.reached.append(&mut own.notes.reached);
            fits = fits.and(own.fits);
            end = end.into_iter().chain(own.end).min();
        }
        if let Some(end) = end {
            labels.cut(end << shift);
        }
        fits
    }
}
