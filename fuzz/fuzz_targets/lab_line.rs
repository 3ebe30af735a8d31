//! What a lab's guest says on its serial line: any bytes, or frames of the right length, each of a line with its kind in
//! front. The first byte says which.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_lab::hear;
use libfuzzer_sys::fuzz_target;

/// A frame may say that it is a MiB long. A report of a few words is a structure of some hundred bytes, and vectors grow by
/// doubling.
const BOUND: Bound = Bound { fixed: 2 << 20, per_byte: 64 };

const HELLO: &[u8] = b"\nfirsttouch lab 1\n";

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let mut line = HELLO.to_vec();
    if choice % 2 == 0 {
        line.extend_from_slice(bytes);
    } else {
        for (kind, contents) in bytes.split(|byte| *byte == b'\n').filter_map(<[u8]>::split_first) {
            line.push(*kind);
            line.extend_from_slice(&(contents.len() as u32).to_le_bytes());
            line.extend_from_slice(contents);
        }
    }
    let _ = BOUND.hold(line.len(), || hear(&*line));
});
