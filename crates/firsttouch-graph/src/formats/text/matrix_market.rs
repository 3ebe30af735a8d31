//! Matrix Market, coordinate: rows are tails, columns heads.

use super::cursor::Cursor;
use super::pieces::Text;
use super::promise::{Promise, lines_of, loaded_of};
use super::records::{Grammar, Numbering, Records};
use super::trouble::wrong;
use crate::formats::error::{LineError, ReadError};
use crate::formats::format::Format;
use crate::formats::loaded::{Loaded, NO_WEIGHTS};
use crate::formats::options::ReadOptions;
use crate::rows::Ids;
use firsttouch_threads::Team;

pub(crate) fn read(text: &Text, options: &ReadOptions, team: &mut Team) -> Result<Loaded, ReadError> {
    let mut number = 0;
    let mut kind = None;
    let found = text.find(|begin, line| {
        number += 1;
        if number == 1 {
            match kind_of(line) {
                Ok(said) => kind = Some(said),
                Err(reason) => return Some(Err(ReadError::Line { line: 1, reason })),
            }
            return None;
        }
        if line.trim_ascii().is_empty() || line.starts_with(b"%") {
            return None;
        }
        let body = begin + line.len() as u64 + 1;
        let promise = |(nodes, records)| Promise { line: number, nodes, records, body };
        Some(header(line).map(promise).map_err(wrong(number)))
    })?;
    let promise = found.ok_or(ReadError::NoHeader)??;
    let kind = kind.ok_or(ReadError::NoHeader)?;
    promise.is_valid(text, options)?;
    let grammar = Grammar {
        format: Format::MatrixMarket,
        prefix: 0,
        comments: *b"%%",
        header: 0,
        weights: kind.has_values,
    };
    let both_ways = kind.is_symmetric || options.undirected;
    let numbering = Numbering::From { first: 1, nodes: promise.nodes };
    let source = Records { text, body: promise.body, grammar, numbering, both_ways };
    let mut loaded =
        loaded_of(promise.nodes, &source, Ids::from_first(1, promise.nodes as usize), options, team)?;
    promise.is_kept(lines_of(&source, &loaded.graph, team)?)?;
    if !kind.has_values {
        loaded.notes.push(NO_WEIGHTS.to_owned());
    }
    Ok(loaded)
}

/// The nodes and entries that the line of sizes promises.
pub(crate) fn header(line: &[u8]) -> Result<(u64, u64), LineError> {
    let mut cursor = Cursor::new(line);
    let rows = cursor.number("the number of rows")?;
    let columns = cursor.number("the number of columns")?;
    let entries = cursor.number("the number of entries")?;
    cursor.line_end()?;
    if rows != columns {
        let what = "the matrix is not square, so its rows and columns are not the same nodes";
        return Err(LineError::NotSupported { what });
    }
    Ok((rows, entries))
}

/// What the first line says of the entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    has_values: bool,
    pub(crate) is_symmetric: bool,
}

/// That of a first line.
pub(crate) fn kind_of(line: &[u8]) -> Result<Kind, LineError> {
    let line = line.to_ascii_lowercase();
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let not = |what| Err(LineError::NotSupported { what });
    let [b"%%matrixmarket", b"matrix", layout, field, symmetry] = words[..] else {
        return Err(Cursor::new(&line).expected("`%%MatrixMarket matrix coordinate FIELD SYMMETRY`"));
    };
    if layout != b"coordinate" {
        return not("the matrix is dense (array): only coordinate matrices are read as graphs");
    }
    let has_values = match field {
        b"pattern" => false,
        // SciPy writes the second of unsigned matrices.
        b"integer" | b"unsigned-integer" | b"real" | b"double" => true,
        b"complex" => return not("complex values are no weights"),
        _ => {
            return Err(Cursor::new(field)
                .expected("`pattern`, `integer`, `unsigned-integer` or `real` as the field"));
        }
    };
    match symmetry {
        b"general" => Ok(Kind { has_values, is_symmetric: false }),
        b"symmetric" => Ok(Kind { has_values, is_symmetric: true }),
        _ => not("a skew-symmetric or Hermitian matrix has values that are no weights"),
    }
}
