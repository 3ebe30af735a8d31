//! The way out to the world: one call runs the program once.

use crate::TimedRun;
use std::time::Duration;

/// Which part of a session a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// All configurations against each other.
    Search,
    /// Fresh blocks of what is recommended and of the baseline.
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

/// Runs programs and knows the time; everything this crate cannot do itself.
pub trait Launcher {
    /// Why a run failed.
    type Error;

    /// Runs the program once under the configuration asked for and waits for its end.
    ///
    /// # Errors
    /// Whatever kept the program from ending well. It ends the session; what was measured before is kept.
    fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, Self::Error>;

    /// Time since the session began.
    fn elapsed(&self) -> Duration;

    /// Whether somebody asked to stop. Looked at before and after each run; an error of a run that ended with it
    /// set is taken as the interruption and not as a failure.
    fn interrupted(&self) -> bool;
}
