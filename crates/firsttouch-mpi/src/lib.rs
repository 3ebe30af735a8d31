//! [`Ranks`](firsttouch_graph::Ranks) over the system's MPI: the processes that `mpirun` or `srun` started, in `World`.
//!
//! A dozen calls, through C that the system's `mpicc` compiles, so that any MPI will do. Without the feature `mpi` the crate is
//! empty: nobody needs MPI who does not ask for it.
//!
//! Architecture invariant: this is the only crate that calls MPI. It passes bytes and sums, in pieces that an `int` can count, and knows
//! nothing of graphs but the trait that it carries their messages for.

#![deny(unsafe_code)]

#[cfg(feature = "mpi")]
#[expect(unsafe_code, reason = "MPI is a C library")]
mod calls;
#[cfg(feature = "mpi")]
mod world;

#[cfg(feature = "mpi")]
pub use world::World;
