//! Reads graphs, and recognises their format by the contents of the file first, and by its name where contents do not tell.

use super::error::ReadError;
use super::format::Format;
use super::loaded::Loaded;
use super::options::ReadOptions;
use super::text::{Text, dimacs, edge_list, matrix_market, metis};
use super::{binary, gap, packing, sniff};
use firsttouch_threads::Team;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Reads the graph in a file, with a team.
///
/// A plain text is parsed twice, piece by piece, and takes no memory beside the graph; a packed one is unpacked into memory
/// first; a graph in our own format is mapped, not copied, if its place is the heap ([`HEAP`](crate::Place::HEAP)) and left to the
/// page cache, and else read into memory as placed.
///
/// # Errors
/// Whatever is wrong with the file, or no memory.
pub fn read(path: &Path, options: &ReadOptions, team: &mut Team) -> Result<Loaded, ReadError> {
    let mut file = File::open(path)?;
    let is_plain_file = file.metadata()?.is_file();
    let mut magic = [0; packing::MAGIC];
    if is_plain_file {
        let length = packing::beginning(&mut file, &mut magic)?;
        if binary::is_ours(&magic[..length]) {
            return Ok(binary::open(&file, options.place, team)?);
        }
        if let Some(header) = gap::Header::of(&magic[..length]) {
            let read = |part: &mut [u8], offset| file.read_exact_at(part, offset);
            return gap::read(header, file.metadata()?.len(), read, options.place);
        }
        if packing::of(&magic[..length]).is_none() {
            return read_text(&Text::of_file(file)?, Format::of_name(path), options, team);
        }
    }
    let bytes = packing::unpacked(file, options.most_memory_bytes)?;
    read_memory(bytes, Format::of_name(path), options, team)
}

/// Reads a graph from a stream (a pipe, or bytes in memory): all of it is read into memory first. `named` is the format
/// that its name tells, if it has one.
///
/// # Errors
/// As [`read`].
pub fn read_from(
    stream: impl Read,
    named: Option<Format>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    read_memory(packing::unpacked(stream, options.most_memory_bytes)?, named, options, team)
}

fn read_memory(
    bytes: Vec<u8>,
    named: Option<Format>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    if binary::is_ours(&bytes) {
        return Ok(binary::from_memory(&bytes, options.place, team)?);
    }
    if let Some(header) = gap::Header::of(&bytes) {
        let read = |part: &mut [u8], offset| (&bytes[offset as usize..]).read_exact(part);
        return gap::read(header, bytes.len() as u64, read, options.place);
    }
    read_text(&Text::of_memory(bytes), named, options, team)
}

pub(super) fn read_text(
    text: &Text,
    named: Option<Format>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let sniffed = sniff::sniff(&text.lines(0, 0)?, options.format.or(named))?;
    let loaded = match options.format.unwrap_or(sniffed) {
        Format::Dimacs => dimacs::read(text, options, team),
        Format::MatrixMarket => matrix_market::read(text, options, team),
        format @ (Format::EdgeList | Format::WeightedEdgeList) => {
            edge_list::read(text, format, options, team)
        }
        Format::Metis => metis::read(text, options, team),
        Format::Gap | Format::Binary => Err(ReadError::Unknown),
    };
    if text.is_unchanged()? { loaded } else { Err(ReadError::Changed) }
}
