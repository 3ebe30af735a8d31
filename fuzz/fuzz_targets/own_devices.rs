//! The devices of a process of a recorded machine: its descriptors, mappings, mounts and sockets, and the layers of devices below
//! them.

#![no_main]

use firsttouch_fuzz::{Bound, machine_tree};
use firsttouch_linux::root::Root;
use firsttouch_machine::Machine;
use libfuzzer_sys::fuzz_target;

/// A list of CPUs may name every CPU in a few bytes, and several devices are next to the same ones.
const BOUND: Bound = Bound { fixed: 16 << 20, per_byte: 4096 };
/// The process of the written machine.
const PROCESS: u32 = 7;
/// Devices that are asked for by name.
const FEW: usize = 8;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let root = Root::of_tree("fuzz", machine_tree(&text));
    let Ok(machine) = BOUND.hold(input.len(), || Machine::examine(&root)) else { return };
    match BOUND.hold(input.len(), || machine.own_devices(&root, PROCESS)) {
        Ok(own) => {
            if let Err(error) = BOUND.hold(input.len(), || own.place(&machine, PROCESS)) {
                assert!(!error.hint().is_empty());
            }
        }
        Err(error) => assert!(!error.hint().is_empty()),
    }
    for device in machine.devices.iter().take(FEW) {
        if let Err(error) = BOUND.hold(input.len(), || machine.near(&root, &device.name)) {
            assert!(!error.hint().is_empty());
        }
    }
});
