//! What is the same around every run of a session, timed or not.

use crate::run::RunError;
use firsttouch_process::{Ending, Environment, Launch, Stream};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What runs lines of a user.
const SHELL: &str = "/bin/sh";

/// Input, and what is done before and after. By default there is none, and a program that fails ends the session.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The program's standard input; `None` is `/dev/null`.
    pub input: Option<PathBuf>,
    /// A line for the shell before every run, outside the measured time. If it fails, the session ends.
    pub prepare: Option<OsString>,
    /// A line for the shell after the last run, however the session ended.
    pub cleanup: Option<OsString>,
    /// Runs count, too, that end with another exit status than 0. Those that a signal ends do not.
    pub ignore_failure: bool,
}

impl Conditions {
    pub(crate) fn input(&self) -> Stream {
        self.input.clone().map_or(Stream::Null, Stream::File)
    }

    /// Does what is due before a run.
    pub(crate) fn prepare(&self, environment: &Environment) -> Result<(), RunError> {
        self.prepare.as_deref().map_or(Ok(()), |line| shell("--prepare", line, environment))
    }

    /// Does what is due after the last run.
    pub(crate) fn clean_up(&self, environment: &Environment) -> Result<(), RunError> {
        self.cleanup.as_deref().map_or(Ok(()), |line| shell("--cleanup", line, environment))
    }

    /// Whether a run that ended so counts.
    pub(crate) fn accepts(&self, ending: Ending) -> bool {
        ending.is_success() || self.ignore_failure && matches!(ending, Ending::Exited(_))
    }
}

/// Runs a line. What it says on its error output is for the user to see.
fn shell(option: &'static str, line: &OsStr, environment: &Environment) -> Result<(), RunError> {
    let mut launch = Launch::new(SHELL, [OsStr::new("-c"), line], environment.clone());
    launch.streams = [Stream::Null, Stream::Null, Stream::Inherit];
    let ending = launch.measure(&[], None)?.ending;
    if ending.is_success() { Ok(()) } else { Err(RunError::Line { option, ending }) }
}
