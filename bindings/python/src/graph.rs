//! Graphs and shortest paths for Python.
//!
//! Nodes are told apart by their places, from 0, as the file or the arrays have them, whatever order they have inside.
//! Arrays of NumPy's are read and filled where they lie ([`numbers`]); what takes long runs without Python's lock, in
//! threads of its own, while the calling thread looks for signals ([`patience`]).

mod held;
mod numbers;
mod paths;
mod patience;
mod told;

pub(crate) use held::{Held, View};
pub(crate) use paths::{distances, nearest};

use crate::errors::{bad_argument, unsupported};
use firsttouch_graph::Node;
use firsttouch_threads::{Team, TeamError};
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;
use std::path::Path;

/// Threads bound to the CPUs of this process, at most so many.
fn team(threads: usize) -> Result<Team, Failure> {
    Team::of_this_process(threads).map_err(Failure::Team)
}

/// Why there is no result.
#[derive(Debug)]
enum Failure {
    Team(TeamError),
    /// A distance that the type of the result does not hold.
    TooLong,
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Team(error) => unsupported(&error, error.hint()),
            Failure::TooLong => bad_argument(
                &"a distance is too long for the type of the result",
                "a wider one: dtype=\"uint64\", or \"float64\"",
            ),
        }
    }
}

/// What the kernel answered about a file, as the builtin exception that fits.
fn os_error(error: &std::io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, path.display().to_string()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}

/// Stands for "none" among predecessors and sources, as SciPy has it.
const NONE: i32 = -9999;

/// The nodes at these places.
fn nodes(held: &Held, places: &[u32]) -> Result<Vec<Node>, PyErr> {
    let all = held.loaded.graph.nodes();
    if let Some(place) = places.iter().find(|place| **place as usize >= all) {
        let what = format!("there is no node {place}: the graph has {all}");
        return Err(bad_argument(&what, "nodes are counted from 0 here"));
    }
    let order = held.loaded.ids.order();
    Ok(places.iter().map(|place| order.map_or(*place, |order| order.after(*place))).collect())
}
