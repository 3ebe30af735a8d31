//! What a session proved.

use firsttouch_placement::{ConfigurationReport, Confirmation, Ratio};

/// The result of [`crate::run`]: always valid, however early the session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<E> {
    /// One report per configuration, in the order of the plan. `asked` and `obtained` are left `None` for the caller,
    /// who knows them. A configuration that never ran has no runs and a mean of 0.
    pub configurations: Vec<ConfigurationReport>,
    /// Index of the configuration that the search found fastest, if its verdict is faster; or of the one that is as fast
    /// and intrudes less.
    pub winner: Option<usize>,
    /// The fastest of the search where the winner took its place, and how many times faster the winner is than it, by the
    /// blocks of the search, with an interval.
    pub tied_with: Option<(usize, Ratio)>,
    /// The fresh blocks of winner and baseline, if any were begun.
    pub confirmation: Option<Confirmation>,
    /// Somebody asked to stop; what is here is what was finished.
    pub interrupted: bool,
    /// The configuration whose run failed, and how. The session ended there.
    pub failure: Option<(usize, E)>,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}
