//! Intel's Data Streaming Accelerator (DSA) as one engine more, through the queues of the kernel's `idxd` driver.
//!
//! **Not verified on hardware.** No machine with such a device was at hand: what is tested is the discovery on recorded
//! trees, and the real instructions against a model in software ([`NOT_VERIFIED`] is shown wherever the engine is used).
//!
//! The device writes to memory that exists. A page that does not is a fault, which the kernel answers by clearing it with
//! the processor: so the device is for clearing memory again, never for first touch. It faults rarely (residency is looked
//! at first) and is told not to wait for faults: it stops, says how far it came, and the processor does the rest.
//!
//! Invariant: memory that a descriptor names is given to nobody before the descriptor's completion was seen, or the queue
//! was closed, which waits for the device.

mod descriptor;
mod discovery;
mod portal;
mod queue;

pub use discovery::{Obstacle, QueueInfo, find_queues};
pub use portal::Submission;
pub(crate) use queue::{Asked, DEPTH};
pub use queue::{DeviceQueue, DeviceTotals, QueueError};

/// What is said wherever the engine is used.
pub const NOT_VERIFIED: &str = "Intel DSA: not verified on hardware, only against a model in software";
