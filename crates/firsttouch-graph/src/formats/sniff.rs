//! What a text is, told by how it begins.

use super::error::ReadError;
use super::format::Format;

/// Lines that are looked at, beside comments.
const LINES: usize = 50;

/// The format of a text that begins like this, and is of format `named` if its name, or whoever asks, can be trusted.
pub(super) fn sniff(beginning: &[u8], named: Option<Format>) -> Result<Format, ReadError> {
    if beginning.is_empty() {
        return Err(ReadError::Empty);
    }
    if let Some(error) = binary(beginning) {
        return Err(error);
    }
    if beginning.starts_with(b"%%MatrixMarket") {
        return Ok(Format::MatrixMarket);
    }
    let lines = beginning.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut columns = Vec::new();
    let mut lines =
        lines.filter(|line| !line.is_empty()).filter(|line| !is_comment(line)).take(LINES).peekable();
    if let Some(first) = lines.peek()
        && let Some(error) = table(first)
    {
        return Err(error);
    }
    for line in lines {
        match line[0] {
            b'p' if is_auxiliary(line) => return Err(auxiliary()),
            b'p' | b'a' if line.get(1).is_some_and(u8::is_ascii_whitespace) => return Ok(Format::Dimacs),
            b'v' | b's' if line.get(1).is_some_and(u8::is_ascii_whitespace) => return Err(auxiliary()),
            b'0'..=b'9' => {}
            b'S' if line.to_ascii_lowercase().starts_with(b"section") => return Err(steiner()),
            _ => return Err(ReadError::Unknown),
        }
        columns.push(line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count());
    }
    let all = |wanted: usize| columns.iter().all(|count| *count == wanted);
    match named {
        // Only comments, of which the name must tell whose they are.
        _ if columns.is_empty() => named.ok_or(ReadError::Unknown),
        Some(format @ (Format::Metis | Format::Dimacs | Format::MatrixMarket)) => Ok(format),
        _ if all(2) => Ok(Format::EdgeList),
        _ if all(3) => Ok(Format::WeightedEdgeList),
        Some(format @ (Format::EdgeList | Format::WeightedEdgeList)) => Ok(format),
        _ => Err(ReadError::Ambiguous),
    }
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line[0], b'#' | b'%') || line[0] == b'c' && line.get(1).is_none_or(u8::is_ascii_whitespace)
}

fn is_auxiliary(line: &[u8]) -> bool {
    line.split(u8::is_ascii_whitespace).nth(1) == Some(b"aux")
}

fn auxiliary() -> ReadError {
    ReadError::Other {
        what: "coordinates or sources of a DIMACS graph, not the graph",
        hint: "name the .gr file; coordinates are given with --coordinates FILE",
    }
}

/// What has columns as databases and spreadsheets write them, told by its first line.
fn table(line: &[u8]) -> Option<ReadError> {
    let hint = if line[0].is_ascii_digit() {
        "put blanks between the columns: tr ',;' ' ' < IN > OUT.wel"
    } else {
        "leave out the line of names, and put blanks between the columns: tail -n +2 IN | tr ',;' ' ' > OUT.wel"
    };
    let what = "a table with commas or semicolons between its columns";
    let is_one = !b"{[(<".contains(&line[0]) && line.iter().any(|byte| b",;".contains(byte));
    is_one.then_some(ReadError::Other { what, hint })
}

fn steiner() -> ReadError {
    ReadError::Other {
        what: "a Steiner tree problem (SteinLib, or the PACE challenge of 2018), in sections",
        hint: "take the lines `E TAIL HEAD WEIGHT` out of it: awk '$1 == \"E\" {print $2, $3, $4}' IN > OUT.wel, with --undirected",
    }
}

/// What a file that is no text is.
fn binary(beginning: &[u8]) -> Option<ReadError> {
    let word = |at: usize| -> Option<u64> {
        Some(u64::from_le_bytes(beginning.get(8 * at..8 * at + 8)?.try_into().ok()?))
    };
    // Galois: version 1 or 2, bytes of a weight, nodes, edges.
    let galois = matches!(word(0), Some(1 | 2)) && matches!(word(1), Some(0 | 1 | 2 | 4 | 8));
    let what = match () {
        () if galois => {
            return Some(ReadError::Other {
                what: "a binary graph of Galois, whose names end in .gr as those of DIMACS graphs do",
                hint: "convert it by Galois' own tool: graph-convert -gr2dimacs IN.gr OUT.gr",
            });
        }
        () if beginning.starts_with(b"PK\x03\x04") => "a zip archive (or an array file of NumPy, .npz)",
        () if beginning.starts_with(b"\x93NUMPY") => "an array of NumPy",
        () if beginning.starts_with(b"PAR1") => "a Parquet table",
        () if beginning.starts_with(b"\x89HDF") => "an HDF5 file",
        () if beginning.starts_with(b"\x7fELF") => "a program",
        () if beginning.starts_with(b"<?xml") || beginning.starts_with(b"<graphml") => "XML",
        () if beginning.starts_with(b"AdjacencyGraph")
            || beginning.starts_with(b"WeightedAdjacencyGraph") =>
        {
            "an adjacency graph of PBBS"
        }
        () if beginning[..beginning.len().min(4096)].contains(&0) => "binary data, no text",
        () => return None,
    };
    Some(ReadError::Other { what, hint: "write its arcs as lines `TAIL HEAD WEIGHT` into a file named .wel" })
}
