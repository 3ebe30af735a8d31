//! Who carries an attach out: we from outside, or the agent in the process.

use crate::args::{Attach, ChosenExecutor};
use crate::output::{Failure, Outcome};
use firsttouch_attach::{AttachError, Executor, InProcess, Remote, ResolvedRequest, Target, may};
use firsttouch_linux::access::{OUTSIDE, is_in_user_namespace};
use firsttouch_machine::Root;
use firsttouch_placement::Reason;

/// The executor that was asked for. Without a word the outer one, or where the kernel does not let it that of the agent, if
/// there is one.
pub(super) fn choose(
    target: &Target,
    args: &Attach,
    request: &ResolvedRequest,
) -> Outcome<Box<dyn Executor>> {
    let mut outside = Remote::new(target)?;
    match args.executor {
        Some(ChosenExecutor::Remote) => Ok(Box::new(outside)),
        Some(ChosenExecutor::InProcess) => match InProcess::open(target) {
            Ok(inside) => Ok(Box::new(inside)),
            Err(error) => Err(Failure::hinted(error)),
        },
        None if matches!(may(target, &mut outside, request), Err(AttachError::Refused { .. })) => {
            match InProcess::open(target) {
                Ok(inside) => Ok(Box::new(inside)),
                // What the kernel refuses is told when it is tried.
                Err(_) => Ok(Box::new(outside)),
            }
        }
        None => Ok(Box::new(outside)),
    }
}

/// The line that mends it. A missing capability has two ways out.
pub(super) fn hint(error: &AttachError) -> String {
    let AttachError::Refused { reason: Reason::NoCapability, .. } = error else { return error.hint() };
    let hint = if is_in_user_namespace(&Root::live()) { OUTSIDE.to_owned() } else { error.hint() };
    format!("{hint}; or start the program by `firsttouch run --attachable`, which lets its own user attach")
}
