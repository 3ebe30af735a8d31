//! Right checksums for changed bytes: a reader that checks them would refuse nearly all that a fuzzer tries, and what lies
//! behind the check would never be tried. Files with right checksums can be forged, so those are the ones that count.

use std::ops::Range;

/// Of our binary graph format: where in the header its parts are.
const SECTIONS: usize = 5;
const FIRST_SECTION: usize = 56;
const SECTION_BYTES: usize = 24;
const HEADER_SUM: usize = FIRST_SECTION + SECTIONS * SECTION_BYTES;

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

fn put(bytes: &mut [u8], at: usize, sum: u32) {
    if let Some(place) = bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&u64::from(sum).to_le_bytes());
    }
}

/// A graph in our own format: the checksums of its sections, and that of the header.
pub fn mend_binary_graph(bytes: &mut [u8]) {
    for section in 0..SECTIONS {
        let at = FIRST_SECTION + section * SECTION_BYTES;
        let range = || -> Option<Range<usize>> {
            let (offset, length) = (number(bytes, at)?, number(bytes, at + 8)?);
            Some(offset..offset.checked_add(length)?)
        };
        if let Some(part) = range().and_then(|range| bytes.get(range)) {
            let sum = crc32fast::hash(part);
            put(bytes, at + 16, sum);
        }
    }
    mend_header(bytes);
}

/// A graph as rank 0 tells it: the header of such a file, and its sections one behind the other.
pub fn mend_told_graph(bytes: &mut [u8]) {
    let mut from = HEADER_SUM + 8;
    for section in 0..SECTIONS {
        let at = FIRST_SECTION + section * SECTION_BYTES;
        let end = number(bytes, at + 8).and_then(|length| from.checked_add(length));
        let Some(part) = end.and_then(|end| bytes.get(from..end)) else { break };
        from += part.len();
        let sum = crc32fast::hash(part);
        put(bytes, at + 16, sum);
    }
    mend_header(bytes);
}

fn mend_header(bytes: &mut [u8]) {
    if let Some(header) = bytes.get(..HEADER_SUM) {
        let sum = crc32fast::hash(header);
        put(bytes, HEADER_SUM, sum);
    }
}

/// A file that a long computation keeps: the sum of all that is before its last four bytes.
pub fn mend_kept(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
}

/// An archive of tar: the sums in its headers. Where a header's size does not read, the next block is taken for the next
/// header, as the library does for what has no contents.
pub fn mend_tar(bytes: &mut [u8]) {
    const BLOCK: usize = 512;
    const SIZE: Range<usize> = 124..136;
    const SUM: Range<usize> = 148..156;
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..at + BLOCK) {
        if header.iter().any(|byte| *byte != 0) {
            header[SUM].fill(b' ');
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        let digits = std::str::from_utf8(&header[SIZE]).unwrap_or_default();
        let digits = digits.trim_matches(|end: char| end == '\0' || end == ' ');
        let contents = usize::from_str_radix(digits, 8).unwrap_or(0);
        at += BLOCK + contents.min(bytes.len()).next_multiple_of(BLOCK);
    }
}
