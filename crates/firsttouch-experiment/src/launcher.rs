//! The way out to the world: one call runs the program once.

use std::collections::BTreeMap;
use std::time::Duration;

/// Which part of a session a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// All configurations against each other.
    Search,
    /// Fresh blocks of the winner and the baseline.
    Confirmation,
}

/// One run to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// Index into [`crate::Plan::configurations`].
    pub configuration: usize,
    /// The phase it belongs to.
    pub phase: Phase,
    /// Its block, from 0 in each phase.
    pub block: u32,
    /// Its place in the order of all runs of the session, from 0.
    pub order: u32,
    /// Bytes to add to the program's environment. The size of the environment shifts the stack, which alone can
    /// change a program's speed by more than a placement does; drawing it per run turns that bias into noise.
    pub environment_offset_bytes: u32,
}

/// What one run showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Processor time in user mode, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub system_s: f64,
    /// Peak resident set of the largest process, in bytes.
    pub max_rss_bytes: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary and involuntary context switches together.
    pub context_switches: u64,
    /// Hardware counters by name; empty where the kernel has none.
    pub counters: BTreeMap<String, u64>,
}

/// Runs programs and knows the time; everything this crate cannot do itself.
pub trait Launcher {
    /// Why a run failed.
    type Error;

    /// Runs the program once under the configuration asked for and waits for its end.
    ///
    /// # Errors
    /// Whatever kept the program from ending well. It ends the session; what was measured before is kept.
    fn launch(&mut self, request: &RunRequest) -> Result<Sample, Self::Error>;

    /// Time since the session began.
    fn elapsed(&self) -> Duration;

    /// Whether somebody asked to stop. Looked at before and after each run; an error of a run that ended with it
    /// set is taken as the interruption and not as a failure.
    fn interrupted(&self) -> bool;
}
