//! Why there is no result, as Python is told it.

use crate::errors::{bad_argument, unsupported};
use firsttouch_graph::hierarchy::HierarchyError;
use firsttouch_graph::{AllPairsError, FileError};
use firsttouch_threads::{Team, TeamError};
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;
use std::path::Path;

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Failure {
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
pub(super) fn os_error(error: &std::io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, path.display().to_string()))
        }
        // With the builtin of its kind.
        None => std::io::Error::new(error.kind(), format!("{}: {error}", path.display())).into(),
    }
}

/// Threads bound to the CPUs of this process, at most so many.
pub(super) fn team(threads: usize) -> Result<Team, Failure> {
    Team::of_this_process(threads).map_err(Failure::Team)
}
