//! Why a file is no graph.

use super::binary::BinaryError;
use super::format::Format;
use crate::rows::GraphError;
use firsttouch_memory::RegionError;
use std::io;
use std::sync::LazyLock;

/// A file that cannot be read as a graph.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// A packed file that ends too early.
    #[error(
        "its {packing} data ends early, after {bytes} bytes of text: the file was cut off, or something else follows"
    )]
    CutOff {
        /// What it is packed with.
        packing: &'static str,
        /// Bytes that could be unpacked.
        bytes: u64,
    },
    /// A packed file that is damaged.
    #[error("its {packing} data is damaged after {bytes} bytes of text")]
    Damaged {
        /// What it is packed with.
        packing: &'static str,
        /// Bytes that could be unpacked.
        bytes: u64,
        /// What was found.
        source: io::Error,
    },
    /// A packed file with much more text in it than any graph has.
    #[error("its {packing} data unpacks to more than {most} bytes of text, from its first {packed} bytes")]
    TooMuchText {
        /// What it is packed with.
        packing: &'static str,
        /// Packed bytes that were read.
        packed: u64,
        /// The most text for which memory is taken.
        most: u64,
    },
    /// A file of some other kind, which is known.
    #[error("it is {what}")]
    Other {
        /// What it is.
        what: &'static str,
        /// What makes a graph of it.
        hint: &'static str,
    },
    /// A file that is not known.
    #[error("it is no graph in a format that is known")]
    Unknown,
    /// A format that cannot be told apart from others by its contents.
    #[error("its lines may be several things, and the name does not tell which")]
    Ambiguous,
    /// A line that is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: LineError,
    },
    /// The line that says how large the graph is, is missing.
    #[error("there is no line that says how much is in it")]
    NoHeader,
    /// More or fewer arcs than promised.
    #[error("line {line} promises {promised} {what}, but there are {found}")]
    Count {
        /// The line that promises, from 1.
        line: u64,
        /// What is counted.
        what: &'static str,
        /// How many were promised.
        promised: u64,
        /// How many there are.
        found: u64,
    },
    /// More nodes than a file of this length, with so many arcs, is believed.
    #[error(
        "line {line} promises {nodes} nodes, and there are at most {arcs} arcs: nearly all nodes would be alone, and a file of \
         this length is believed {most}"
    )]
    TooManyAlone {
        /// The line that promises, from 1.
        line: u64,
        /// Nodes promised.
        nodes: u64,
        /// Arcs promised, or lines that the file has room for.
        arcs: u64,
        /// The most nodes for which memory is taken.
        most: u64,
    },
    /// A serialized graph of the GAP benchmark whose length is another than its numbers say.
    #[error(
        "it begins as a graph of the GAP benchmark with {nodes} nodes and {arcs} arcs, which has {weighted} bytes with weights \
         and {plain} without, but it has {found}"
    )]
    GapLength {
        /// Nodes promised.
        nodes: u64,
        /// Arcs promised.
        arcs: u64,
        /// Bytes of such a graph with weights.
        weighted: u64,
        /// Bytes without.
        plain: u64,
        /// Bytes there are.
        found: u64,
    },
    /// It makes no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// There is no memory for the graph.
    #[error("there is no memory for the graph: {0}")]
    Memory(RegionError),
    /// It was written to while it was read.
    #[error("it was written to while it was read")]
    Changed,
    /// A graph of ours that was damaged, or made on another kind of machine.
    #[error("{0}")]
    Binary(#[from] BinaryError),
}

impl ReadError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            ReadError::Io(_) => "check the name, and that the file may be read",
            ReadError::Empty => "was it copied whole? ls -l shows its size",
            ReadError::CutOff { .. } | ReadError::Damaged { .. } => {
                "fetch it again, and compare its checksum"
            }
            ReadError::Other { hint, .. } => hint,
            ReadError::Unknown | ReadError::Ambiguous => {
                static HINT: LazyLock<String> = LazyLock::new(|| {
                    let words = Format::words(Format::is_text, ", ", " or ");
                    format!("name the format: --format {words} (docs/graphs.md describes them)")
                });
                &HINT
            }
            ReadError::Line { reason, .. } => reason.hint(),
            ReadError::NoHeader => {
                "a .gr file has a line `p sp NODES ARCS`, one of sources `p aux sp ss SOURCES`, one of coordinates `p aux sp co NODES`; was it cut off at \
                 its beginning?"
            }
            ReadError::Count { .. } | ReadError::GapLength { .. } => {
                "the file was cut off, or its header belongs to another file"
            }
            ReadError::TooManyAlone { .. } => {
                "the header is wrong, or belongs to another file; if the nodes are there indeed, allow them memory, 8 bytes \
                 each: --most-memory SIZE"
            }
            ReadError::TooMuchText { .. } => {
                "unpack it and look at it; a graph may have so much text by --most-memory SIZE, too"
            }
            ReadError::Graph(error) => error.hint(),
            ReadError::Memory(error) => error.hint(),
            ReadError::Changed => "read it again when nobody writes to it",
            ReadError::Binary(error) => error.hint(),
        }
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Something else than this was expected.
    #[error("{expected} was expected, not `{found}`")]
    Expected {
        /// What.
        expected: &'static str,
        /// What stands there; shortened.
        found: String,
    },
    /// The line ends before it should.
    #[error("the line ends where {expected} was expected")]
    EndsEarly {
        /// What.
        expected: &'static str,
    },
    /// A node that is not there.
    #[error("there is no node {id}: they are numbered from {first} to {last}")]
    NoSuchNode {
        /// The number.
        id: u64,
        /// The number of the first node.
        first: u64,
        /// That of the last one.
        last: u64,
    },
    /// Numbering from 0 in a format that counts from 1.
    #[error("there is no node 0: {format} counts from 1")]
    NodeZero {
        /// The format.
        format: Format,
    },
    /// A weight below zero.
    #[error("the weight {found} is negative")]
    NegativeWeight {
        /// The weight.
        found: String,
    },
    /// A weight of more than 32 bits.
    #[error("the weight {found} is larger than 4294967295")]
    WeightTooLarge {
        /// The weight.
        found: String,
    },
    /// A weight that is no whole number.
    #[error("the weight {found} is no whole number")]
    FractionalWeight {
        /// The weight.
        found: String,
    },
    /// A number that nothing can hold.
    #[error("the number {found} is too large")]
    TooLarge {
        /// The number.
        found: String,
    },
    /// A second line that says how large the graph is.
    #[error("it says for the second time how large the graph is")]
    SecondHeader,
    /// A kind of graph or matrix that has no shortest paths of ours.
    #[error("{what}")]
    NotSupported {
        /// What it is, and why not.
        what: &'static str,
    },
}

impl LineError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            LineError::Expected { .. } | LineError::EndsEarly { .. } => {
                "look at the line; docs/graphs.md describes the formats, and --format names one"
            }
            LineError::NoSuchNode { .. } => "the header promises too few nodes, or the line is damaged",
            LineError::NodeZero { .. } => {
                "a file without a header may count from 0: take its `p` line out, or add 1 to every number"
            }
            LineError::NegativeWeight { .. } => {
                "shortest paths with negative weights need another algorithm (Bellman and Ford's)"
            }
            LineError::WeightTooLarge { .. } => {
                "divide all weights by the same number, so that the largest is below 2^32"
            }
            LineError::TooLarge { .. } => {
                "numbers of nodes and counts are below 2^64, coordinates below 2^31: is the line damaged?"
            }
            LineError::FractionalWeight { .. } => {
                "multiply all weights by the same power of ten, so that they are whole numbers"
            }
            LineError::SecondHeader => "two files were joined: read them one by one",
            LineError::NotSupported { .. } => "docs/graphs.md lists what can be read",
        }
    }
}
