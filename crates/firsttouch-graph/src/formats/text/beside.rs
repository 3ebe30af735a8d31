//! Files beside the graphs of the DIMACS challenges: coordinates of nodes, and sources.

use super::cursor::Cursor;
use super::pieces::Text;
use super::trouble::first_error;
use crate::formats::error::{LineError, ReadError};
use crate::formats::format::Format;
use crate::formats::{packing, room};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Coordinates of the nodes of a DIMACS graph, from a `.co` file: those of node 1 first.
///
/// # Errors
/// Whatever is wrong with the file: also nodes that have none, or two.
pub fn read_coordinates(path: &Path) -> Result<Vec<[i32; 2]>, ReadError> {
    coordinates(&text_of(path)?)
}

/// The same from a stream: all of it is read into memory first.
///
/// # Errors
/// As [`read_coordinates`].
pub fn read_coordinates_from(stream: impl Read) -> Result<Vec<[i32; 2]>, ReadError> {
    coordinates(&Text::of_memory(packing::unpacked(stream, None)?))
}

/// The sources that a DIMACS `.ss` file lists, in the file's numbers.
///
/// # Errors
/// Whatever is wrong with the file.
pub fn read_sources(path: &Path) -> Result<Vec<u64>, ReadError> {
    sources(&text_of(path)?)
}

/// The same from a stream: all of it is read into memory first.
///
/// # Errors
/// As [`read_sources`].
pub fn read_sources_from(stream: impl Read) -> Result<Vec<u64>, ReadError> {
    sources(&Text::of_memory(packing::unpacked(stream, None)?))
}

fn text_of(path: &Path) -> Result<Text, ReadError> {
    let mut file = File::open(path)?;
    let mut magic = [0; packing::MAGIC];
    if file.metadata()?.is_file() {
        let length = packing::beginning(&mut file, &mut magic)?;
        if packing::of(&magic[..length]).is_none() {
            return Ok(Text::of_file(file)?);
        }
    }
    Ok(Text::of_memory(packing::unpacked(file, None)?))
}

pub(crate) fn coordinates(text: &Text) -> Result<Vec<[i32; 2]>, ReadError> {
    let mut points: Vec<Option<[i32; 2]>> = Vec::new();
    let (line, nodes) = auxiliary(text, b"co", |word, cursor, nodes| {
        if word != b"v" {
            return Err(Cursor::new(word).expected("`v NODE X Y`"));
        }
        let (id, x, y) =
            (cursor.number("a node")?, cursor.signed("a coordinate")?, cursor.signed("a coordinate")?);
        cursor.line_end()?;
        let nodes = nodes.unwrap_or(u64::MAX);
        if id == 0 {
            return Err(LineError::NodeZero { format: Format::Dimacs });
        }
        if id > nodes.min(u64::from(u32::MAX)) {
            return Err(LineError::NoSuchNode { id, first: 1, last: nodes });
        }
        let point = match (i32::try_from(x), i32::try_from(y)) {
            (Ok(x), Ok(y)) => [x, y],
            _ => return Err(LineError::TooLarge { found: x.max(y).to_string() }),
        };
        // Every node has a line of its own.
        let most = room::points(text.bytes());
        if id > most {
            return Err(LineError::NoSuchNode { id, first: 1, last: most });
        }
        let place = (id - 1) as usize;
        if place >= points.len() {
            points.resize(place + 1, None);
        }
        match points[place].replace(point) {
            None => Ok(()),
            Some(_) => Err(LineError::NotSupported { what: "the node has coordinates already" }),
        }
    })?;
    let found = points.iter().flatten().count() as u64;
    if found != nodes {
        return Err(ReadError::Count { line, what: "coordinates", promised: nodes, found });
    }
    Ok(points.into_iter().flatten().collect())
}

pub(crate) fn sources(text: &Text) -> Result<Vec<u64>, ReadError> {
    let mut found = Vec::new();
    let (line, promised) = auxiliary(text, b"ss", |word, cursor, _| {
        if word != b"s" {
            return Err(Cursor::new(word).expected("`s NODE`"));
        }
        found.push(cursor.number("a source")?);
        cursor.line_end()
    })?;
    if promised != found.len() as u64 {
        return Err(ReadError::Count { line, what: "sources", promised, found: found.len() as u64 });
    }
    Ok(found)
}

/// Reads a file beside a graph. `entry` is given the first word of every line that is neither comment nor header, what
/// follows it, and the number that the header tells, if that has come. Answers the header's line and number.
fn auxiliary(
    text: &Text,
    kind: &[u8],
    mut entry: impl FnMut(&[u8], &mut Cursor<'_>, Option<u64>) -> Result<(), LineError>,
) -> Result<(u64, u64), ReadError> {
    let mut header: Option<(u64, u64)> = None;
    let mut number = 0;
    first_error_or_io(text, |line| {
        number += 1;
        let mut cursor = Cursor::new(line);
        match cursor.word() {
            b"" | b"c" => Ok(()),
            b"p" => {
                let count = auxiliary_header(&mut cursor, kind, header.is_some())?;
                header = Some((number, count));
                Ok(())
            }
            word => entry(word, &mut cursor, header.map(|(_, count)| count)),
        }
    })?;
    header.ok_or(ReadError::NoHeader)
}

fn first_error_or_io(
    text: &Text,
    check: impl FnMut(&[u8]) -> Result<(), LineError>,
) -> Result<(), ReadError> {
    if text.bytes() == 0 {
        return Err(ReadError::Empty);
    }
    first_error(text, 0, check)
}

/// `p aux sp KIND COUNT`, of which the first word was read.
fn auxiliary_header(cursor: &mut Cursor<'_>, kind: &[u8], is_second: bool) -> Result<u64, LineError> {
    if is_second {
        return Err(LineError::SecondHeader);
    }
    for wanted in [b"aux".as_slice(), b"sp", kind] {
        if cursor.word() != wanted {
            let what = "it is the header of another kind of file";
            return Err(LineError::NotSupported { what });
        }
    }
    let count = cursor.number("a number of nodes")?;
    cursor.line_end()?;
    Ok(count)
}
