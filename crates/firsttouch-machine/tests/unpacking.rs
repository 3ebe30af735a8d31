//! What an archive of xz says of itself takes no more memory than the dictionary of `xz -9`. In a program of its own, because
//! the peak is the process's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod written;

use firsttouch_machine::{ArchiveError, Machine, Root, Source, SourceError};
use std::io::Write;
use std::path::Path;

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

fn machine(archive: &[u8]) -> Result<Machine, SourceError> {
    Source::of_stream(Path::new("m.tar.xz"), archive)?.machine()
}

#[test]
fn what_an_archive_of_xz_says_of_itself_takes_no_memory() {
    let written = written::two_nodes();
    let expected = Machine::read(&Root::at(written.path())).unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    builder.append_dir_all("m", written.path()).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(9)).unwrap();
    xz.write_all(&builder.into_inner().unwrap()).unwrap();
    let largest = xz.finish().unwrap();
    let mut vast = largest.clone();
    vast[DICTIONARY] = LARGEST_DICTIONARY;
    let sum = crc32fast::hash(&vast[HEADER]).to_le_bytes();
    vast[HEADER.end..HEADER.end + sum.len()].copy_from_slice(&sum);
    // An index of 2^28 records, of which none follows.
    let many = [&largest[..HEADER.start], &[0, 0x80, 0x80, 0x80, 0x80, 1]].concat();

    let before = peak();
    let error = machine(&vast).unwrap_err();
    assert!(matches!(error, SourceError::Archive { source: ArchiveError::Dictionary, .. }), "{error:?}");
    let error = machine(&many).unwrap_err();
    assert!(matches!(error, SourceError::Archive { source: ArchiveError::Damaged(_), .. }), "{error:?}");
    assert_eq!(machine(&largest).unwrap(), expected);
    assert!(peak() - before < SMALL, "{} bytes", peak() - before);
}
