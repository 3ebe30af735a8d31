//! What `sssp` and `apsp` share: the graph, the algorithm made ready, how far it is, other processes, and what is told.

mod found;
mod input;
mod mpi;
mod need;
mod ranks;
mod ready;
mod search_progress;
mod shared;
mod sources;

pub(crate) use found::Found;
pub(crate) use input::Input;
use input::missing;
pub(crate) use mpi::{hear_ready, is_there as mpi_is_there, load as load_by_ranks, tell_ready, world};
pub(crate) use need::tell as tell_need;
use ranks::this as this_rank;
pub(crate) use ready::{Ready, ready};
pub(crate) use search_progress::SearchProgress;
pub(crate) use shared::{Shared, merge};
pub(crate) use sources::{count as count_sources, nodes, sources};
