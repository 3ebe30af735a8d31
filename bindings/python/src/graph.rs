//! Graphs and shortest paths for Python.
//!
//! Nodes are told apart by their places, from 0, as the file or the arrays have them, whatever order they have inside.
//! Arrays of NumPy's are read and filled where they lie ([`numbers`]); what takes long runs without Python's lock, in
//! threads of its own, while the calling thread looks for signals ([`patience`]).

mod borrowed;
mod failure;
mod figures;
mod held;
mod index;
mod numbers;
mod output;
mod paths;
mod patience;
mod places;

pub(crate) use figures::summaries;
pub(crate) use held::{Held, View};
pub(crate) use index::{Index, table};
pub(crate) use paths::{distances, nearest, suits_index};
