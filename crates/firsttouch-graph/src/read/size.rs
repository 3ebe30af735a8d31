//! How large a graph is, by the header of its file.

use super::formats::{dimacs_header, matrix_header, matrix_kind};
use super::text::Text;
use super::{Format, LineError, ReadError, gap, metis, packing, sniff};
use crate::need::Size;
use std::fs::File;
use std::path::Path;

/// What the header of a plain text, or of a serialized graph, promises. Whether it is kept, only reading tells.
pub(crate) fn size_of_text(mut file: File, path: &Path, format: Option<Format>) -> Result<Size, ReadError> {
    let mut magic = [0; packing::MAGIC];
    if !file.metadata()?.is_file() {
        return Err(ReadError::Other { what: "no plain file", hint: "write it into a file first" });
    }
    let length = packing::beginning(&mut file, &mut magic)?;
    if let Some(header) = gap::Header::of(&magic[..length]) {
        return Ok(header.size());
    }
    if packing::of(&magic[..length]).is_some() {
        return Err(ReadError::Other {
            what: "packed, so that its header cannot be seen alone",
            hint: "unpack it first, or look at its first lines: zcat FILE | head",
        });
    }
    let text = Text::of_file(file)?;
    let sniffed = sniff::sniff(&text.lines(0, 0)?, format.or(Format::of_name(path)))?;
    let format = format.unwrap_or(sniffed);
    // An edge of METIS stands in two lines; other edges, and entries of symmetric matrices, stand for two arcs.
    let (mut number, mut both_ways) = (0, format == Format::Metis);
    let wrong = |line: u64| move |reason: LineError| ReadError::Line { line, reason };
    let found = text.find(|_, line| {
        number += 1;
        let first = *line.trim_ascii().first()?;
        match (format, first) {
            (Format::Dimacs, b'c') | (Format::Metis, b'%') => None,
            (Format::Dimacs, b'p') => {
                let header = dimacs_header(line).map(|(nodes, lines, has_edges)| {
                    both_ways = has_edges;
                    (nodes, lines)
                });
                Some(header.map_err(wrong(number)))
            }
            (Format::MatrixMarket, _) if number == 1 => match matrix_kind(line) {
                Ok(kind) => {
                    both_ways = kind.is_symmetric;
                    None
                }
                Err(reason) => Some(Err(wrong(1)(reason))),
            },
            (Format::MatrixMarket, b'%') => None,
            (Format::MatrixMarket, _) => Some(matrix_header(line).map_err(wrong(number))),
            (Format::Metis, _) => Some(metis::counts(line).map_err(wrong(number))),
            _ => Some(Err(ReadError::NoHeader)),
        }
    })?;
    let (nodes, lines) = found.ok_or(ReadError::NoHeader)??;
    Ok(Size { nodes, arcs: lines.saturating_mul(if both_ways { 2 } else { 1 }) })
}
