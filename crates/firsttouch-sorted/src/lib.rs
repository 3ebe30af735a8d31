//! Maps and sets of few entries, as vectors in ascending order, and a sort of few values.
//!
//! Those of the standard library are for millions of entries: some four thousand lines of the compiler's for every type of keys
//! and values, a tenth of all that we had it compile. These take a tenth of that, and for the CPUs, nodes and devices of a
//! machine they are as quick. An entry that comes out of order moves all behind it: what strangers can make long is kept in the
//! maps of the standard library.
//!
//! Architecture invariant: nothing here knows what it holds.

#![forbid(unsafe_code)]

mod map;
mod set;
mod sort;

pub use map::{Entry, SortedMap};
pub use set::SortedSet;
pub use sort::{sort_by, sort_by_key};
