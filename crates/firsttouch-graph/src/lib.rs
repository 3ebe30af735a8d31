//! Shortest paths from many sources on large graphs, at the speed of the memory they lie in.
//!
//! A [`Graph`] is arcs in the order of their tails (compressed sparse rows), with non-negative integer weights.
//!
//! Architecture invariants: this crate never prints and reads no environment; nodes inside are numbers from 0, and every
//! result is told in the numbers of the file.

#![deny(unsafe_code)]

mod graph;

pub use graph::{Graph, GraphError, Node, OutArc, UNREACHED};
