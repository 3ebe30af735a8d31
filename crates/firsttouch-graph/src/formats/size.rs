//! How large a graph is, by the header of its file.

use super::error::{LineError, ReadError};
use super::format::Format;
use super::text::{Text, dimacs, matrix_market, metis};
use super::{binary, gap, packing, sniff};
use crate::memory_estimate::Size;
use std::fs::File;
use std::path::Path;

impl Size {
    /// That of the graph in a file, by its header; nothing else is read. Its format, if it is not what it looks like, may
    /// be named.
    ///
    /// # Errors
    /// A file that cannot be read, or is no graph, or of a format that has no header, or packed.
    pub fn of_file(path: &Path, format: Option<Format>) -> Result<Size, ReadError> {
        let file = File::open(path)?;
        match binary::size(&file)? {
            Some(size) => Ok(size),
            None => of_text(file, path, format),
        }
    }
}

/// What the header of a plain text, or of a serialized graph, promises. Whether it is kept, only reading tells.
fn of_text(mut file: File, path: &Path, format: Option<Format>) -> Result<Size, ReadError> {
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
                let header = dimacs::header(line).map(|(nodes, lines, has_edges)| {
                    both_ways = has_edges;
                    (nodes, lines)
                });
                Some(header.map_err(wrong(number)))
            }
            (Format::MatrixMarket, _) if number == 1 => match matrix_market::kind_of(line) {
                Ok(kind) => {
                    both_ways = kind.is_symmetric;
                    None
                }
                Err(reason) => Some(Err(wrong(1)(reason))),
            },
            (Format::MatrixMarket, b'%') => None,
            (Format::MatrixMarket, _) => Some(matrix_market::header(line).map_err(wrong(number))),
            (Format::Metis, _) => Some(metis::counts(line).map_err(wrong(number))),
            _ => Some(Err(ReadError::NoHeader)),
        }
    })?;
    let (nodes, lines) = found.ok_or(ReadError::NoHeader)??;
    Ok(Size { nodes, arcs: lines.saturating_mul(if both_ways { 2 } else { 1 }) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Place;
    use crate::{Loaded, ReadOptions, Recipe, generate, read, save};
    use firsttouch_threads::Team;

    #[test]
    fn what_a_header_tells_is_what_is_there() {
        let mut team = Team::of_this_process(1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let recipe = Recipe::Random { nodes: 1000, arcs: 3000, weights: 1..=9 };
        let made: Loaded = generate(&recipe, 1, Place::HEAP, &mut team).unwrap();
        let wanted = Size { nodes: 1000, arcs: 3000 };
        for (name, format) in [("g.ftg", Format::Binary), ("g.gr", Format::Dimacs)] {
            let path = folder.path().join(name);
            save(&made, &path, format, &mut team).unwrap();
            assert_eq!(Size::of_file(&path, None).unwrap(), wanted, "{name}");
            let graph = read(&path, &ReadOptions::default(), &mut team).unwrap().graph;
            // There is one more row, of 8 bytes, than nodes.
            assert_eq!(wanted.bytes() + 8, graph.bytes() as u64, "{name}");
        }
        let (list, metis) = (folder.path().join("g.wel"), folder.path().join("g.graph"));
        save(&made, &list, Format::WeightedEdgeList, &mut team).unwrap();
        assert!(matches!(Size::of_file(&list, None), Err(ReadError::NoHeader)));
        std::fs::write(&metis, "% three nodes in a row\n3 2\n2\n1 3\n2\n").unwrap();
        assert_eq!(Size::of_file(&metis, None).unwrap(), Size { nodes: 3, arcs: 4 });
        let matrix = folder.path().join("g.mtx");
        let text = "%%MatrixMarket matrix coordinate pattern symmetric\n% the same\n3 3 2\n2 1\n3 2\n";
        std::fs::write(&matrix, text).unwrap();
        assert_eq!(Size::of_file(&matrix, None).unwrap(), Size { nodes: 3, arcs: 4 });
        let packed = folder.path().join("g.gr.gz");
        save(&made, &packed, Format::Dimacs, &mut team).unwrap();
        assert!(matches!(Size::of_file(&packed, None), Err(ReadError::Other { .. })));
    }
}
