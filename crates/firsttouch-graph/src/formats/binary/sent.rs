//! A graph of ours told by one process to others, as a file has it.

use super::error::BinaryError;
use super::image::{Image, assemble, checked_header, filled};
use super::layout::{Header, Section};
use crate::formats::loaded::Loaded;
use crate::ranks::{MessageError, Ranks};
use crate::rows::Place;
use firsttouch_threads::Team;

/// Why a rank has not got the graph.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// It was not heard.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// What was heard is none, or there is no memory for it.
    #[error("the graph that rank 0 tells: {0}")]
    Graph(#[from] BinaryError),
}

impl ReceiveError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            ReceiveError::Message(error) => error.hint(),
            ReceiveError::Graph(error) => error.hint(),
        }
    }
}

impl Loaded {
    /// Rank 0 tells the graph, its numbers and its order to all others, array by array, as a file of ours has them.
    ///
    /// # Errors
    /// Messages that do not arrive.
    pub fn tell(&self, ranks: &dyn Ranks) -> Result<(), MessageError> {
        let Image { header, arrays } = Image::of(self);
        ranks.tell(bytemuck::bytes_of(&header))?;
        arrays.iter().filter(|bytes| !bytes.is_empty()).try_for_each(|bytes| ranks.tell(bytes))
    }

    /// The graph that rank 0 tells, in memory of that place; checked as one that is opened.
    ///
    /// # Errors
    /// Messages that do not arrive or are no graph; no memory.
    pub fn hear(ranks: &dyn Ranks, place: Place, team: &mut Team) -> Result<Loaded, ReceiveError> {
        let mut beginning = [0; size_of::<Header>()];
        ranks.hear(&mut beginning)?;
        let header = checked_header(&beginning, u64::MAX)?;
        let heard = |index, section: Section| match section.bytes {
            0 => filled(index, section, place, |_| Ok::<(), ReceiveError>(())),
            _ => filled(index, section, place, |memory| Ok::<(), ReceiveError>(ranks.hear(memory)?)),
        };
        assemble(&header, heard, team)
    }
}
