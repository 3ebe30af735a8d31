//! What the threads of a process were seen to do over a while, and the CPUs that were chosen for them.

use serde::{Deserialize, Serialize};

/// What a thread did over a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ObservedThread {
    /// Its number.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// When it started, in clock ticks after boot.
    pub start_ticks: u64,
    /// How much of the time it ran.
    pub ran: f64,
    /// How much of the time it stood in the queue of its CPU; `None` where the kernel does not count it.
    pub waited: Option<f64>,
    /// The CPU it ran on last; `None` where the kernel does not tell.
    pub cpu: Option<u32>,
    /// The CPUs it may run on, as it is.
    pub cpus: Vec<u32>,
    /// The CPU that is chosen for it; `None` if it is left where it is.
    pub chosen: Option<u32>,
}

impl ObservedThread {
    /// How much of a CPU it wants: what it ran and what it waited for one.
    pub fn load(&self) -> f64 {
        (self.ran + self.waited.unwrap_or(0.0)).min(1.0)
    }
}

/// What was seen of a process, and what a strategy makes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Observation {
    /// The strategy.
    pub strategy: String,
    /// The machine.
    pub machine: String,
    /// Busy threads.
    pub busy: usize,
    /// Of these, threads that are to change their CPUs. Without one, no thread is bound.
    pub moved: usize,
    /// What the busiest CPU is asked for, of 1 that it has, where threads are now.
    pub busiest_before: f64,
    /// The same where the strategy puts them.
    pub busiest_after: f64,
    /// The busiest over the mean of all CPUs, minus 1, now.
    pub imbalance_before: f64,
    /// The same where the strategy puts them.
    pub imbalance_after: f64,
    /// The threads, busiest first.
    pub threads: Vec<ObservedThread>,
}
