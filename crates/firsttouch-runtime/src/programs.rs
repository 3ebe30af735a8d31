//! Programs to run and to measure with: the benchmarks of "Improving Charm++ Performance with a NUMA-aware Load
//! Balancer" (Pilla et al. 2011), as they really compute.

mod jacobi;
mod synthetic;

pub use jacobi::{Jacobi, JacobiError};
pub use synthetic::{Synthetic, rounds_per_second};
