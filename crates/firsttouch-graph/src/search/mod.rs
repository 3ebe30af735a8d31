//! Shortest paths by searching: from one source after the other, with arrays and queues that are made once.
//!
//! [`Search`] is one thread with a bucket queue or, for reference, a heap. [`ParallelSearch`] is all threads of a team on one
//! source: any of them on any node (`delta.rs`), or each on nodes of its own (`partitions.rs`). [`search_each`] gives every thread
//! of a team sources of its own. [`choose`] tells which of them suits a graph. All of them fill an array of distances, of 32
//! bits for as long as these suffice, and show it as a [`Tree`].
//!
//! Architecture invariant: a distance that is shown is the shortest, or there is none; nothing in here is approximate,
//! whatever the width of buckets, the limit or the number of threads. What is `unsafe` is in `memory.rs`.

mod buckets;
mod choose;
mod delta;
mod distance;
mod distances;
mod engine;
mod goal;
mod heap;
mod labels;
mod mail;
mod many;
mod members;
#[expect(unsafe_code, reason = "cells shared between threads")]
mod memory;
mod methods;
mod one;
mod owners;
mod parallel;
mod parents;
mod partitions;
mod queue;
mod relax;
mod tree;
mod width;

pub use choose::{Algorithm, Choice, GraphShape, NEIGHBOURHOOD, STRETCH, Task, choose, leads_on};
pub use distances::Distances;
pub use goal::Goal;
pub use many::search_each;
pub use one::{Search, Width};
pub use parallel::ParallelSearch;
pub use parents::NO_PARENT;
pub use tree::Tree;
