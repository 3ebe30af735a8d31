//! What a long run tells while it lasts, and what it has found.

use crate::histogram::Histogram;
use firsttouch_documents::Summary;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllPairsProgress {
    /// Sources that are done, those of earlier runs included.
    pub done: usize,
    /// Sources of this run that are done.
    pub done_now: usize,
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllPairsOutcome {
    /// What is known.
    pub stored: Stored,
    /// How many sources an earlier run had done.
    pub resumed: usize,
}

/// What is kept of all distances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The summary of each source, in the order given; `None` for those that are not done.
    pub summaries: Vec<Option<Summary>>,
    /// How many distances there are of each length, from the sources that are done, if they were to be counted.
    pub histogram: Option<Histogram>,
}

impl Stored {
    /// How many sources are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.summaries.iter().flatten().count()
    }

    /// The summaries of all sources; `None` if one is not done.
    #[must_use]
    pub fn finished(&self) -> Option<Vec<Summary>> {
        self.summaries.iter().copied().collect()
    }
}
