//! What is around every run of a session, timed or not.

use crate::run::RunError;
use crate::vary::Values;
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
    /// A line for the shell before anything else is run, once. If it fails, the session ends.
    pub setup: Option<OsString>,
    /// A line for the shell before every run, outside the measured time. If it fails, the session ends.
    pub prepare: Option<OsString>,
    /// A line for the shell after every run, outside the measured time. If it fails, the session ends.
    pub conclude: Option<OsString>,
    /// A line for the shell after the last run, however the session ended.
    pub cleanup: Option<OsString>,
    /// Runs count, too, that end with another exit status than 0. Those that a signal ends do not.
    pub ignore_failure: bool,
}

impl Conditions {
    pub(crate) fn input(&self) -> Stream {
        self.input.clone().map_or(Stream::Null, Stream::File)
    }

    /// The same with values for the names in it.
    pub(crate) fn filled(&self, values: &Values) -> Conditions {
        let line = |line: &Option<OsString>| line.as_deref().map(|line| values.fill(line));
        Conditions {
            input: self.input.as_deref().map(|path| values.fill(path.as_os_str()).into()),
            setup: line(&self.setup),
            prepare: line(&self.prepare),
            conclude: line(&self.conclude),
            cleanup: line(&self.cleanup),
            ignore_failure: self.ignore_failure,
        }
    }

    /// Does what is due before anything else is run: once, or once for each of the values that the line holds.
    pub(crate) fn set_up(&self, combinations: &[Values], environment: &Environment) -> Result<(), RunError> {
        let lines = lines(self.setup.as_deref(), combinations);
        lines.iter().try_for_each(|line| shell("--setup", line, environment))
    }

    /// Does a run with what is due before and after it.
    pub(crate) fn around<T>(
        &self,
        environment: &Environment,
        run: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        self.prepare.as_deref().map_or(Ok(()), |line| shell("--prepare", line, environment))?;
        let ran = run();
        let concluded =
            self.conclude.as_deref().map_or(Ok(()), |line| shell("--conclude", line, environment));
        // Of two errors the run's own is the one to be told.
        ran.and_then(|ran| concluded.map(|()| ran))
    }

    /// Does what is due after the last run: once, or once for each of the values that the line holds.
    pub(crate) fn clean_up(
        &self,
        combinations: &[Values],
        environment: &Environment,
    ) -> Result<(), RunError> {
        let lines = lines(self.cleanup.as_deref(), combinations);
        // All of them, also after one that fails.
        let ended: Vec<_> = lines.iter().map(|line| shell("--cleanup", line, environment)).collect();
        ended.into_iter().collect()
    }

    /// Whether a run that ended so counts.
    pub(crate) fn accepts(&self, ending: Ending) -> bool {
        ending.is_success() || self.ignore_failure && matches!(ending, Ending::Exited(_))
    }
}

/// Every line that the values make of one, each once.
fn lines(line: Option<&OsStr>, combinations: &[Values]) -> Vec<OsString> {
    let mut lines: Vec<OsString> = Vec::new();
    for line in line.iter().flat_map(|line| combinations.iter().map(|values| values.fill(line))) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Runs a line. What it says on its error output is for the user to see.
fn shell(option: &'static str, line: &OsStr, environment: &Environment) -> Result<(), RunError> {
    let mut launch = Launch::new(SHELL, [OsStr::new("-c"), line], environment.clone());
    launch.streams = [Stream::Null, Stream::Null, Stream::Inherit];
    let ending = launch.measure(&[], None)?.ending;
    if ending.is_success() { Ok(()) } else { Err(RunError::Line { option, ending }) }
}
