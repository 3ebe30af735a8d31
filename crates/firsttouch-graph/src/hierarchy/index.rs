//! A hierarchy, kept in a file.
//!
//! What takes long is the order; the rest is computed again from it and the graph, faster than it could be read and
//! checked. So a file holds the order alone, serves a graph with any weights, and cannot lead astray: with an order of
//! whatever kind, distances are right.

use super::build::Hierarchy;
use super::error::HierarchyError;
use super::limits::HierarchyOptions;
use crate::file::{self, FileError};
use crate::fingerprint::Fingerprint;
use crate::rows::Graph;
use std::path::Path;

/// Begins such a file; the last byte is the version of what follows: the fingerprint of the graph's arcs, the number of
/// nodes, and the nodes in the order of contraction, all of them little-endian.
const MAGIC: [u8; 8] = *b"ftorder\x01";

impl Hierarchy {
    /// Keeps the order of contraction in a file: 4 bytes for each node.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), HierarchyError> {
        let mut contents = Vec::with_capacity(16 + 4 * self.nodes());
        contents.extend_from_slice(&self.arcs_fingerprint.value().to_le_bytes());
        contents.extend_from_slice(&(self.nodes() as u64).to_le_bytes());
        for node in self.order() {
            contents.extend_from_slice(&node.to_le_bytes());
        }
        Ok(file::write(path, MAGIC, &contents)?)
    }

    /// The hierarchy of a graph in the order that was kept in a file; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// If the file is none of these, damaged, or of another graph; and as [`Hierarchy::with_order`].
    pub fn load(
        path: &Path,
        graph: &Graph,
        options: &HierarchyOptions,
    ) -> Result<Option<Hierarchy>, HierarchyError> {
        let wrong = |what| HierarchyError::from(FileError::Content { path: path.to_owned(), what });
        let Some(contents) = file::read(path, MAGIC, 16 + 4 * graph.nodes() as u64)? else { return Ok(None) };
        let mut rest = &contents[..];
        let arcs = file::take(&mut rest).map(u64::from_le_bytes).ok_or(wrong("cut off"))?;
        let nodes = file::take(&mut rest).map(u64::from_le_bytes).ok_or(wrong("cut off"))?;
        if nodes != graph.nodes() as u64 || arcs != Fingerprint::of_arcs(graph).value() {
            return Err(wrong("the index of another graph, or of another order of its nodes (--reorder)"));
        }
        let order: Vec<u32> = rest.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        Hierarchy::with_order(graph, &order, options).map(Some)
    }
}
