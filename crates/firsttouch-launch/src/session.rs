//! The way out to the world for the scheduler of an experiment.

use crate::conditions::Conditions;
use crate::meanwhile::Moment;
use crate::metric::Meter;
use crate::preparation::Preparation;
use crate::run::{Manner, RunError, Waiting, run_once};
use crate::start::Start;
use firsttouch_experiment::{Launcher, RunRequest, TimedRun};
use firsttouch_machine::Root;
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
    /// What the user wants around each run, in the same order, and the environment of that.
    pub(crate) conditions: Vec<&'a Conditions>,
    pub(crate) environment: &'a Environment,
    /// Where the program's output and error output go.
    pub(crate) output: Stream,
    /// Where the machine is read around each run.
    pub(crate) root: Root,
    /// What reads what is judged, in the same order.
    pub(crate) meters: Vec<&'a Meter>,
    /// What each configuration has on pages of a pool, by its untimed run.
    pub(crate) pool_bytes: Vec<u64>,
    /// What is counted, where the kernel can.
    pub(crate) events: Vec<Event>,
    /// When the session began.
    pub(crate) began: Instant,
}

impl<I: Interruption> Session<'_, I> {
    /// One run of a configuration, with variables of its own.
    pub(crate) fn run(
        &mut self,
        configuration: usize,
        variables: Vec<(&'static str, OsString)>,
    ) -> Result<TimedRun, RunError> {
        let conditions = self.conditions[configuration];
        let mut streams = [conditions.input(), self.output.clone(), self.output.clone()];
        let (preparation, meter, root) = (&mut self.preparation, self.meters[configuration], &self.root);
        let (start, events, stop) = (&self.starts[configuration], &self.events, self.interruption.kill());
        let interruption = &self.interruption;
        conditions.around(self.environment, || {
            let warmth = preparation.prepare(&|| interruption.asked());
            let written = meter.prepare(&mut streams)?;
            let manner = Manner { streams, variables, waiting: Waiting::Measuring { events, stop } };
            let before = Moment::read(root);
            let mut finished = run_once(start, &manner, false)?.finished;
            finished.used.meanwhile = before.until_now(root, &finished.used);
            // What it has to give back takes time of the machine that is not the program's.
            drop(warmth);
            if !conditions.accepts(finished.ending) {
                return Err(RunError::Program(finished.ending));
            }
            // Before --conclude, which may take away what the program wrote.
            meter.judge(&mut finished.used, written, self.pool_bytes[configuration])?;
            Ok(finished.used)
        })
    }
}

impl<I: Interruption> Launcher for Session<'_, I> {
    type Error = RunError;

    fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, RunError> {
        self.run(request.configuration, vec![padding(request)])
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.interruption.asked()
    }
}
