//! Reading graphs: what a file is, is told by its contents first, and by its name where contents do not tell.
//!
//! Invariant: whatever a file holds, reading it ends with a graph or an error that says where and why; it never panics,
//! and takes memory by the length of the file (see `room.rs`), never for what a header merely promises.

mod cursor;
mod error;
mod formats;
mod gap;
mod metis;
mod packing;
mod records;
mod room;
mod size;
mod sniff;
mod text;

pub use error::{LineError, ReadError};
pub(crate) use size::size_of_text;

use crate::array::Place;
use crate::binary;
use crate::build::{ArcSource, BuildError, build};
use crate::graph::{Graph, Node};
use crate::ids::Ids;
use crate::order::Order;
use cursor::Cursor;
use firsttouch_memory::RegionError;
use firsttouch_threads::Team;
use records::{Grammar, Numbering, Records, census};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use text::Text;

/// Formats that graphs are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Shortest-path graphs of the DIMACS challenges (`.gr`), also without their header.
    Dimacs,
    /// Matrix Market, coordinate (`.mtx`): row to column.
    MatrixMarket,
    /// Two nodes in a line (`.el`, SNAP's `.txt`).
    EdgeList,
    /// Two nodes and a weight in a line (`.wel`).
    WeightedEdgeList,
    /// The neighbours of a node in a line (METIS, `.graph`).
    Metis,
    /// Serialized by the GAP benchmark suite (`.wsg`, without weights `.sg`). Only read.
    Gap,
    /// Our own: can be mapped into memory as it is (`.ftg`).
    Binary,
}

impl Format {
    /// Every format, in the order of help texts.
    pub const ALL: [Format; 7] = [
        Format::Dimacs,
        Format::MatrixMarket,
        Format::EdgeList,
        Format::WeightedEdgeList,
        Format::Metis,
        Format::Gap,
        Format::Binary,
    ];

    /// The word used on the command line: the usual ending of a name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Format::Dimacs => "gr",
            Format::MatrixMarket => "mtx",
            Format::EdgeList => "el",
            Format::WeightedEdgeList => "wel",
            Format::Metis => "metis",
            Format::Gap => "wsg",
            Format::Binary => "ftg",
        }
    }

    /// The format of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.word() == word)
    }

    /// The format that a name ends with, apart from what it is packed with.
    #[must_use]
    pub fn of_name(name: &Path) -> Option<Format> {
        let name = name.file_name()?.to_str()?.to_ascii_lowercase();
        let name = packing::ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "graph" => Some(Format::Metis),
            "sg" => Some(Format::Gap),
            ending => Format::parse(ending),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Dimacs => "DIMACS",
            Format::MatrixMarket => "Matrix Market",
            Format::EdgeList => "edge list",
            Format::WeightedEdgeList => "edge list with weights",
            Format::Metis => "METIS",
            Format::Gap => "GAP benchmark's",
            Format::Binary => "firsttouch binary",
        })
    }
}

/// How to read a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; `None` finds out.
    pub format: Option<Format>,
    /// Where the graph is to lie.
    pub place: Place,
    /// Take every line of an edge list, a DIMACS or a general Matrix Market file as an arc there and one back.
    pub undirected: bool,
    /// Bytes that the nodes of a header may take (8 each), and the text of a packed file, where that is more than the length
    /// of the file allows: a node for each byte of text beyond a million, and 64 bytes of text for each packed byte beyond 16 MiB.
    pub most_memory_bytes: Option<u64>,
}

/// A graph that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// Which node is which of the file.
    pub ids: Ids,
    /// Where the nodes are on a map, if the file says so.
    pub coordinates: Option<Vec<[i32; 2]>>,
    /// The format it was read from.
    pub format: Format,
    /// What was taken as it is, and might have been meant otherwise.
    pub notes: Vec<String>,
}

impl Loaded {
    /// The same with the nodes in another order, in memory of that place; results stay in the file's numbers.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn reordered(self, order: &Order, place: Place) -> Result<Loaded, RegionError> {
        let moved = |coordinates: Vec<[i32; 2]>| {
            order.nodes().iter().map(|node| coordinates[*node as usize]).collect()
        };
        Ok(Loaded {
            graph: self.graph.reordered(order, place)?,
            ids: self.ids.reordered(order),
            coordinates: self.coordinates.map(moved),
            ..self
        })
    }
}

/// Reads the graph in a file, with a team.
///
/// A plain text is parsed twice, piece by piece, and takes no memory beside the graph; a packed one is unpacked into memory
/// first; a graph in our own format is mapped, not copied, if its place is the heap ([`Place::HEAP`]) and left to the page
/// cache, and else read into memory as placed.
///
/// # Errors
/// Whatever is wrong with the file, or no memory.
pub fn read(path: &Path, options: &ReadOptions, team: &mut Team) -> Result<Loaded, ReadError> {
    let mut file = File::open(path)?;
    let is_plain_file = file.metadata()?.is_file();
    let mut magic = [0; packing::MAGIC];
    if is_plain_file {
        let length = packing::beginning(&mut file, &mut magic)?;
        if binary::is_ours(&magic[..length]) {
            return Ok(binary::open(&file, options.place, team)?);
        }
        if let Some(header) = gap::Header::of(&magic[..length]) {
            let read = |part: &mut [u8], offset| file.read_exact_at(part, offset);
            return gap::read(header, file.metadata()?.len(), read, options.place);
        }
        if packing::of(&magic[..length]).is_none() {
            return read_text(&Text::of_file(file)?, Format::of_name(path), options, team);
        }
    }
    let bytes = packing::unpacked(file, options.most_memory_bytes)?;
    read_memory(bytes, Format::of_name(path), options, team)
}

/// Reads a graph from a stream (a pipe, or bytes in memory): all of it is read into memory first. `named` is the format
/// that its name tells, if it has one.
///
/// # Errors
/// As [`read`].
pub fn read_from(
    stream: impl Read,
    named: Option<Format>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    read_memory(packing::unpacked(stream, options.most_memory_bytes)?, named, options, team)
}

fn read_memory(
    bytes: Vec<u8>,
    named: Option<Format>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    if binary::is_ours(&bytes) {
        return Ok(binary::from_memory(&bytes, options.place, team)?);
    }
    if let Some(header) = gap::Header::of(&bytes) {
        let read = |part: &mut [u8], offset| (&bytes[offset as usize..]).read_exact(part);
        return gap::read(header, bytes.len() as u64, read, options.place);
    }
    read_text(&Text::of_memory(bytes), named, options, team)
}

fn read_text(
    text: &Text,
    named: Option<Format>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let sniffed = sniff::sniff(&text.lines(0, 0)?, options.format.or(named))?;
    let loaded = match options.format.unwrap_or(sniffed) {
        Format::Dimacs => formats::dimacs(text, options, team),
        Format::MatrixMarket => formats::matrix_market(text, options, team),
        format @ (Format::EdgeList | Format::WeightedEdgeList) => {
            formats::edge_list(text, format, options, team)
        }
        Format::Metis => metis::read(text, options, team),
        Format::Gap | Format::Binary => Err(ReadError::Unknown),
    };
    if text.is_unchanged()? { loaded } else { Err(ReadError::Changed) }
}

/// Why a part of a text could not be read.
#[derive(Debug)]
pub(crate) enum Trouble {
    Io(std::io::Error),
    /// A line is wrong. Which one, and how, is looked for afterwards.
    Line,
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

impl From<LineError> for Trouble {
    fn from(_: LineError) -> Trouble {
        Trouble::Line
    }
}

/// Says of trouble where it is. `first` looks for the first line that is wrong; if it finds none, somebody mended it.
fn located(trouble: Trouble, first: impl FnOnce() -> Result<(), ReadError>) -> ReadError {
    match trouble {
        Trouble::Io(error) => ReadError::Io(error),
        Trouble::Line => first().err().unwrap_or(ReadError::Changed),
    }
}

/// Builds the graph of a text, and says of an error where it is.
fn build_text<S: ArcSource<Error = Trouble>>(
    nodes: u64,
    source: &S,
    first_error: impl FnOnce(&S) -> Result<(), ReadError>,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Graph, ReadError> {
    let Ok(count) = usize::try_from(nodes) else {
        return Err(crate::GraphError::TooManyNodes { nodes }.into());
    };
    build(count, source, options.place, team).map_err(|error| match error {
        BuildError::Graph(error) => ReadError::Graph(error),
        BuildError::Memory(error) => ReadError::Memory(error),
        BuildError::Changed => ReadError::Changed,
        BuildError::Source(trouble) => located(trouble, || first_error(source)),
    })
}

/// Coordinates of the nodes of a DIMACS graph, from a `.co` file: those of node 1 first.
///
/// # Errors
/// Whatever is wrong with the file: also nodes that have none, or two.
pub fn read_coordinates(path: &Path) -> Result<Vec<[i32; 2]>, ReadError> {
    formats::coordinates(&auxiliary(path)?)
}

/// The same from a stream: all of it is read into memory first.
///
/// # Errors
/// As [`read_coordinates`].
pub fn read_coordinates_from(stream: impl Read) -> Result<Vec<[i32; 2]>, ReadError> {
    formats::coordinates(&Text::of_memory(packing::unpacked(stream, None)?))
}

/// The sources that a DIMACS `.ss` file lists, in the file's numbers.
///
/// # Errors
/// Whatever is wrong with the file.
pub fn read_sources(path: &Path) -> Result<Vec<u64>, ReadError> {
    formats::sources(&auxiliary(path)?)
}

/// The same from a stream: all of it is read into memory first.
///
/// # Errors
/// As [`read_sources`].
pub fn read_sources_from(stream: impl Read) -> Result<Vec<u64>, ReadError> {
    formats::sources(&Text::of_memory(packing::unpacked(stream, None)?))
}

fn auxiliary(path: &Path) -> Result<Text, ReadError> {
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

#[cfg(test)]
mod tests;
