//! Machines described in a line or a file: hwloc's synthetic topologies, machines of the balancer, machines of the lab. The
//! first byte says which.

#![no_main]

use firsttouch_balance::Machine as Cores;
use firsttouch_fuzz::Bound;
use firsttouch_lab::Description;
use firsttouch_machine::{Source, StatusReport};
use firsttouch_report::picture;
use libfuzzer_sys::fuzz_target;

/// A few words describe the largest machine that is allowed: 4096 domains with 17 bytes for each pair of them while it is made.
/// Beyond that a number of a table, or a word of TOML, is some dozen bytes.
const BOUND: Bound = Bound { fixed: 384 << 20, per_byte: 1024 };
const WIDTH: usize = 100;
/// Tables of distances are squares of words.
const CORES_PER_NODE: usize = 4;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match choice % 4 {
        0 => {
            let source = Source::Synthetic(text.to_owned());
            if let Ok(machine) = BOUND.hold(bytes.len(), || source.machine()) {
                if machine.cpus.len() < 1024 {
                    let _ = picture::text(&machine, WIDTH);
                }
                let _ = StatusReport::of(machine);
            }
        }
        1 => check(BOUND.hold(bytes.len(), || Cores::parse(text))),
        2 => check(BOUND.hold(bytes.len(), || Cores::from_table("fuzz", text, CORES_PER_NODE))),
        _ => {
            let _ = BOUND.hold(bytes.len(), || Description::parse(text));
        }
    }
});

fn check(machine: Result<Cores, firsttouch_balance::MachineError>) {
    match machine {
        Ok(machine) => assert!(!machine.cores().is_empty()),
        Err(error) => assert!(!error.hint().is_empty(), "{error}"),
    }
}
