//! Packed graphs: gzip, bzip2 and xz, told by how they begin. The first byte says how.

#![no_main]

use firsttouch_fuzz::{Bound, with_team};
use firsttouch_graph::{Place, ReadOptions, read_from};
use libfuzzer_sys::fuzz_target;
use std::io::Read;

/// Tables of the unpackers, of which the largest are those of bzip2, and buffers; then what `graph_text` may take, for what
/// comes out.
const BOUND: Bound = Bound { fixed: 64 << 20, per_byte: 64 };
/// More than comes out of a graph that is worth trying here.
const MOST_UNPACKED: u64 = 1 << 20;

const BEGINNINGS: [&[u8]; 3] = [&[0x1f, 0x8b], b"BZh", b"\xfd7zXZ\0"];

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let packing = usize::from(choice) % BEGINNINGS.len();
    let packed = [BEGINNINGS[packing], rest].concat();
    // What unfolds to ever so much is no matter of the file's length.
    let unpacked = BOUND.hold(packed.len(), || match packing {
        0 => length(flate2::read::MultiGzDecoder::new(&*packed)),
        1 => length(bzip2::read::MultiBzDecoder::new(&*packed)),
        _ => length(lzma_rust2::XzReader::new(&*packed, true)),
    });
    if unpacked > MOST_UNPACKED {
        return;
    }
    let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
    with_team(|team| {
        let length = packed.len() + unpacked as usize;
        let read = BOUND.hold(length, || read_from(&*packed, None, &options, team));
        if let Err(error) = read {
            assert!(!error.hint().is_empty(), "{error}");
        }
    });
});

fn length(stream: impl Read) -> u64 {
    let mut unpacked = Vec::new();
    let _ = stream.take(MOST_UNPACKED + 1).read_to_end(&mut unpacked);
    unpacked.len() as u64
}
