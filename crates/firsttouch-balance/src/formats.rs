//! Files of others: what tasks and messages are read from, and what a mapping is written as.
//!
//! Readers take bytes and writers give text; opening files is the caller's. What is wrong with an input is said with its line,
//! and nothing is guessed in its place. Memory is taken by the length of an input, never for what it merely states.

mod charm;
mod csv;
mod csv_rows;
mod hopbyte;
mod launch;
mod matrix;
mod metis;
mod plan;
mod table;
mod text;
mod vt;

pub use charm::charm_dump;
pub use csv::{csv_mapping, csv_messages, csv_problem, csv_tasks, csv_tasks_of};
pub use csv_rows::CsvRows;
pub use hopbyte::hopbyte;
pub use launch::{JobLayout, LaunchError, cpu_bind, cpusets, rankfile, slurm_hostfile};
pub use matrix::matrices;
pub use metis::{metis_graph, metis_part, metis_parts, metis_text};
pub use plan::{mapping_csv, migration_plan};
pub use vt::{VtRun, vt_offline};

use crate::{Machine, Problem, ProblemError};

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// A line that is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Which, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The file as a whole, or one without lines.
    #[error("{0}")]
    Whole(String),
    /// What was read makes no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

impl FormatError {
    fn line(line: usize, reason: impl Into<String>) -> FormatError {
        FormatError::Line { line, reason: reason.into() }
    }
}

/// A problem, with what the file says of the machine it was measured on.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Tasks and messages.
    pub problem: Problem,
    /// Speed and background load of each core, where the file tells them.
    pub cores: Vec<(f64, f64)>,
}

impl Measured {
    /// The machine with the file's speeds and background loads, where it has as many cores as the file; else as it was.
    #[must_use]
    pub fn on(&self, machine: Machine) -> Machine {
        if self.cores.len() == machine.cores().len() { machine.with_cores(&self.cores) } else { machine }
    }
}
