//! What a file of xz says of itself takes no memory: its dictionary is what was unpacked, and its index is read record by
//! record. In a program of its own, because the peak is the process's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use firsttouch_graph::{Place, ReadOptions, read_from};
use firsttouch_threads::Team;
use std::io::Write;

/// What allocators and threads reserve for themselves.
const SMALL: u64 = 512 << 20;
/// How a file states a dictionary of 4 GiB.
const LARGEST_DICTIONARY: u8 = 40;
/// Where a file with one filter states it: behind the header of the stream, lengths and the filter's name.
const DICTIONARY: usize = 16;
const HEADER: std::ops::Range<usize> = 12..20;

/// The most addresses that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn packed(preset: u32, text: &str) -> Vec<u8> {
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(preset)).unwrap();
    xz.write_all(text.as_bytes()).unwrap();
    xz.finish().unwrap()
}

#[test]
fn what_a_file_of_xz_says_of_itself_takes_no_memory() {
    let text = format!("p sp 2 2000\n{}", "a 1 2 3\na 2 1 4\n".repeat(1000));
    let mut vast = packed(0, &text);
    vast[DICTIONARY] = LARGEST_DICTIONARY;
    let sum = crc32fast::hash(&vast[HEADER]).to_le_bytes();
    vast[HEADER.end..HEADER.end + sum.len()].copy_from_slice(&sum);
    // An index of 2^28 records, of which none follows.
    let many = [&vast[..HEADER.start], &[0, 0x80, 0x80, 0x80, 0x80, 1]].concat();
    let largest = packed(9, &text);

    let mut team = Team::of_this_process(1).unwrap();
    let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
    let before = peak();
    assert_eq!(read_from(&*vast, None, &options, &mut team).unwrap().graph.arcs(), 2000);
    let error = read_from(&*many, None, &options, &mut team).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert_eq!(read_from(&*largest, None, &options, &mut team).unwrap().graph.arcs(), 2000);
    assert!(peak() - before < SMALL, "{} bytes", peak() - before);
}
