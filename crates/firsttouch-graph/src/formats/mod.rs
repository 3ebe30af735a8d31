//! Files of graphs: reads and writes them, and sends graphs to other processes.
//!
//! Invariant: whatever a file holds, reading it ends with a graph or an error that says where and why; it never panics,
//! and takes memory by the length of the file (see `room.rs`), never for what a header merely promises.

mod binary;
mod error;
mod format;
mod gap;
mod loaded;
mod options;
mod packing;
mod read;
mod room;
mod size;
mod sniff;
mod text;
mod write;

pub use binary::{BinaryError, ReceiveError};
pub use error::{LineError, ReadError};
pub use format::Format;
pub use loaded::Loaded;
pub use options::ReadOptions;
pub use read::{read, read_from};
pub use text::beside::{read_coordinates, read_coordinates_from, read_sources, read_sources_from};
pub use write::{WriteError, save, write_text};

#[cfg(test)]
mod tests;
