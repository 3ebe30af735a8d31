//! A text in parts that begin and end between lines, so that several threads can read it at once.
//!
//! A plain file is read piece by piece, where it is needed, as often as it is needed; what was packed or came through a
//! pipe lies in memory.

use memchr::memchr;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, PoisonError};

/// Bytes of a part: its text stays in a core's second-level cache while it is read.
const PART_BYTES: usize = 256 << 10;

/// The byte-order mark of Unicode, in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug)]
pub(crate) struct Text {
    from: From,
    part_bytes: usize,
    /// Bytes of the mark that some editors put before a text ([`MARK`]), which belongs to no line.
    mark_bytes: usize,
    /// Buffers that were read into before: new ones would be new pages each time.
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Whole lines of a text.
#[derive(Debug)]
pub(crate) enum Lines<'text> {
    Memory(&'text [u8]),
    File { buffer: Vec<u8>, range: Range<usize>, text: &'text Text },
}

impl Deref for Lines<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Lines::Memory(bytes) => bytes,
            Lines::File { buffer, range, .. } => &buffer[range.clone()],
        }
    }
}

impl Lines<'_> {
    /// Leaves out the first bytes.
    fn leave_out(&mut self, bytes: usize) {
        match self {
            Lines::Memory(all) => *all = &all[bytes.min(all.len())..],
            Lines::File { range, .. } => range.start = (range.start + bytes).min(range.end),
        }
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        if let Lines::File { buffer, text, .. } = self {
            text.spare.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(buffer));
        }
    }
}

#[derive(Debug)]
enum From {
    File { file: File, state: State },
    Memory(Vec<u8>),
}

/// What tells whether a file was written to meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    bytes: u64,
    modified: (i64, i64),
}

impl State {
    fn of(file: &File) -> io::Result<State> {
        let data = file.metadata()?;
        Ok(State { bytes: data.size(), modified: (data.mtime(), data.mtime_nsec()) })
    }
}

impl Text {
    /// The text of a plain file.
    pub(crate) fn of_file(file: File) -> io::Result<Text> {
        let (state, mut beginning) = (State::of(&file)?, Vec::new());
        let read = read_behind(&file, 0, 0, MARK.len(), &mut beginning)?;
        Ok(Text::of(From::File { file, state }, &beginning[..read]))
    }

    /// A text in memory.
    pub(crate) fn of_memory(bytes: Vec<u8>) -> Text {
        let beginning = bytes[..bytes.len().min(MARK.len())].to_vec();
        Text::of(From::Memory(bytes), &beginning)
    }

    fn of(from: From, beginning: &[u8]) -> Text {
        let mark_bytes = if beginning == MARK { MARK.len() } else { 0 };
        Text { from, part_bytes: PART_BYTES, mark_bytes, spare: Mutex::default() }
    }

    /// The same text in parts of another size.
    #[cfg(test)]
    pub(crate) fn in_parts_of(mut self, bytes: usize) -> Text {
        self.part_bytes = bytes;
        self
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.from {
            From::File { state, .. } => state.bytes,
            From::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// How many parts there are from this byte on.
    pub(crate) fn parts(&self, from: u64) -> usize {
        self.bytes().saturating_sub(from).div_ceil(self.part_bytes as u64) as usize
    }

    /// The lines that begin in a part; `from` is the beginning of a line.
    pub(crate) fn lines(&self, from: u64, part: usize) -> io::Result<Lines<'_>> {
        let begin = from + part as u64 * self.part_bytes as u64;
        let end = begin + self.part_bytes as u64;
        let lines: io::Result<Lines<'_>> = match &self.from {
            From::Memory(bytes) => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                let (begin, end) = (place(begin), place(end));
                let first = if part == 0 { begin } else { line_at(bytes, begin, end) };
                let last = line_at(bytes, end.max(first), bytes.len());
                Ok(Lines::Memory(if first >= end { &[] } else { &bytes[first..last] }))
            }
            From::File { file, .. } => self.lines_of_file(file, begin, end, part == 0),
        };
        let mut lines = lines?;
        if begin == 0 {
            lines.leave_out(self.mark_bytes);
        }
        Ok(lines)
    }

    fn lines_of_file(&self, file: &File, begin: u64, end: u64, is_first: bool) -> io::Result<Lines<'_>> {
        let mut buffer = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        // One byte before: it tells whether a line begins here.
        let start = if is_first { begin } else { begin - 1 };
        let most = (end.min(self.bytes()).saturating_sub(start)) as usize;
        let mut had = read_behind(file, start, 0, most, &mut buffer)?;
        let first = if is_first { 0 } else { line_at(&buffer[..had], 1, had) };
        let lines = |buffer, range| Ok(Lines::File { buffer, range, text: self });
        if first >= had {
            return lines(buffer, 0..0);
        }
        // The last line may end behind the part.
        let mut step = BEHIND;
        while buffer[had - 1] != b'\n' {
            let more = read_behind(file, start, had, step, &mut buffer)?;
            let end = memchr(b'\n', &buffer[had..had + more]);
            had += end.map_or(more, |at| at + 1);
            if end.is_some() || more == 0 {
                break;
            }
            step = step.saturating_mul(2);
        }
        lines(buffer, first..had)
    }

    /// Lets `each` see line after line, with where it begins, from the beginning on, until it answers something.
    pub(crate) fn find<T>(&self, mut each: impl FnMut(u64, &[u8]) -> Option<T>) -> io::Result<Option<T>> {
        let mut at = self.mark_bytes as u64;
        for part in 0..self.parts(0) {
            for line in self.lines(0, part)?.split_inclusive(|byte| *byte == b'\n') {
                if let Some(found) = each(at, line.strip_suffix(b"\n").unwrap_or(line)) {
                    return Ok(Some(found));
                }
                at += line.len() as u64;
            }
        }
        Ok(None)
    }

    /// Whether the file is as it was when it was opened.
    pub(crate) fn is_unchanged(&self) -> io::Result<bool> {
        match &self.from {
            From::File { file, state } => Ok(State::of(file)? == *state),
            From::Memory(_) => Ok(true),
        }
    }
}

/// What is read behind a part at first, to find the end of its last line.
const BEHIND: usize = 256;

/// Where the first line begins that begins in `begin..end`; `end` if none does, as far as can be seen.
fn line_at(bytes: &[u8], begin: usize, end: usize) -> usize {
    if begin == 0 || begin >= bytes.len() {
        return begin;
    }
    memchr(b'\n', &bytes[begin - 1..end]).map_or(end, |at| begin + at)
}

/// Reads up to `most` bytes behind the `had` that a buffer has of a file from `start` on; fewer only at the end of the file.
/// Answers how many.
fn read_behind(file: &File, start: u64, had: usize, most: usize, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.len() < had + most {
        buffer.resize(had + most, 0);
    }
    let mut read = 0;
    while read < most {
        let at = had + read;
        match file.read_at(&mut buffer[at..had + most], start + at as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn both(bytes: &[u8], part: usize) -> [Text; 2] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let file = Text::of_file(file).unwrap();
        [file, Text::of_memory(bytes.to_vec())].map(|text| text.in_parts_of(part))
    }

    proptest! {
        #[test]
        fn parts_are_whole_lines_and_all_of_the_text(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..200),
            part in 1_usize..40,
            from in 0_usize..5,
        ) {
            let newline = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
            let from = newline.take(from).last().unwrap_or(0);
            for text in both(&bytes, part) {
                let mut all = Vec::new();
                for part in 0..text.parts(from as u64) {
                    let lines = text.lines(from as u64, part).unwrap();
                    prop_assert!(all.is_empty() || all.last() == Some(&b'\n') || lines.is_empty());
                    all.extend_from_slice(&lines);
                }
                prop_assert_eq!(&all, &bytes[from..]);
            }
        }
    }

    #[test]
    fn a_file_that_is_written_to_is_noticed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"a\n").unwrap();
        let text = Text::of_file(file.try_clone().unwrap()).unwrap();
        assert!(text.is_unchanged().unwrap());
        file.write_all(b"b\n").unwrap();
        assert!(!text.is_unchanged().unwrap());
    }
}
