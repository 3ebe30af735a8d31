//! Programs people run, with the agent and without: they print the same bytes, write the same files and end with the
//! same status; and where they allocate large blocks, the receipt shows these on huge pages.
//!
//! A program that is not installed is skipped, and counted: nothing is counted as checked that was not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocators;
mod compiler;
mod go;
mod java;
#[path = "../shared/program.rs"]
mod program;
mod python;
mod r;
mod requirements;
mod shell;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
mod sqlite;
mod subject;
mod threads;
