//! Programs and libraries as ELF files.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_process::allocator_in;
use firsttouch_process::elf::Elf;
use libfuzzer_sys::fuzz_target;

/// Tables are read as they are; a symbol of 24 bytes has a name of its own.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 256 };

fuzz_target!(|input: &[u8]| {
    let _ = BOUND.hold(input.len(), || (Elf::read(input), allocator_in(input)));
});
