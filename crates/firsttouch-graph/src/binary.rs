//! Our own format: arrays as they lie in memory, so that a file is mapped instead of read.
//!
//! A header of 4096 bytes, then arrays at multiples of 2 MiB, so that a mapping of them may have huge pages and a reader
//! may copy each where it wants it. The layout is in docs/graphs.md. Numbers are in the byte order of the machine that wrote
//! them: a file of the other kind is refused, not turned round, because it could not be mapped.
//!
//! Invariant: what was opened is a graph. Checksums are compared, offsets never fall, every head is there: so that searches
//! need not look again.

use crate::array::{Array, Owner, Place};
use crate::build::in_parts;
use crate::graph::{Extent, Graph, Node, OutArc};
use crate::ids::Ids;
use crate::need::Size;
use crate::order::Order;
use crate::ranks::{HearError, MessageError, Ranks};
use crate::read::{Format, Loaded};
use bytemuck::{Pod, Zeroable};
use firsttouch_memory::RegionError;
use firsttouch_threads::Team;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

const MAGIC: [u8; 8] = *b"\x89FTGRAPH";
const VERSION: u32 = 1;
/// As the machine that writes has it.
const BYTE_ORDER: u32 = 0x0102_0304;
const HEADER_BYTES: usize = 4096;
/// Where arrays begin.
const ALIGNMENT: u64 = 2 << 20;
const SECTIONS: usize = 5;
/// Bytes that are checked at once.
const PART_BYTES: usize = 1 << 20;

/// A graph of ours that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no memory for it.
    #[error("there is no memory for the graph: {0}")]
    Memory(RegionError),
    /// Of a later version than is known here.
    #[error("it has version {version} of the format, and this program knows version {VERSION}")]
    Version {
        /// Its version.
        version: u32,
    },
    /// Of a machine with the other byte order.
    #[error("it was written by a machine with the other byte order")]
    ByteOrder,
    /// Shorter than its header says.
    #[error("it was cut off: {wanted} bytes are promised, and there are {found}")]
    CutOff {
        /// Bytes there should be.
        wanted: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Changed since it was written.
    #[error("its {part} is damaged: the checksum is another")]
    Damaged {
        /// Which part.
        part: &'static str,
    },
    /// With a right checksum, and yet no graph.
    #[error("its {part} makes no graph")]
    NoGraph {
        /// Which part.
        part: &'static str,
    },
}

impl BinaryError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            BinaryError::Io(_) => "check the name, and that the file may be read",
            BinaryError::Memory(error) => error.hint(),
            BinaryError::Version { .. } => "use a newer firsttouch, or convert the graph again from its text",
            BinaryError::ByteOrder => "convert the graph on this machine, from its text",
            BinaryError::CutOff { .. } | BinaryError::Damaged { .. } | BinaryError::NoGraph { .. } => {
                "fetch it again, or convert it again: firsttouch graph convert"
            }
        }
    }
}

/// An array in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Section {
    offset: u64,
    bytes: u64,
    /// CRC-32 of the bytes (the one of zlib and Ethernet).
    checksum: u64,
}

/// The beginning of a file; zeros follow up to 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    nodes: u64,
    arcs: u64,
    distance_bound: u64,
    /// The number of the first node in the file the graph comes from.
    first_id: u64,
    max_weight: u32,
    sections: u32,
    /// Offsets, arcs, numbers of the nodes, order, coordinates; what is missing has no bytes.
    section: [Section; SECTIONS],
    /// CRC-32 of all before.
    checksum: u64,
}

const NAMES: [&str; SECTIONS] = ["table of rows", "table of arcs", "list of numbers", "order", "coordinates"];

/// Whether a file that begins like this is one of ours.
pub(crate) fn is_ours(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// A graph as a file has it.
struct Image<'a> {
    header: Header,
    /// Those that are missing are empty.
    arrays: [&'a [u8]; SECTIONS],
}

impl Image<'_> {
    fn of(loaded: &Loaded) -> Image<'_> {
        let graph = &loaded.graph;
        let order: &[Node] = loaded.ids.order().map_or(&[], Order::nodes);
        let arrays: [&[u8]; SECTIONS] = [
            bytemuck::cast_slice(graph.offsets()),
            bytemuck::cast_slice(graph.all_arcs()),
            bytemuck::cast_slice(loaded.ids.list().unwrap_or(&[])),
            bytemuck::cast_slice(order),
            bytemuck::cast_slice(loaded.coordinates.as_deref().unwrap_or(&[])),
        ];
        let mut section = [Section::default(); SECTIONS];
        let mut end = HEADER_BYTES as u64;
        for (section, bytes) in section.iter_mut().zip(arrays).filter(|(_, bytes)| !bytes.is_empty()) {
            let offset = end.next_multiple_of(ALIGNMENT);
            *section = Section { offset, bytes: bytes.len() as u64, checksum: crc(bytes) };
            end = offset + section.bytes;
        }
        let mut header = Header {
            magic: MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER,
            nodes: graph.nodes() as u64,
            arcs: graph.arcs() as u64,
            distance_bound: graph.extent().distance_bound,
            first_id: loaded.ids.first().unwrap_or(0),
            max_weight: graph.max_weight(),
            sections: SECTIONS as u32,
            section,
            checksum: 0,
        };
        header.checksum = header_checksum(&header);
        Image { header, arrays }
    }
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

fn header_checksum(header: &Header) -> u64 {
    let bytes = bytemuck::bytes_of(header);
    crc(&bytes[..bytes.len() - size_of::<u64>()])
}

fn crc(bytes: &[u8]) -> u64 {
    u64::from(crc32fast::hash(bytes))
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

/// The same of a file whose bytes are in memory.
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

/// Rank 0 tells a graph: what a file begins with, then its arrays.
pub(crate) fn tell(loaded: &Loaded, ranks: &dyn Ranks) -> Result<(), MessageError> {
    let Image { header, arrays } = Image::of(loaded);
    ranks.tell(bytemuck::bytes_of(&header))?;
    arrays.iter().filter(|bytes| !bytes.is_empty()).try_for_each(|bytes| ranks.tell(bytes))
}

/// The graph that rank 0 tells.
pub(crate) fn hear(ranks: &dyn Ranks, place: Place, team: &mut Team) -> Result<Loaded, HearError> {
    let mut beginning = [0; size_of::<Header>()];
    ranks.hear(&mut beginning)?;
    let header = checked_header(&beginning, u64::MAX)?;
    let heard = |index, section: Section| match section.bytes {
        0 => filled(index, section, place, |_| Ok::<(), HearError>(())),
        _ => filled(index, section, place, |memory| Ok::<(), HearError>(ranks.hear(memory)?)),
    };
    assemble(&header, heard, team)
}

/// Memory for a section, that of the graph itself on the pages asked for, and what `fill` brings into it.
fn filled<E, F>(
    index: usize,
    section: Section,
    place: Place,
    fill: impl FnOnce(&mut [u8]) -> Result<(), F>,
) -> Result<Memory, E>
where
    E: From<BinaryError> + From<F>,
{
    let words = section.bytes.div_ceil(8) as usize;
    let place = if index < 2 { place } else { Place::HEAP };
    let mut owner = Owner::zeroed(words, place).map_err(BinaryError::Memory)?;
    let memory: &mut [u8] = bytemuck::cast_slice_mut(owner.words_mut(words));
    fill(&mut memory[..section.bytes as usize])?;
    Ok((Arc::new(owner), 0..section.bytes as usize))
}

/// The header, if it is whole and everything it names is in the file.
fn checked_header(bytes: &[u8], length: u64) -> Result<Header, BinaryError> {
    let header: Header = bytemuck::pod_read_unaligned(bytes);
    if header.byte_order == BYTE_ORDER.swap_bytes() {
        return Err(BinaryError::ByteOrder);
    }
    if header.byte_order == BYTE_ORDER && header.version != VERSION {
        return Err(BinaryError::Version { version: header.version });
    }
    if header.checksum != header_checksum(&header) {
        return Err(BinaryError::Damaged { part: "header" });
    }
    let no_graph = BinaryError::NoGraph { part: "header" };
    if header.nodes > u64::from(u32::MAX) || header.sections != SECTIONS as u32 {
        return Err(no_graph);
    }
    let (nodes, arcs) = (header.nodes, header.arcs);
    let wanted =
        [Some((nodes + 1) * 8), arcs.checked_mul(8), Some(nodes * 8), Some(nodes * 4), Some(nodes * 8)];
    for (index, (section, wanted)) in header.section.iter().zip(wanted).enumerate() {
        let may_be_missing = index > 1 || wanted == Some(0);
        let is_missing = may_be_missing && section.bytes == 0;
        let has_size = Some(section.bytes) == wanted || is_missing;
        let Some(end) =
            section.offset.checked_add(section.bytes).filter(|_| has_size && section.offset % 8 == 0)
        else {
            return Err(no_graph);
        };
        if end > length {
            return Err(BinaryError::CutOff { wanted: end, found: length });
        }
    }
    Ok(header)
}

type Memory = (Arc<Owner>, std::ops::Range<usize>);

/// Makes a graph of the sections, and checks that it is one.
fn assemble<E: From<BinaryError>>(
    header: &Header,
    section: impl Fn(usize, Section) -> Result<Memory, E>,
    team: &mut Team,
) -> Result<Loaded, E> {
    let mut memory = Vec::with_capacity(SECTIONS);
    for (index, place) in header.section.iter().enumerate() {
        let (owner, range) = section(index, *place)?;
        verify(&owner.bytes()[range.clone()], place.checksum, NAMES[index], team)?;
        memory.push((owner, range));
    }
    let no_graph = |index: usize| BinaryError::NoGraph { part: NAMES[index] };
    let array = |index: usize| memory[index].clone();
    let (owner, range) = array(0);
    let offsets: Array<u64> = Array::new(owner, range).ok_or_else(|| no_graph(0))?;
    let (owner, range) = array(1);
    let arcs: Array<OutArc> = Array::new(owner, range).ok_or_else(|| no_graph(1))?;
    let rows =
        offsets.first() == Some(&0) && offsets.last() == Some(&(arcs.len() as u64)) && offsets.is_sorted();
    if !rows {
        return Err(no_graph(0).into());
    }
    check_heads(&arcs, header.nodes, team).map_err(|()| no_graph(1))?;
    let extent = Extent { max_weight: header.max_weight, distance_bound: header.distance_bound };

    let bytes = |index: usize| {
        let (owner, range) = &memory[index];
        (!range.is_empty()).then(|| &owner.bytes()[range.clone()])
    };
    let ids = match bytes(2) {
        None => Ids::from_first(header.first_id, header.nodes as usize),
        Some(listed) => Ids::listed(copied(listed)).ok_or_else(|| no_graph(2))?,
    };
    let ids = match bytes(3) {
        None => ids,
        Some(order) => ids.reordered(&Order::new(copied(order)).ok_or_else(|| no_graph(3))?),
    };
    Ok(Loaded {
        graph: Graph::of_arrays(offsets, arcs, extent),
        ids,
        coordinates: bytes(4).map(copied),
        format: Format::Binary,
        notes: Vec::new(),
    })
}

/// The elements of a section, which begins with one and is as long as some of them.
fn copied<T: Pod>(bytes: &[u8]) -> Vec<T> {
    bytemuck::cast_slice(bytes).to_vec()
}

/// Compares a checksum, by a team.
fn verify(bytes: &[u8], wanted: u64, part: &'static str, team: &mut Team) -> Result<(), BinaryError> {
    let pieces: Vec<&[u8]> = bytes.chunks(PART_BYTES).collect();
    let sums = Mutex::new(vec![crc32fast::Hasher::new(); pieces.len()]);
    let summed: Result<(), ()> = in_parts(pieces.len(), team, |index| {
        let mut sum = crc32fast::Hasher::new();
        sum.update(pieces[index]);
        sums.lock().unwrap_or_else(PoisonError::into_inner)[index] = sum;
        Ok(())
    });
    let mut all = crc32fast::Hasher::new();
    for sum in sums.into_inner().unwrap_or_else(PoisonError::into_inner) {
        all.combine(&sum);
    }
    if summed.is_ok() && u64::from(all.finalize()) == wanted {
        Ok(())
    } else {
        Err(BinaryError::Damaged { part })
    }
}

/// Whether every head is a node.
fn check_heads(arcs: &[OutArc], nodes: u64, team: &mut Team) -> Result<(), ()> {
    let pieces: Vec<&[OutArc]> = arcs.chunks(PART_BYTES / size_of::<OutArc>()).collect();
    in_parts(pieces.len(), team, |index| {
        let largest = pieces[index].iter().map(|arc| arc.head).max().unwrap_or(0);
        if u64::from(largest) < nodes { Ok(()) } else { Err(()) }
    })
}

#[cfg(test)]
mod tests;
