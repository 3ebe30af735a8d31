//! Recorded machines in an archive: tar with right sums, and whatever it is packed with.

#![no_main]

use firsttouch_fuzz::{Bound, mend_tar};
use firsttouch_machine::{Source, StatusReport};
use firsttouch_report::picture;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// Tables of the unpackers; a list of CPUs may name every CPU in a few bytes, and several files tell of the same ones.
const BOUND: Bound = Bound { fixed: 64 << 20, per_byte: 4096 };
const WIDTH: usize = 100;

fuzz_target!(|input: &[u8]| {
    let mut bytes = input.to_vec();
    mend_tar(&mut bytes);
    let machine = BOUND.hold_refusing(bytes.len(), || {
        Source::of_stream(Path::new("fuzz.tar"), &*bytes).and_then(|source| source.machine())
    });
    if let Ok(machine) = machine {
        let _ = picture::text(&machine, WIDTH);
        let _ = StatusReport::of(machine);
    }
});
