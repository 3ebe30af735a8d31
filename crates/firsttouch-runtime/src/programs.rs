//! Programs to run and to measure with: the benchmarks of the document, as they really compute.

mod jacobi;
mod synthetic;

pub use jacobi::{Jacobi, JacobiError};
pub use synthetic::{Synthetic, rounds_per_second};
