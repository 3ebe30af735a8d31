//! Graphs and shortest paths for Python.
//!
//! Nodes are told apart by their places, from 0, as the file or the arrays have them, whatever order they have inside.
//! Arrays of NumPy's are read and filled where they lie ([`numbers`]); what takes long runs without Python's lock, in
//! threads of its own, while the calling thread looks for signals ([`patience`]).

mod figures;
mod held;
mod index;
mod lent;
mod numbers;
mod paths;
mod patience;
mod told;

pub(crate) use figures::summaries;
pub(crate) use held::{Held, View};
pub(crate) use index::{Index, table};
pub(crate) use paths::{distances, nearest, suits_index};

use crate::errors::{bad_argument, unsupported};
use firsttouch_graph::hierarchy::HierarchyError;
use firsttouch_graph::{AllPairsError, FileError, Node};
use firsttouch_threads::{Team, TeamError};
use numbers::Numbers;
use pyo3::exceptions::PyOSError;
use pyo3::{Bound, PyAny, PyErr};
use std::path::Path;

/// Threads bound to the CPUs of this process, at most so many.
fn team(threads: usize) -> Result<Team, Failure> {
    Team::of_this_process(threads).map_err(Failure::Team)
}

/// Why there is no result.
#[derive(Debug)]
enum Failure {
    Team(TeamError),
    Hierarchy(HierarchyError),
    AllPairs(AllPairsError),
    /// A distance that the type of the result does not hold.
    TooLong,
}

impl From<HierarchyError> for Failure {
    fn from(error: HierarchyError) -> Failure {
        Failure::Hierarchy(error)
    }
}

impl From<AllPairsError> for Failure {
    fn from(error: AllPairsError) -> Failure {
        Failure::AllPairs(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Team(error) => unsupported(&error, error.hint()),
            Failure::TooLong => bad_argument(
                &"a distance is too long for the type of the result",
                "a wider one: dtype=\"uint64\", or \"float64\"",
            ),
            Failure::AllPairs(AllPairsError::File(error)) => file_error(&error),
            Failure::AllPairs(error) => bad_argument(&error, error.hint()),
            Failure::Hierarchy(error) => match &error {
                HierarchyError::File(error) => file_error(error),
                HierarchyError::NoSmallCuts { .. }
                | HierarchyError::TooManyArcs { .. }
                | HierarchyError::TooHigh { .. } => {
                    unsupported(&error, "search without an index, which serves road maps and the like")
                }
                _ => bad_argument(&error, error.hint()),
            },
        }
    }
}

/// A file that a long computation keeps.
fn file_error(error: &FileError) -> PyErr {
    match error {
        FileError::Access { path, source } => os_error(source, path),
        _ => bad_argument(error, error.hint()),
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

/// The nodes at the places in an array.
fn nodes(held: &Held, places: &Bound<'_, PyAny>) -> Result<Vec<Node>, PyErr> {
    let (all, places) = (held.node_count(), Numbers::of(places)?);
    let places = places.slice::<u32>()?;
    if let Some(place) = places.iter().find(|place| **place as usize >= all) {
        let what = format!("there is no node {place}: the graph has {all}");
        return Err(bad_argument(&what, "nodes are counted from 0 here"));
    }
    let order = held.order_inside();
    Ok(places.iter().map(|place| order.map_or(*place, |order| order.after(*place))).collect())
}
