//! What a session proved.

use firsttouch_placement::{ConfigurationReport, Confirmation};

/// The result of [`crate::run`]: always valid, however early the session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<E> {
    /// One report per configuration, in the order of the plan. `asked` and `obtained` are left `None` for the caller,
    /// who knows them. A configuration that never ran has no runs and a mean of 0.
    pub configurations: Vec<ConfigurationReport>,
    /// Index of the configuration that the search found fastest, if its verdict is faster.
    pub winner: Option<usize>,
    /// The fresh blocks of winner and baseline, if any were begun.
    pub confirmation: Option<Confirmation>,
    /// Somebody asked to stop; what is here is what was finished.
    pub interrupted: bool,
    /// The configuration whose run failed, and how. The session ended there.
    pub failure: Option<(usize, E)>,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}
