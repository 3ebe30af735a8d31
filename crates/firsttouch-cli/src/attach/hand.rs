//! Who carries an attach out: we from outside, or the agent in the process.

use crate::args::{Attach, AttachVia};
use crate::output::{Failure, Outcome};
use firsttouch_attach::{AttachError, Hand, Inside, Outside, Target, Wish, may};
use firsttouch_placement::Reason;

/// The hand that was asked for. Without a word the outer one, or where the kernel does not let it that of the agent, if
/// there is one.
pub(super) fn choose(target: &Target, args: &Attach, wish: &Wish) -> Outcome<Box<dyn Hand>> {
    let mut outside = Outside::new(target)?;
    match args.via {
        Some(AttachVia::Outside) => Ok(Box::new(outside)),
        Some(AttachVia::Agent) => match Inside::open(target) {
            Ok(inside) => Ok(Box::new(inside)),
            Err(error) => {
                let hint = error.hint();
                Err(Failure::new(error).hint(hint))
            }
        },
        None if matches!(may(target, &mut outside, wish), Err(AttachError::Refused { .. })) => {
            match Inside::open(target) {
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
    match error {
        AttachError::Refused { reason: Reason::NoCapability, .. } => format!(
            "{}; or start the program by `firsttouch run --attachable`, which lets its own user attach",
            error.hint()
        ),
        _ => error.hint(),
    }
}
