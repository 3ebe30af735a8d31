//! How much memory a file may take: what it says of itself, it may say falsely, and only its length costs whoever wrote it
//! something. (A line `p sp 4294967295 67108864` and a quarter of a gigabyte of blank lines, packed into 260 kB, would otherwise take
//! 34 GB.)
//!
//! What lines name needs no rule: an arc takes no more memory than a few times its line. Headers and packing do.

/// The shortest line with an arc: `1 2` and its end.
const SHORTEST_ARC: u64 = 4;
/// The shortest line with coordinates: `v 1 0 0` and its end.
const SHORTEST_POINT: u64 = 8;
/// A header that promises so many more nodes than arcs belongs to another file.
const MOST_NODES_PER_ARC: u64 = 64;
/// A graph of so many nodes takes no noticeable memory, whatever its header promises.
const FEW_NODES: u64 = 1 << 20;
/// What a node takes, however few arcs it has.
const NODE_BYTES: u64 = 8;
/// Texts of graphs are packed by factors of 3 to 20; by more than this, what is packed is no graph of use.
const MOST_TEXT_PER_PACKED: u64 = 64;
/// So much text is unpacked of anything.
const FEW_BYTES: u64 = 16 << 20;

/// Arcs that a text of so many bytes has lines for.
pub(super) fn arcs(text_bytes: u64) -> u64 {
    text_bytes / SHORTEST_ARC
}

/// Nodes with coordinates that a text of so many bytes has lines for; the last line may lack its end.
pub(super) fn points(text_bytes: u64) -> u64 {
    (text_bytes + 1) / SHORTEST_POINT
}

/// Nodes, with and without arcs, of a text of so many bytes that has at most so many arcs.
pub(super) fn nodes(text_bytes: u64, arcs: u64, allowed_bytes: Option<u64>) -> u64 {
    let by_length = text_bytes.min(arcs.saturating_mul(MOST_NODES_PER_ARC));
    by_length.max(FEW_NODES).max(allowed_bytes.unwrap_or(0) / NODE_BYTES)
}

/// Bytes of text that so many packed bytes may unpack to.
pub(super) fn text(packed_bytes: u64, allowed_bytes: Option<u64>) -> u64 {
    packed_bytes.saturating_mul(MOST_TEXT_PER_PACKED).max(FEW_BYTES).max(allowed_bytes.unwrap_or(0))
}
