//! How a file of ours is laid out: what it begins with, and where arrays lie.

use bytemuck::{Pod, Zeroable};

pub(super) const MAGIC: [u8; 8] = *b"\x89FTGRAPH";
pub(super) const VERSION: u32 = 1;
/// As the machine that writes has it.
pub(super) const BYTE_ORDER: u32 = 0x0102_0304;
pub(super) const HEADER_BYTES: usize = 4096;
/// Where arrays begin.
pub(super) const ALIGNMENT: u64 = 2 << 20;
pub(super) const SECTIONS: usize = 5;

/// An array in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Section {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// CRC-32 of the bytes (the one of zlib and Ethernet).
    pub(super) checksum: u64,
}

/// The beginning of a file; zeros follow up to 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    pub(super) byte_order: u32,
    pub(super) nodes: u64,
    pub(super) arcs: u64,
    pub(super) distance_bound: u64,
    /// The number of the first node in the file the graph comes from.
    pub(super) first_id: u64,
    pub(super) max_weight: u32,
    pub(super) sections: u32,
    /// Offsets, arcs, numbers of the nodes, order, coordinates; what is missing has no bytes.
    pub(super) section: [Section; SECTIONS],
    /// CRC-32 of all before.
    pub(super) checksum: u64,
}

pub(super) fn header_checksum(header: &Header) -> u64 {
    let bytes = bytemuck::bytes_of(header);
    crc(&bytes[..bytes.len() - size_of::<u64>()])
}

pub(super) fn crc(bytes: &[u8]) -> u64 {
    u64::from(crc32fast::hash(bytes))
}
