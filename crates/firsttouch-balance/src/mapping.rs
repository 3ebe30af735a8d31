//! On which core each task is.

use crate::{Machine, Problem, ProblemError};

/// The core of every task, as an index into the machine's cores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    cores: Vec<u32>,
}

impl Mapping {
    /// A mapping of these cores, by task.
    #[must_use]
    pub fn new(cores: Vec<u32>) -> Mapping {
        Mapping { cores }
    }

    /// The cores, by task.
    #[must_use]
    pub fn cores(&self) -> &[u32] {
        &self.cores
    }

    /// The core of a task.
    #[must_use]
    pub fn core(&self, task: usize) -> u32 {
        self.cores[task]
    }

    /// Puts a task on a core.
    pub fn put(&mut self, task: usize, core: u32) {
        self.cores[task] = core;
    }

    /// Whether it names a core of the machine for every task, and leaves pinned tasks at home.
    #[must_use]
    pub fn is_valid(&self, problem: &Problem, machine: &Machine) -> bool {
        self.cores.len() == problem.len()
            && self.cores.iter().all(|core| (*core as usize) < machine.cores().len())
            && problem
                .tasks()
                .iter()
                .zip(&self.cores)
                .all(|(task, core)| !task.pinned || task.home == Some(*core))
    }

    /// The tasks that are elsewhere than in another mapping. Tasks that had no home are left out: they had to be put
    /// somewhere.
    pub fn moved<'a>(&'a self, problem: &'a Problem, from: &'a Mapping) -> impl Iterator<Item = usize> + 'a {
        let moved = move |task: &usize| {
            problem.tasks()[*task].home.is_some() && self.cores[*task] != from.cores[*task]
        };
        (0..self.cores.len()).filter(moved)
    }
}

impl Problem {
    /// The mapping to start from: each task at home, tasks without a home in blocks of consecutive numbers over all cores,
    /// as programs are usually started.
    ///
    /// # Errors
    ///
    /// A home that the machine does not have; memory that cannot suffice.
    pub fn start(&self, machine: &Machine) -> Result<Mapping, ProblemError> {
        self.check(machine)?;
        let (tasks, cores) = (self.len() as u64, machine.cores().len() as u64);
        let block = |index: usize| (index as u64 * cores / tasks) as u32;
        Ok(Mapping::new(
            self.tasks().iter().enumerate().map(|(index, task)| task.home.unwrap_or(block(index))).collect(),
        ))
    }
}
