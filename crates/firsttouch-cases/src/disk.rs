//! A file that is read into memory: how near that comes to what its disk gives.

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use firsttouch_measure::{DirectFile, Limit, MeasureError, mix};
use firsttouch_threads::Team;
use rustix::fs::{Advice, fadvise};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A file read by all threads.
#[derive(Debug)]
pub(crate) struct Disk;

static ABOUT: About = About {
    name: "disk",
    summary: "a file that is read from its disk into memory, by all threads",
    source: "sequential reads of fio (Axboe), with and without its option `direct`",
    parameters: &[
        Parameter::new(
            "file",
            "the file, of which the page cache keeps nothing; `generated`: one without a name in /var/tmp",
            Kind::Text,
            [GENERATED, GENERATED],
        ),
        Parameter::new(
            "size",
            "bytes of a generated file, or most bytes that are read; whole blocks of 4 KiB",
            Kind::Bytes(BLOCK as u64, 1 << 40),
            ["256M", "32M"],
        ),
        Parameter::new(
            "request",
            "bytes that a thread asks for at a time; whole blocks of 4 KiB",
            Kind::Bytes(BLOCK as u64, 1 << 30),
            ["1M", "1M"],
        ),
    ],
    variants: &[
        Variant::ours("direct", "past the page cache (O_DIRECT), from the disk into the memory"),
        Variant::ours("cached", "through the page cache, which reads ahead, and from which all is copied"),
    ],
    steps: 2,
    unit: Unit::Bandwidth,
    bound: Some(Limit::Disk),
};

const GENERATED: &str = "generated";
/// Where a generated file lies: by the Filesystem Hierarchy Standard not in memory, as `/tmp` may.
const FOLDER: &str = "/var/tmp";
const BLOCK: usize = DirectFile::BLOCK_BYTES;

impl Case for Disk {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    /// Where files are generated: other cases go on on a machine where that is memory, before Linux 6.6.
    fn missing(&self, _: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        let tried = tempfile::tempfile_in(FOLDER).and_then(|file| DirectFile::of(&file));
        tried.err().map(|error| {
            Missing::new(
                format!("{FOLDER} cannot be read past the page cache: {error}"),
                &format!("a {FOLDER} on a disk"),
            )
        })
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let whole = |bytes: usize| bytes / BLOCK * BLOCK;
        let size = whole(given.arguments.number("size"));
        let path = given.arguments.word("file");
        let input = |what: String, hint: &str| CaseError::Input { what, hint: Some(hint.to_owned()) };
        let file = match path {
            GENERATED => generated(size).map_err(|error| {
                let what = format!("a file of {size} bytes cannot be made in {FOLDER}: {error}");
                input(what, "--set file=FILE reads one of yours, --set size=SIZE makes a smaller one")
            })?,
            path => File::open(path).map_err(|error| CaseError::Input {
                what: format!("`file` cannot be read: {path}: {error}"),
                hint: None,
            })?,
        };
        let size = match file.metadata() {
            Ok(metadata) if metadata.is_file() => whole(metadata.len().min(size as u64) as usize),
            _ => 0,
        };
        if size == 0 {
            return Err(CaseError::Together(format!(
                "`file` has no whole block of 4 KiB, or is no regular file: {path}"
            )));
        }
        let direct = DirectFile::of(&file).map_err(|error| {
            let what = format!("`file` cannot be read past the page cache: {path}: {error}");
            input(what, MeasureError::File(error).hint())
        })?;
        let direct = (given.variant.name == "direct").then_some(direct);
        let mut memory = given.arrays.zeroed::<u8>("buffer", size + BLOCK)?;
        // Threads touch first what they read into.
        let blocks = aligned(&memory, size);
        let parts = cut_slice(&mut memory[blocks], given.team.size(), BLOCK);
        each(given.team, parts, |_, part| part.fill(0));
        let request = whole(given.arguments.number("request"));
        Ok(Prepared::Here(Box::new(Reading { file, direct, memory, size, request })))
    }
}

/// A file of numbers that differ, on the disk and without a name, so that nothing of it is left whatever ends this process.
fn generated(size: usize) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(FOLDER)?;
    let mut buffer = vec![0; 1 << 20];
    for place in (0..size).step_by(buffer.len()) {
        let buffer = &mut buffer[..(1 << 20).min(size - place)];
        let numbers = (place as u64 / 8..).map(|number| mix(number).to_le_bytes());
        buffer.as_chunks_mut::<8>().0.iter_mut().zip(numbers).for_each(|(word, number)| *word = number);
        file.write_all(buffer)?;
    }
    // The cache can forget only what the disk has.
    file.sync_data()?;
    Ok(file)
}

/// The part that begins with a block: arrays may begin anywhere, and the disk writes to memory in blocks.
fn aligned(memory: &[u8], size: usize) -> Range<usize> {
    let first = memory.as_ptr().align_offset(BLOCK);
    first..first + size
}

struct Reading {
    file: File,
    /// The same past the page cache, where it is read so.
    direct: Option<DirectFile>,
    memory: Array<u8>,
    /// Bytes that are read.
    size: usize,
    /// Bytes of a request.
    request: usize,
}

impl Workload for Reading {
    fn reset(&mut self, _: &mut Team) {
        if self.direct.is_none() {
            // What cannot be forgotten (others may have it mapped) makes this one faster than the disk, which is then to be seen.
            let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        }
    }

    fn step(&mut self, team: &mut Team) {
        let Reading { memory, size, request, .. } = self;
        let (file, direct) = (&self.file, &self.direct);
        let read = |to: &mut [u8], place: u64| match direct {
            Some(direct) => direct.read_at(to, place),
            None => file.read_exact_at(to, place),
        };
        let starts = cut(*size, team.size(), BLOCK).into_iter().map(|range| range.start);
        let blocks = aligned(memory, *size);
        let parts = starts.zip(cut_slice(&mut memory[blocks], team.size(), BLOCK)).collect();
        each(team, parts, |_, (start, part)| {
            for (place, to) in (start..).step_by(*request).zip(part.chunks_mut(*request)) {
                read(to, place as u64).expect("the file is there as it was when the run began");
            }
        });
    }

    /// Of all that was read.
    fn checksum(&self) -> Checksum {
        let words = self.memory[aligned(&self.memory, self.size)].as_chunks::<8>().0;
        Checksum::of_words(words.iter().map(|word| u64::from_le_bytes(*word)))
    }

    fn work(&self) -> Work {
        Work { bytes: self.size as u64, operations: 0 }
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::{prepared, stepped};

    /// Requests more and fewer than threads have, whole and not.
    #[test]
    fn every_block_is_read_once_whoever_reads_it() {
        let expected = Checksum::of_words((0..9 * 512).map(mix));
        for variant in ["direct", "cached"] {
            for (request, threads) in [("4K", 1), ("8K", 2), ("1M", 2)] {
                let choices = [("size", "38000"), ("request", request)];
                let seen = stepped(&Disk, variant, &choices, threads);
                assert_eq!(seen, (expected, Work { bytes: 9 * 4096, operations: 0 }), "{variant} {request}");
            }
        }
    }

    #[test]
    fn a_file_of_somebody_is_read_to_its_last_whole_block() {
        let mut file = tempfile::NamedTempFile::new_in(FOLDER).unwrap();
        file.write_all(&[1; 3 * 4096 + 5]).unwrap();
        let choices = [("file", file.path().to_str().unwrap())];
        let expected = Checksum::of_words([0x0101_0101_0101_0101; 3 * 512]);
        for variant in ["direct", "cached"] {
            let seen = stepped(&Disk, variant, &choices, 2);
            assert_eq!(seen, (expected, Work { bytes: 3 * 4096, operations: 0 }));
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let mut team = Team::of_this_process(1).unwrap();
        let mut said =
            |file: &str| prepared(&Disk, "direct", &[("file", file)], &mut team).unwrap_err().to_string();
        let missing = said("/nowhere/at/all");
        assert!(missing.starts_with("`file` cannot be read: /nowhere/at/all: "), "{missing}");
        let empty = tempfile::NamedTempFile::new_in(FOLDER).unwrap();
        for odd in [empty.path().to_str().unwrap(), FOLDER, "/proc/self/environ"] {
            let refused = said(odd);
            assert!(
                refused.starts_with("`file` has no whole block of 4 KiB, or is no regular file: "),
                "{refused}"
            );
        }
    }
}
