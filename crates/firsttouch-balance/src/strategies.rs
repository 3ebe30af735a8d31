//! The strategies, one file each.

mod anneal;
mod assign;
mod best;
mod bisect;
mod compare;
mod context;
mod exhaustive;
mod folder;
mod graph;
mod greedy;
mod greedy_refine;
mod local_search;
mod makespan;
mod metis;
mod multilevel;
mod none;
mod numa;
mod partition;
mod portfolio;
mod profile;
mod recbipart;
mod refine;
mod rounds;
mod scotch;
mod search;
mod treematch;

pub use best::Best;
pub use greedy::Greedy;
pub use greedy_refine::GreedyRefine;
pub use metis::Metis;
pub use none::KeepAll;
pub use numa::Numa;
pub use recbipart::RecBipart;
pub use refine::Refine;
pub use scotch::Scotch;
pub use treematch::TreeMatch;

use crate::{Strategy, StrategyError};

/// All strategies, the simplest first.
#[must_use]
pub fn all() -> Vec<Box<dyn Strategy>> {
    vec![
        Box::new(KeepAll),
        Box::new(Greedy),
        Box::new(GreedyRefine),
        Box::new(Refine),
        Box::new(RecBipart),
        Box::new(Metis),
        Box::new(Scotch),
        Box::new(Numa),
        Box::new(TreeMatch),
        Box::new(Best),
    ]
}

/// The strategy of a name.
///
/// # Errors
///
/// There is none.
pub fn named(name: &str) -> Result<Box<dyn Strategy>, StrategyError> {
    let mut all = all().into_iter();
    all.find(|strategy| strategy.name() == name).ok_or_else(|| StrategyError::Unknown(name.to_owned()))
}
