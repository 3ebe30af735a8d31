//! Files of xz that promise more than they hold, and the memory that reading them takes. The tests of every crate that
//! unpacks share it.

use firsttouch_linux::process::Status;
use firsttouch_linux::root::Root;
use lzma_rust2::{XzOptions, XzWriter};
use std::io::Write;
use std::ops::Range;

/// What allocators and threads reserve for themselves.
pub(crate) const SMALL: u64 = 512 << 20;
/// How a file states a dictionary of 4 GiB.
const LARGEST_DICTIONARY: u8 = 40;
/// Where a file with one filter states it: behind the header of the stream, lengths and the filter's name.
const DICTIONARY: usize = 16;
const HEADER: Range<usize> = 12..20;

/// The most addresses that this process ever had, in bytes.
pub(crate) fn peak() -> u64 {
    Status::read(&Root::live(), std::process::id()).unwrap().vm_peak_bytes.unwrap()
}

/// As `xz -PRESET` packs it.
pub(crate) fn packed(preset: u32, bytes: &[u8]) -> Vec<u8> {
    let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(preset)).unwrap();
    xz.write_all(bytes).unwrap();
    xz.finish().unwrap()
}

/// The same file with a dictionary of 4 GiB.
pub(crate) fn with_vast_dictionary(mut xz: Vec<u8>) -> Vec<u8> {
    xz[DICTIONARY] = LARGEST_DICTIONARY;
    let sum = crc32fast::hash(&xz[HEADER]).to_le_bytes();
    xz[HEADER.end..HEADER.end + sum.len()].copy_from_slice(&sum);
    xz
}

/// The beginning of a file, and an index of 2^28 records, of which none follows.
pub(crate) fn with_many_records(xz: &[u8]) -> Vec<u8> {
    [&xz[..HEADER.start], &[0, 0x80, 0x80, 0x80, 0x80, 1]].concat()
}
