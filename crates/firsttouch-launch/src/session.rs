//! The way out to the world for the scheduler of an experiment.

use crate::conditions::Conditions;
use crate::preparation::Preparation;
use crate::run::{Manner, RunError, Waiting, run_once};
use crate::start::Start;
use firsttouch_experiment::{Launcher, RunRequest, TimedRun};
use firsttouch_process::{Environment, Event, Stream};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Filled with as many bytes as the session asks for; see [`RunRequest::environment_offset_bytes`].
const PADDING: &str = "FIRSTTOUCH_PADDING";

/// The variable that makes the environment of a run as much larger as the session asks for.
pub fn padding(request: &RunRequest) -> (&'static str, OsString) {
    (PADDING, "x".repeat(request.environment_offset_bytes as usize).into())
}

/// What somebody who watches a session asked for meanwhile.
pub trait Interruption {
    /// The session is to end.
    fn asked(&self) -> bool;

    /// Becomes true when the run is to end, too.
    fn kill(&self) -> &AtomicBool;
}

impl<I: Interruption + ?Sized> Interruption for &I {
    fn asked(&self) -> bool {
        I::asked(self)
    }

    fn kill(&self) -> &AtomicBool {
        I::kill(self)
    }
}

/// Runs the configurations of a session, one run at a time.
#[derive(Debug)]
pub(crate) struct Session<'a, I> {
    /// The program under each configuration, in the order of the plan.
    pub(crate) starts: Vec<Start>,
    /// Whether somebody asked for the end.
    pub(crate) interruption: I,
    /// What memory needs before each run.
    pub(crate) preparation: Preparation,
    /// What the user wants around each run, and the environment of that.
    pub(crate) conditions: &'a Conditions,
    pub(crate) environment: &'a Environment,
    /// Where the program's output and error output go.
    pub(crate) output: Stream,
    /// What is counted, where the kernel can.
    pub(crate) events: Vec<Event>,
    /// When the session began.
    pub(crate) began: Instant,
}

impl<I: Interruption> Launcher for Session<'_, I> {
    type Error = RunError;

    fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, RunError> {
        self.conditions.prepare(self.environment)?;
        let warmth = self.preparation.prepare();
        let manner = Manner {
            streams: [self.conditions.input(), self.output.clone(), self.output.clone()],
            variables: vec![padding(request)],
            waiting: Waiting::Measuring { events: &self.events, stop: self.interruption.kill() },
        };
        let finished = run_once(&self.starts[request.configuration], &manner, false)?.finished;
        drop(warmth);
        if !self.conditions.accepts(finished.ending) {
            return Err(RunError::Program(finished.ending));
        }
        Ok(finished.used)
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.interruption.asked()
    }
}
