//! Problems as benchmarks make them: the three of
//! "Improving Charm++ Performance with a NUMA-aware Load Balancer" (Pilla et al. 2011), with the numbers of the original programs.
//!
//! The originals are Charm++'s `lb_test`, `kNeighbor` and `jacobi2d-2d-decomposition`. What they leave open (how long a unit of
//! work takes, which blocks of the stencil take longer) is a parameter here.

mod glibc;
mod jacobi;
mod kneighbor;
mod lb_test;

pub use glibc::Rand;
pub use jacobi::Jacobi2D;
pub use kneighbor::{KNeighbor, Work};
pub use lb_test::{LbTest, Topology};

use crate::{Problem, ProblemError, Task};
use std::fmt::Display;

/// Why a benchmark has no problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GenerateError {
    /// A parameter that means nothing.
    #[error("{parameter} is {value}; {wanted}")]
    Parameter {
        /// Which one.
        parameter: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        wanted: &'static str,
    },
    /// What was made is no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

fn parameter(parameter: &'static str, value: &dyn Display, wanted: &'static str) -> GenerateError {
    GenerateError::Parameter { parameter, value: value.to_string(), wanted }
}

/// A time that is a number, 0 or more.
fn seconds(name: &'static str, value: f64) -> Result<f64, GenerateError> {
    let sensible = value.is_finite() && value >= 0.0;
    sensible
        .then_some(value)
        .ok_or_else(|| parameter(name, &value, "it is a finite number of seconds, 0 or more"))
}

/// A number of tasks that can be counted with.
fn count(name: &'static str, value: usize) -> Result<u32, GenerateError> {
    let sensible = u32::try_from(value).ok().filter(|count| (1..1 << 24).contains(count));
    sensible.ok_or_else(|| parameter(name, &value, "it is a number from 1 to 16777215"))
}

/// Where the tasks of a generated problem are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// In blocks of consecutive numbers over so many cores.
    Block(u32),
    /// One after the other on so many cores in turn.
    RoundRobin(u32),
}

/// The same problem with every task on a core.
///
/// # Errors
///
/// No core.
pub fn at_home(problem: &Problem, start: Start, bytes: u64) -> Result<Problem, GenerateError> {
    let (Start::Block(cores) | Start::RoundRobin(cores)) = start;
    if cores == 0 {
        return Err(parameter("the number of cores", &cores, "it is at least 1"));
    }
    let tasks = problem.len() as u64;
    let home = |index: usize| match start {
        Start::Block(cores) => (index as u64 * u64::from(cores) / tasks) as u32,
        Start::RoundRobin(cores) => index as u32 % cores,
    };
    let at = |(index, task): (usize, &Task)| Task { home: Some(home(index)), bytes, ..task.clone() };
    let tasks = problem.tasks().iter().enumerate().map(at).collect();
    Ok(Problem::new(tasks, &problem.messages().collect::<Vec<_>>())?)
}
