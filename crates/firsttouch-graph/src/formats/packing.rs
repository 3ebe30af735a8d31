//! Packed files: gzip, bzip2, xz, told by how they begin.

use super::error::ReadError;
use super::room;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};

/// The longest beginning that tells what a file is.
pub(super) const MAGIC: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Bzip2,
    Xz,
    /// Known, but not read.
    Zstd,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Bzip2 => "bzip2",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
        }
    }
}

/// What a file that begins like this is packed with; `None` for nothing.
pub(super) fn of(beginning: &[u8]) -> Option<Packing> {
    let starts = |magic: &[u8]| beginning.starts_with(magic);
    match () {
        () if starts(&[0x1f, 0x8b]) => Some(Packing::Gzip),
        () if starts(b"BZh") => Some(Packing::Bzip2),
        () if starts(b"\xfd7zXZ\0") => Some(Packing::Xz),
        () if starts(&[0x28, 0xb5, 0x2f, 0xfd]) => Some(Packing::Zstd),
        () => None,
    }
}

/// Reads how a file begins, and goes back there. Answers how much that is.
pub(super) fn beginning(file: &mut File, magic: &mut [u8; MAGIC]) -> io::Result<usize> {
    let length = read_up_to(file, magic)?;
    file.rewind()?;
    Ok(length)
}

fn read_up_to(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut had = 0;
    while had < buffer.len() {
        match stream.read(&mut buffer[had..]) {
            Ok(0) => break,
            Ok(more) => had += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(had)
}

/// All bytes of a stream, unpacked if they are packed, and if they are not too many for what is packed or `allowed`.
pub(super) fn unpacked(mut stream: impl Read, allowed: Option<u64>) -> Result<Vec<u8>, ReadError> {
    let mut magic = [0; MAGIC];
    let length = read_up_to(&mut stream, &mut magic)?;
    let packing = of(&magic[..length]);
    let packed = Cell::new(0);
    let stream = Counted { stream: Cursor::new(magic[..length].to_vec()).chain(stream), bytes: &packed };
    let mut stream = BufReader::with_capacity(BUFFER, stream);
    let mut bytes = Vec::new();
    let within = || room::text(packed.get(), allowed);
    let (packing, read) = match packing {
        None => return Ok(stream.read_to_end(&mut bytes).map(|_| bytes)?),
        Some(Packing::Zstd) => {
            return Err(ReadError::Other { what: "packed with zstd", hint: "unpack it first: zstd -d FILE" });
        }
        Some(packing @ Packing::Gzip) => {
            (packing, drained(flate2::bufread::MultiGzDecoder::new(stream), &mut bytes, within))
        }
        Some(packing @ Packing::Bzip2) => {
            (packing, drained(bzip2::bufread::MultiBzDecoder::new(stream), &mut bytes, within))
        }
        Some(packing @ Packing::Xz) => {
            // Its dictionary is as long as the text so far at most, whatever the file says it might become.
            (packing, drained(lzma_rust2::XzReader::new(stream, true), &mut bytes, within))
        }
    };
    let (packing, length) = (packing.name(), bytes.len() as u64);
    let is_whole = read.map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::CutOff { packing, bytes: length },
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            ReadError::Damaged { packing, bytes: length, source }
        }
        _ => ReadError::Io(source),
    })?;
    if is_whole {
        Ok(bytes)
    } else {
        Err(ReadError::TooMuchText { packing, packed: packed.get(), most: within() })
    }
}

/// A stream that tells how much was read of it.
struct Counted<'a, R> {
    stream: R,
    bytes: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Packed bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// Text that is unpacked before it is asked whether there may be more.
const STEP: u64 = 1 << 20;

/// Reads to the end; false if there are more bytes than `most` says, which grows with what was read.
fn drained(mut stream: impl Read, bytes: &mut Vec<u8>, most: impl Fn() -> u64) -> io::Result<bool> {
    loop {
        if stream.by_ref().take(STEP).read_to_end(bytes)? == 0 {
            return Ok(true);
        }
        if bytes.len() as u64 > most() {
            return Ok(false);
        }
    }
}
