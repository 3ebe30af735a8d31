//! The files of a recorded machine.

#![no_main]

use firsttouch_fuzz::{Bound, machine_tree};
use firsttouch_linux::root::Root;
use firsttouch_machine::{Machine, StatusReport};
use firsttouch_report::picture;
use libfuzzer_sys::fuzz_target;

/// A list of CPUs may name every CPU in a few bytes, and several files tell of the same ones.
const BOUND: Bound = Bound { fixed: 16 << 20, per_byte: 4096 };
const WIDTH: usize = 100;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let root = Root::of_tree("fuzz", machine_tree(&text));
    if let Ok(machine) = BOUND.hold(input.len(), || Machine::examine(&root)) {
        let _ = picture::text(&machine, WIDTH);
        let _ = StatusReport::of(machine);
    }
});
