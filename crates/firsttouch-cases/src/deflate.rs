//! DEFLATE by libraries, over chunks of text or of files.
//!
//! Source: *Intel ISA-L: Semi-Dynamic Compression Algorithms*, whose example compresses and decompresses files by ISA-L and by
//! zlib, prints their ratios and times, and is bound to the cores next to the disk that has the files. Nothing here is ours but
//! the chunks and their threads: what to place is what libraries read and write.

mod codec;
mod codecs;
mod isal;
#[cfg(test)]
mod tests;
mod text;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use codec::Codec;
use codecs::Vendor;
use firsttouch_threads::Team;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Compression and decompression by libraries.
#[derive(Debug)]
pub(crate) struct Deflate;

static ABOUT: About = About {
    name: "deflate",
    summary: "compresses or decompresses chunks of text or files by a library",
    source: "Intel ISA-L: Semi-Dynamic Compression Algorithms",
    parameters: &[
        Parameter::new(
            "direction",
            "what is timed",
            Kind::Word(&["compress", "decompress"]),
            ["compress", "compress"],
        ),
        Parameter::new("level", "the library's level; ISA-L's highest is 3", Kind::Count(1, 9), ["6", "1"]),
        Parameter::new(
            "input",
            "a file, or a folder with all files below; `generated`: text like source code",
            Kind::Text,
            [GENERATED, GENERATED],
        ),
        Parameter::new(
            "size",
            "bytes of generated text, or most bytes that are read of files",
            Kind::Bytes(1, 1 << 40),
            ["256M", "4M"],
        ),
        Parameter::new(
            "chunk-size",
            "bytes that are compressed by themselves; each thread has its share of chunks",
            Kind::Bytes(1, 1 << 31),
            ["1M", "256K"],
        ),
    ],
    variants: &[
        Variant::ours("flate2", "the crate flate2 with miniz_oxide, compiled for size, as firsttouch has it"),
        Variant::others("zlib", "zlib, as the system has it"),
        Variant::others("zlib-ng", "zlib-ng"),
        Variant::others("libdeflate", "libdeflate"),
        Variant::others("isa-l", "ISA-L's igzip"),
    ],
    steps: 2,
    unit: Unit::Bandwidth,
    bound: None,
};

const GENERATED: &str = "generated";

impl Case for Deflate {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        Vendor::of(variant.name).codec(1).err()
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let (number, word) = (|name| given.arguments.number(name), |name| given.arguments.word(name));
        let (chunk, level) = (number("chunk-size"), number("level") as u32);
        let files =
            match word("input") {
                GENERATED => None,
                path => Some(read(Path::new(path), number("size")).map_err(|error| {
                    CaseError::Together(format!("`input` cannot be read: {path}: {error}"))
                })?),
            };
        let size = files.as_ref().map_or(number("size"), Vec::len);
        if size == 0 {
            return Err(CaseError::Together(format!("`input` has no bytes: {}", word("input"))));
        }
        let members = given.team.size();
        let mut plain = given.arrays.zeroed::<u8>("plain", size)?;
        // Text is made by its units; threads make what they compress, but for units that are of two.
        let units: Vec<_> = cut(size, members, text::UNIT);
        let parts = units.into_iter().zip(cut_slice(&mut plain, members, text::UNIT)).collect();
        each(given.team, parts, |_, (range, to)| match &files {
            Some(files) => to.copy_from_slice(&files[range]),
            None => {
                let units = range.start / text::UNIT..;
                units.zip(to.chunks_mut(text::UNIT)).for_each(|(unit, to)| text::fill(unit, to));
            }
        });
        let vendor = Vendor::of(given.variant.name);
        let codecs = (0..members).map(|_| vendor.codec(level)).collect::<Result<Vec<_>, _>>()?;
        let room = room(chunk);
        let count = size.div_ceil(chunk);
        let packed = given.arrays.zeroed::<u8>("packed", count * room)?;
        let direction = given.arguments.word("direction") == "decompress";
        let restored = given.arrays.zeroed::<u8>("restored", if direction { size } else { 0 })?;
        let lengths = vec![0; count];
        let mut chunks = Chunks { plain, packed, restored, lengths, chunk, codecs };
        chunks.compress(given.team);
        if direction {
            chunks.decompress(given.team);
        }
        Ok(Prepared::Here(Box::new(chunks)))
    }
}

/// Bytes that a chunk may be after compression: libraries store what does not get smaller, with a few bytes around each block.
fn room(chunk: usize) -> usize {
    chunk + chunk / 8 + 1024
}

/// The bytes of a file, or of all files below a folder in the order of their paths, up to so many.
fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut left: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let below = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
            // Links to folders may lead in circles.
            let mut below: Vec<_> = below.into_iter().filter(|path| !path.is_symlink()).collect();
            below.sort_by(|one, other| other.cmp(one));
            left.extend(below);
        } else {
            fs::File::open(path)?.take((most - bytes.len()) as u64).read_to_end(&mut bytes)?;
        }
    }
    Ok(bytes)
}

struct Chunks {
    /// The input.
    plain: Array<u8>,
    /// Each chunk after compression, in as much room as it may need.
    packed: Array<u8>,
    /// What decompression makes; empty where compression is timed.
    restored: Array<u8>,
    /// Bytes of each chunk after compression.
    lengths: Vec<usize>,
    /// Bytes of a chunk.
    chunk: usize,
    /// One for each thread.
    codecs: Vec<Box<dyn Codec>>,
}

impl Chunks {
    fn compress(&mut self, team: &mut Team) {
        let (members, chunk) = (team.size(), self.chunk);
        let plain = cut(self.lengths.len(), members, 1).into_iter();
        let plain = plain.map(|chunks| &self.plain[(chunks.start * chunk).min(self.plain.len())..]);
        let packed = cut_slice(&mut self.packed, members, room(chunk)).into_iter();
        let lengths = cut_slice(&mut self.lengths, members, 1).into_iter();
        let parts = plain.zip(packed).zip(lengths).zip(&mut self.codecs).collect();
        each(team, parts, |_, (((plain, packed), lengths), codec)| {
            let chunks = plain.chunks(chunk).zip(packed.chunks_exact_mut(room(chunk)));
            for ((plain, packed), length) in chunks.zip(lengths) {
                *length = codec.compress(plain, packed).expect("there is room for what does not get smaller");
            }
        });
    }

    fn decompress(&mut self, team: &mut Team) {
        let (members, chunk) = (team.size(), self.chunk);
        let (packed, lengths) = (&*self.packed, &self.lengths);
        let shares = cut(lengths.len(), members, 1).into_iter();
        let restored = cut_slice(&mut self.restored, members, chunk).into_iter();
        let parts = shares.zip(restored).zip(&mut self.codecs).collect();
        each(team, parts, |_, ((share, restored), codec)| {
            for (index, restored) in share.zip(restored.chunks_mut(chunk)) {
                let packed = &packed[index * room(chunk)..][..lengths[index]];
                assert_eq!(
                    codec.decompress(packed, restored),
                    Some(restored.len()),
                    "what it packed, it unpacks"
                );
            }
        });
    }
}

impl Workload for Chunks {
    fn step(&mut self, team: &mut Team) {
        if self.restored.is_empty() {
            self.compress(team);
        } else {
            self.decompress(team);
        }
    }

    /// Of the data as they were before compression: what decompression made, or what another library makes of the chunks.
    fn checksum(&self) -> Checksum {
        let mut bytes = self.restored.to_vec();
        if bytes.is_empty() {
            bytes.resize(self.plain.len(), 0);
            let chunks = bytes.chunks_mut(self.chunk).zip(self.packed.chunks_exact(room(self.chunk)));
            let mut codec = Vendor::Flate2.codec(1).expect("it is part of the program");
            for ((restored, packed), length) in chunks.zip(&self.lengths) {
                if codec.decompress(&packed[..*length], restored) != Some(restored.len()) {
                    restored.fill(0);
                }
            }
        }
        let words = bytes.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        Checksum::of_words(words)
    }

    /// Rates of compression are told by the bytes that are not compressed; how many there are of the others is up to the library.
    fn work(&self) -> Work {
        Work { bytes: self.plain.len() as u64, operations: 0 }
    }

    fn notes(&self) -> Vec<String> {
        let packed: usize = self.lengths.iter().sum();
        let (plain, packed) = (self.plain.len() as f64, packed as f64);
        let (from, to) = (plain / 1e6, packed / 1e6);
        vec![format!("ratio {:.2} ({from:.1} MB to {to:.1} MB)", plain / packed)]
    }
}
