//! A graph as a file of ours has it: made of a graph, and made a graph again.
//!
//! Invariant: what was opened is a graph. Checksums are compared, offsets never fall, every head is there: so that searches
//! need not look again.

use super::error::BinaryError;
use super::layout::{
    ALIGNMENT, BYTE_ORDER, HEADER_BYTES, Header, MAGIC, SECTIONS, Section, VERSION, crc, header_checksum,
};
use crate::formats::format::Format;
use crate::formats::loaded::Loaded;
use crate::rows::{Array, Extent, Graph, Ids, Node, Order, OutArc, Owner, Place, in_parts};
use bytemuck::Pod;
use firsttouch_threads::Team;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are checked at once.
const PART_BYTES: usize = 1 << 20;

pub(super) const NAMES: [&str; SECTIONS] =
    ["table of rows", "table of arcs", "list of numbers", "order", "coordinates"];

/// A graph as a file has it.
pub(super) struct Image<'a> {
    pub(super) header: Header,
    /// Those that are missing are empty.
    pub(super) arrays: [&'a [u8]; SECTIONS],
}

impl Image<'_> {
    pub(super) fn of(loaded: &Loaded) -> Image<'_> {
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

/// Memory for a section, that of the graph itself on the pages asked for, and what `fill` brings into it.
pub(super) fn filled<E, F>(
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
pub(super) fn checked_header(bytes: &[u8], length: u64) -> Result<Header, BinaryError> {
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

pub(super) type Memory = (Arc<Owner>, std::ops::Range<usize>);

/// Makes a graph of the sections, and checks that it is one.
pub(super) fn assemble<E: From<BinaryError>>(
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
