//! Formats that graphs are kept in, by their words and names.

use std::fmt;
use std::path::Path;

/// How the names of packed files end.
const PACKED: [&str; 3] = [".gz", ".bz2", ".xz"];

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

    /// Whether it is text, which contents may not tell from another.
    #[must_use]
    pub fn is_text(self) -> bool {
        !matches!(self, Format::Gap | Format::Binary)
    }

    /// Whether graphs are written in it, too.
    #[must_use]
    pub fn is_written(self) -> bool {
        self != Format::Gap
    }

    /// The number of the first node in it; `None` where nodes keep the numbers that they have.
    #[must_use]
    pub fn first_number(self) -> Option<u64> {
        match self {
            Format::Dimacs | Format::MatrixMarket | Format::Metis => Some(1),
            Format::EdgeList | Format::WeightedEdgeList | Format::Gap | Format::Binary => None,
        }
    }

    /// The words of all such formats, with `between` between two of them and `last` before the last: `gr, mtx or el`.
    pub fn words(such: impl Fn(Format) -> bool, between: &str, last: &str) -> String {
        let words = Format::ALL.into_iter().filter(|format| such(*format)).map(Format::word);
        match words.collect::<Vec<_>>().as_slice() {
            [others @ .., end] if !others.is_empty() => format!("{}{last}{end}", others.join(between)),
            few => few.concat(),
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
        let name = PACKED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
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
