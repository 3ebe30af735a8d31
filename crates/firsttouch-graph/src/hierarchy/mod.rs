//! One-to-all sweeps over a contraction hierarchy (PHAST): for graphs that small cuts fall apart under, as roads do.
//!
//! A [`Hierarchy`] is made once for a graph ([`Hierarchy::build`]): nested dissection finds an order, contracting the nodes
//! in that order adds arcs, and [`Hierarchy::customize`] computes their lengths, for the graph's weights or for others. Then
//! [`PhastQuery`] answers from any sources to all nodes, or to some, 32 sources at once.
//!
//! A search from a source that only rises comes by few nodes. From there, one sweep downwards, in an order that is the same
//! for all sources, reaches all nodes (Delling, Goldberg, Nowatzyk and Werneck, *PHAST: Hardware-accelerated shortest path
//! trees*, 2011). Here the order walks the elimination tree of a customizable hierarchy, so that distances of the nodes
//! above lie on a stack in the first caches, and the n x 32 distances of a sweep are never in memory all at once.
//!
//! Where no small cuts exist, contracting would join everything with everything. [`Hierarchy::build`] notices early and
//! refuses ([`HierarchyError::NoSmallCuts`], [`HierarchyError::TooManyArcs`]).

mod asked;
mod build;
mod consumers;
mod customize;
mod error;
mod index;
mod length;
mod limits;
mod order;
mod plan;
mod query;
mod row;
#[expect(unsafe_code, reason = "vector instructions")]
mod simd;
mod summary;
mod sweep;
mod tree;

pub use build::Hierarchy;
pub(crate) use consumers::{Accumulator, Found};
pub use error::HierarchyError;
pub use limits::{HierarchyOptions, Limits};
pub use query::{PhastQuery, SOURCES_AT_ONCE};
pub use simd::Instructions;
