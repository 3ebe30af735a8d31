//! What is wrong with a text, and in which line: parts are read by many threads, which tell only that something is.

use super::pieces::Text;
use crate::formats::error::{LineError, ReadError};
use crate::formats::options::ReadOptions;
use crate::rows::{ArcSource, BuildError, Graph, GraphError, build};
use firsttouch_threads::Team;

/// Why a part of a text could not be read.
#[derive(Debug)]
pub(crate) enum Trouble {
    Io(std::io::Error),
    /// A line is wrong. Which one, and how, is looked for afterwards.
    Line,
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

impl From<LineError> for Trouble {
    fn from(_: LineError) -> Trouble {
        Trouble::Line
    }
}

/// Says of which line a reason is.
pub(super) fn wrong(line: u64) -> impl FnOnce(LineError) -> ReadError {
    move |reason| ReadError::Line { line, reason }
}

/// Says of trouble where it is. `first` looks for the first line that is wrong; if it finds none, somebody mended it.
pub(super) fn located(trouble: Trouble, first: impl FnOnce() -> Result<(), ReadError>) -> ReadError {
    match trouble {
        Trouble::Io(error) => ReadError::Io(error),
        Trouble::Line => first().err().unwrap_or(ReadError::Changed),
    }
}

/// Builds the graph of a text, and says of an error where it is.
pub(super) fn build_text<S: ArcSource<Error = Trouble>>(
    nodes: u64,
    source: &S,
    first_error: impl FnOnce(&S) -> Result<(), ReadError>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Graph, ReadError> {
    let Ok(count) = usize::try_from(nodes) else {
        return Err(GraphError::TooManyNodes { nodes }.into());
    };
    build(count, source, options.place, team).map_err(|error| match error {
        BuildError::Graph(error) => ReadError::Graph(error),
        BuildError::Memory(error) => ReadError::Memory(error),
        BuildError::Changed => ReadError::Changed,
        BuildError::Source(trouble) => located(trouble, || first_error(source)),
    })
}

/// The first line from `body` on that `check` finds wrong.
pub(super) fn first_error(
    text: &Text,
    body: u64,
    mut check: impl FnMut(&[u8]) -> Result<(), LineError>,
) -> Result<(), ReadError> {
    let mut number = 0;
    let wrong = text.find(|begin, line| {
        number += 1;
        let reason = (begin >= body).then(|| check(line).err()).flatten()?;
        Some(ReadError::Line { line: number, reason })
    });
    wrong?.map_or(Ok(()), Err)
}
