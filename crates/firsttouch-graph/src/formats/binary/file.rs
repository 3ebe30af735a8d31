//! Files of ours: written, and opened where they lie.

use super::error::BinaryError;
use super::image::{Image, assemble, checked_header, filled};
use super::layout::{HEADER_BYTES, Header, MAGIC, Section};
use crate::formats::loaded::Loaded;
use crate::memory_estimate::Size;
use crate::rows::{Owner, Place};
use firsttouch_threads::Team;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Whether a file that begins like this is one of ours.
pub(crate) fn is_ours(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// Writes a graph in our own format. The file is written from its beginning, and ends where the graph does.
///
/// # Errors
/// What writing answers.
pub(crate) fn write(loaded: &Loaded, file: &mut File) -> io::Result<()> {
    let Image { header, arrays } = Image::of(loaded);
    // What is not written between the arrays reads as zero, and takes no room on the disk.
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(bytemuck::bytes_of(&header))?;
    let mut end = HEADER_BYTES as u64;
    for (section, bytes) in header.section.iter().zip(arrays).filter(|(_, bytes)| !bytes.is_empty()) {
        file.seek(SeekFrom::Start(section.offset))?;
        file.write_all(bytes)?;
        end = section.offset + section.bytes;
    }
    file.set_len(end)
}

/// Opens a file of ours: mapped where it is, if `place` is the heap, or else read into memory of that place.
pub(crate) fn open(file: &File, place: Place, team: &mut Team) -> Result<Loaded, BinaryError> {
    let length = file.metadata()?.len();
    let mut bytes = [0; size_of::<Header>()];
    if length < bytes.len() as u64 {
        return Err(BinaryError::CutOff { wanted: HEADER_BYTES as u64, found: length });
    }
    file.read_exact_at(&mut bytes, 0)?;
    let header = checked_header(&bytes, length)?;
    if place == Place::HEAP {
        let owner = Arc::new(Owner::of_file(file)?);
        let sections = |_: usize, section: Section| {
            Ok((Arc::clone(&owner), section.offset as usize..(section.offset + section.bytes) as usize))
        };
        return assemble(&header, sections, team);
    }
    let read = |index, section: Section| {
        filled(index, section, place, |memory| file.read_exact_at(memory, section.offset))
    };
    assemble(&header, read, team)
}

/// How large the graph in a file of ours is, by its header; `None` of other files.
pub(crate) fn size(file: &File) -> Result<Option<Size>, BinaryError> {
    let mut bytes = [0; size_of::<Header>()];
    let length = file.metadata()?.len();
    if length < bytes.len() as u64 || !file.metadata()?.is_file() {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, 0)?;
    if !is_ours(&bytes) {
        return Ok(None);
    }
    let header = checked_header(&bytes, length)?;
    Ok(Some(Size { nodes: header.nodes, arcs: header.arcs }))
}

/// Opens a file of ours whose bytes are in memory.
pub(crate) fn from_memory(bytes: &[u8], place: Place, team: &mut Team) -> Result<Loaded, BinaryError> {
    let length = bytes.len() as u64;
    let Some(beginning) = bytes.get(..size_of::<Header>()) else {
        return Err(BinaryError::CutOff { wanted: HEADER_BYTES as u64, found: length });
    };
    let header = checked_header(beginning, length)?;
    let copied = |index, section: Section| {
        let from = section.offset as usize;
        filled(index, section, place, |memory| {
            memory.copy_from_slice(&bytes[from..from + section.bytes as usize]);
            Ok::<(), BinaryError>(())
        })
    };
    assemble(&header, copied, team)
}
