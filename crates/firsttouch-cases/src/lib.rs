//! Workloads that live on memory, so that a placement has something to prove itself on: kernels and mini-apps of published
//! articles, each with its parameters, its variants, its work in bytes and operations, a checksum, and the limit that bounds it.
//!
//! A [`Case`] is prepared once with [`Given`] parameters, memory and threads, and then does one step after another. What others
//! would use instead (a library, NumPy, R) is a variant as well: a library that is loaded at run time, or a program of its own
//! ([`Outside`]).
//!
//! Architecture invariants: memory and threads are handed in; a case neither places nor times nor prints, and does no I/O but
//! what its workload is about (`hash`, whose producers have a speed, `balance`, whose runtime measures loads,
//! `creation`, whose fill engine measures costs, and `gram-schmidt`, which tells the share of messages, have a clock for the same
//! reason; `balance` and `creation` read which CPUs are on which nodes). Each is deterministic: variants of one case come to the same [`Checksum`], whatever the placement.
//! `unsafe` is for vector instructions, foreign functions and a field that threads compute together (`wave3d`), in modules that say so.

#![deny(unsafe_code)]

mod array;
pub mod articles;
mod balance;
#[expect(unsafe_code, reason = "foreign functions")]
mod blas;
mod case;
mod catalogue;
mod checksum;
mod creation;
mod deflate;
mod demo;
mod dgemm;
mod disk;
mod error;
pub mod gather;
mod gram_schmidt;
mod gups;
mod hash;
#[cfg(test)]
mod here;
pub mod hilbert;
#[expect(unsafe_code, reason = "foreign functions")]
mod isal;
mod k_means;
mod latency;
mod library;
mod outside;
mod parameter;
mod parity;
mod paths;
mod pca;
#[expect(unsafe_code, reason = "prefetch instructions")]
mod prefetch;
pub mod r;
mod reed_solomon;
mod share;
mod simd;
mod starts;
mod stream;
mod texts;
mod vecmath;
mod wave3d;

pub use array::{Array, ArrayObtained, ArrayPlace, Arrays, Element};
pub use case::{About, Amount, Case, Given, OverRanks, Prepared, Unit, Variant, Work, Workload};
pub use catalogue::{ALL, find};
pub use checksum::Checksum;
pub use error::{CaseError, Missing};
pub use firsttouch_measure::Limit;
pub use outside::Outside;
pub use parameter::{Arguments, Kind, Parameter};
