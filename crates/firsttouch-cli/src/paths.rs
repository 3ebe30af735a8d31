//! What `sssp` and `apsp` share: the graph, the algorithm made ready, and how far it is.

mod input;
mod once;
mod progress;
mod ranks;
mod ready;
mod sources;

pub(crate) use input::Input;
use input::missing;
pub(crate) use once::{Made, made};
pub(crate) use progress::{INTERRUPTED, Pace, Progress, stop_at_signals};
pub(crate) use ranks::{ShardWord, this as this_rank};
pub(crate) use ready::{Ready, ready};
pub(crate) use sources::{nodes, sources};
