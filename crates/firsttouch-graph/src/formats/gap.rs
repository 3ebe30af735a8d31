//! Serialized graphs of the GAP benchmark suite (`.sg`, `.wsg`): compressed rows as they lay in its memory.
//!
//! A byte that is 1 for a directed graph; the number of arcs and that of nodes, of 64 bits; where the arcs of each node begin, one
//! more than there are nodes, of 64 bits; the heads of the arcs, of 32 bits, in a `.wsg` each with its weight behind it; of a
//! directed graph offsets and arcs once more, turned round, which nobody needs here. (`WriteSerializedGraph` in the suite's
//! `writer.h`.) Nothing in it says what it is, not even whether there are weights: it is known by numbers that fit each other
//! and the length of the file, and so no memory is taken that the file does not fill.

use super::error::ReadError;
use super::format::Format;
use super::loaded::{Loaded, NO_WEIGHTS};
use crate::memory_estimate::Size;
use crate::rows::{Array, Graph, Ids, OutArc, Owner, Place, ValidatedCsr};
use std::io;

/// Bytes of the flag and both numbers.
const NUMBERS: u64 = 17;
/// Bytes that tell: those, and the first offset.
const TELLING: usize = 25;
/// Its nodes have numbers of 31 bits.
const MOST_NODES: u64 = i32::MAX as u64;
/// No file is longer.
const MOST_ARCS: u64 = 1 << 44;
/// Heads that are read at once where there are no weights.
const HEADS: usize = 1 << 18;

/// How such a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    is_directed: bool,
    arcs: u64,
    nodes: u64,
}

impl Header {
    /// That of a file that begins like this, if it is one.
    pub(super) fn of(beginning: &[u8]) -> Option<Header> {
        let telling: &[u8; TELLING] = beginning.first_chunk()?;
        let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| telling[at + byte]));
        let (arcs, nodes, first) = (number(1), number(9), number(17));
        let is_one = telling[0] <= 1 && arcs < MOST_ARCS && (1..=MOST_NODES).contains(&nodes) && first == 0;
        is_one.then_some(Header { is_directed: telling[0] == 1, arcs, nodes })
    }

    /// What it promises.
    pub(super) fn size(self) -> Size {
        Size { nodes: self.nodes, arcs: self.arcs }
    }

    fn offset_bytes(self) -> u64 {
        (self.nodes + 1) * size_of::<u64>() as u64
    }

    /// How long the file is, with or without weights.
    fn length(self, has_weights: bool) -> u64 {
        let arc = if has_weights { size_of::<OutArc>() } else { size_of::<u32>() };
        let rows = self.offset_bytes() + self.arcs * arc as u64;
        NUMBERS + if self.is_directed { 2 * rows } else { rows }
    }
}

/// Reads a file of so many bytes, of which `read` fills a part from an offset on.
pub(super) fn read(
    header: Header,
    bytes: u64,
    read: impl Fn(&mut [u8], u64) -> io::Result<()>,
    place: Place,
) -> Result<Loaded, ReadError> {
    let has_weights = bytes == header.length(true);
    if !has_weights && bytes != header.length(false) {
        let Header { nodes, arcs, .. } = header;
        let (weighted, plain) = (header.length(true), header.length(false));
        return Err(ReadError::GapLength { nodes, arcs, weighted, plain, found: bytes });
    }
    let (entries, arcs) = (header.nodes as usize + 1, header.arcs as usize);
    let mut offsets = Owner::zeroed(entries, place).map_err(ReadError::Memory)?;
    read(bytemuck::cast_slice_mut(offsets.words_mut(entries)), NUMBERS)?;
    let mut memory = Owner::zeroed(arcs, place).map_err(ReadError::Memory)?;
    let (words, begin) = (memory.words_mut(arcs), NUMBERS + header.offset_bytes());
    if has_weights {
        read(bytemuck::cast_slice_mut(words), begin)?;
    } else {
        let mut heads = vec![0_u32; HEADS.min(arcs)];
        for (words, at) in words.chunks_mut(HEADS).zip((begin..).step_by(HEADS * size_of::<u32>())) {
            let heads = &mut heads[..words.len()];
            read(bytemuck::cast_slice_mut(heads), at)?;
            let made = heads.iter().map(|head| bytemuck::cast(OutArc { head: *head, weight: 1 }));
            words.iter_mut().zip(made).for_each(|(word, arc)| *word = arc);
        }
    }
    let (offsets, arcs): (Array<u64>, Array<OutArc>) =
        (Array::first_of(offsets, entries), Array::first_of(memory, arcs));
    // Both are signed there.
    let signed = |number: u32| (number <= i32::MAX as u32).then_some(number);
    let validated = ValidatedCsr::check_each(
        entries - 1,
        arcs.len(),
        |node| offsets[node].try_into().unwrap_or(-1),
        |arc| arcs[arc].head,
        |arc| signed(arcs[arc].weight),
    )?;
    Ok(Loaded {
        graph: Graph::of_arrays(offsets, arcs, validated.extent()),
        ids: Ids::from_first(0, header.nodes as usize),
        coordinates: None,
        format: Format::Gap,
        notes: if has_weights { Vec::new() } else { vec![NO_WEIGHTS.to_owned()] },
    })
}
