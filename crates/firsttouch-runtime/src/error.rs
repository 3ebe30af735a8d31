//! Why a runtime does not begin, or does not go on.

use firsttouch_balance::{ProblemError, StrategyError};
use firsttouch_memory::RegionError;
use firsttouch_threads::TeamError;

/// Why a program cannot be run, or not further.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Workers must sit somewhere.
    #[error("core {core} of {machine} has no CPU to put a worker on")]
    NoCpu {
        /// The core.
        core: usize,
        /// The machine.
        machine: String,
    },
    /// As many CPUs as cores are needed.
    #[error("{machine} has {cores} cores, but {cpus} CPUs were named")]
    Cpus {
        /// The machine.
        machine: String,
        /// Its cores.
        cores: usize,
        /// The CPUs.
        cpus: usize,
    },
    /// The start names workers that are not there, or not all tasks.
    #[error("the start has {found} tasks, the program {tasks}; workers are numbered from 0 to {last}")]
    Start {
        /// Tasks of the start.
        found: usize,
        /// Tasks of the program.
        tasks: u32,
        /// The last worker.
        last: usize,
    },
    /// The workers cannot be started.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// There is no memory for a state.
    #[error("there is no memory for the state of task {task}")]
    State {
        /// The task.
        task: u32,
        /// What the kernel answered.
        source: RegionError,
    },
    /// A task panicked. All workers have stopped; nothing runs any more.
    #[error("task {task} panicked in step {step}: {words}")]
    Panicked {
        /// The task.
        task: u32,
        /// The step; 0 is its beginning.
        step: u64,
        /// What it said.
        words: String,
    },
    /// The run ended with a failure before.
    #[error("the run has failed before: its tasks are in different steps")]
    Over,
    /// The strategy found no mapping.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// What was measured makes no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

impl RuntimeError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            RuntimeError::NoCpu { .. } => {
                "take the machine that this runs on, or name CPUs (Runtime::pretending)"
            }
            RuntimeError::Cpus { .. } => "name a CPU for each core; one may be named several times",
            RuntimeError::Start { .. } => "give every task a worker that is there",
            RuntimeError::Team(error) => error.hint(),
            RuntimeError::State { source, .. } => source.hint(),
            RuntimeError::Panicked { .. } => "mend the task: what it said is above",
            RuntimeError::Over => "make a new runtime",
            RuntimeError::Strategy(error) => error.hint().unwrap_or("choose another strategy"),
            RuntimeError::Problem(error) => error.hint(),
        }
    }
}
