//! What processes that share the vectors tell each other: sums, as `MPI_Allreduce` makes them.

use super::vectors::GRANULE;
use crate::share::cut;
use firsttouch_graph::Ranks;
use firsttouch_threads::Team;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Messages between all processes; a process alone sends none.
#[derive(Debug, Default)]
pub(super) struct Messages {
    ranks: Option<Rc<dyn Ranks>>,
    /// What they took since it was last asked, the waiting for others included.
    took: Cell<Duration>,
}

/// The threads of this process, and its messages to the others.
#[derive(Debug)]
pub(super) struct Everybody<'a> {
    pub(super) team: &'a mut Team,
    pub(super) messages: &'a Messages,
}

impl Messages {
    pub(super) fn between(ranks: Rc<dyn Ranks>) -> Messages {
        Messages { ranks: Some(ranks), took: Cell::default() }
    }

    /// The rows of this process, of so many.
    pub(super) fn rows(&self, length: usize) -> Range<usize> {
        match &self.ranks {
            Some(ranks) => cut(length, ranks.size(), GRANULE).swap_remove(ranks.rank()),
            None => 0..length,
        }
    }

    /// Adds up what all have, value by value; all call it at the same time, and have the sums.
    ///
    /// # Panics
    /// Where the others cannot be reached, which ends all of them.
    pub(super) fn sum(&self, values: &mut [f64]) {
        let Some(ranks) = &self.ranks else { return };
        let begun = Instant::now();
        if let Err(error) = ranks.sum(values) {
            panic!("the other ranks cannot be reached: {error}");
        }
        self.took.set(self.took.get() + begun.elapsed());
    }

    /// The time that they took since it was last asked.
    pub(super) fn take_time(&self) -> Duration {
        self.took.take()
    }

    /// Their share of the time of steps, in words.
    pub(super) fn words(&self, share: f64) -> Option<String> {
        let size = self.ranks.as_ref()?.size();
        Some(format!("messages took {:.1} % of the time of the first of {size} ranks", 100.0 * share))
    }
}
