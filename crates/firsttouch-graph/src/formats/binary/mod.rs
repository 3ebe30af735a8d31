//! Our own format: arrays as they lie in memory, so that a file is mapped instead of read.
//!
//! A header of 4096 bytes, then arrays at multiples of 2 MiB, so that a mapping of them may have huge pages and a reader
//! may copy each where it wants it. The layout is in docs/graphs.md. Numbers are in the byte order of the machine that wrote
//! them: a file of the other kind is refused, not turned round, because it could not be mapped.

mod error;
mod file;
mod image;
mod layout;
mod sent;

pub use error::BinaryError;
pub(crate) use file::{from_memory, is_ours, open, size, write};
pub use sent::ReceiveError;

#[cfg(test)]
mod tests;
