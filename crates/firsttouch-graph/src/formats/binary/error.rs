//! Why a graph of ours cannot be opened.

use super::layout::VERSION;
use firsttouch_memory::RegionError;
use std::io;

/// A graph of ours that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no memory for it.
    #[error("there is no memory for the graph: {0}")]
    Memory(RegionError),
    /// Of a later version than is known here.
    #[error("it has version {version} of the format, and this program knows version {VERSION}")]
    Version {
        /// Its version.
        version: u32,
    },
    /// Of a machine with the other byte order.
    #[error("it was written by a machine with the other byte order")]
    ByteOrder,
    /// Shorter than its header says.
    #[error("it was cut off: {wanted} bytes are promised, and there are {found}")]
    CutOff {
        /// Bytes there should be.
        wanted: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Changed since it was written.
    #[error("its {part} is damaged: the checksum is another")]
    Damaged {
        /// Which part.
        part: &'static str,
    },
    /// With a right checksum, and yet no graph.
    #[error("its {part} makes no graph")]
    NoGraph {
        /// Which part.
        part: &'static str,
    },
}

impl BinaryError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            BinaryError::Io(_) => "check the name, and that the file may be read",
            BinaryError::Memory(error) => error.hint(),
            BinaryError::Version { .. } => "use a newer firsttouch, or convert the graph again from its text",
            BinaryError::ByteOrder => "convert the graph on this machine, from its text",
            BinaryError::CutOff { .. } | BinaryError::Damaged { .. } | BinaryError::NoGraph { .. } => {
                "fetch it again, or convert it again: firsttouch graph convert"
            }
        }
    }
}
