//! `warm`: touches memory and gives it back as the run beside it takes some, so that the host has it ready
//! ([`firsttouch_launch::warm()`]). A process of its own does this: our own memory, once grown, would be there during the timed run.

use crate::args::Warm;
use crate::output::Outcome;
use std::io;

pub(crate) fn run(warm: &Warm) -> Outcome {
    firsttouch_launch::warm(usize::try_from(warm.bytes)?, io::stdin(), io::stdout())?;
    Ok(0)
}
