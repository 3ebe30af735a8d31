//! What every command that starts a program needs of the command line: its environment, and errors as failures.

use crate::output::Failure;
use firsttouch_launch::RunError;
use firsttouch_process::{Environment, LaunchError, ProgramError};

/// The environment of this process.
pub(crate) fn environment() -> Environment {
    std::env::vars_os().collect()
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
        error => Failure::new(error),
    }
}
