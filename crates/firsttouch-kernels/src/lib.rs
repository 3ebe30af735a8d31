//! Reference workloads that live on memory, so that a placement has something to prove itself on.
//!
//! - [`qr`] of a [`hilbert`] matrix: the first benchmark of Nakano and Nakama, *Speeding up by using ISM-like
//!   calls*, where large pages cut `qr(hilbert(1000))` in R from 15.2 to 6.0 seconds.
//! - [`gather`] and [`chase`]: reads at random places of a large table, the access pattern that misses the
//!   translation buffers most.
//!
//! All of these are deterministic and return what they computed, so that two executions under different
//! placements can be compared to the last bit: a placement must never change a result.
//!
//! And what `firsttouch measure` times on memory that is given to it:
//!
//! - [`Chain`]: dependent reads through every cache line, in random order;
//! - [`Stream`]: reading, writing and copying at the speed of the memory.
//!
//! Architecture invariant: nothing here places memory, measures time, or does I/O; where the pages come from is
//! decided outside, which is the point. `unsafe` is for vector instructions and lives in `simd` alone.

#![deny(unsafe_code)]

mod bandwidth;
mod gather;
mod hilbert;
mod latency;
#[expect(unsafe_code, reason = "vector instructions")]
mod simd;

pub use bandwidth::Stream;
pub use gather::{Table, chase, gather};
pub use hilbert::{Matrix, Qr, hilbert, qr};
pub use latency::Chain;
pub use simd::words;
