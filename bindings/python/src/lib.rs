//! The extension module of the Python package `firsttouch`: what Python cannot do by itself.
//!
//! Memory for arrays (`region`), NumPy's allocation handlers (`handler`), huge pages for the whole process
//! (`session`), receipts (`obtained`), threads on CPUs (`pin`), the machine (`machine`), sessions of `tune` (`tune`), shortest paths
//! (`graph`). How it is
//! said to people is the package's part, in `python/firsttouch`.
//!
//! Architecture invariants: loading does nothing but define names; whatever takes long is done without Python's lock; memory
//! that an array may still use is never given back; a handler outlives every array made with it.

#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments come from Python as values: before 3.10 its stable interface lends no text"
)]

mod errors;
mod graph;
mod handler;
mod machine;
mod obtained;
mod pin;
mod pooled;
mod region;
mod session;
mod tune;

use pyo3::pymodule;

/// Free-threaded Python is told that we need its lock, and takes it with a warning: nothing here was tested without.
#[pymodule(gil_used = true)]
mod _core {
    /// The package's version, in the words of Python.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's own name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::graph::{Held, Index, View, distances, nearest, suits_index, summaries, table};
    #[pymodule_export]
    use super::handler::{placing_handler, set_handler};
    #[pymodule_export]
    use super::machine::{choose_node, status};
    #[pymodule_export]
    use super::obtained::{block, obtained, shortfalls};
    #[pymodule_export]
    use super::pin::{pin, unpin};
    #[pymodule_export]
    use super::region::Region;
    #[pymodule_export]
    use super::session::{place_nothing, place_whole_process, ration, whole_process};
    #[pymodule_export]
    use super::tune::{session, warm};
}
