//! Workloads that live on memory, so that a placement has something to prove itself on.
//!
//! Each is deterministic and returns what it computed, so that runs under different placements are compared to the last
//! bit: a placement must never change a result. None places memory, measures time or does I/O.

#![forbid(unsafe_code)]

pub mod gather;
pub mod hilbert;
