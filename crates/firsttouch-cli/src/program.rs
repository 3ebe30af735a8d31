//! What every command that starts a program needs of the command line: its environment, and errors as failures.

use crate::output::{Failure, Outcome};
use anyhow::Context;
use firsttouch_launch::{OTHER_FOLDER, RunError, Start, Subject, run_accompanied};
use firsttouch_process::{Ending, Environment, LaunchError, ProgramError, Stream};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// The environment of this process.
pub(crate) fn environment() -> Environment {
    std::env::vars_os().collect()
}

/// Runs a program as it is, for a command that acts on it meanwhile ([`run_accompanied`]).
///
/// `is_stdout_ours`: standard output is for what the command says, and the program writes to standard error.
pub(crate) fn accompany(
    words: &[OsString],
    is_stdout_ours: bool,
    companion: impl FnMut(u32) -> Option<Duration>,
) -> Outcome<Ending> {
    let own = environment();
    let subject = Subject::find(words, &own).map_err(not_runnable)?;
    let mut streams = [Stream::Inherit, Stream::Inherit, Stream::Inherit];
    if is_stdout_ours {
        streams[1] = standard_error()?;
    }
    let start = Start::plain(&subject, own);
    let finished = run_accompanied(&start, streams, companion).map_err(not_started)?;
    Ok(finished.ending)
}

/// Our standard error, as a program's standard output: where ours is for a document.
pub(crate) fn standard_error() -> Outcome<Stream> {
    let stderr = io::stderr().as_fd().try_clone_to_owned().context("cannot use standard error")?;
    Ok(Stream::Descriptor(Arc::new(stderr)))
}

/// A program that cannot be found or executed, as an error of ours.
pub(crate) fn not_runnable(error: ProgramError) -> Failure {
    let (code, hint) = (error.exit_status(), error.hint());
    Failure::new(error).hint(hint).code(code)
}

/// A program that could not be started.
pub(crate) fn not_started(error: LaunchError) -> Failure {
    let (code, hint) = (error.exit_status(), error.hint());
    Failure::new(error).hint(hint).code(code)
}

/// A run that did not come to its end.
pub(crate) fn not_run(error: RunError) -> Failure {
    match error {
        RunError::Launch(error) => not_started(error),
        error @ RunError::Folder(_) => Failure::new(error).hint(OTHER_FOLDER),
        error => Failure::new(error),
    }
}
