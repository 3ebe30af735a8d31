//! `warm`: touches memory and gives it back, so that the host has it ready for the run that follows.
//!
//! On a virtual machine with free page reporting, freed memory returns to the host within seconds, and its next
//! first touch waits for the host to find it again, up to sixty times longer than usual. A process of its own
//! does this: our own memory, once grown, would be there during the timed run.

use crate::args::Warm;
use crate::output::Outcome;
use std::hint::black_box;

pub(crate) fn run(warm: &Warm) -> Outcome {
    let bytes = usize::try_from(warm.bytes)?;
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes)?;
    // Not zero: memory fresh from the kernel is zero already, and a compiler may know.
    memory.resize(bytes, 1);
    black_box(&memory);
    Ok(0)
}
