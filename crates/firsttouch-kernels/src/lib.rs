//! Reference workloads that live on memory, so that a placement has something to prove itself on.
//!
//! - [`qr`] of a [`hilbert`] matrix: the first benchmark of Nakano and Nakama, *Speeding up by using ISM-like
//!   calls*, where large pages cut `qr(hilbert(1000))` in R from 15.2 to 6.0 seconds.
//! - [`gather`] and [`chase`]: reads at random places of a large table, the access pattern that misses the
//!   translation buffers most.
//!
//! All of them are deterministic and return what they computed, so that two executions under different
//! placements can be compared to the last bit: a placement must never change a result.
//!
//! Architecture invariant: plain safe code on ordinary vectors. Nothing here places memory, measures time, or
//! does I/O; where the pages come from is decided outside, which is the point.

#![forbid(unsafe_code)]

mod gather;
mod hilbert;

pub use gather::{Table, chase, gather};
pub use hilbert::{Matrix, Qr, hilbert, qr};
