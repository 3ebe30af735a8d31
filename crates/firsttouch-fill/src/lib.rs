//! Memory created and filled in the background, by the means and with as many threads as are fastest here.
//!
//! A [`Filler`] has threads on CPUs of every node. [`Filler::fill`] takes buffers over and answers a [`Fill`] at once,
//! which tells how far it is, may be cancelled, and hands the buffers back with what was filled. Pages that do not exist
//! yet are created by touching them, which clears them, and are not cleared again; pages that exist are filled by the
//! means that [`Crossovers`] found fastest for the size and for what the program will do next.
//!
//! Work is cut into pieces of 2 MiB that lie in one huge page each, and shared out among the engines of the memory's node
//! (threads, and [`dsa`] devices) by what each is predicted to do in the same time; what an engine costs is learnt while it
//! works. Whoever has done its share takes of others', of its own node first: so none idles while there is work, whatever
//! the sizes of the buffers are, and a fill that is cancelled ends within the time of one piece.
//!
//! A [`Pool`] has regions ready that were created and cleared when nobody needed the processor.
//!
//! Architecture invariants: a buffer belongs to its fill until it is handed back; what is said to be filled has been
//! filled, and what a pool hands out has been cleared; how fast anything is was measured on this machine, in this process. `unsafe` is for stores into memory that was
//! handed over.

mod buffer;
mod by_hand;
mod cost;
mod crossovers;
pub mod dsa;
mod fill;
mod filler;
mod job;
mod pool;
mod residency;
mod scaling;
mod sync;

pub use buffer::Buffer;
pub use by_hand::{populate, store};
pub use cost::Cost;
pub use crossovers::{Crossovers, Next};
pub use fill::{Fill, Filled, Progress};
pub use filler::{DeviceUse, Filler, FillerError, Knowledge, Threads};
pub use pool::{Level, Pool, Stock, Taken};
