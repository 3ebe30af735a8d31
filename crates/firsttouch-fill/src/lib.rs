//! Memory created and filled in the background, by the means and with as many threads as are fastest here.
//!
//! A [`Filler`] has threads on CPUs of every node. [`Filler::fill`] takes buffers over and answers a [`Fill`] at once,
//! which tells how far it is, may be cancelled, and hands the buffers back with what was filled. Pages that do not exist
//! yet are created by touching them, which clears them, and are not cleared again; pages that exist are filled by the
//! means that [`Crossovers`] found fastest for the size and for what the program will do next.
//!
//! A filler cuts work into pieces of 2 MiB, each within one huge page, and gives every engine of the memory's node the pieces
//! that it predicts it to fill in the same time. Engines are threads, and with the feature `dsa` queues of Intel's DSA, which
//! **never ran on hardware**. It learns what an engine costs while the engine works. An engine that has done its share takes
//! pieces of others', of its own node first: so none idles while there is work, and a fill that is cancelled ends within the
//! time of one piece.
//!
//! A [`Pool`] keeps an inventory of regions that a thread of idle priority has created and cleared.
//!
//! Architecture invariants: a buffer belongs to its fill until the fill hands it back; the filler reports as filled what it
//! has filled, and a pool hands out cleared regions only; every speed was measured on this machine, in this process. `unsafe`
//! is for stores into memory that was handed over.

mod buffer;
mod cost;
mod crossovers;
#[cfg(feature = "dsa")]
mod device_use;
#[cfg(feature = "dsa")]
pub mod dsa;
mod fill;
mod filler;
mod job;
mod pool;
mod primitives;
mod residency;
mod scaling;
mod sync;

pub use buffer::Buffer;
pub use cost::Cost;
pub use crossovers::{Crossovers, Next};
#[cfg(feature = "dsa")]
pub use device_use::DeviceUse;
pub use fill::{Fill, FillProgress, Filled};
pub use filler::{Filler, FillerError, Knowledge, Threads};
pub use pool::{Level, Pool, Stock, Taken};
pub use primitives::{populate, store};
