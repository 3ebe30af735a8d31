//! Topologies of hwloc as XML.

#![no_main]

use firsttouch_balance::{CpuSelection, Machine as Cores};
use firsttouch_fuzz::Bound;
use firsttouch_machine::{Source, StatusReport};
use firsttouch_report::picture;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::path::Path;

/// An element of four bytes is a name, a map and a list; a word of a set names up to 32 CPUs.
const BOUND: Bound = Bound { fixed: 4 << 20, per_byte: 1024 };
const WIDTH: usize = 100;

fuzz_target!(|input: &[u8]| -> Corpus {
    // Archives are for `machine_archive`, and take a hundred times as long.
    if input.trim_ascii_start().first() != Some(&b'<') {
        return Corpus::Reject;
    }
    let machine = BOUND.hold(input.len(), || {
        Source::of_stream(Path::new("fuzz.xml"), None, input).and_then(|source| source.machine())
    });
    if let Ok(machine) = machine {
        let _ = picture::text(&machine, WIDTH);
        let _ = Cores::of(&machine, None, CpuSelection::Cores, |_| true);
        let _ = StatusReport::of(machine);
    }
    Corpus::Keep
});
