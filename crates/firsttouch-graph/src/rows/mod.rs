//! Graphs as they lie in memory: compressed sparse rows.
//!
//! A [`Graph`] is rows of our own, built of arcs that come in any order (`build.rs`), made of another graph (`derived.rs`), with its
//! nodes in another order ([`Order`]), copied to every group of cores ([`Copies`]). `BorrowedCsr` (feature `borrowed`) are arrays of others, where they lie:
//! what searches need of both is [`Rows`].

mod arc;
#[expect(unsafe_code, reason = "arrays in memory of several kinds, which they keep")]
mod array;
#[cfg(feature = "borrowed")]
mod borrowed;
#[cfg(feature = "borrowed")]
mod borrowed_view;
mod build;
mod copies;
mod csr;
mod derived;
mod error;
mod graph;
mod ids;
mod order;
#[expect(unsafe_code, reason = "prefetching")]
mod prefetch;
mod searched;
mod validated;
mod view;

pub(crate) use arc::Extent;
pub use arc::{Node, OutArc, UNREACHED};
pub use array::Place;
pub(crate) use array::{Array, Cells, Owner, Pack, Store};
#[cfg(feature = "borrowed")]
pub use borrowed::BorrowedCsr;
#[cfg(feature = "borrowed")]
pub(crate) use borrowed_view::BorrowedRows;
pub(crate) use build::{ArcSource, BuildError, build, in_parts};
pub(crate) use copies::receipt_of;
pub use copies::{Copies, CoreGroup, Graphs, core_groups, core_groups_across};
pub use csr::{CsrArrays, Index, Weights};
pub use error::GraphError;
pub use graph::Graph;
pub use ids::Ids;
pub use order::{Order, Reordering};
pub(crate) use prefetch::prefetch;
pub use searched::Rows;
pub(crate) use searched::for_views;
pub use validated::ValidatedCsr;
pub(crate) use view::{Arc, OwnRows, Stretch, View};
